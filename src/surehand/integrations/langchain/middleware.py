"""The calls of LangChain's ``create_agent``, taken care of as a node of ours takes care of its own.

LangChain's agent runs each call by itself. Around each of them goes one of our nodes, whose tools have the arguments of
the agent's and hand on what is right to whatever is further inside: other middlewares, and in the end the tool. What
the agent never looks at, calls that cannot be read and replies that were cut off, is answered as soon as it is there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Final

from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.messages import ToolMessage as ForeignAnswer
from langchain_core.tools import BaseTool as ForeignTool
from langgraph.errors import GraphBubbleUp
from typing_extensions import override

from surehand.calls import ToolReturn
from surehand.dialects.langchain_messages import read_messages, write_message
from surehand.integrations.langchain.replies import read_again, reviewed
from surehand.integrations.langchain.schemas import Checked
from surehand.integrations.langchain.tools import from_langchain_tool
from surehand.messages import AIMessage, Message, ToolMessage
from surehand.nodes import ToolNode, ToolSetRequest
from surehand.policy import text
from surehand.shapes import is_object, items_of
from surehand.spec.body import Body
from surehand.tools import BaseTool, Tool

__all__ = ["CallMiddleware", "as_middleware"]


@dataclass(slots=True, eq=False)
class _Passage:
    """One call of the agent's on its way."""

    request: Any
    """LangChain's, which tells the call."""
    handler: Callable[[Any], Any]
    """What is further inside."""
    tools: list[BaseTool]
    """The tools that its node knows."""
    is_async: bool
    """Whether what is further inside is awaited."""
    beside: Any = None
    """What came of it, where that is no tool message."""

    def run(self, args: dict[str, Any]) -> Any:
        """Run it with these arguments, further inside; what it came to, as a body returns it."""
        answer = self.handler(self.request.override(tool_call={**self.request.tool_call, "args": args}))
        return self._heard_later(answer) if self.is_async else self._heard(answer)

    async def _heard_later(self, answer: Awaitable[Any]) -> Any:
        return self._heard(await answer)

    def _heard(self, answer: Any) -> Any:
        if isinstance(answer, ForeignAnswer):
            self.beside = None
            return read_messages([answer])[0]
        self.beside = answer
        return ToolReturn("")


_passage: ContextVar[_Passage] = ContextVar("surehand_passage")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Handing(Body):
    """Hands a call on to what is further inside."""

    @override
    def call(self, values: Mapping[str, Any], injected: Mapping[str, Any]) -> Any:
        # LangChain checks the arguments once more, so it is given what the typed values were made of.
        return _passage.get().run(dict(values.sent if isinstance(values, Checked) else values))


class CallMiddleware(AgentMiddleware[Any, Any, Any]):
    """Calls of a LangChain agent, checked, run and answered by our rules; made by ``as_middleware``."""

    def __init__(self, *, name: str, options: Mapping[str, Any]) -> None:
        super().__init__()
        self.tools = []
        self._name = text("name", name)
        self._handing: dict[tuple[int, bool], tuple[ForeignTool, BaseTool]] = {}
        given: dict[str, Any] = {**options, "fatal": _fatal(options.get("fatal", ()))}
        self._node = ToolNode(self._known, **given)

    @property
    def name(self) -> str:
        """What the agent tells it from its other middlewares by."""
        return self._name

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Read what LangChain could not, before anybody looks at the reply: no other middleware may miss a call."""
        return read_again(handler(request), request.tools)

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Read what LangChain could not, before anybody looks at the reply: no other middleware may miss a call."""
        return read_again(await handler(request), request.tools)

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Answer what cannot be run: calls that cannot be read, and all calls of a reply that was cut off."""
        del runtime
        return reviewed(state["messages"])

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Run one call by our rules; ``handler`` is what is further inside."""
        passage = self._passage(request, handler, is_async=False)
        token = _passage.set(passage)
        try:
            (answer,) = self._node.invoke(_conversation(request), request.runtime.config)
        finally:
            _passage.reset(token)
        return _result(answer, passage)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Run one call by our rules; ``handler`` is what is further inside."""
        passage = self._passage(request, handler, is_async=True)
        token = _passage.set(passage)
        try:
            (answer,) = await self._node.ainvoke(_conversation(request), request.runtime.config)
        finally:
            _passage.reset(token)
        return _result(answer, passage)

    def _known(self, request: ToolSetRequest) -> Sequence[BaseTool]:
        del request
        return _passage.get().tools

    def _passage(self, request: Any, handler: Callable[[Any], Any], *, is_async: bool) -> _Passage:
        given = [tool for tool in getattr(request.runtime, "tools", None) or () if isinstance(tool, ForeignTool)]
        if request.tool is not None and request.tool not in given:
            given.append(request.tool)
        tools = [self._handed(tool, is_async=is_async) for tool in given]
        return _Passage(request, handler, tools, is_async)

    def _handed(self, tool: ForeignTool, *, is_async: bool) -> BaseTool:
        """The tool with its own arguments and a body that hands them on; the same one for the same tool."""
        known = self._handing.get((id(tool), is_async))
        if known is None or known[0] is not tool:
            spec = from_langchain_tool(tool).spec
            filled = spec.body.reserved | {injection.parameter for injection in spec.body.injections}
            body = _Handing(function=tool.invoke, is_async=is_async, reserved=filled)
            known = (tool, Tool(replace(spec, body=body, response_format="content")))
            if len(self._handing) >= _MOST_KNOWN:
                self._handing.clear()
            self._handing[id(tool), is_async] = known
        return known[1]


_MOST_KNOWN: Final = 1_000
"""How many tools are kept ready; an agent whose tools are made anew for each run has new ones each time."""


def as_middleware(*, name: str = "surehand", **options: Any) -> CallMiddleware:
    """A middleware for LangChain's ``create_agent`` that takes care of its calls.

    Arguments are checked and mended without loss, or refused with words; time is limited, transient failures are tried
    again, results cut to size, secrets kept back; a failure is told to the model and ends no run. Calls that cannot be
    read are answered at once, and of a reply that was cut off nothing runs. Put it before the middlewares that are to
    see only calls that are right, and behind those that are to see all.

    Args:
        name: What the agent tells it from its other middlewares by.
        **options: Those of ``surehand.ToolNode``. What is counted within a turn, such as ``max_concurrency``, has no
            effect: LangChain's agent makes a turn of each call, and its configuration limits how many run at a time.

    Raises:
        OptionError: An option has a value that cannot be meant.

    Example:
        create_agent(model, tools, middleware=[as_middleware(timeout=20)])
    """
    return CallMiddleware(name=name, options=options)


def _fatal(given: Any) -> tuple[Any, ...]:
    """What LangGraph's tools raise to say something to their graph goes out as it is, beside what the host names."""
    kinds = items_of(given)
    return (GraphBubbleUp, *(kinds if kinds or given == () else [given]))


def _conversation(request: Any) -> list[Message]:
    """The conversation up to the call, which stands alone in its message."""
    state: Any = request.state
    messages: list[Message] = read_messages(state["messages"] if is_object(state) else state.messages)
    call = dict(request.tool_call)
    for place in reversed(range(len(messages))):
        message = messages[place]
        if isinstance(message, AIMessage) and any(known["id"] == call["id"] for known in message.tool_calls):
            return [*messages[:place], message.replace(tool_calls=[call])]
    return [*messages, AIMessage(tool_calls=[call])]


def _result(answer: ToolMessage, passage: _Passage) -> Any:
    """The answer as LangChain takes it, or what came in its place and was right."""
    is_beside = passage.beside is not None and answer.status == "success"
    return passage.beside if is_beside else write_message(answer)
