"""Graphs as streams: what each mode gives, to synchronous and asynchronous readers alike."""

from __future__ import annotations

import asyncio
import gc
import operator
import threading
import tracemalloc
import warnings
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import Annotated, Any, TypedDict

import pytest

from surehand import (
    START,
    STREAM_BUFFER,
    AIMessage,
    AIMessageChunk,
    Command,
    CompiledGraph,
    Dropped,
    HumanMessage,
    MessagesState,
    RemoveMessage,
    RetryPolicy,
    Send,
    StateGraph,
    ToolContext,
    ToolException,
    ToolNode,
    create_agent,
    tool,
)
from surehand.control import current_runtime
from surehand.events import CallFinished, CallProgressed, CallRetried, CallStarted, LateResult
from surehand.graph.actions import NodeAction
from surehand.messages import ToolCallChunk
from surehand.models import BaseChatModel, ModelRequest
from surehand.testing import FunctionModel, ScriptedModel, record_events

AT_ONCE = RetryPolicy(initial_interval=0.001, retry_on=(ToolException, ConnectionError))
STOP = AIMessageChunk(response_metadata={"finish_reason": "stop"})


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def emit(item: object) -> None:
    runtime = current_runtime()
    assert runtime is not None
    if runtime.emit is not None:
        runtime.emit(item)


def graph_of(*nodes: NodeAction, schema: Any = State, **options: Any) -> CompiledGraph:
    """A graph of nodes one after the other."""
    steps = [(f"n{number}", node) for number, node in enumerate(nodes)]
    return StateGraph(schema).add_sequence(steps).add_edge(START, "n0").compile(**options)


def chat_of(*nodes: NodeAction, **options: Any) -> CompiledGraph:
    return graph_of(*nodes, schema=MessagesState, **options)


def say(word: str) -> Any:
    def node(state: State) -> dict[str, Any]:
        emit(f"saying {word}")
        return {"log": [word]}

    return node


def taken(door: str, graph: CompiledGraph, given: Any, mode: Any, **options: Any) -> list[Any]:
    if door == "sync":
        return list(graph.stream(given, stream_mode=mode, **options))

    async def main() -> list[Any]:
        return [item async for item in graph.astream(given, stream_mode=mode, **options)]

    return asyncio.run(main())


def pieces(*texts: str) -> list[AIMessageChunk | BaseException]:
    """A reply in pieces."""
    return [*map(AIMessageChunk, texts), STOP]


def said(items: list[Any]) -> list[tuple[str, str]]:
    """The node and the text of each message or piece, without the empty ones."""
    return [(metadata["node"], message.text) for message, metadata in items if message.text]


def fragment(index: int = 0, **fields: Any) -> ToolCallChunk:
    return {"type": "tool_call_chunk", "index": index, "id": None, "name": None, "args": None, **fields}  # type: ignore[typeddict-item]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def calling(*ids: str, name: str = "add", **args: Any) -> AIMessage:
    return AIMessage(tool_calls=[{"id": id, "name": name, "args": args or {"a": 1, "b": 2}} for id in ids])


both_doors = pytest.mark.parametrize("door", ["sync", "async"])


# messages


@both_doors
def test_a_model_as_a_node_is_told_piece_by_piece(door: str) -> None:
    graph = chat_of(ScriptedModel([pieces("Hel", "lo")]))
    assert said(taken(door, graph, "hi", "messages")) == [("n0", "Hel"), ("n0", "lo")]


@both_doors
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_model_that_a_function_calls_by_hand_is_told_too(door: str, kind: str) -> None:
    model = ScriptedModel([pieces("Hel", "lo")])

    def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state)]}

    async def anode(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state)]}

    assert said(taken(door, chat_of(anode if kind == "async" else node), "hi", "messages")) == [
        ("n0", "Hel"),
        ("n0", "lo"),
    ]


@both_doors
def test_a_model_that_a_function_streams_by_hand_is_told_too(door: str) -> None:
    model = ScriptedModel([pieces("Hel", "lo")])

    async def node(state: MessagesState) -> dict[str, Any]:
        chunks = [chunk async for chunk in model.astream(state)]
        return {"messages": [reduce(operator.add, chunks)]}

    assert said(taken(door, chat_of(node), "hi", "messages")) == [("n0", "Hel"), ("n0", "lo")]


@both_doors
def test_an_agent_is_told_with_the_fragments_of_its_calls_and_their_answers(door: str) -> None:
    asks: list[AIMessageChunk | BaseException] = [
        AIMessageChunk("Let me see.", tool_call_chunks=[fragment(id="c1", name="add", args='{"a": 1,')]),
        AIMessageChunk(tool_call_chunks=[fragment(args=' "b": 2}')], response_metadata={"finish_reason": "tool_calls"}),
    ]
    agent = create_agent(ScriptedModel([asks, pieces("It is ", "3.")]), [add])
    items = taken(door, agent, "1 + 2?", "messages")
    assert said(items) == [("model", "Let me see."), ("tools", "3"), ("model", "It is "), ("model", "3.")]
    assert [piece.tool_call_chunks[0]["args"] for piece, _ in items[:2]] == ['{"a": 1,', ' "b": 2}']


@both_doors
def test_the_sum_of_the_pieces_is_the_message_of_the_state(door: str) -> None:
    asks: list[AIMessageChunk | BaseException] = [
        AIMessageChunk("Let me", tool_call_chunks=[fragment(id="c1", name="add", args='{"a": 1,')]),
        AIMessageChunk(" see", tool_call_chunks=[fragment(args=' "b": 2}')]),
        AIMessageChunk(response_metadata={"finish_reason": "tool_calls"}, usage_metadata={"input_tokens": 3}),
    ]
    items = taken(door, chat_of(ScriptedModel([asks])), "hi", ["messages", "values"])
    told = [item[0] for mode, item in items if mode == "messages"]
    assert reduce(operator.add, told).to_message() == items[-1][1]["messages"][-1]


def test_metadata_says_where_a_piece_comes_from() -> None:
    graph = chat_of(lambda state: None, ScriptedModel([[AIMessageChunk("x", id="m1"), STOP]]), name="chat")
    expected = {"graph": "chat", "node": "n1", "step": 2, "namespace": (), "message_id": "m1"}
    assert [metadata for _, metadata in graph.stream("hi", stream_mode="messages")] == [expected, expected]


def test_all_pieces_of_a_reply_have_one_id_which_the_state_has_too() -> None:
    items = list(chat_of(ScriptedModel([pieces("a", "b")])).stream("hi", stream_mode=["messages", "values"]))
    ids = {item[0].id for mode, item in items if mode == "messages"}
    assert ids == {items[-1][1]["messages"][-1].id}
    assert None not in ids


def test_a_reply_that_begins_anew_keeps_its_id_and_says_so() -> None:
    again = AIMessageChunk("right", is_restart=True, id="other")
    model = ScriptedModel([[AIMessageChunk("wro", id="m"), again, STOP]])
    items = list(chat_of(model).stream("hi", stream_mode=["messages", "values"]))
    told = [item[0] for mode, item in items if mode == "messages"]
    assert [(piece.id, piece.is_restart) for piece in told] == [("m", False), ("m", True), ("m", False)]
    assert reduce(operator.add, told).text == items[-1][1]["messages"][-1].text == "right"


def test_the_pieces_of_a_second_attempt_can_be_told_from_those_of_the_first() -> None:
    model = ScriptedModel([[AIMessageChunk("fir"), ConnectionError()], pieces("second")])
    builder = StateGraph(MessagesState).add_node(
        "m", model, retry=RetryPolicy(initial_interval=0.001, retry_on=(ToolException, ConnectionError))
    )
    items = list(builder.add_edge(START, "m").compile().stream("hi", stream_mode="messages"))
    heard = [(piece.text, metadata.get("attempt")) for piece, metadata in items if piece.text]
    assert heard == [("fir", None), ("second", 2)]
    assert items[0][0].id != items[1][0].id


@both_doors
def test_a_model_that_cannot_stream_is_told_once_and_whole(door: str) -> None:
    for model in (ScriptedModel(["Hello"]), FunctionModel(lambda messages: AIMessage("Hello"))):
        ((message, metadata),) = taken(door, chat_of(model), "hi", "messages")
        assert (type(message), message.text, metadata["node"]) == (AIMessage, "Hello", "n0")


def test_what_a_model_says_in_a_function_is_told_though_it_never_gets_into_the_state() -> None:
    model = ScriptedModel([pieces("think"), "talk"])

    def think(state: MessagesState) -> None:
        model.invoke(state)

    graph = chat_of(think, think)
    assert said(list(graph.stream("hi", stream_mode="messages"))) == [("n0", "think"), ("n1", "talk")]


def test_a_model_of_anothers_making_is_told_by_its_astream() -> None:
    class Theirs:
        def bind_tools(self, tools: Any, **options: Any) -> Theirs:
            return self

        async def ainvoke(self, input: Any, config: Any = None) -> AIMessage:
            return AIMessage("whole")

        async def astream(self, input: Any, config: Any = None) -> AsyncGenerator[AIMessageChunk, None]:
            for text in ("who", "le"):
                yield AIMessageChunk(text)

    model: Any = Theirs()
    assert said(list(chat_of(model).stream("hi", stream_mode="messages"))) == [("n0", "who"), ("n0", "le")]
    agent = create_agent(model, [])
    assert said(list(agent.stream("hi", stream_mode="messages"))) == [("model", "who"), ("model", "le")]
    assert [m.text for m in agent.invoke("hi")["messages"]] == ["hi", "whole"]


def test_what_a_model_passes_on_from_another_one_is_told_once() -> None:
    inner = ScriptedModel([pieces("a", "b"), pieces("c", "d")])

    class Asking(BaseChatModel):
        async def _answer(self, request: ModelRequest) -> AIMessage:
            return await inner.ainvoke(request.messages)

    class Streaming(Asking):
        async def _pieces(self, request: ModelRequest) -> AsyncGenerator[AIMessageChunk, None]:
            async for piece in inner.astream(request.messages):
                yield piece

    graph = chat_of(Asking(), Streaming())
    expected = [("n0", "a"), ("n0", "b"), ("n1", "c"), ("n1", "d")]
    assert said(list(graph.stream("hi", stream_mode="messages"))) == expected


def test_calls_that_a_model_wrote_as_text_are_told_at_the_end() -> None:
    text = '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>'
    model = ScriptedModel([pieces(text), "3"], text_calls=True)
    items = list(create_agent(model, [add]).stream("1 + 2?", stream_mode=["messages", "values"]))
    told = [item[0] for mode, item in items if mode == "messages" and item[1]["node"] == "model"][:3]
    (call,) = reduce(operator.add, told).tool_calls
    reply = items[-1][1]["messages"][1]
    assert (call["name"], call["args"], reply.text) == ("add", {"a": 1, "b": 2}, "")
    assert {piece.id for piece in told} == {reply.id}


@both_doors
def test_messages_that_nodes_add_are_told_once_and_whole(door: str) -> None:
    graph = chat_of(
        lambda state: [AIMessage("one"), HumanMessage("two")],
        lambda state: Command(update={"messages": AIMessage("three")}),
    )
    assert said(taken(door, graph, "hi", "messages")) == [("n0", "one"), ("n0", "two"), ("n1", "three")]


def test_messages_that_are_known_are_no_news() -> None:
    graph = chat_of(
        lambda state: [AIMessage("one", id="1")],
        lambda state: {"messages": [*state["messages"], AIMessage("one again", id="1"), AIMessage("two", id="2")]},
        lambda state: RemoveMessage(id="1"),
    )
    assert said(list(graph.stream("hi", stream_mode="messages"))) == [("n0", "one"), ("n1", "two")]


def test_messages_under_any_key_are_told() -> None:
    class Two(TypedDict, total=False):
        draft: AIMessage
        notes: list[str]

    graph = graph_of(lambda state: {"draft": AIMessage("x", id="1"), "notes": ["y"]}, schema=Two)
    assert said(list(graph.stream({}, stream_mode="messages"))) == [("n0", "x")]


def test_parallel_models_are_told_apart() -> None:
    builder = StateGraph(MessagesState)
    for name in "ab":
        builder.add_node(name, ScriptedModel([pieces(name, name * 2)])).add_edge(START, name)
    items = list(builder.compile().stream("hi", stream_mode="messages"))
    assert sorted(said(items)) == [("a", "a"), ("a", "aa"), ("b", "b"), ("b", "bb")]
    assert len({metadata["message_id"] for _, metadata in items}) == 2


@both_doors
def test_graphs_and_agents_as_nodes_are_told_with_the_nodes_around_them(door: str) -> None:
    innermost = chat_of(ScriptedModel([pieces("deep")]), name="innermost")
    agent = create_agent(ScriptedModel([pieces("agent")]), [], name="agent")
    graph = chat_of(chat_of(innermost, name="inner"), agent, name="outer")
    items = taken(door, graph, "hi", "messages")
    places = [(piece.text, metadata["graph"], metadata["namespace"]) for piece, metadata in items if piece.text]
    assert places == [("deep", "innermost", ("n0", "n0")), ("agent", "agent", ("n1",))]


@both_doors
def test_an_agent_in_a_tool_is_told_with_the_call_it_runs_in(door: str) -> None:
    expert = create_agent(ScriptedModel([pieces("sub")]), [], name="expert")

    @tool
    async def ask_expert(question: str) -> str:
        """Ask."""
        return str((await expert.ainvoke(question))["messages"][-1].text)

    asks = calling("c1", name="ask_expert", question="?")
    agent = create_agent(ScriptedModel([asks, pieces("done")]), [ask_expert])
    items = [item for item in taken(door, agent, "hi", "messages") if item[0].text]
    assert said(items) == [("model", "sub"), ("tools", "sub"), ("model", "done")]
    assert [metadata["namespace"] for _, metadata in items] == [("tools:c1",), (), ()]


def test_an_agent_made_a_tool_is_told_too() -> None:
    expert = create_agent(ScriptedModel([pieces("sub")]), [], name="expert").as_tool(description="Asks an expert.")
    asks = calling("c1", name="expert", request="?")
    agent = create_agent(ScriptedModel([asks, "done"]), [expert])
    items = list(agent.stream("hi", stream_mode="messages"))
    assert ("sub", ("tools:c1",)) in [(message.text, metadata["namespace"]) for message, metadata in items]


def test_a_model_in_a_tool_is_known_by_the_call() -> None:
    model = ScriptedModel([pieces("thinking")])

    @tool
    def think(topic: str) -> str:
        """Think."""
        return model.invoke(topic).text

    graph = chat_of(ToolNode([think]))
    items = list(graph.stream([calling("c1", name="think", topic="x")], stream_mode="messages"))
    assert [(piece.text, metadata.get("call_id")) for piece, metadata in items if piece.text] == [
        ("thinking", "c1"),
        ("thinking", None),
    ]


def test_models_are_called_whole_where_nobody_reads_messages() -> None:
    called: list[str] = []

    class Counting(BaseChatModel):
        async def _answer(self, request: ModelRequest) -> AIMessage:
            called.append("whole")
            return AIMessage("x")

        async def _pieces(self, request: ModelRequest) -> AsyncGenerator[AIMessageChunk, None]:
            called.append("pieces")
            yield AIMessageChunk("x")

    graph = chat_of(Counting())
    graph.invoke("hi")
    list(graph.stream("hi", stream_mode=["values", "updates", "custom", "calls"]))
    list(graph.stream("hi", stream_mode="messages"))
    assert called == ["whole", "whole", "pieces"]


def test_pieces_come_while_the_model_still_speaks() -> None:
    may_go_on = threading.Event()

    async def speak(messages: Any) -> AsyncGenerator[AIMessageChunk, None]:
        yield AIMessageChunk("first")
        assert await asyncio.to_thread(may_go_on.wait, 5)
        yield AIMessageChunk("second")

    heard: list[str] = []
    for piece, _ in chat_of(FunctionModel(speak)).stream("hi", stream_mode="messages"):
        heard.append(piece.text)
        may_go_on.set()
    assert heard == ["first", "second"]


# calls


@both_doors
def test_every_event_of_every_call_is_told(door: str) -> None:
    @tool(retry=AT_ONCE)
    def flaky(context: ToolContext) -> str:
        """Fail once."""
        context.progress("half")
        if context.attempt == 1:
            raise ToolException("again", retryable=True)
        return "done"

    graph = chat_of(ToolNode([flaky, add]), name="work")
    items = taken(door, graph, [calling("c1", name="flaky", x=1), calling("c2")][:1], "calls")
    kinds = [CallStarted, CallProgressed, CallRetried, CallProgressed, CallFinished]
    assert [type(event) for event, _ in items] == kinds
    assert {event.call_id for event, _ in items} == {"c1"}
    assert items[0][1] == {"graph": "work", "node": "n0", "step": 1, "namespace": ()}


@both_doors
def test_the_calls_of_inner_graphs_are_told_with_their_place(door: str) -> None:
    items = taken(door, chat_of(chat_of(ToolNode([add]))), [calling("c1", "c2")], "calls")
    assert sorted((event.call_id, type(event).__name__) for event, _ in items) == [
        ("c1", "CallFinished"),
        ("c1", "CallStarted"),
        ("c2", "CallFinished"),
        ("c2", "CallStarted"),
    ]
    assert {metadata["namespace"] for _, metadata in items} == {("n0",)}


@both_doors
def test_a_body_that_ends_too_late_is_told_of_while_the_run_goes_on(door: str) -> None:
    may_end, has_ended = threading.Event(), threading.Event()

    @tool(timeout=0.01)
    def slow(x: int) -> str:
        """Take too long."""
        may_end.wait(5)
        return "late"

    def listen(event: object) -> None:
        if isinstance(event, LateResult):
            has_ended.set()

    def wait(state: MessagesState) -> None:
        may_end.set()
        assert has_ended.wait(5)

    graph = chat_of(ToolNode([slow], listener=listen), wait)
    items = taken(door, graph, [calling("c1", name="slow", x=1)], "calls")
    assert [(type(event), metadata["node"]) for event, metadata in items] == [
        (CallStarted, "n0"),
        (CallFinished, "n0"),
        (LateResult, "n0"),
    ]


def test_the_hosts_own_listener_is_told_as_well() -> None:
    events = record_events()
    items = list(chat_of(ToolNode([add], listener=events)).stream([calling("c1")], stream_mode="calls"))
    assert [event for event, _ in items] == list(events)


def test_a_listener_that_fails_costs_the_stream_nothing() -> None:
    def fail(event: object) -> None:
        raise ValueError

    items = list(chat_of(ToolNode([add], listener=fail)).stream([calling("c1")], stream_mode="calls"))
    assert [type(event) for event, _ in items] == [CallStarted, CallFinished]


def test_calls_are_told_to_nobody_outside_a_stream() -> None:
    assert chat_of(ToolNode([add])).invoke([calling("c1")])["messages"][-1].text == "3"


# custom


@both_doors
def test_items_of_tools_come_as_they_were_given_and_progress_with_its_call(door: str) -> None:
    @tool
    def work(context: ToolContext) -> str:
        """Work."""
        emit({"mine": 1})
        context.progress(0.5)
        return "done"

    items = taken(door, chat_of(ToolNode([work])), [calling("c1", name="work", x=1)], "custom")
    assert items == [{"mine": 1}, {"call_id": "c1", "tool": "work", "progress": 0.5}]


def test_a_node_has_nothing_to_emit_by_where_nobody_reads_custom_items() -> None:
    emits: list[object] = []

    def node(state: State) -> None:
        runtime = current_runtime()
        assert runtime is not None
        emits.append(runtime.emit)

    graph = graph_of(node)
    graph.invoke({})
    list(graph.stream({}, stream_mode="messages"))
    assert emits == [None, None]


def test_a_graph_that_a_node_runs_puts_its_items_on_the_stream_around() -> None:
    inner = graph_of(say("inner"))
    graph = graph_of(lambda state: inner.invoke({}) and None)
    assert list(graph.stream({}, stream_mode="custom")) == ["saying inner"]


def test_what_a_node_reads_from_an_inner_stream_is_its_own() -> None:
    inner = chat_of(lambda state: emit("inner"), ScriptedModel([pieces("x")]))
    read: list[Any] = []

    def node(state: MessagesState) -> None:
        read.extend(inner.stream(state, stream_mode=["custom", "messages"]))

    items = list(chat_of(node).stream("hi", stream_mode=["custom", "messages"]))
    assert [mode for mode, _ in read] == ["custom", "messages", "messages"]
    assert [(mode, item[1]["namespace"]) for mode, item in items] == [("messages", ("n0",)), ("messages", ("n0",))]


# updates, values and several modes at once


@both_doors
def test_all_modes_at_once_are_told_in_the_order_of_time(door: str) -> None:
    agent = create_agent(ScriptedModel([calling("c1"), pieces("3")]), [add])
    modes = ["values", "updates", "messages", "calls", "custom"]
    assert [mode for mode, _ in taken(door, agent, "1 + 2?", modes)] == [
        "values",
        *("messages", "updates", "values"),
        *("calls", "calls", "messages", "updates", "values"),
        *("messages", "messages", "updates", "values"),
    ]


@both_doors
def test_the_last_values_are_what_invoke_returns(door: str) -> None:
    agent = create_agent(ScriptedModel(["one"]), [])
    *_, last = taken(door, agent, [HumanMessage("hi", id="1")], "values")
    assert last.keys() == create_agent(ScriptedModel(["one"]), []).invoke("hi").keys()


@both_doors
def test_the_steps_of_inner_graphs_are_told_where_they_are_asked_for(door: str) -> None:
    graph = graph_of(graph_of(say("a"), say("b")), say("c"))
    assert taken(door, graph, {}, "updates", subgraphs=True) == [
        (("n0",), {"n0": {"log": ["a"]}}),
        (("n0",), {"n1": {"log": ["b"]}}),
        ((), {"n0": {"log": ["a"]}}),
        ((), {"n0": {"log": ["b"]}}),
        ((), {"n1": {"log": ["c"]}}),
    ]
    both = taken(door, graph, {}, ["values", "custom"], subgraphs=True)
    assert ((), "values", {"log": ["a", "b", "c"]}) in both
    assert (("n0",), "custom", "saying a") in both


def test_tasks_that_are_sent_to_one_graph_are_told_apart() -> None:
    inner = graph_of(say("x"), name="inner")
    builder = StateGraph(State).add_node("inner", inner).add_node("plan", lambda state: None).add_edge(START, "plan")
    builder.add_conditional_edges("plan", lambda state: [Send("inner", {"log": []}) for _ in range(2)], ["inner"])
    items = list(builder.compile().stream({}, stream_mode="updates", subgraphs=True))
    assert {namespace for namespace, _ in items} == {(), ("inner:0",), ("inner:1",)}


def test_inner_steps_are_not_told_unless_asked_for() -> None:
    updates = list(graph_of(graph_of(say("a"))).stream({}, stream_mode=["updates", "custom"]))
    assert [mode for mode, _ in updates] == ["custom", "updates"]


# Readers that are slow, or go


async def _reads_slowly(graph: CompiledGraph) -> tuple[int, int]:
    """How many items came, and how many were missing."""
    came = missing = 0
    async for item in graph.astream({}, stream_mode="custom"):
        if isinstance(item, Dropped):
            missing += item.count
        else:
            came += 1
        if came % 5_000 == 0:
            await asyncio.sleep(0.001)
    return came, missing


def _peak(act: Callable[[], object]) -> int:
    """The most bytes that were in use beyond those before."""
    gc.collect()
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("number", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_items_that_cannot_wait_need_no_memory_however_many_and_are_counted(number: int) -> None:
    async def node(state: State) -> None:
        for _ in range(number):
            emit({"x": "y"})

    counted: list[tuple[int, int]] = []
    peak = _peak(lambda: counted.append(asyncio.run(_reads_slowly(graph_of(node)))))
    assert counted == [(STREAM_BUFFER, number - STREAM_BUFFER)]
    assert peak < 3_000_000


def test_items_of_a_thread_wait_for_a_slow_reader_and_none_is_missing() -> None:
    def node(state: State) -> None:
        for number in range(50_000):
            emit({"number": number})

    counted: list[tuple[int, int]] = []
    peak = _peak(lambda: counted.append(asyncio.run(_reads_slowly(graph_of(node)))))
    assert counted == [(50_000, 0)]
    assert peak < 3_000_000


@both_doors
def test_a_node_that_awaits_is_held_back_and_nothing_is_missing(door: str) -> None:
    async def node(state: State) -> None:
        for number in range(3 * STREAM_BUFFER):
            emit(number)
            await asyncio.sleep(0)

    assert taken(door, graph_of(node), {}, "custom") == list(range(3 * STREAM_BUFFER))


def test_a_tool_that_awaits_is_held_back_too() -> None:
    @tool
    async def count(context: ToolContext) -> str:
        """Count."""
        for number in range(3 * STREAM_BUFFER):
            context.progress(number)
            await asyncio.sleep(0)
        return "done"

    async def main() -> list[Any]:
        stream = chat_of(ToolNode([count])).astream([calling("c1", name="count", x=1)], stream_mode="custom")
        items = [await anext(stream)]
        await asyncio.sleep(0.05)
        return [*items, *[item async for item in stream]]

    assert [item["progress"] for item in asyncio.run(main())] == list(range(3 * STREAM_BUFFER))


def test_the_tokens_of_a_fast_model_wait_for_a_slow_reader() -> None:
    told = 0

    def speak(messages: Any) -> Any:
        nonlocal told
        for told in range(1, 5 * STREAM_BUFFER):  # noqa: B007 - read by the test
            yield AIMessageChunk("x")

    async def main() -> list[str]:
        stream = chat_of(FunctionModel(speak)).astream("hi", stream_mode="messages")
        texts = [(await anext(stream))[0].text]
        await asyncio.sleep(0.05)
        assert told <= 2 * STREAM_BUFFER
        return [*texts, *[piece.text async for piece, _ in stream]]

    assert asyncio.run(main()) == ["x"] * (5 * STREAM_BUFFER - 1)


def test_a_cancelled_node_that_is_held_back_ends() -> None:
    ended: list[str] = []

    async def node(state: State) -> None:
        try:
            while True:
                emit("x")
                await asyncio.sleep(0)
        finally:
            ended.append("node")

    async def main() -> None:
        stream = graph_of(node).astream({}, stream_mode="custom")
        await anext(stream)
        await asyncio.sleep(0.05)
        await stream.aclose()
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())
    assert ended == ["node"]


def test_a_reader_that_goes_releases_the_threads_that_wait_for_it() -> None:
    ended = threading.Event()

    def node(state: State) -> None:
        for number in range(100 * STREAM_BUFFER):
            emit(number)
        ended.set()

    for _ in graph_of(node).stream({}, stream_mode="custom"):
        break
    assert ended.wait(5)


@pytest.mark.parametrize("ending", ["closed", "left"])
def test_an_async_reader_may_break_off_without_a_trace(
    ending: str, caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
) -> None:
    async def endless(state: State) -> None:
        while True:
            emit("x")
            await asyncio.sleep(0)

    def loud(state: State) -> None:
        for number in range(100 * STREAM_BUFFER):
            emit(number)

    builder = StateGraph(State).add_node("endless", endless).add_node("loud", loud)
    graph = builder.add_edge(START, "endless").add_edge(START, "loud").compile()

    async def main() -> None:
        stream = graph.astream({}, stream_mode=["custom", "messages"])
        async for _ in stream:
            break
        if ending == "closed":
            await stream.aclose()

    asyncio.run(asyncio.wait_for(main(), 20))
    gc.collect()
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []
    assert [str(warning.message) for warning in recwarn] == []


def test_a_reader_that_is_cancelled_ends_the_step() -> None:
    ended: list[str] = []
    begun = asyncio.Event()

    async def node(state: State) -> None:
        begun.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.append("node")

    async def main() -> None:
        async def read() -> None:
            async for _ in graph_of(node).astream({}, stream_mode="messages"):
                pass

        reader = asyncio.ensure_future(read())
        await begun.wait()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        assert ended == ["node"]

    asyncio.run(main())


def test_a_sync_stream_may_be_taken_from_several_threads() -> None:
    async def node(state: State) -> None:
        for number in range(4):
            emit(number)
            await asyncio.sleep(0.01)

    stream = graph_of(node).stream({}, stream_mode="custom")
    with ThreadPoolExecutor(4) as pool:
        assert [pool.submit(next, stream).result() for _ in range(4)] == [0, 1, 2, 3]
    stream.close()


def test_a_sync_stream_may_be_read_inside_a_running_loop() -> None:
    async def main() -> list[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says once in a process that the loop is blocked
            return list(chat_of(ScriptedModel([pieces("a", "b")])).stream("hi", stream_mode="messages"))

    assert [text for _, text in said(asyncio.run(main()))] == ["a", "b"]


def test_a_program_ends_that_leaves_a_stream_in_the_middle() -> None:
    @tool
    async def much() -> None:
        """Emit more than there is room for."""
        for item in range(3 * STREAM_BUFFER):
            emit(item)
            if item % (STREAM_BUFFER // 2) == 0:
                await asyncio.sleep(0)

    reply = AIMessage(tool_calls=[{"id": "c1", "name": "much", "args": {}}])
    stream = create_agent(ScriptedModel([reply]), [much]).astream("hi", stream_mode="custom")

    async def main() -> Any:
        return await anext(stream)

    assert asyncio.run(main()) == 0


def test_a_node_that_blocks_its_loop_with_an_inner_graph_does_not_wait_for_ever() -> None:
    def loud(state: State) -> None:
        for number in range(2 * STREAM_BUFFER):
            emit(number)

    inner = graph_of(loud)

    async def node(state: State) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            inner.invoke({})

    assert asyncio.run(_reads_slowly(graph_of(node))) == (STREAM_BUFFER, STREAM_BUFFER)


@both_doors
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_what_a_node_raises_comes_after_all_that_it_emitted(door: str, kind: str) -> None:
    def node(state: State) -> None:
        for number in range(STREAM_BUFFER // 2):
            emit(number)
        raise LookupError

    async def anode(state: State) -> None:
        node(state)

    graph, items = graph_of(anode if kind == "async" else node), list[Any]()

    async def aread() -> None:
        async for item in graph.astream({}, stream_mode="custom"):
            items.append(item)

    def read() -> None:
        for item in graph.stream({}, stream_mode="custom"):
            items.append(item)

    with pytest.raises(LookupError):
        read() if door == "sync" else asyncio.run(aread())
    assert items == list(range(STREAM_BUFFER // 2))


def test_nothing_runs_ahead_of_the_reader_by_more_than_a_step() -> None:
    ran: list[str] = []

    def run(name: str) -> Any:
        def node(state: State) -> None:
            ran.append(name)
            emit(name)

        return node

    stream = graph_of(run("a"), run("b")).stream({}, stream_mode=["custom", "updates"])
    assert [next(stream), next(stream)] == [("custom", "a"), ("updates", {"n0": None})]
    assert ran == ["a"]
    stream.close()
