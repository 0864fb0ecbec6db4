"""What engines of this kind are known to get wrong, and what happens here: small programs that show it.

Questions that reach the wrong call, calls that run again on a resume or a retry, effects that nobody recorded,
hand-offs that get lost, and mistakes that are passed over in silence.
"""

from __future__ import annotations

import asyncio
import operator
import time
import uuid
from collections import Counter
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pytest
from pydantic import BaseModel

from support.postgres import postgres_server
from surehand import (
    END,
    START,
    AIMessage,
    CheckpointConflict,
    Checkpointer,
    Command,
    CompiledGraph,
    GraphDefinitionError,
    InputError,
    Interrupt,
    InterruptError,
    MemorySaver,
    Message,
    MessagesState,
    NodeError,
    OptionError,
    PostgresSaver,
    RetryPolicy,
    RoutingError,
    RunConfig,
    Send,
    SqliteSaver,
    StateGraph,
    ToolContext,
    ToolException,
    ToolMessage,
    ToolNode,
    check_transcript,
    create_agent,
    interrupt,
    tool,
)
from surehand.agent import Agent
from surehand.checkpoints import CheckpointRow
from surehand.testing import FakeClock, FunctionModel


@pytest.fixture(scope="module")
def database() -> Generator[str, None, None]:
    with postgres_server() as server:
        yield server.make_database()


@pytest.fixture(params=["sqlite", "postgres"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Checkpointer, None, None]:
    if request.param == "sqlite":
        with SqliteSaver(tmp_path / "runs.db") as file:
            yield file
    else:
        with PostgresSaver(request.getfixturevalue("database")) as server:
            yield server


@pytest.fixture
def config() -> RunConfig:
    """Names a thread that nobody else uses."""
    return {"configurable": {"thread_id": uuid.uuid4().hex}}


Calls = Sequence[tuple[str, Mapping[str, Any]]]
Result = Mapping[str, Any]


def calling(calls: Calls) -> AIMessage:
    return AIMessage(
        tool_calls=[{"id": f"call_{n}", "name": name, "args": dict(args)} for n, (name, args) in enumerate(calls)]
    )


def agent_that_calls(calls: Calls, tools: Sequence[Any], saver: Checkpointer | None, **options: Any) -> Agent:
    """An agent whose model makes these calls in one turn, and then has done; made anew for each part of a run."""

    def reply(messages: list[Message]) -> AIMessage | str:
        return "Done." if any(isinstance(message, AIMessage) for message in messages) else calling(calls)

    return create_agent(FunctionModel(reply), list(tools), checkpointer=saver, **options)


def graph_that_calls(calls: Calls, node: ToolNode, saver: Checkpointer, **options: Any) -> CompiledGraph:
    """A graph of one turn: the calls, and the node that runs them."""
    builder = StateGraph(MessagesState).add_node("model", lambda state: calling(calls))
    builder.add_node("tools", node, **options).add_edge(START, "model").add_edge("model", "tools")
    return builder.compile(saver)


def answers_in(result: Result) -> list[ToolMessage]:
    return [message for message in result["messages"] if isinstance(message, ToolMessage)]


def texts_in(result: Result) -> list[str]:
    return [message.text for message in answers_in(result)]


# Questions


def asking_tools(done: list[str], delays: Mapping[str, float], *, awaited: bool) -> list[Any]:
    """Two tools that take their time, then ask, and then do what they were allowed to."""

    def made(name: str) -> Any:
        def heard(answer: Any) -> str:
            if answer != "yes":
                return f"{name} was refused"
            done.append(name)
            return f"{name} was done"

        def here(ctx: ToolContext) -> str:
            time.sleep(delays[name])
            return heard(ctx.interrupt(f"May I {name}?"))

        async def on_loop(ctx: ToolContext) -> str:
            await asyncio.sleep(delays[name])
            return heard(ctx.interrupt(f"May I {name}?"))

        return tool(name, description=f"Ask, and {name}.")(on_loop if awaited else here)

    return [made(name) for name in ("send", "delete")]


TWO: Calls = [("send", {}), ("delete", {})]
FIRST, THEN = {"send": 0.0, "delete": 0.03}, {"send": 0.03, "delete": 0.0}
"""Who asks first, before and after the resume."""

awaited_or_not = pytest.mark.parametrize("awaited", [False, True], ids=["sync", "async"])


def questions_in(result: Result) -> dict[str, Interrupt]:
    """The open questions, by what they ask."""
    return {question.value: question for question in result["__interrupt__"]}


@awaited_or_not
def test_each_of_two_questions_is_about_its_own_call_whichever_comes_first(
    saver: Checkpointer, config: RunConfig, *, awaited: bool
) -> None:
    done: list[str] = []
    asked = agent_that_calls(TWO, asking_tools(done, FIRST, awaited=awaited), saver).invoke("go", config)
    questions = questions_in(asked)
    assert {text: (question.tool, question.call_id) for text, question in questions.items()} == {
        "May I send?": ("send", "call_0"),
        "May I delete?": ("delete", "call_1"),
    }
    assert done == []
    answers = {questions["May I send?"].id: "yes", questions["May I delete?"].id: "no"}
    again = agent_that_calls(TWO, asking_tools(done, THEN, awaited=awaited), saver)
    result = again.invoke(Command(resume=answers), config)
    assert done == ["send"]
    assert texts_in(result) == ["send was done", "delete was refused"]
    assert check_transcript(result["messages"]) == []


@awaited_or_not
def test_of_two_questions_one_may_be_answered_today_and_the_other_tomorrow_and_each_runs_once(
    saver: Checkpointer, config: RunConfig, *, awaited: bool
) -> None:
    done: list[str] = []
    asked = agent_that_calls(TWO, asking_tools(done, FIRST, awaited=awaited), saver).invoke("go", config)
    question = questions_in(asked)["May I delete?"]
    today = agent_that_calls(TWO, asking_tools(done, THEN, awaited=awaited), saver)
    asked = today.invoke(Command(resume={question.id: "yes"}), config)
    assert (list(questions_in(asked)), done) == (["May I send?"], ["delete"])
    tomorrow = agent_that_calls(TWO, asking_tools(done, FIRST, awaited=awaited), saver)
    result = tomorrow.invoke(Command(resume="yes"), config)
    assert done == ["delete", "send"]
    assert texts_in(result) == ["send was done", "delete was done"]


def test_nothing_runs_that_nobody_approved(saver: Checkpointer, config: RunConfig) -> None:
    done: list[str] = []

    def made() -> list[Any]:
        @tool(requires_approval=True)
        def send(to: str) -> str:
            """Send."""
            done.append(f"send to {to}")
            return "sent"

        @tool(requires_approval=True)
        async def delete(path: str) -> str:
            """Delete."""
            done.append(f"delete {path}")
            return "deleted"

        return [send, delete]

    calls: Calls = [("send", {"to": "Ada"}), ("delete", {"path": "/"}), ("send", {"to": "Bob"})]
    asked = agent_that_calls(calls, made(), saver).invoke("go", config)
    by_call = {question.call_id: question.id for question in asked["__interrupt__"]}
    assert (sorted(map(str, by_call)), done) == (["call_0", "call_1", "call_2"], [])
    answers = {by_call["call_0"]: "approve", by_call["call_1"]: "reject"}
    partly = agent_that_calls(calls, made(), saver).invoke(Command(resume=answers), config)
    assert ([question.call_id for question in partly["__interrupt__"]], done) == (["call_2"], ["send to Ada"])
    result = agent_that_calls(calls, made(), saver).invoke(Command(resume="approve"), config)
    assert done == ["send to Ada", "send to Bob"]
    assert [answer.outcome and answer.outcome.kind for answer in answers_in(result)] == [None, "denied", None]


def test_several_questions_of_one_call_are_answered_one_after_another(saver: Checkpointer, config: RunConfig) -> None:
    begun: list[str] = []

    @tool
    def travel(ctx: ToolContext) -> str:
        """Travel."""
        begun.append("travel")
        return f"from {ctx.interrupt('From where?')} to {ctx.interrupt('Where to?')}"

    agent = agent_that_calls([("travel", {})], [travel], saver)
    assert list(questions_in(agent.invoke("go", config))) == ["From where?"]
    assert list(questions_in(agent.invoke(Command(resume="Oslo"), config))) == ["Where to?"]
    assert texts_in(agent.invoke(Command(resume="Rome"), config)) == ["from Oslo to Rome"]
    assert begun == ["travel"] * 3  # what stands before a question is run again each time


# Siblings


@pytest.mark.parametrize("door", ["sync", "async"])
def test_siblings_that_ended_are_not_run_again_on_a_resume_nor_is_one_whose_failure_was_told(
    door: str, saver: Checkpointer, config: RunConfig
) -> None:
    ran: Counter[str] = Counter()

    def made() -> list[Any]:
        @tool
        def pay() -> str:
            """Pay."""
            ran["pay"] += 1
            return "paid"

        @tool
        async def bounce() -> str:
            """Fail."""
            ran["bounce"] += 1
            raise ToolException("the account is closed")

        @tool(read_only=True)
        def look() -> str:
            """Look."""
            ran["look"] += 1
            raise ToolException("nothing there")

        @tool
        def ask(ctx: ToolContext) -> str:
            """Ask."""
            return str(ctx.interrupt("Well?"))

        return [pay, bounce, look, ask]

    calls: Calls = [(name, {}) for name in ("pay", "bounce", "look", "ask")]

    def run(given: Any) -> Any:
        agent = agent_that_calls(calls, made(), saver)
        return agent.invoke(given, config) if door == "sync" else asyncio.run(agent.ainvoke(given, config))

    run("go")
    assert ran == {"pay": 1, "bounce": 1, "look": 1}
    result = run(Command(resume="Yes."))
    assert ran == {"pay": 1, "bounce": 1, "look": 1}
    texts = texts_in(result)
    assert (texts[0], texts[3]) == ("paid", "Yes.")
    assert "the account is closed" in texts[1]
    assert "nothing there" in texts[2]


@pytest.mark.parametrize("door", ["sync", "async"])
@awaited_or_not
def test_a_charge_beside_a_failure_that_ends_the_run_is_recorded_and_never_made_twice(
    door: str, saver: Checkpointer, config: RunConfig, *, awaited: bool
) -> None:
    ran: Counter[str] = Counter()

    def made() -> ToolNode:
        def charge() -> str:
            time.sleep(0.03)  # it is still at it when the other one fails
            ran["charge"] += 1
            return "charged"

        async def acharge() -> str:
            await asyncio.sleep(0.03)
            ran["charge"] += 1
            return "charged"

        @tool(idempotent=True)
        def flaky() -> str:
            """Fail the first time."""
            ran["flaky"] += 1
            if ran["flaky"] == 1:
                raise ValueError("no luck")
            return "luck"

        charging = tool("charge", description="Charge.")(acharge if awaited else charge)
        return ToolNode([charging, flaky], handle_tool_errors=False)

    calls: Calls = [("flaky", {}), ("charge", {})]

    def run(given: Any) -> Any:
        graph = graph_that_calls(calls, made(), saver)
        return graph.invoke(given, config) if door == "sync" else asyncio.run(graph.ainvoke(given, config))

    with pytest.raises(ValueError, match="no luck"):
        run("go")
    assert ran == {"flaky": 1, "charge": 1}
    assert texts_in(run(None)) == ["luck", "charged"]
    assert ran == {"flaky": 2, "charge": 1}


def test_a_charge_beside_a_failure_is_not_made_twice_where_the_node_is_retried(
    saver: Checkpointer, config: RunConfig
) -> None:
    ran: Counter[str] = Counter()

    @tool
    def charge() -> str:
        """Charge."""
        ran["charge"] += 1
        return "charged"

    @tool(idempotent=True, retry=None)
    def flaky() -> str:
        """Fail twice."""
        ran["flaky"] += 1
        if ran["flaky"] < 3:
            raise ConnectionError("reset")
        return "luck"

    node = ToolNode([charge, flaky], handle_tool_errors=False)
    policy = RetryPolicy(initial_interval=0.001, retry_on=ConnectionError)
    graph = graph_that_calls([("charge", {}), ("flaky", {})], node, saver, retry=policy)
    assert texts_in(graph.invoke("go", config)) == ["charged", "luck"]
    assert ran == {"charge": 1, "flaky": 3}


def test_a_failure_that_may_not_be_repeated_is_told_on_a_resume_and_the_charge_beside_it_stays_one(
    saver: Checkpointer, config: RunConfig
) -> None:
    ran: Counter[str] = Counter()

    @tool
    def charge() -> str:
        """Charge."""
        ran["charge"] += 1
        return "charged"

    @tool
    def break_down() -> str:
        """Break down, perhaps after an effect."""
        ran["break_down"] += 1
        raise ValueError("broken")

    node = ToolNode([charge, break_down], handle_tool_errors=False)
    graph = graph_that_calls([("charge", {}), ("break_down", {})], node, saver)
    with pytest.raises(ValueError, match="broken"):
        graph.invoke("go", config)
    texts = texts_in(graph.invoke(None, config))
    assert ran == {"charge": 1, "break_down": 1}
    assert texts[0] == "charged"
    assert "broken" in texts[1]


def test_a_flaky_tool_is_retried_by_itself_and_waits_no_longer_than_its_policy_says() -> None:
    ran: Counter[str] = Counter()

    clock = FakeClock()

    @tool(idempotent=True, retry=RetryPolicy(max_attempts=3, initial_interval=0.01, jitter=True))
    def flaky() -> str:
        """Fail twice."""
        ran["flaky"] += 1
        if ran["flaky"] < 3:
            raise ConnectionError("reset")
        return "luck"

    @tool(idempotent=True)
    def steady(name: str) -> str:
        """Succeed."""
        ran[name] += 1
        return name

    calls: Calls = [("steady", {"name": "a"}), ("flaky", {}), ("steady", {"name": "b"})]
    result = ToolNode([flaky, steady], clock=clock).invoke({"messages": [calling(calls)]})
    assert [seconds <= longest for seconds, longest in zip(clock.sleeps, [0.01, 0.02], strict=True)] == [True, True]
    assert texts_in(result) == ["a", "luck", "b"]
    assert ran == {"a": 1, "flaky": 3, "b": 1}


def test_a_node_that_is_retried_leaves_its_siblings_alone() -> None:
    ran: Counter[str] = Counter()

    def flaky(state: MessagesState) -> None:
        ran["flaky"] += 1
        if ran["flaky"] < 3:
            raise ConnectionError("reset")

    async def steady(state: MessagesState) -> None:
        ran["steady"] += 1

    policy = RetryPolicy(initial_interval=0.01)
    graph = StateGraph(MessagesState).add_node("flaky", flaky, retry=policy).add_node("steady", steady)
    graph.add_edge(START, "flaky").add_edge(START, "steady")
    graph.compile().invoke("go")
    assert ran == {"flaky": 3, "steady": 1}


# Hand-offs


class Office(MessagesState):
    log: Annotated[list[str], operator.add]


def office(saver: Checkpointer | None, ran: Counter[str] | None = None) -> CompiledGraph:
    """A desk that hands work over, as a graph inside of one with a node for each colleague."""
    counted: Counter[str] = Counter() if ran is None else ran

    @tool
    def hand_to(name: str) -> Command:
        """Hand the work over to a colleague."""
        counted["hand_to"] += 1
        return Command(graph=Command.PARENT, goto=name, update={"log": [f"for {name}"]})

    @tool
    async def look_up(word: str) -> str:
        """Look a word up."""
        counted["look_up"] += 1
        return f"{word} means something"

    @tool
    def ask(ctx: ToolContext) -> str:
        """Ask."""
        return str(ctx.interrupt("Well?"))

    desk = (
        StateGraph(Office).add_node("tools", ToolNode([hand_to, look_up, ask], commands=True)).add_edge(START, "tools")
    )
    builder = StateGraph(Office).add_node("desk", desk.compile(), destinations=("ada", "bob")).add_edge(START, "desk")
    for name in ("ada", "bob"):
        builder.add_node(name, lambda state, name=name: {"log": [f"{name} works"]}).add_edge(name, END)
    return builder.compile(saver)


HAND_OFFS: Calls = [
    ("hand_to", {"name": "bob"}),
    ("look_up", {"word": "hash"}),
    ("hand_to", {"name": "ada"}),
    ("hand_to", {"name": "bob"}),
]


def test_all_hand_offs_of_a_turn_take_effect_and_ordinary_results_beside_them_are_kept(
    saver: Checkpointer, config: RunConfig
) -> None:
    result = office(saver).invoke({"messages": [calling(HAND_OFFS)]}, config)
    assert [answer.tool_call_id for answer in answers_in(result)] == [f"call_{n}" for n in range(4)]
    assert texts_in(result)[1] == "hash means something"
    # Updates in the order of the calls, then each colleague once, however often he was named.
    assert result["log"] == ["for bob", "for ada", "for bob", "ada works", "bob works"]
    assert check_transcript(result["messages"]) == []


def test_hand_offs_beside_a_question_take_effect_once_when_it_is_answered(
    saver: Checkpointer, config: RunConfig
) -> None:
    ran: Counter[str] = Counter()
    asked = office(saver, ran).invoke({"messages": [calling([*HAND_OFFS, ("ask", {})])]}, config)
    assert (list(questions_in(asked)), asked["log"]) == (["Well?"], [])
    result = office(saver, ran).invoke(Command(resume="Yes."), config)
    assert result["log"] == ["for bob", "for ada", "for bob", "ada works", "bob works"]
    assert texts_in(result)[4] == "Yes."
    assert ran == {"hand_to": 3, "look_up": 1}


class Cut(Exception):
    """Ends a run as a crash would."""


class CuttingSaver(MemorySaver):
    """Fails once, at the writing of a certain number, before it is done or after it."""

    def __init__(self, at: int, *, is_done: bool) -> None:
        super().__init__()
        self._left = at
        self._is_done = is_done

    async def aput(self, *given: Any, **named: Any) -> None:
        await self._cut(super().aput(*given, **named))

    async def aput_writes(self, *given: Any, **named: Any) -> None:
        await self._cut(super().aput_writes(*given, **named))

    async def _cut(self, writing: Coroutine[Any, Any, None]) -> None:
        self._left -= 1
        if self._left or self._is_done:
            await writing
        if not self._left:
            writing.close()
            raise Cut

    @property
    def has_cut(self) -> bool:
        return self._left <= 0


@pytest.mark.parametrize("is_done", [False, True])
def test_hand_offs_take_effect_once_wherever_the_run_is_cut_off(config: RunConfig, *, is_done: bool) -> None:
    async def run(saver: CuttingSaver, ran: Counter[str]) -> Result:
        begin: Any = {"messages": [calling([*HAND_OFFS, ("ask", {})])]}
        given = begin
        while True:
            try:
                result: Result = await office(saver, ran).ainvoke(given, config)
            except Cut:
                given = None if office(saver).get_state(config).created_at else begin
            else:
                if "__interrupt__" not in result:
                    return result
                given = Command(resume="Yes.")

    cuts = 0
    while True:
        ran: Counter[str] = Counter()
        saver = CuttingSaver(cuts + 1, is_done=is_done)
        result = asyncio.run(run(saver, ran))
        assert result["log"] == ["for bob", "for ada", "for bob", "ada works", "bob works"]
        assert [answer.tool_call_id for answer in answers_in(result)] == [f"call_{n}" for n in range(5)]
        assert ran == {"hand_to": 3, "look_up": 1}
        if not saver.has_cut:
            break
        cuts += 1
    assert cuts > 8


def test_an_agent_hands_over_in_the_same_way(saver: Checkpointer, config: RunConfig) -> None:
    @tool
    def hand_to(name: str) -> Command:
        """Hand the work over to a colleague."""
        return Command(graph=Command.PARENT, goto=name)

    desk = create_agent(FunctionModel(lambda messages: calling(HAND_OFFS)), ToolNode([hand_to], commands=True))
    builder = StateGraph(Office).add_node("desk", desk, destinations=("ada", "bob")).add_edge(START, "desk")
    for name in ("ada", "bob"):
        builder.add_node(name, lambda state, name=name: {"log": [f"{name} works"]})
    result = builder.compile(saver).invoke("go", config)
    assert result["log"] == ["ada works", "bob works"]
    assert [answer.tool_call_id for answer in answers_in(result)] == [f"call_{n}" for n in range(4)]


# Runs inside of calls


class OvertakenSaver(MemorySaver):
    """Refuses what a run inside of a call goes on with, as when another process has gone on with it."""

    is_overtaken = False

    async def aput(self, row: CheckpointRow, *given: Any, **named: Any) -> None:
        if self.is_overtaken and row.namespace:
            raise CheckpointConflict(thread_id=row.thread_id)
        await super().aput(row, *given, **named)


@pytest.mark.parametrize("rule", [True, False])
def test_a_run_inside_of_a_call_that_another_process_went_on_with_ends_the_run_and_is_told_to_nobody(
    config: RunConfig, *, rule: bool
) -> None:
    ran: Counter[str] = Counter()
    saver = OvertakenSaver()

    @tool
    def work() -> str:
        """Work."""
        ran["work"] += 1
        saver.is_overtaken = True
        return "worked"

    def delegating() -> CompiledGraph:
        worker = agent_that_calls([("work", {})], [work], None, name="worker").as_tool(description="Works.")
        return agent_that_calls([("worker", {"request": "go"})], [worker], saver, handle_tool_errors=rule)

    with pytest.raises(CheckpointConflict):
        delegating().invoke("go", config)
    saver.is_overtaken = False
    assert texts_in(delegating().invoke(None, config)) == ["Done."]  # what the other process left, had it died
    assert ran == {"work": 1}


class SlowSaver(MemorySaver):
    """Keeps whoever first looks for a graph inside of another one waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked, self.may_answer = asyncio.Event(), asyncio.Event()
        self.is_slow = False

    async def aload(self, thread_id: str, namespace: str = "", checkpoint_id: str | None = None) -> Any:
        if namespace and self.is_slow:
            self.is_slow = False
            self.is_asked.set()
            await self.may_answer.wait()
        return await super().aload(thread_id, namespace, checkpoint_id)


def test_a_run_that_is_overtaken_before_it_enters_a_graph_does_not_begin_that_anew(config: RunConfig) -> None:
    ran: Counter[str] = Counter()
    failures = ["the provider is away"]

    @tool
    def pay() -> str:
        """Pay."""
        ran["pay"] += 1
        return "paid"

    def reply(messages: list[Message]) -> AIMessage | str:
        if not isinstance(messages[-1], ToolMessage):
            return calling([("pay", {})])
        if failures:
            raise ConnectionError(failures.pop())
        return "Done."

    async def run() -> None:
        saver = SlowSaver()
        agent = create_agent(FunctionModel(reply), [pay])
        graph = StateGraph(MessagesState).add_node("agent", agent).add_edge(START, "agent").compile(saver)
        with pytest.raises(ConnectionError):
            await graph.ainvoke("go", config)
        saver.is_slow = True
        slow = asyncio.ensure_future(graph.ainvoke(None, config))
        await saver.is_asked.wait()
        assert texts_in(await graph.ainvoke(None, config)) == ["paid"]
        saver.may_answer.set()
        with pytest.raises(CheckpointConflict):
            await slow

    asyncio.run(run())
    assert ran == {"pay": 1}


def test_what_another_thread_was_overtaken_by_is_a_failure_like_any_other(config: RunConfig) -> None:
    @tool
    def look() -> str:
        """Look after another thread."""
        raise CheckpointConflict(thread_id="another")

    result = agent_that_calls([("look", {})], [look], MemorySaver()).invoke("go", config)
    assert "another run has gone on with the thread" in texts_in(result)[0]


# Mistakes


class Log(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def one_node(node: Callable[[Any], Any]) -> StateGraph:
    return StateGraph(Log).add_node("node", node).add_node("other", lambda state: None).add_edge(START, "node")


@pytest.mark.parametrize("answer", ["othr", None, 3, Send("othr", {}), ["other", "othr"]])
def test_a_path_that_leads_nowhere_is_an_error_when_it_is_taken(answer: Any) -> None:
    graph = one_node(lambda state: None).add_conditional_edges("node", lambda state: answer).compile()
    with pytest.raises(RoutingError, match="Expected one of: node, other"):
        graph.invoke({})


def test_a_path_that_can_only_lead_nowhere_is_an_error_when_the_graph_is_compiled() -> None:
    def path(state: Log) -> Literal["other", "othr"]:
        return "other"

    builder = one_node(lambda state: None).add_conditional_edges("node", path)
    with pytest.raises(GraphDefinitionError, match="othr"):
        builder.compile()


@pytest.mark.parametrize("goto", ["othr", Send("othr", {}), ["other", "othr"]])
def test_a_command_that_leads_nowhere_is_an_error(goto: Any) -> None:
    graph = one_node(lambda state: Command(goto=goto)).add_edge("node", "other").compile()
    with pytest.raises(RoutingError, match="Expected one of: node, other"):
        graph.invoke({})


def test_a_hand_off_that_leads_nowhere_is_an_error() -> None:
    with pytest.raises(RoutingError, match="Expected one of: desk, ada, bob"):
        office(None).invoke({"messages": [calling([("hand_to", {"name": "bbo"})])]})


def test_two_hand_offs_that_write_one_key_without_a_reducer_are_an_error() -> None:
    class Owned(MessagesState):
        owner: str

    @tool
    def give_to(name: str) -> Command:
        """Give it to somebody."""
        return Command(graph=Command.PARENT, goto=END, update={"owner": name})

    desk = StateGraph(Owned).add_node("tools", ToolNode([give_to], commands=True)).add_edge(START, "tools").compile()
    graph = StateGraph(Owned).add_node("desk", desk).add_edge(START, "desk").compile()
    calls: Calls = [("give_to", {"name": "ada"}), ("give_to", {"name": "bob"})]
    with pytest.raises(NodeError, match="Node 'desk': it wrote the key 'owner' twice in one step"):
        graph.invoke({"messages": [calling(calls)]})


@pytest.mark.parametrize("returned", [AIMessage("hello"), "hello", 3, ["hello"], {"lgo": ["hello"]}, {"log": "hello"}])
def test_a_node_that_returns_what_is_no_update_is_an_error_that_names_it(returned: Any) -> None:
    with pytest.raises(NodeError, match="Node 'node'"):
        one_node(lambda state: returned).add_edge("node", "other").compile().invoke({})


def test_an_input_with_an_unknown_key_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match="log"):
        one_node(lambda state: None).add_edge("node", "other").compile().invoke({"lgo": ["hello"]})


def test_an_empty_input_runs_the_graph_on_its_first_state() -> None:
    assert one_node(lambda state: {"log": ["ran"]}).add_edge("node", "other").compile().invoke({}) == {"log": ["ran"]}


def test_an_empty_input_is_an_error_where_the_state_needs_more() -> None:
    class Form(BaseModel):
        name: str

    graph = StateGraph(Form).add_node("node", lambda state: None).add_edge(START, "node").compile()
    with pytest.raises(InputError, match="name"):
        graph.invoke({})


def test_what_a_node_makes_of_a_typed_state_is_checked() -> None:
    class Form(BaseModel):
        age: int

    graph = StateGraph(Form).add_node("node", lambda state: {"age": "old"}).add_edge(START, "node").compile()
    with pytest.raises(NodeError, match="age"):
        graph.invoke({"age": 3})


# Answers


def asking_graph(saver: Checkpointer) -> CompiledGraph:
    return one_node(lambda state: {"log": [repr(interrupt("Well?"))]}).add_edge("node", "other").compile(saver)


@pytest.mark.parametrize("answer", [None, {}, [], False, "", 0], ids=repr)
def test_what_looks_like_nothing_is_an_answer(answer: Any, saver: Checkpointer, config: RunConfig) -> None:
    graph = asking_graph(saver)
    graph.invoke({}, config)
    assert graph.invoke(Command(resume=answer), config) == {"log": [repr(answer)]}


def test_a_command_without_an_answer_is_refused_and_the_question_stays_open(
    saver: Checkpointer, config: RunConfig
) -> None:
    graph = asking_graph(saver)
    graph.invoke({}, config)
    with pytest.raises(InputError, match="A command that a run begins with holds answers and nothing else"):
        graph.invoke(Command(), config)
    assert [question.value for question in graph.get_state(config).interrupts] == ["Well?"]
    assert graph.invoke(Command(resume="Yes."), config) == {"log": ["'Yes.'"]}


def test_an_answer_that_nobody_waits_for_is_refused(saver: Checkpointer, config: RunConfig) -> None:
    graph = asking_graph(saver)
    with pytest.raises(InputError, match="has no run to go on with"):
        graph.invoke(Command(resume="Yes."), config)
    graph.invoke({}, config)
    graph.invoke(Command(resume="Yes."), config)
    with pytest.raises(InterruptError, match="The run waits for no answer"):
        graph.invoke(Command(resume="Yes."), config)


@pytest.mark.parametrize("nameless", [None, {}, {"configurable": {}}, {"configurable": {"thread_id": None}}])
def test_a_kept_run_without_the_name_of_a_thread_is_refused(nameless: Any, saver: Checkpointer) -> None:
    with pytest.raises(OptionError, match="thread_id"):
        asking_graph(saver).invoke({}, nameless)
