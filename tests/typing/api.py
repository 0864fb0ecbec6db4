"""The public names as users write them; mypy and pyright read this file, and nobody runs it."""

from __future__ import annotations

import operator
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, TypedDict, assert_type

from pydantic import BaseModel

from surehand import (
    END,
    START,
    AgentMiddleware,
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseTool,
    Command,
    FailureKind,
    FunctionNode,
    HumanMessage,
    InjectedState,
    InjectedToolCallId,
    InMemoryStore,
    Message,
    MessagesState,
    ModelRequest,
    ModelResponse,
    ModelRetry,
    Outcome,
    ResultCache,
    RetryPolicy,
    Runtime,
    Send,
    SingleFlight,
    StateGraph,
    SystemMessage,
    Tell,
    Tool,
    ToolCall,
    ToolCallRequest,
    ToolContext,
    ToolException,
    ToolMessage,
    ToolNode,
    ToolSetRequest,
    ValidationNode,
    add_messages,
    check_transcript,
    convert_to_messages,
    create_agent,
    init_chat_model,
    prefixed,
    repair_transcript,
    run_tool_calls,
    tool,
    tools_condition,
    trim_messages,
)
from surehand.agent import AgentState, before_model, dynamic_prompt, wrap_model_call
from surehand.arguments import ParsedArguments, parse_arguments
from surehand.errors import InvalidArguments, MalformedArguments, SurehandError
from surehand.events import CallFinished, Event
from surehand.testing import FunctionModel, ScriptedModel

# --- tools ------------------------------------------------------------------------------------------------------------


@tool
def add(a: int, b: int = 0) -> int:
    """Add two numbers."""
    return a + b


@tool("look_up", timeout=3, retry=RetryPolicy(max_attempts=2), read_only=True)
async def look_up(order: str) -> dict[str, Any]:
    """Look up an order."""
    return {"order": order}


@tool(return_direct=True, timeout=None, retry=None, handle_tool_errors=(ValueError, KeyError))
def refund(order: str, call_id: Annotated[str, InjectedToolCallId], state: Annotated[Any, InjectedState]) -> str:
    """Refund an order."""
    if not order:
        raise ModelRetry("Name the order.")
    raise ToolException(f"{order} cannot be refunded by {call_id}.", retryable=True, retry_after=1.5)


@tool
async def count_down(seconds: int, context: ToolContext) -> str:
    """Count down."""
    context.progress(seconds)
    return context.call_id


class SearchArguments(BaseModel):
    """What to search for."""

    query: str
    limit: int = 10


class Search(BaseTool):
    """Search the catalogue."""

    name = "search"
    args_schema = SearchArguments

    def _run(self, query: str, limit: int = 10) -> list[str]:
        return [query] * limit


assert_type(add, Tool)
assert_type(look_up, Tool)
assert_type(refund, Tool)
assert_type(add.name, str)
assert_type(add.description, str)
assert_type(add.to_openai(strict=True), dict[str, Any])
assert_type(add.with_config(timeout=1, tags=["x"]), Tool)
assert_type(Search().with_config(handle_tool_errors=True), Search)
assert_type(Tool.from_function(len, name="length"), Tool)
three: int = add.invoke({"a": 1, "b": 2})
answered: ToolMessage = add.invoke({"type": "tool_call", "name": "add", "args": {"a": 1}, "id": "c1"})

# --- messages ---------------------------------------------------------------------------------------------------------

conversation: list[AnyMessage] = [
    SystemMessage("Be brief."),
    HumanMessage("Add 1 and 2.", name="ada"),
    AIMessage(tool_calls=[{"id": "c1", "name": "add", "args": '{"a": 1, "b": 2}'}]),
    ToolMessage("3", tool_call_id="c1", name="add"),
]
turn = AIMessage("", tool_calls=[{"id": "c1", "name": "add", "args": None}], usage_metadata=None)
assert_type(turn.text, str)
assert_type(turn.tool_calls, list[ToolCall])
assert_type(turn.tool_calls[0]["id"], str)
assert_type(turn.replace(content="x"), AIMessage)
assert_type(convert_to_messages([("user", "Hello"), {"role": "assistant", "content": "Hi"}]), list[Message])
assert_type(repair_transcript(conversation), list[Message])
assert_type([problem.call_id for problem in check_transcript(conversation)], list[str])
assert_type(add_messages(conversation, HumanMessage("More")), list[Message])
trimmed: list[Message] = trim_messages(conversation, max_messages=3)


def read_outcome(message: ToolMessage) -> str:
    """How a call ended."""
    outcome = message.outcome
    if outcome is None:
        return "unknown"
    assert_type(outcome, Outcome)
    assert_type(outcome.kind, FailureKind | None)
    assert_type(outcome.repairs, tuple[str, ...])
    return "fine" if outcome.kind is None else outcome.kind.value


# --- nodes ------------------------------------------------------------------------------------------------------------


def tell(error: Exception) -> str:
    """What the model is told."""
    return f"Failed: {error}"


async def ask(name: str, arguments: Mapping[str, Any]) -> bool:
    """Ask a human."""
    return name != "refund" and bool(arguments)


def listen(event: Event) -> None:
    """Write down how calls end."""
    if isinstance(event, CallFinished):
        assert_type(event.outcome.kind, FailureKind | None)


node = ToolNode(
    [add, look_up, refund, Search(), len],
    handle_tool_errors=tell,
    messages_key="chat",
    name="my_tools",
    overrides={"add": {"timeout": 1}},
    max_concurrency=4,
    approve=ask,
    listener=listen,
    timeout=10,
)
ToolNode([add], handle_tool_errors=False)
ToolNode([add], handle_tool_errors="Try again.")
ToolNode([add], handle_tool_errors=ValueError)
ToolNode([add], handle_tool_errors=Tell.CLASS_ONLY, fatal=(KeyError,))


def word_missing_key(error: KeyError) -> str:
    """A handler of one class."""
    return f"no {error}"


ToolNode([add], handle_tool_errors={KeyError: word_missing_key, ValueError: Tell.VERBATIM, TimeoutError: "Later."})
tool(handle_tool_errors={LookupError: False, Exception: True})(str)
create_agent(ScriptedModel([]), [add], handle_tool_errors={OSError: Tell.REDACTED})
ValidationNode([SearchArguments, add, tell], format_error=lambda error, call, schema: f"{call['name']}: {error}")
assert_type(tools_condition({"messages": conversation}), Literal["tools", "__end__"])
answers: list[ToolMessage] = run_tool_calls(turn, [add])

# --- arguments --------------------------------------------------------------------------------------------------------


def read(text: str) -> dict[str, Any]:
    """Arguments, or nothing."""
    try:
        parsed = parse_arguments(text, schema=SearchArguments)
    except MalformedArguments as error:
        assert_type(error.is_cut_off, bool)
        return {}
    assert_type(parsed, ParsedArguments)
    return parsed.value


try:
    add.invoke({"a": "x"})
except InvalidArguments as problem:
    assert_type([complaint.path for complaint in problem.complaints], list[str])
except SurehandError as problem:
    assert_type(problem.for_model(), str)

# --- graph ------------------------------------------------------------------------------------------------------------


class Order(TypedDict, total=False):
    """The state of an order."""

    messages: Annotated[list[AnyMessage], add_messages]
    items: list[str]
    total: Annotated[float, operator.add]


def total(state: Order) -> dict[str, Any]:
    """A node."""
    return {"total": float(len(state.get("items", [])))}


async def pack(state: Order) -> Command:
    """A node that says where to go on."""
    return Command(update={"items": []}, goto=[Send("total", state), "tools"])


def price(items: list[str]) -> dict[str, float]:
    """A function for a node of its own."""
    return {"total": float(len(items))}


def route(state: Order) -> str:
    """A condition."""
    return "pack" if state.get("items") else END


graph = StateGraph(Order)
graph.add_node("total", total)
graph.add_node("pack", pack, retry=RetryPolicy(max_attempts=2))
graph.add_node("tools", ToolNode([add]))
graph.add_node("priced", FunctionNode(price, reads=["items"], writes=["total"]))
graph.add_edge(START, "total")
graph.add_conditional_edges("total", route, ["pack", END])
compiled = graph.compile(store=InMemoryStore())
result: dict[str, Any] = compiled.invoke({"items": ["tea"]}, {"recursion_limit": 5})
picture: str = compiled.draw_mermaid(xray=True) + compiled.draw_ascii(max_width=None) + compiled.draw_svg(xray=1)
pixels: bytes = compiled.draw_png(scale=1.5)
chat_graph = StateGraph(MessagesState)

# --- middlewares and tool sets ----------------------------------------------------------------------------------------


def audited(request: ToolCallRequest, run: Callable[[ToolCallRequest], ToolMessage]) -> ToolMessage:
    """A synchronous middleware."""
    return run(request.override(args={"a": 1}))


async def timed(request: ToolCallRequest, run: Callable[[ToolCallRequest], Awaitable[ToolMessage]]) -> ToolMessage:
    """An asynchronous one."""
    return await run(request)


class Policy:
    """One with a method."""

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage]) -> str:
        """A text is an answer too."""
        return handler(request).text


async def tools_for(request: ToolSetRequest) -> list[Tool]:
    """The tools of a turn."""
    return [add] if request.thread_id else []


wrapped = ToolNode([add], middleware=[audited, timed, Policy(), ResultCache(ttl=60), SingleFlight()])
assert_type(wrapped.offered([HumanMessage("Hi")]), list[BaseTool])
ToolNode(tools_for, middleware=[lambda request, run: run(request)])
ToolNode([*prefixed("math", [add])])

# --- models and agents ------------------------------------------------------------------------------------------------

model = ScriptedModel([AIMessage("Hello.")])
assert_type(model.invoke("Hi"), AIMessage)
FunctionModel(lambda messages: AIMessage(messages[-1].text))
named = init_chat_model("openai:gpt-4o-mini", temperature=0, base_url="http://127.0.0.1:1/v1")
bound = named.bind_tools([add], tool_choice="add")
chunks: Iterator[AIMessageChunk] = bound.stream([HumanMessage("Hi")])
agent = create_agent(model, [add], system_prompt="Be brief.", max_iterations=5, listener=listen)


class Counting(AgentState, total=False):
    count: Annotated[int, operator.add]


class Counter(AgentMiddleware[Counting]):
    state_schema = Counting

    def before_model(self, state: Counting, runtime: Runtime) -> dict[str, Any]:
        return {"count": 1}

    async def after_model(self, state: Counting, runtime: Runtime) -> Command[Literal["end"]] | None:
        return Command(goto="end") if state.get("count") == 3 else None

    async def wrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        return await handler(request.override(system_prompt="Be brief."))


@before_model(state_schema=Counting)
async def look(state: Counting, runtime: Runtime) -> None: ...


@wrap_model_call
def around(request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> AIMessage:
    return handler(request).message


@dynamic_prompt
def prompt(request: ModelRequest) -> str:
    return f"You speak with {request.runtime.context}."


assert_type(look, AgentMiddleware[Any])
counted = create_agent(
    model, [add], middleware=[Counter(), look, around, prompt, ResultCache()], response_format=Counting
)
assert_type(counted.as_tool(description="Count.", timeout=5), Tool)
state: dict[str, Any] = agent.invoke({"messages": [("user", "Hi")]}, context=object())


async def converse() -> None:
    """The asynchronous twins."""
    await node.ainvoke(conversation)
    assert_type(await model.ainvoke("Hi"), AIMessage)
    parts: AsyncIterator[AIMessageChunk] = bound.astream("Hi")
    async for part in parts:
        assert_type(part, AIMessageChunk)
    await agent.ainvoke("Hi")
    steps: AsyncIterator[Any] = compiled.astream({"items": []})
    async for _ in steps:
        pass
