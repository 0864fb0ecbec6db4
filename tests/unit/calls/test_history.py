"""What a conversation tells of the calls that were made in its run."""

from __future__ import annotations

from typing import Any

import pytest

from support.conversations import FORMS, Conversation, Form
from surehand import (
    AIMessage,
    HumanMessage,
    ModelRetry,
    ToolException,
    ToolMessage,
    ToolNode,
    convert_to_messages,
    tool,
)
from surehand.calls.history import NOTE, past_calls, result_of
from surehand.outcomes import FailureKind, Outcome
from surehand.policy import Limits


@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


@tool
def fail(number: int) -> int:
    """Fail."""
    raise ValueError(number)


@tool
def refuse(number: int) -> int:
    """Say no."""
    raise ToolException("no")


@tool
def correct(number: int) -> int:
    """Ask for other arguments."""
    raise ModelRetry("another one")


@tool(requires_approval=True)
def wipe(number: int) -> int:
    """Delete something."""
    return number


def calling(*calls: dict[str, Any]) -> AIMessage:
    return AIMessage(tool_calls=list(calls))


def call(call_id: str, name: str = "double", **args: Any) -> dict[str, Any]:
    return {"id": call_id, "name": name, "args": args}


def test_a_run_begins_after_the_newest_human_message() -> None:
    messages = [
        HumanMessage("a"),
        calling(call("1", number=1)),
        ToolMessage("2", tool_call_id="1"),
        HumanMessage("b"),
        calling(call("2", number=2)),
        ToolMessage("4", tool_call_id="2"),
    ]
    assert [past.arguments for past in past_calls(messages).calls] == [{"number": 2}]


def test_a_conversation_without_a_human_message_is_one_run() -> None:
    history = past_calls([calling(call("1", number=1)), ToolMessage("2", tool_call_id="1")])
    assert (len(list(history.executed)), history.turn) == (1, 1)


def test_turns_are_numbered_and_answers_belong_to_the_newest_call_of_their_id() -> None:
    messages = [
        calling(call("1", number=1)),
        ToolMessage("2", tool_call_id="1"),
        calling(call("1", number=2)),
        ToolMessage("4", tool_call_id="1"),
        calling(call("1", number=3)),
    ]
    history = past_calls(messages)
    assert [(past.turn, past.arguments["number"], past.answer.text) for past in history.calls] == [
        (1, 1, "2"),
        (2, 2, "4"),
    ]
    assert history.turn == 3


def test_an_answer_without_a_call_is_nobodys() -> None:
    assert past_calls([ToolMessage("2", tool_call_id="1")]).calls == ()


def test_nothing_was_called_at_the_start() -> None:
    history = past_calls([])
    assert (history.calls, history.turn, list(history.executed), history.corrections) == ((), 0, [], 0)


KINDS: list[tuple[tuple[str, Any], FailureKind | None, bool]] = [
    (("double", {"number": 1}), None, True),
    (("fail", {"number": 1}), FailureKind.EXCEPTION, True),
    (("double", {"number": "x"}), FailureKind.INVALID_ARGUMENTS, False),
    (("duoble", {"number": 1}), FailureKind.UNKNOWN_TOOL, False),
    (("wipe", {"number": 1}), FailureKind.DENIED, False),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("made", "kind", "is_executed"), KINDS)
def test_how_a_call_ended_is_known_in_every_form(
    form: Form,
    made: tuple[str, Any],
    kind: FailureKind | None,
    is_executed: bool,  # noqa: FBT001 - a case
) -> None:
    conversation = Conversation(ToolNode([double, fail, wipe]), form)
    conversation.turn(made)
    (past,) = past_calls(convert_to_messages(conversation.messages)).calls
    assert (past.kind, past.is_executed) == (kind, is_executed)


def test_malformed_and_cut_off_calls_were_not_executed_in_any_form() -> None:
    node = ToolNode([double])
    cut = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "1", "function": {"name": "double", "arguments": '{"number": 1}'}}],
        "response_metadata": {"finish_reason": "length"},
    }
    bad = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "1", "function": {"name": "double", "arguments": "{"}}],
    }
    kinds = [past_calls(convert_to_messages([made, *node.invoke([made])])).calls[0] for made in (cut, bad)]
    assert [past.kind for past in kinds] == [FailureKind.TRUNCATED, FailureKind.MALFORMED]
    assert not any(past.is_executed for past in kinds)


@pytest.mark.parametrize("form", FORMS)
def test_a_limit_is_known_in_every_form(form: Form) -> None:
    conversation = Conversation(ToolNode([double], limits=Limits(calls=1)), form)
    conversation.turn(("double", {"number": 1}), ("double", {"number": 2}))
    past = past_calls(convert_to_messages(conversation.messages)).calls
    assert [(one.kind, one.is_executed) for one in past] == [(None, True), (FailureKind.LIMIT, False)]


def test_what_failed_in_a_text_of_its_authors_is_told_from_a_success_where_the_form_has_a_flag() -> None:
    conversation = Conversation(ToolNode([refuse]), "anthropic")
    conversation.turn(("refuse", {"number": 1}))
    (past,) = past_calls(convert_to_messages(conversation.messages)).calls
    assert past.kind is not None
    assert past.is_executed


def test_arguments_that_the_tool_itself_sent_back_were_executed() -> None:
    conversation = Conversation(ToolNode([correct]))
    conversation.turn(("correct", {"number": 1}))
    (past,) = past_calls(conversation.messages).calls
    assert (past.kind, past.is_executed) == (FailureKind.INVALID_ARGUMENTS, True)


@pytest.mark.parametrize(
    "kind", [FailureKind.CANCELLED, FailureKind.UNKNOWN_OUTCOME, FailureKind.TIMEOUT, FailureKind.INTERNAL]
)
def test_what_may_have_happened_counts_as_executed(kind: FailureKind) -> None:
    answer = ToolMessage("x", tool_call_id="1", status="error", outcome=Outcome(kind=kind, attempts=1))
    assert len(list(past_calls([calling(call("1"), call("2")), answer]).executed)) == 1


def test_a_result_from_a_cache_was_not_executed() -> None:
    answer = ToolMessage("x", tool_call_id="1", outcome=Outcome())
    history = past_calls([calling(call("1")), answer])
    assert (list(history.executed), history.calls[0].kind) == ([], None)


def test_the_characters_of_all_answers_are_counted() -> None:
    blocks: list[Any] = [{"type": "text", "text": "abc"}, {"type": "image", "source": "…"}]
    messages = [
        calling(call("1"), call("2")),
        ToolMessage("12", tool_call_id="1"),
        ToolMessage(blocks, tool_call_id="2"),
    ]
    assert past_calls(messages).output_chars == 5


@pytest.mark.parametrize(
    ("turns", "corrections"),
    [
        ([["duoble"]], 1),
        ([["double"], ["duoble"], ["duoble"]], 2),
        ([["duoble"], ["duoble", "double"]], 0),
        ([["duoble"], ["double"]], 0),
        ([["duoble", "duoble"]], 1),
    ],
)
def test_turns_that_hold_nothing_right_are_counted_from_the_newest_back(
    turns: list[list[str]], corrections: int
) -> None:
    conversation = Conversation(ToolNode([double]))
    for number, names in enumerate(turns):
        conversation.turn(*((name, {"number": number}) for name in names))
    assert past_calls(conversation.messages).corrections == corrections


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("same", f"same\n\n{NOTE}it has come 2 times now.]"),
        ("ValueError: x [error 0a1b2c3d]", "ValueError: x [error ffffffff]"),
        ("same", [{"type": "text", "text": "same"}]),
        (["same"], [{"type": "text", "text": "same"}, {"type": "text", "text": f"{NOTE}…]"}]),
        ([{"type": "image", "data": "A"}], [{"type": "image", "data": "A"}, {"type": "text", "text": f"{NOTE}…]"}]),
    ],
)
def test_results_are_compared_without_what_is_not_theirs(left: Any, right: Any) -> None:
    assert result_of(left) == result_of(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [("1", "2"), ([{"type": "image", "data": "A"}], [{"type": "image", "data": "B"}]), ("a", [{"type": "image"}])],
)
def test_different_results_differ(left: Any, right: Any) -> None:
    assert result_of(left) != result_of(right)


def test_arguments_are_the_same_whatever_the_order_of_their_keys() -> None:
    first, second = call("1", a=1, b=[2]), call("2", b=[2], a=1)
    messages = [calling(first, second), *(ToolMessage("x", tool_call_id=i) for i in "12")]
    left, right = past_calls(messages).calls
    assert left.digest == right.digest
