"""Calls that need an approval: asked of whoever resumes the run, and decided in one of four ways."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from support.kept import THREAD, Door, answers_in, by_both_doors, kept, questions_in, turn_of
from support.turns import turn as bare_turn
from surehand import (
    END,
    START,
    AIMessage,
    ApprovalRequired,
    Command,
    HumanMessage,
    InterruptError,
    Message,
    MessagesState,
    ResultCache,
    RetryPolicy,
    SingleFlight,
    StateGraph,
    ToolContext,
    ToolException,
    ToolMessage,
    ToolNode,
    check_answer,
    create_agent,
    tool,
)
from surehand.checkpoints.memory import MemorySaver
from surehand.events import CallFinished
from surehand.testing import FunctionModel, record_events

RAN: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    RAN.clear()


@tool(requires_approval=True)
def pay(amount: int, to: str = "Ann") -> str:
    """Pay somebody."""
    RAN.append((amount, to))
    return f"paid {amount} to {to}"


@tool
def look() -> str:
    """Look."""
    RAN.append("look")
    return "seen"


PAY = ("pay", {"amount": 5})


def decided(answer: Any, *tools: Any, call: Any = PAY, **options: Any) -> ToolMessage:
    """How a call ends that is asked about and decided so."""
    graph = kept(*(tools or (pay,)), **options)
    (question,) = questions_in(graph.invoke(turn_of(call), THREAD))
    check_answer(question, answer)
    (answered,) = answers_in(graph.invoke(Command(resume=answer), THREAD))
    return answered


def kind(answer: ToolMessage) -> Any:
    return None if answer.outcome is None else answer.outcome.kind


@by_both_doors
def test_a_call_that_needs_an_approval_asks_with_all_that_is_to_be_known(run: Door) -> None:
    graph = kept(pay, look)
    state = run(graph, turn_of(PAY, "look"))
    (question,) = questions_in(state)
    assert (question.kind, question.call_id, question.tool, question.expires_at) == ("approval", "c0", "pay", None)
    shown = dict(question.value)
    assert len(shown.pop("schema")) == 32
    assert shown == {
        "tool": "pay",
        "description": "Pay somebody.",
        "arguments": {"amount": 5},
        "call_id": "c0",
        "decisions": ["approve", "edit", "reject", "respond"],
    }
    assert RAN == ["look"]

    state = run(graph, Command(resume=True))
    assert [answer.text for answer in answers_in(state)] == ["paid 5 to Ann", "seen"]
    assert RAN == ["look", (5, "Ann")]


@pytest.mark.parametrize("answer", [True, "approve", {"type": "approve"}, {"decisions": [{"type": "approve"}]}])
def test_what_is_approved_runs(answer: Any) -> None:
    assert decided(answer).text == "paid 5 to Ann"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (False, "It was not approved."),
        ("reject", "It was not approved."),
        ({"type": "reject", "message": "Too much."}, "Too much."),
    ],
)
def test_what_is_rejected_does_not_run_and_the_model_is_told_why(answer: Any, words: str) -> None:
    answered = decided(answer)
    assert (RAN, kind(answered), answered.status) == ([], "denied", "error")
    assert answered.text == f"The call was not executed. {words}"


def test_the_words_of_a_human_stand_as_the_answer() -> None:
    answered = decided({"type": "respond", "message": "I have paid it myself."})
    assert (RAN, answered.text, answered.status, kind(answered)) == ([], "I have paid it myself.", "success", None)
    assert answered.outcome is not None
    assert (answered.outcome.attempts, answered.outcome.notes) == (0, ("answered by a human in the tool's place",))


def test_the_words_of_a_human_stand_also_where_a_tool_returns_pairs() -> None:
    @tool(requires_approval=True, response_format="content_and_artifact")
    def draw() -> tuple[str, Any]:
        """Draw."""
        return "drawn", [1]

    answered = decided({"type": "respond", "message": "Here."}, draw, call="draw")
    assert (answered.text, answered.artifact) == ("Here.", None)


@pytest.mark.parametrize(
    "answer",
    [
        {"type": "edit", "args": {"amount": 1, "to": "Bob"}},
        {"decisions": [{"type": "edit", "edited_action": {"name": "pay", "args": {"amount": 1, "to": "Bob"}}}]},
    ],
)
def test_what_is_edited_runs_with_the_new_arguments_and_the_model_is_told_them(answer: Any) -> None:
    answered = decided(answer)
    assert RAN == [(1, "Bob")]
    assert answered.text == (
        'paid 1 to Bob\n\n[A human changed the arguments; the call ran with {"amount": 1, "to": "Bob"}]'
    )
    assert answered.outcome is not None
    assert answered.outcome.repairs == ("a human changed the arguments",)


def test_what_is_edited_to_the_same_is_approved() -> None:
    assert decided({"type": "edit", "args": {"amount": 5}}).text == "paid 5 to Ann"


def test_of_a_call_that_failed_the_model_is_told_the_edit_too() -> None:
    @tool(requires_approval=True)
    def fail(amount: int) -> str:
        """Fail."""
        raise ToolException(f"no {amount}")

    answered = decided({"type": "edit", "args": {"amount": 1}}, fail, call=("fail", {"amount": 5}))
    assert answered.text == 'no 1\n\n[A human changed the arguments; the call ran with {"amount": 1}]'


def test_edited_arguments_are_typed_and_their_attempts_are_too() -> None:
    seen: list[Any] = []

    @tool(requires_approval=True, retry=RetryPolicy(initial_interval=0.001))
    def collect(items: list[int]) -> str:
        """Collect, and change what came."""
        seen.append(list(items))
        items.clear()
        if len(seen) == 1:
            raise ToolException("busy", retryable=True)
        return "done"

    decided({"type": "edit", "args": {"items": [1, 2]}}, collect, call=("collect", {"items": [3]}))
    assert seen == [[1, 2], [1, 2]]


@pytest.mark.parametrize("args", [{"amount": "much"}, {"amount": 1, "too": "Bob"}, {}])
def test_an_edit_that_the_tool_does_not_take_is_refused_when_it_is_given(args: dict[str, Any]) -> None:
    graph = kept(pay)
    (question,) = questions_in(graph.invoke(turn_of(PAY), THREAD))
    with pytest.raises(InterruptError, match="does not take the edited arguments"):
        check_answer(question, {"type": "edit", "args": args})


def test_an_edit_is_checked_before_any_call_asks_in_the_process() -> None:
    saver = MemorySaver()
    (question,) = questions_in(kept(pay, saver=saver).invoke(turn_of(PAY), THREAD))

    @tool(requires_approval=True)
    def pay_anew(amount: int) -> str:
        """Pay."""
        return ""

    node = ToolNode([pay_anew])
    digest = next(iter(node._host.table)).edits.digest  # pyright: ignore[reportPrivateUsage] # noqa: SLF001 - what another process would know
    asked_elsewhere = replace(question, value={**question.value, "tool": "pay_anew", "schema": digest})
    with pytest.raises(InterruptError, match="pay_anew"):
        check_answer(asked_elsewhere, {"type": "edit", "args": {"amount": "much"}})


# Which question it is


def test_answers_to_what_was_shown_are_no_answers_to_anything_else() -> None:
    saver = MemorySaver()
    (first,) = questions_in(kept(pay, saver=saver).invoke(turn_of(PAY), THREAD))

    def changed() -> Any:
        @tool(requires_approval=True, name="pay")
        def pay_otherwise(amount: float, to: str = "Ann") -> str:
            """Pay somebody."""
            RAN.append("otherwise")
            return "paid"

        return pay_otherwise

    state = kept(changed(), saver=saver).invoke(Command(resume=True), THREAD)
    (second,) = questions_in(state)
    assert (second.id != first.id, RAN) == (True, [])


def test_arguments_that_the_call_would_run_without_are_not_shown() -> None:
    graph = kept(pay)
    (question,) = questions_in(graph.invoke(turn_of(("pay", {"amount": "5", "surplus": 1})), THREAD))
    assert question.value["arguments"] == {"amount": "5"}  # what the tool does not know is left out when it runs


def test_only_the_calls_that_the_rule_names_ask() -> None:
    @tool(requires_approval=lambda args: args.amount > 100)
    def send(amount: int) -> str:
        """Send."""
        return f"sent {amount}"

    graph = kept(send)
    state = graph.invoke(turn_of(("send", {"amount": 5}), ("send", {"amount": 500})), THREAD)
    assert [question.call_id for question in questions_in(state)] == ["c1"]


def test_each_of_several_approvals_is_that_of_its_call() -> None:
    graph = kept(pay)
    state = graph.invoke(turn_of(PAY, PAY, ("pay", {"amount": 6})), THREAD)
    ids = [question.id for question in questions_in(state)]
    state = graph.invoke(Command(resume={ids[0]: True, ids[1]: False}), THREAD)
    assert [question.id for question in questions_in(state)] == [ids[2]]
    state = graph.invoke(Command(resume={ids[2]: {"type": "respond", "message": "later"}}), THREAD)
    assert [kind(answer) for answer in answers_in(state)] == [None, "denied", None]
    assert RAN == [(5, "Ann")]


@pytest.mark.parametrize(("answer", "ran"), [("reject", []), ({"type": "edit", "args": {"amount": 1}}, [(1, "Ann")])])
def test_what_somebody_decided_counts_where_by_now_nobody_would_be_asked(answer: Any, ran: list[Any]) -> None:
    asks = [True]

    def rule(_: Any) -> bool:
        return bool(asks)

    graph = kept(pay.with_config(requires_approval=rule))
    graph.invoke(turn_of(PAY), THREAD)
    asks.clear()
    graph.invoke(Command(resume=answer), THREAD)
    assert ran == RAN


# Expiry


def test_an_approval_that_comes_too_late_is_none() -> None:
    graph = kept(pay, approval_timeout=0.02)
    (question,) = questions_in(graph.invoke(turn_of(PAY), THREAD))
    assert question.expires_at == pytest.approx(question.asked_at + 0.02)
    time.sleep(0.03)
    (answered,) = answers_in(graph.invoke(Command(resume=True), THREAD))
    assert (RAN, kind(answered)) == ([], "expired")
    assert answered.text == "The call was not executed. Nobody approved it within 0.02 seconds."


@pytest.mark.parametrize("is_answered", [True, False])
def test_an_approval_that_has_expired_stays_expired_while_others_are_waited_for(*, is_answered: bool) -> None:
    @tool(requires_approval=True)
    def sign(name: str) -> str:
        """Sign."""
        RAN.append(name)
        return "signed"

    brief = pay.with_config(approval_timeout=0.02)
    graph = kept(brief, sign)
    state = graph.invoke(turn_of(PAY, ("sign", {"name": "a"}), ("sign", {"name": "b"})), THREAD)
    late, *rest = questions_in(state)
    time.sleep(0.03)
    for question in [late, *rest] if is_answered else rest:
        state = graph.invoke(Command(resume={question.id: True}), THREAD)
    assert [kind(answer) for answer in answers_in(state)] == ["expired", None, None]
    assert RAN == ["a", "b"]


# The host's own function, and nobody


def test_an_agent_that_a_node_runs_by_itself_has_nobody_to_ask() -> None:
    def reply(messages: list[Message]) -> AIMessage:
        if messages[-1].type == "tool":
            return AIMessage(messages[-1].text)
        return AIMessage(tool_calls=[{"id": "c0", "name": "pay", "args": {"amount": 5}}])

    agent = create_agent(FunctionModel(reply), [pay])

    def by_itself(state: MessagesState) -> Any:  # begun anew by each resume, it would make another call that asks
        return {"messages": agent.invoke({"messages": "Pay."})["messages"][-1:]}

    graph = (
        StateGraph(MessagesState).add_node("by itself", by_itself).add_edge(START, "by itself").compile(MemorySaver())
    )
    result = graph.invoke({"messages": []}, THREAD)
    assert result["messages"][-1].text.endswith("needs a human's approval, and nobody can be asked here.")
    assert RAN == []


def test_the_host_is_asked_before_whoever_resumes() -> None:
    def approve(*_: object) -> str:
        return "Not today."

    graph = kept(pay, approve=approve)
    (answered,) = answers_in(graph.invoke(turn_of(PAY), THREAD))
    assert answered.text == "The call was not executed. Not today."


def test_outside_of_a_kept_graph_nobody_can_be_asked() -> None:
    (answered,) = ToolNode([pay]).invoke([bare_turn(PAY)])
    assert (kind(answered), RAN) == ("denied", [])
    graph = StateGraph(MessagesState).add_node("tools", ToolNode([pay])).add_edge(START, "tools").add_edge("tools", END)
    (answered,) = answers_in(graph.compile().invoke(turn_of(PAY)))
    assert (kind(answered), RAN) == ("denied", [])


def test_a_tool_that_a_node_calls_directly_asks_too() -> None:
    def work(_: Any) -> dict[str, Any]:
        paid = [pay.invoke({"amount": 5}), pay.invoke({"amount": 5})]
        return {"messages": [HumanMessage(", ".join(paid))]}

    graph = StateGraph(MessagesState).add_node("work", work).add_edge(START, "work").add_edge("work", END)
    compiled = graph.compile(checkpointer=MemorySaver())
    state = compiled.invoke({"messages": "go"}, THREAD)
    for _ in range(2):
        assert len(questions_in(state)) == 1
        state = compiled.invoke(Command(resume=True), THREAD)
    assert state["messages"][-1].text == "paid 5 to Ann, paid 5 to Ann"


# Bodies that want an approval


@tool
def refund(amount: int, ctx: ToolContext) -> str:
    """Give money back."""
    RAN.append("looked")
    if amount > 100 and not ctx.is_approved:
        raise ApprovalRequired("More than 100.", limit=100)
    RAN.append(amount)
    return f"refunded {amount}"


REFUND = ("refund", {"amount": 500})


@by_both_doors
def test_a_body_that_wants_an_approval_asks_and_runs_again(run: Door) -> None:
    graph = kept(refund)
    (question,) = questions_in(run(graph, turn_of(REFUND)))
    assert question.kind == "approval"
    assert (question.value["reason"], question.value["metadata"]) == ("More than 100.", {"limit": 100})
    (answered,) = answers_in(run(graph, Command(resume=True)))
    assert answered.text == "refunded 500"
    assert RAN.count(500) == 1


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (False, "The call was not executed. It was not approved."),
        ({"type": "respond", "message": "Done by hand."}, "Done by hand."),
        (
            {"type": "edit", "args": {"amount": 200}},
            'refunded 200\n\n[A human changed the arguments; the call ran with {"amount": 200}]',
        ),
    ],
)
def test_what_a_body_wanted_is_decided_like_anything_else(answer: Any, text: str) -> None:
    assert decided(answer, refund, call=REFUND).text == text
    assert 500 not in RAN


def test_where_nobody_can_be_asked_the_words_of_the_body_are_told() -> None:
    (answered,) = ToolNode([refund]).invoke([bare_turn(REFUND)])
    assert (kind(answered), answered.text) == ("denied", "More than 100.")


def test_the_host_is_asked_what_a_body_wants() -> None:
    asked: list[Any] = []

    def approve(name: str, arguments: Any) -> bool:
        asked.append((name, arguments["amount"]))
        return True

    (answered,) = ToolNode([refund], approve=approve).invoke([bare_turn(REFUND)])
    assert (answered.text, asked) == ("refunded 500", [("refund", 500)])


def test_a_body_that_wants_more_than_an_approval_is_the_developers_fault() -> None:
    @tool
    def insatiable() -> str:
        """Never be content."""
        raise ApprovalRequired("Again.")

    answered = decided(True, insatiable, call="insatiable")
    assert (kind(answered), "not in your arguments" in answered.text) == ("internal", True)


def test_to_be_approved_takes_no_attempt_from_the_retries() -> None:
    tries: list[int] = []

    @tool(retry=RetryPolicy(max_attempts=2, initial_interval=0.001))
    def shaky(ctx: ToolContext) -> str:
        """Want an approval, then fail once."""
        if not ctx.is_approved:
            raise ApprovalRequired
        tries.append(1)
        if len(tries) == 1:
            raise ToolException("busy", retryable=True)
        return "done"

    assert decided(True, shaky, call="shaky").text == "done"


def test_an_approved_call_is_announced_with_how_it_ended() -> None:
    events = record_events()
    answered = decided({"type": "respond", "message": "Done by hand."}, refund, call=REFUND, listener=events)
    finished = events.of(CallFinished)[-1]
    assert finished.outcome == answered.outcome


# Beside middlewares that give one result to several calls


def test_equal_calls_are_each_decided_about() -> None:
    @tool(read_only=True, requires_approval=True)
    def read(path: str) -> str:
        """Read a file."""
        RAN.append(path)
        return "text"

    graph = kept(read, middleware=[SingleFlight()])
    first, second = questions_in(graph.invoke(turn_of(*[("read", {"path": "a"})] * 2), THREAD))
    state = graph.invoke(Command(resume={first.id: True, second.id: False}), THREAD)
    assert [kind(answer) for answer in answers_in(state)] == [None, "denied"]
    assert RAN == ["a"]


@pytest.mark.parametrize(
    ("answer", "kept_results"),
    [(True, 1), ({"type": "edit", "args": {"path": "b"}}, 0), ({"type": "respond", "message": "text"}, 0)],
)
def test_what_a_human_had_a_hand_in_is_not_kept_for_others(answer: Any, kept_results: int) -> None:
    @tool(read_only=True)
    def read(path: str, ctx: ToolContext) -> str:
        """Read a file that somebody has to allow."""
        if not ctx.is_approved:
            raise ApprovalRequired
        return f"text of {path}"

    cache = ResultCache(key=lambda _: "all")
    decided(answer, read, call=("read", {"path": "a"}), middleware=[cache])
    assert len(cache) == kept_results
