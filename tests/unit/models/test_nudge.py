from __future__ import annotations

import pytest

from surehand import AIMessage, FailureKind, HumanMessage, OptionError, Outcome, ToolMessage
from surehand.models import Nudge
from surehand.models.nudge import as_nudge

NUDGE = Nudge(after_result="Go on.", after_error="Correct it.")


def test_a_result_at_the_end_is_followed_by_the_sentence_for_results() -> None:
    sent = NUDGE.apply([HumanMessage("hi"), ToolMessage("3", tool_call_id="a")])
    assert sent[-1].text == "3\nGo on."


def test_an_error_at_the_end_is_followed_by_the_sentence_for_errors() -> None:
    sent = NUDGE.apply([ToolMessage("no", tool_call_id="a", status="error")])
    assert sent[-1].text == "no\nCorrect it."


@pytest.mark.parametrize("kind", [FailureKind.INVALID_ARGUMENTS, FailureKind.UNKNOWN_TOOL, FailureKind.TOOL_ERROR])
def test_an_error_that_a_better_call_may_mend_is_followed_by_the_sentence_for_errors(kind: FailureKind) -> None:
    answer = ToolMessage("no", tool_call_id="a", status="error", outcome=Outcome(kind=kind))
    assert NUDGE.apply([answer])[-1].text == "no\nCorrect it."


@pytest.mark.parametrize(
    "kind", [FailureKind.DENIED, FailureKind.EXCEPTION, FailureKind.LIMIT, FailureKind.SKIPPED, FailureKind.TIMEOUT]
)
def test_a_failure_that_no_other_call_mends_stands_as_it_is(kind: FailureKind) -> None:
    answer = ToolMessage("no", tool_call_id="a", status="error", outcome=Outcome(kind=kind))
    assert NUDGE.apply([answer])[-1].text == "no"


def test_only_the_last_of_several_answers_is_extended() -> None:
    sent = NUDGE.apply([ToolMessage("1", tool_call_id="a"), ToolMessage("2", tool_call_id="b")])
    assert [message.text for message in sent] == ["1", "2\nGo on."]


def test_the_given_messages_stay_as_they_are() -> None:
    messages = [ToolMessage("3", tool_call_id="a")]
    NUDGE.apply(messages)
    assert messages[0].text == "3"


def test_content_blocks_get_a_text_block() -> None:
    blocks = [{"type": "image", "data": "…"}]
    sent = NUDGE.apply([ToolMessage(list(blocks), tool_call_id="a")])
    assert sent[-1].content == [*blocks, {"type": "text", "text": "Go on."}]


def test_a_conversation_that_does_not_end_with_an_answer_is_left_alone() -> None:
    messages = [ToolMessage("3", tool_call_id="a"), AIMessage("three")]
    assert NUDGE.apply(messages) == messages


def test_an_empty_sentence_adds_nothing() -> None:
    assert Nudge(after_result="").apply([ToolMessage("3", tool_call_id="a")])[-1].text == "3"


def test_true_is_the_default_nudge_and_none_is_no_nudge() -> None:
    assert as_nudge(True) == Nudge()
    assert as_nudge(None) is None
    assert as_nudge(False) is None


def test_a_nudge_that_is_no_nudge_is_refused() -> None:
    with pytest.raises(OptionError, match="expected a Nudge, True or None"):
        as_nudge("please")  # type: ignore[arg-type]  # what a host without a type checker may do
