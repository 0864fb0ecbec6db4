"""Calls that were interrupted while they ran: run again, found out, asked about, or told as the doubt that they are."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from typing import Any

import pytest

from support.kept import THREAD, Door, answers_in, by_both_doors, kept, questions_in, turn_of
from surehand import (
    REMOVE_ALL_MESSAGES,
    START,
    AIMessage,
    BaseTool,
    CallKey,
    Command,
    DidNotHappen,
    DoubtfulCall,
    Happened,
    HumanMessage,
    MemoryJournal,
    MessagesState,
    OptionError,
    RemoveMessage,
    SavedJournal,
    StateGraph,
    ToolContext,
    ToolMessage,
    ToolNode,
    ToolReturn,
    tool,
)
from surehand.calls.journal import digest_of
from surehand.checkpoints.memory import MemorySaver

RAN: list[Any] = []
KEYS: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    RAN.clear()
    KEYS.clear()


def pay(amount: int, ctx: ToolContext) -> str:
    """Pay."""
    RAN.append(amount)
    KEYS.append(ctx.idempotency_key)
    return f"paid {amount}"


TURN = AIMessage(id="m", tool_calls=[{"id": "c0", "name": "pay", "args": {"amount": 5}}])
KEY = CallKey(thread_id="t", message_id="m", position=0, call_id="c0", tool="pay", digest=digest_of({"amount": 5}))


def begun(journal: Any = None) -> Any:
    """A journal in which the call was begun by a process that is gone."""
    journal = MemoryJournal() if journal is None else journal
    assert asyncio.run(journal.begin(KEY, None))
    return journal


def after_a_crash(journal: Any = None, *, is_sync: bool = True, context: Any = None, **options: Any) -> ToolMessage:
    """How the call ends when its turn is run again."""
    options = {"timeout": None, **options}
    node = ToolNode([tool(**options)(pay)], journal=begun() if journal is None else journal)
    messages = [HumanMessage("go"), TURN]
    if is_sync:
        (answer,) = node.invoke(messages, THREAD, context=context)
    else:
        (answer,) = asyncio.run(node.ainvoke(messages, THREAD, context=context))
    assert isinstance(answer, ToolMessage)
    return answer


def kind(answer: ToolMessage) -> Any:
    return None if answer.outcome is None else answer.outcome.kind


def state_of(journal: Any) -> Any:
    known = asyncio.run(journal.recall(KEY))
    return known.state, known.version


def test_what_nobody_can_tell_is_told_as_a_doubt_each_time() -> None:
    journal = begun()
    texts = {after_a_crash(journal).text for _ in range(2)}
    (text,) = texts
    assert (RAN, kind(after_a_crash(journal))) == ([], "unknown_outcome")
    assert text == (
        "This call was interrupted while it ran. It may have happened, wholly or in part. "
        "Find out before you call it again."
    )


@pytest.mark.parametrize("options", [{"idempotent": True}, {"read_only": True}])
def test_what_may_run_twice_runs_again_with_the_same_key(options: dict[str, bool]) -> None:
    assert after_a_crash(**options).text == "paid 5"
    assert [KEY.idempotency_key] == KEYS


def asked_about(found: Any, *, is_async: bool) -> Any:
    """A ``reconcile`` that notes what it is asked."""

    def reconcile(call: DoubtfulCall) -> Any:
        KEYS.append(call.idempotency_key)
        RAN.append(call)
        if isinstance(found, Exception):
            raise found
        return found

    async def reconcile_on_loop(call: DoubtfulCall) -> Any:
        await asyncio.sleep(0)
        return reconcile(call)

    return reconcile_on_loop if is_async else reconcile


def known_before(_: DoubtfulCall) -> Happened:
    return Happened("known")


both_kinds = pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
both_doors = pytest.mark.parametrize("is_sync", [True, False], ids=["sync", "async door"])


@both_kinds
@both_doors
def test_a_tool_that_knows_that_it_happened_gives_the_result(*, is_async: bool, is_sync: bool) -> None:
    journal = begun()
    reconcile = asked_about(Happened("paid 5 before"), is_async=is_async)
    answer = after_a_crash(journal, is_sync=is_sync, reconcile=reconcile, context="the host's")
    assert (answer.text, answer.status, kind(answer)) == ("paid 5 before", "success", None)
    assert answer.outcome is not None
    assert answer.outcome.notes == ("it had run before the program was interrupted",)
    (call,) = RAN
    assert (call.call_id, call.tool_name, call.arguments, call.thread_id) == ("c0", "pay", {"amount": 5}, "t")
    assert (call.idempotency_key, call.context) == (KEY.idempotency_key, "the host's")
    assert abs(time.time() - call.begun_at) < 60

    assert state_of(journal) == ("done", 3)
    assert after_a_crash(journal, reconcile=reconcile).text == "paid 5 before"
    assert len(RAN) == 1


@both_kinds
@both_doors
@pytest.mark.parametrize("found", [DidNotHappen(), DidNotHappen])
def test_a_tool_that_knows_that_it_did_not_happen_runs(found: Any, *, is_async: bool, is_sync: bool) -> None:
    journal = begun()
    answer = after_a_crash(journal, is_sync=is_sync, reconcile=asked_about(found, is_async=is_async))
    assert answer.text == "paid 5"
    assert [KEY.idempotency_key] * 2 == KEYS
    assert state_of(journal) == ("done", 3)


@both_kinds
@pytest.mark.parametrize("found", [None, ValueError("the bank is closed"), "paid", Happened])
def test_a_tool_that_cannot_tell_leaves_the_doubt(
    found: Any, caplog: pytest.LogCaptureFixture, *, is_async: bool
) -> None:
    answer = after_a_crash(reconcile=asked_about(found, is_async=is_async))
    assert (kind(answer), KEYS) == ("unknown_outcome", [KEY.idempotency_key])
    assert "wholly or in part; the tool itself could not tell. Find out" in answer.text
    assert ("failed" in caplog.text) == (found is not None)
    assert "bank" not in answer.text


@both_doors
def test_a_tool_that_takes_too_long_to_tell_leaves_the_doubt(*, is_sync: bool) -> None:
    async def reconcile(_: DoubtfulCall) -> Any:
        await asyncio.Event().wait()

    over, late = threading.Event(), list[str]()

    def reconcile_on_thread(_: DoubtfulCall) -> Any:
        over.wait(30)
        late.append("late")

    for function in (reconcile, reconcile_on_thread):
        answer = after_a_crash(reconcile=function, timeout=0.02, is_sync=is_sync)
        assert (kind(answer), late) == ("unknown_outcome", [])
    over.set()


def test_what_may_run_twice_is_not_asked_about() -> None:
    assert after_a_crash(reconcile=asked_about(Happened("x"), is_async=False), idempotent=True).text == "paid 5"
    assert RAN == [5]


def test_what_had_happened_may_be_any_result_of_a_tool() -> None:
    found = Happened(ToolReturn("read this", artifact=[1]))
    answer = after_a_crash(reconcile=asked_about(found, is_async=False))
    assert (answer.text, answer.artifact) == ("read this", [1])


def test_a_command_that_had_happened_is_accepted_as_from_the_body() -> None:
    reconcile = asked_about(Happened(Command(update={"x": 1})), is_async=False)
    assert kind(after_a_crash(reconcile=reconcile)) == "internal"

    node = ToolNode([tool(reconcile=reconcile)(pay)], journal=begun(), commands=True)
    messages, command = node.invoke([HumanMessage("go"), TURN], THREAD)
    assert (len(messages.update), command.update) == (1, {"x": 1})


def test_a_class_can_find_out_by_a_method() -> None:
    class Pay(BaseTool):
        """Pay."""

        def _run(self, amount: int) -> str:
            return f"paid {amount}"

        def reconcile(self, call: DoubtfulCall) -> Any:
            return Happened(f"{self.name} {call.arguments['amount']} before")

    node = ToolNode([Pay()], journal=begun())
    (answer,) = node.invoke([HumanMessage("go"), TURN], THREAD)
    assert answer.text == "pay 5 before"


@pytest.mark.parametrize("options", [{"reconcile": "x"}, {"on_unknown": "retry"}, {"approval_timeout": 0}])
def test_what_cannot_be_meant_is_refused(options: Any) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        tool(**options)(pay)


def test_two_runs_that_find_out_at_a_time_run_the_body_once() -> None:
    async def reconcile(_: DoubtfulCall) -> Any:
        await asyncio.sleep(0.01)
        return DidNotHappen()

    node = ToolNode([tool(reconcile=reconcile)(pay)], journal=begun())

    async def main() -> list[Any]:
        return await asyncio.gather(*(node.ainvoke([HumanMessage("go"), TURN], THREAD) for _ in range(5)))

    assert {answers[0].text for answers in asyncio.run(main())} == {"paid 5"}
    assert RAN == [5]


# Asked of a human


def stopped(saver: MemorySaver, **options: Any) -> Any:
    """A graph whose run was cut off in the body of its one call."""

    @tool(name="pay", **options)
    def crash(amount: int) -> str:
        """Pay."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept(crash, saver=saver).invoke(turn_of(("pay", {"amount": 5})), THREAD)
    return kept(tool(**options)(pay), saver=saver)


@by_both_doors
@pytest.mark.parametrize(
    ("answer", "text", "ran"),
    [
        ("run_again", "paid 5", [5]),
        ({"type": "done", "result": "paid by hand"}, "paid by hand", []),
        ({"type": "done", "result": None}, "(no output)", []),
    ],
)
def test_a_human_decides_what_becomes_of_it(answer: Any, text: str, ran: list[int], run: Door) -> None:
    graph = stopped(MemorySaver(), on_unknown="ask")
    (question,) = questions_in(run(graph, None))
    assert (question.kind, question.call_id, question.tool) == ("doubt", "c0", "pay")
    shown = dict(question.value)
    assert abs(time.time() - shown.pop("begun_at")) < 60
    assert shown == {
        "tool": "pay",
        "description": "Pay.",
        "arguments": {"amount": 5},
        "call_id": "c0",
        "problem": "This call was interrupted while it ran. It may have happened, wholly or in part.",
        "decisions": ["run_again", "done", "give_up"],
    }
    (answered,) = answers_in(run(graph, Command(resume=answer)))
    assert (answered.text.split("(")[0], RAN) == (text.split("(", maxsplit=1)[0], ran)


def test_a_human_who_gives_up_leaves_the_doubt() -> None:
    graph = stopped(MemorySaver(), on_unknown="ask")
    graph.invoke(None, THREAD)
    (answered,) = answers_in(graph.invoke(Command(resume="give_up"), THREAD))
    assert (kind(answered), RAN) == ("unknown_outcome", [])


def test_a_tool_that_can_tell_spares_the_human() -> None:
    graph = stopped(MemorySaver(), on_unknown="ask", reconcile=known_before)
    assert answers_in(graph.invoke(None, THREAD))[0].text == "known"


def test_each_interruption_is_a_doubt_of_its_own() -> None:
    saver = MemorySaver()
    stopped(saver, on_unknown="ask")
    tries: list[int] = []

    @tool(name="pay", on_unknown="ask")
    def crash_again(amount: int) -> str:
        """Pay."""
        tries.append(amount)
        raise KeyboardInterrupt

    graph = kept(crash_again, saver=saver)
    (first,) = questions_in(graph.invoke(None, THREAD))
    with pytest.raises(KeyboardInterrupt):
        graph.invoke(Command(resume="run_again"), THREAD)
    (second,) = questions_in(graph.invoke(None, THREAD))
    assert (first.id != second.id, tries) == (True, [5])


def test_without_anybody_to_ask_the_model_is_told() -> None:
    assert kind(after_a_crash(on_unknown="ask")) == "unknown_outcome"


def test_an_approved_call_that_was_interrupted_is_not_approved_again() -> None:
    saver = MemorySaver()

    @tool(name="pay", requires_approval=True, idempotent=True)
    def crash(amount: int) -> str:
        """Pay."""
        raise KeyboardInterrupt

    graph = kept(crash, saver=saver)
    assert len(questions_in(graph.invoke(turn_of(("pay", {"amount": 5})), THREAD))) == 1
    with pytest.raises(KeyboardInterrupt):
        graph.invoke(Command(resume={"type": "edit", "args": {"amount": 3}}), THREAD)

    graph = kept(tool(requires_approval=True, idempotent=True)(pay), saver=saver)
    state = graph.invoke(None, THREAD)
    assert questions_in(state) == []
    assert RAN == [3]


def test_an_approver_who_agreed_before_the_interruption_is_not_asked_again() -> None:
    asked: list[str] = []

    def approve(name: str, _: Any) -> bool:
        asked.append(name)
        return True

    node = ToolNode([tool(requires_approval=True, idempotent=True)(pay)], journal=begun(), approve=approve)
    (answer,) = node.invoke([HumanMessage("go"), TURN], THREAD)
    assert (answer.text, asked) == ("paid 5", [])


def test_a_saved_journal_recovers_like_any_other() -> None:
    saver = MemorySaver()
    journal = begun(SavedJournal(saver, "t"))
    del journal
    answer = after_a_crash(SavedJournal(saver, "t"), reconcile=known_before)
    assert answer.text == "known"


def test_the_log_names_what_could_not_tell(caplog: pytest.LogCaptureFixture) -> None:
    def look_at_the_bank(_: DoubtfulCall) -> Any:
        raise ValueError("secret")

    with caplog.at_level(logging.ERROR):
        after_a_crash(reconcile=look_at_the_bank)
    assert "look_at_the_bank of pay failed: ValueError" in caplog.text
    assert "secret" not in caplog.text


def test_nobody_is_asked_about_a_call_that_is_not_to_run_anyway() -> None:
    class Forgetful(MemoryJournal):
        """Could write down the end of no call."""

        async def finish(self, key: CallKey, answer: ToolMessage, *_: Any, **__: Any) -> None:
            pass

    looks: list[int] = []

    @tool(idempotent=True, retry=None)
    def look() -> str:
        """Look, and fail the second time."""
        looks.append(1)
        if len(looks) > 1:
            raise ValueError("no")
        return "seen"

    journal = Forgetful()
    node = ToolNode(
        [look, tool(on_unknown="ask")(pay)], journal=journal, sequential=True, stop_on_failure=True, name="tools"
    )
    graph = StateGraph(MessagesState).add_node(node).add_edge(START, "tools").compile(checkpointer=MemorySaver())
    calls: Any = [{"id": "c0", "name": "look", "args": {}}, {"id": "c1", "name": "pay", "args": {"amount": 5}}]
    turn: dict[str, Any] = {"messages": [HumanMessage("go"), AIMessage(id="m", tool_calls=calls)]}
    graph.invoke(turn, THREAD)
    state = graph.invoke({"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *turn["messages"]]}, THREAD)
    assert (questions_in(state), RAN) == ([], [5])
    assert [kind(answer) for answer in answers_in(state)] == ["exception", "unknown_outcome"]
