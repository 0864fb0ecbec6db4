"""What a run may use up, and what happens when it goes round in circles: through a node, turn by turn."""

from __future__ import annotations

import asyncio
import time
from importlib import import_module
from typing import Any

import pytest

from support.conversations import FORMS, Conversation, Form
from surehand import (
    END,
    START,
    AIMessage,
    Command,
    HumanMessage,
    MessagesState,
    StateGraph,
    ToolCallRequest,
    ToolException,
    ToolMessage,
    ToolNode,
    ToolOptions,
    tool,
)
from surehand.calls import Run
from surehand.calls.history import NOT_EXECUTED, NOTE, REPEATED, REPEATED_IN_DOUBT, STUCK
from surehand.concurrency import WorkersExhausted
from surehand.outcomes import FailureKind
from surehand.policy import Limits, NoProgress

ran: list[Any] = []
LOOK: tuple[str, Any] = ("look", {})
SEND: tuple[str, Any] = ("send", {"to": "a"})


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


@tool(read_only=True)
def look(key: str = "k") -> str:
    """Look something up."""
    ran.append(key)
    return f"value of {key}"


@tool
def send(to: str, note: str = "") -> str:
    """Send a mail."""
    ran.append(to)
    return f"sent to {to}"


@tool
def pay(sum: float) -> str:  # noqa: A002 - as a model would have it
    """Pay."""
    ran.append(sum)
    return "paid"


@tool(read_only=True)
def fail(x: int) -> str:
    """Fail."""
    ran.append(x)
    raise ValueError("no good")


def kinds(messages: list[Any]) -> list[FailureKind | None]:
    return [m.outcome.kind for m in messages if isinstance(m, ToolMessage) and m.outcome is not None]


# Limits


@pytest.mark.parametrize("form", FORMS)
def test_of_a_turn_of_eight_with_six_left_the_first_six_run_and_two_are_answered(form: Form) -> None:
    conversation = Conversation(ToolNode([look], limits=Limits(calls=8)), form)
    conversation.turn(("look", {"key": "a"}), ("look", {"key": "b"}))
    answers = conversation.turn(*(("look", {"key": str(number)}) for number in range(8)))
    assert [answer.startswith(NOT_EXECUTED) for answer in answers] == [False] * 6 + [True] * 2
    assert sorted(ran[2:]) == [str(number) for number in range(6)]


def test_the_model_is_told_which_limit_it_is_and_what_to_do() -> None:
    conversation = Conversation(ToolNode([look], limits=Limits(calls=1)))
    _, refused = conversation.turn(("look", {}), ("look", {"key": "b"}))
    assert refused == (
        "The call was not executed: the limit of 1 call for this run is reached. Answer with what you have."
    )
    assert kinds(conversation.messages) == [None, FailureKind.LIMIT]


def test_calls_that_cannot_run_use_up_nothing() -> None:
    conversation = Conversation(ToolNode([look], limits=Limits(calls=2)))
    wrong: list[tuple[str, Any]] = [("lok", {}), ("look", {"key": [1]}), ("look", "{")]
    for _ in range(3):
        conversation.turn(*wrong)
    answers = conversation.turn(*wrong, ("look", {"key": "a"}), ("look", {"key": "b"}))
    assert answers[-2:] == ["value of a", "value of b"]


def test_a_new_run_begins_with_all_that_it_may_use() -> None:
    conversation = Conversation(ToolNode([look], limits=Limits(calls=1, calls_per_tool=1)))
    conversation.turn(("look", {}))
    conversation.say("and now?")
    assert conversation.turn(("look", {})) == ["value of k"]


def test_failed_calls_count_as_executed() -> None:
    conversation = Conversation(ToolNode([fail], limits=Limits(calls=1)))
    conversation.turn(("fail", {"x": 1}))
    (answer,) = conversation.turn(("fail", {"x": 2}))
    assert answer.startswith(NOT_EXECUTED)


def test_each_tool_has_its_own_count() -> None:
    conversation = Conversation(ToolNode([look, send], limits=Limits(calls_per_tool=2)))
    answers = conversation.turn(*(("look", {"key": key}) for key in "abc"), ("send", {"to": "x"}))
    assert answers[:2] == ["value of a", "value of b"]
    assert "the limit of 2 calls of 'look' in this run is reached. Use another tool" in answers[2]
    assert answers[3] == "sent to x"


def test_a_tool_counts_by_its_own_name_however_the_model_spells_it() -> None:
    conversation = Conversation(ToolNode([look], limits=Limits(calls_per_tool=1)))
    conversation.turn(("functions.Look", {"key": "a"}))
    (answer,) = conversation.turn(("look", {"key": "b"}))
    assert answer.startswith(NOT_EXECUTED)


def test_characters_are_counted_and_the_turn_that_exceeds_them_is_answered_in_full() -> None:
    conversation = Conversation(ToolNode([look], limits=Limits(output_chars=20)))
    assert conversation.turn(("look", {"key": "a"}), ("look", {"key": "b"})) == ["value of a", "value of b"]
    (answer,) = conversation.turn(("look", {"key": "c"}))
    assert "the limit of 20 characters of results for this run" in answer


def test_turns_are_counted() -> None:
    conversation = Conversation(ToolNode([look], limits=Limits(turns=1)))
    conversation.turn(("look", {"key": "a"}))
    (answer,) = conversation.turn(("look", {"key": "b"}))
    assert "the limit of 1 turn for" in answer


def test_time_is_that_of_the_graph_that_runs_the_node() -> None:
    def wait(state: MessagesState) -> None:
        time.sleep(0.02)

    graph = StateGraph(MessagesState)
    graph.add_node("wait", wait)
    graph.add_node("tools", ToolNode([look], limits=Limits(seconds=0.01)))
    graph.add_edge(START, "wait")
    graph.add_edge("wait", "tools")
    graph.add_edge("tools", END)
    reply = AIMessage(tool_calls=[{"id": "1", "name": "look", "args": {}}])
    answer = graph.compile().invoke([HumanMessage("go"), reply])["messages"][-1]
    assert "the limit of 0.01 seconds" in answer.text


def test_calls_that_were_answered_before_the_node_ran_again_count() -> None:
    node = ToolNode([look], limits=Limits(calls=2))
    made = [{"id": str(number), "name": "look", "args": {"key": str(number)}} for number in range(3)]
    messages = [HumanMessage("go"), AIMessage(tool_calls=made), *node.invoke([AIMessage(tool_calls=made[:1])])]
    answers = node.invoke(messages)
    assert kinds(answers) == [None, FailureKind.LIMIT]


def test_of_a_conversation_that_several_agents_share_each_counts_its_own_tools() -> None:
    conversation = Conversation(ToolNode([send, look], limits=Limits(calls=3)))
    for number in range(3):
        conversation.turn(("send", {"to": str(number)}))
    other = ToolNode([look], limits=Limits(calls=1))
    reply = conversation.reply(("look", {}), ("look", {"key": "b"}))
    assert kinds(other.invoke([*conversation.messages, reply])) == [None, FailureKind.LIMIT]


# The same call over and over


def test_the_second_equal_result_says_so() -> None:
    conversation = Conversation(ToolNode([look]))
    assert conversation.turn(("look", {})) == ["value of k"]
    (answer,) = conversation.turn(("look", {}))
    assert answer.startswith(f"value of k\n\n{NOTE}it has come 2 times now.")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("made", [("look", {}), ("fail", {"x": 1})])
def test_after_four_equal_results_the_call_is_refused(form: Form, made: tuple[str, Any]) -> None:
    conversation = Conversation(ToolNode([look, fail]), form)
    answers = [conversation.turn(made)[0] for _ in range(6)]
    assert [NOTE in answer for answer in answers] == [False, True, True, True, False, False]
    assert [answer.startswith(STUCK) for answer in answers] == [False] * 4 + [True] * 2
    assert len(ran) == 4


def test_the_refusal_is_a_limit_and_says_what_to_do_instead() -> None:
    conversation = Conversation(ToolNode([look], no_progress=NoProgress(warn_after=1, refuse_after=2)))
    *_, answer = [conversation.turn(("look", {}))[0] for _ in range(3)]
    assert answer == (
        "The call was refused: with these arguments it has come to the same result 2 times in this run. "
        "Change the arguments, use another tool, or answer with what you have."
    )
    assert kinds(conversation.messages)[-1] is FailureKind.LIMIT


def test_equal_calls_of_one_turn_are_one_result() -> None:
    conversation = Conversation(ToolNode([look], no_progress=NoProgress(warn_after=2, refuse_after=3)))
    assert conversation.turn(*[LOOK] * 5) == ["value of k"] * 5
    assert all(NOTE in answer for answer in conversation.turn(*[LOOK] * 2))


def test_another_result_begins_the_count_anew() -> None:
    numbers = iter([1, 1, 2, 2, 2])

    @tool(read_only=True)
    def poll() -> int:
        """Ask for the state."""
        return next(numbers)

    conversation = Conversation(ToolNode([poll]))
    noted = [NOTE in conversation.turn(("poll", {}))[0] for _ in range(5)]
    assert noted == [False, True, False, True, True]


def test_other_arguments_are_another_call() -> None:
    conversation = Conversation(ToolNode([look]))
    assert not any(NOTE in conversation.turn(("look", {"key": str(n)}))[0] for n in range(5))


def test_a_new_call_that_may_have_changed_something_begins_the_count_anew() -> None:
    conversation = Conversation(ToolNode([look, send]))
    for number in range(6):
        assert conversation.turn(("look", {})) == ["value of k"]
        conversation.turn(("send", {"to": str(number)}))


@pytest.mark.parametrize("between", [("look", {"key": "other"}), ("fail", {"x": 1})])
def test_reading_and_failing_change_nothing(between: tuple[str, Any]) -> None:
    conversation = Conversation(ToolNode([look, fail]))
    for _ in range(4):
        conversation.turn(("look", {}))
        conversation.turn(between)
    assert conversation.turn(("look", {}))[0].startswith(STUCK)


def test_two_calls_that_take_turns_are_going_round_in_circles_too() -> None:
    @tool(idempotent=True)
    def switch(on: bool) -> str:  # noqa: FBT001 - the argument of a tool
        """Switch a lamp."""
        return "on" if on else "off"

    conversation = Conversation(ToolNode([switch]))
    answers = [conversation.turn(("switch", {"on": number % 2 == 0}))[0] for number in range(11)]
    assert [number for number, answer in enumerate(answers) if answer.startswith(STUCK)] == [9, 10]


def test_wrong_arguments_that_come_again_are_noted() -> None:
    conversation = Conversation(ToolNode([look]))
    conversation.turn(("look", {"key": []}))
    (answer,) = conversation.turn(("look", {"key": []}))
    assert NOTE in answer


def test_content_blocks_stay_whole_below_a_note() -> None:
    block = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}

    @tool(read_only=True)
    def picture() -> list[dict[str, Any]]:
        """Take a picture."""
        return [block]

    conversation = Conversation(ToolNode([picture]))
    conversation.turn(("picture", {}))
    conversation.turn(("picture", {}))
    first, second = conversation.messages[-1].content
    assert first == block
    assert second["type"] == "text"
    assert second["text"].startswith(NOTE)


def test_without_the_guard_the_same_result_may_come_as_often_as_it_likes() -> None:
    conversation = Conversation(ToolNode([look], no_progress=None))
    assert [conversation.turn(("look", {}))[0] for _ in range(8)] == ["value of k"] * 8


# The same effect twice


@pytest.mark.parametrize("form", FORMS)
def test_an_effect_that_happened_is_not_repeated_at_the_first_asking(form: Form) -> None:
    conversation = Conversation(ToolNode([send]), form)
    conversation.turn(("send", {"to": "a", "note": "x"}))
    (answer,) = conversation.turn(("send", {"note": "x", "to": "a"}))
    assert answer == (
        "This was done already, in an earlier step, and was not done again "
        "(for that, the same call would have to come once more). The result was: sent to a\n"
        "Tell the user what came of it."
    )
    assert ran == ["a"]


@pytest.mark.parametrize("form", FORMS)
def test_a_model_that_insists_has_its_way_and_has_to_insist_each_time(form: Form) -> None:
    conversation = Conversation(ToolNode([send]), form)
    is_run = [REPEATED not in conversation.turn(("send", {"to": "a"}))[0] for _ in range(5)]
    assert is_run == [True, False, True, False, True]
    assert ran == ["a"] * 3


def test_the_answer_of_the_guard_is_no_success() -> None:
    conversation = Conversation(ToolNode([send]))
    conversation.turn(("send", {"to": "a"}))
    conversation.turn(("send", {"to": "a"}))
    answer = conversation.messages[-1]
    assert (answer.status, answer.outcome.kind, answer.outcome.attempts) == ("error", FailureKind.SKIPPED, 0)


def test_equal_calls_of_one_turn_are_meant_and_all_run() -> None:
    conversation = Conversation(ToolNode([send]))
    conversation.turn(*[SEND] * 3)
    conversation.turn(*[SEND] * 2)
    conversation.turn(*[SEND] * 2)
    assert ran == ["a"] * 5


def test_what_failed_may_be_tried_again_at_once() -> None:
    @tool
    def unsure() -> str:
        """Fail."""
        ran.append("tried")
        raise ToolException("busy")

    conversation = Conversation(ToolNode([unsure]))
    conversation.turn(("unsure", {}))
    conversation.turn(("unsure", {}))
    assert ran == ["tried"] * 2


@tool(timeout=0.05)
async def lose(to: str) -> str:
    """Send, and get no answer."""
    ran.append(to)
    if to == "slow":
        await asyncio.sleep(60)
    raise ConnectionResetError("reset")


@pytest.mark.parametrize("to", ["slow", "far"])
@pytest.mark.parametrize("form", FORMS)
def test_an_effect_that_may_have_happened_is_not_repeated_at_the_first_asking(form: Form, to: str) -> None:
    conversation = Conversation(ToolNode([lose]), form)
    (first,) = conversation.turn(("lose", {"to": to}))
    (answer,) = conversation.turn(("lose", {"to": to}))
    assert answer.startswith(
        "This may have been done already, in an earlier step, and was not done again "
        "(for that, the same call would have to come once more). All that is known: "
    )
    assert first.partition("[error ")[0].strip() in answer
    assert answer.endswith("Tell the user that it may have been done.")
    assert ran == [to]
    conversation.turn(("lose", {"to": to}))
    assert ran == [to, to]


NOT_KNOWN = [
    (import_module("surehand.messages.transcripts"), "_NO_RESULT", ""),
    (import_module("surehand.calls.recovery"), "_CUT_OFF", ". Find out before you call it again."),
    (import_module("surehand.calls.recovery"), "_CUT_OFF", "; the tool itself could not tell."),
    (import_module("surehand.calls.run"), "_CANCELLED", ""),
    (import_module("surehand.calls.run"), "_CANCELLED_ITSELF", ""),
]
"""Where the words stand that a payload keeps of a call of which nobody knows, and how they go on."""


@pytest.mark.parametrize(("module", "name", "rest"), NOT_KNOWN)
@pytest.mark.parametrize("form", FORMS)
def test_what_a_payload_says_of_a_call_that_nobody_knows_of_is_a_doubt(
    form: Form, module: Any, name: str, rest: str
) -> None:
    told = getattr(module, name) + rest
    conversation = Conversation(ToolNode([send]), form)
    conversation.messages += [conversation.reply(SEND), {"role": "tool", "tool_call_id": "c0", "content": told}]
    (answer,) = conversation.turn(SEND)
    assert answer.startswith(REPEATED_IN_DOUBT)
    assert ran == []
    conversation.turn(SEND)
    assert ran == ["a"]


def test_a_tool_that_says_that_something_else_may_have_happened_leaves_no_doubt() -> None:
    @tool
    def book() -> str:
        """Book it."""
        ran.append("tried")
        raise ToolException("The day is full: another booking may have happened meanwhile.")

    conversation = Conversation(ToolNode([book]))
    conversation.turn(("book", {}))
    conversation.turn(("book", {}))
    assert ran == ["tried"] * 2


def test_what_says_that_nothing_happened_is_not_in_doubt() -> None:
    @tool
    def refused(to: str) -> str:
        """Reach nobody."""
        ran.append(to)
        raise ConnectionRefusedError("refused")

    conversation = Conversation(ToolNode([refused]))
    conversation.turn(("refused", {"to": "a"}))
    conversation.turn(("refused", {"to": "a"}))
    assert ran == ["a", "a"]


def test_a_call_that_the_end_of_its_turn_kept_from_running_is_not_in_doubt() -> None:
    @tool
    async def refuse() -> str:
        """End the turn."""
        raise PermissionError

    node = ToolNode([refuse, send], fatal=(PermissionError,), max_concurrency=1, limits=Limits(calls=2))
    calls: list[dict[str, Any]] = [
        {"id": "1", "name": "refuse", "args": {}},
        {"id": "2", "name": "send", "args": {"to": "a"}},
    ]
    turn = AIMessage(tool_calls=calls)
    with pytest.raises(PermissionError) as caught:
        node.invoke([turn])
    answers: list[ToolMessage] = vars(caught.value)["tool_messages"]
    assert kinds(answers) == [FailureKind.EXCEPTION, FailureKind.CANCELLED]

    again = AIMessage(tool_calls=[{"id": "3", "name": "send", "args": {"to": "a"}}])
    assert kinds(node.invoke([turn, *answers, again])) == [None]
    assert ran == ["a"]


@pytest.mark.parametrize("safe", [{"read_only": True}, {"idempotent": True}, {"repeat_guard": False}])
def test_what_may_happen_twice_may_be_tried_again_at_once(safe: dict[str, Any]) -> None:
    conversation = Conversation(ToolNode([lose], overrides={"lose": ToolOptions(retry=None, **safe)}))
    conversation.turn(("lose", {"to": "slow"}))
    conversation.turn(("lose", {"to": "slow"}))
    assert ran == ["slow", "slow"]


@pytest.mark.parametrize("form", FORMS)
def test_another_spelling_of_a_number_is_the_same_call(form: Form) -> None:
    conversation = Conversation(ToolNode([pay]), form)
    spelt: list[Any] = [{"sum": 20}, {"sum": 20.0}, '{"sum": 2e1}', {"sum": 20}]
    conversation.turn(("pay", {"sum": 21}))
    for args in spelt:
        conversation.turn(("pay", args))
    assert ran == [21, 20, 20]


def test_a_call_that_a_middleware_ran_twice_is_guarded_too() -> None:
    def twice(request: ToolCallRequest, run: Run) -> ToolMessage:
        run(request)
        return run(request)

    conversation = Conversation(ToolNode([send], middleware=[twice], limits=Limits(calls=9)))
    conversation.turn(SEND)
    (answer,) = conversation.turn(SEND)
    assert answer.startswith(REPEATED)
    assert answer.endswith("It was answered: sent to a\nTell the user what came of it.")
    assert ran == ["a"]


@pytest.mark.parametrize("form", FORMS)
def test_a_result_that_quotes_an_error_of_ours_is_no_failure(form: Form) -> None:
    @tool
    def forward() -> str:
        """Forward a mail."""
        ran.append("mail")
        return "Forwarded: 'it broke [error 0123abcd], please help'"

    conversation = Conversation(ToolNode([forward]), form)
    conversation.turn(("forward", {}))
    (answer,) = conversation.turn(("forward", {}))
    assert answer.startswith(REPEATED)


@pytest.mark.parametrize("form", FORMS)
def test_a_call_that_was_skipped_because_of_another_runs_when_it_comes_again(form: Form) -> None:
    conversation = Conversation(ToolNode([fail, send], sequential=True, stop_on_failure=True), form)
    conversation.turn(("fail", {"x": 1}), SEND)
    assert conversation.turn(SEND) == ["sent to a"]


@pytest.mark.parametrize("form", FORMS)
def test_a_call_that_found_no_thread_runs_when_it_comes_again(form: Form) -> None:
    conversation = Conversation(ToolNode([send]), form)

    @tool("send")
    def exhausted(to: str) -> str:
        """Find no thread."""
        raise WorkersExhausted

    full = Conversation(ToolNode([exhausted]), form)
    full.turn(SEND)
    conversation.messages = full.messages
    assert conversation.turn(("send", {"to": "a"})) == ["sent to a"]


def test_a_message_with_arguments_that_are_no_json_keeps_no_turn_from_its_answers() -> None:
    odd: Any = {"to": {1: "a", "b": 2}}
    conversation = Conversation(ToolNode([send, look]))
    conversation.turn(("send", odd))
    assert conversation.turn(("send", odd), SEND, LOOK)[1:] == ["sent to a", "value of k"]


def test_another_word_is_another_call() -> None:
    conversation = Conversation(ToolNode([send]))
    conversation.turn(("send", {"to": "a"}))
    assert conversation.turn(("send", {"to": "a", "note": "x"})) == ["sent to a"]


def test_another_run_may_want_the_same_again() -> None:
    conversation = Conversation(ToolNode([send]))
    conversation.turn(("send", {"to": "a"}))
    conversation.say("and once more")
    assert conversation.turn(("send", {"to": "a"})) == ["sent to a"]


@pytest.mark.parametrize("options", [{"read_only": True}, {"idempotent": True}, {"repeat_guard": False}])
def test_tools_that_may_run_twice_and_those_that_say_so_are_not_guarded(options: dict[str, Any]) -> None:
    @tool(**options)
    def act() -> str:
        """Do something."""
        ran.append("acted")
        return "done"

    conversation = Conversation(ToolNode([act], no_progress=None))
    for _ in range(3):
        conversation.turn(("act", {}))
    assert ran == ["acted"] * 3


def test_a_call_that_the_guard_answers_uses_up_nothing() -> None:
    conversation = Conversation(ToolNode([send], limits=Limits(calls=2)))
    conversation.turn(("send", {"to": "a"}))
    conversation.turn(("send", {"to": "a"}))
    assert conversation.turn(("send", {"to": "b"})) == ["sent to b"]


def test_a_long_earlier_result_is_told_in_short() -> None:
    @tool
    def dump() -> str:
        """Say a lot."""
        return "x" * 10_000

    conversation = Conversation(ToolNode([dump]))
    conversation.turn(("dump", {}))
    (answer,) = conversation.turn(("dump", {}))
    assert len(answer) < 2_500


def test_the_result_of_a_command_is_a_result_like_any_other() -> None:
    @tool
    def move() -> Command[Any]:
        """Go on elsewhere."""
        ran.append("moved")
        return Command(goto="elsewhere")

    node = ToolNode([move], commands=True)
    reply = AIMessage(tool_calls=[{"id": "1", "name": "move", "args": {}}])
    (update, _) = node.invoke([HumanMessage("go"), reply])
    again = AIMessage(tool_calls=[{"id": "2", "name": "move", "args": {}}])
    node.invoke([HumanMessage("go"), reply, *update.update, again])
    assert ran == ["moved"]
