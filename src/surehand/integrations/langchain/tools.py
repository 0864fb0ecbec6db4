"""LangChain's tools as ours, and ours as LangChain's.

A tool of LangChain's keeps its own ``invoke``, or what that would do where nobody listens: its callbacks, its
configuration, its tags, its way with its own errors.
What changes is what comes before and after: its arguments are checked as those of any tool are, and what it returned is
written for the model as any result is. LangChain writes a result where the tool ends, and hands on the text alone; so
the function of a plain tool is listened to, and of other tools the text is taken.
"""

# LangChain's own types are partly unknown, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool as ForeignTool
from langchain_core.tools import StructuredTool, ToolException
from langchain_core.tools import Tool as ForeignTextTool
from typing_extensions import override

from surehand.calls import ToolReturn, author_error
from surehand.concurrency import entered_by_sync_door
from surehand.errors import InvalidArguments
from surehand.integrations.langchain.commands import as_ours
from surehand.integrations.langchain.frames import current_frame
from surehand.integrations.langchain.listeners import is_heard
from surehand.integrations.langchain.markers import Wanted, wanted_by
from surehand.integrations.langchain.plain_tools import PlainTool, Returned, plain_tool
from surehand.integrations.langchain.runtimes import config_for, tool_runtime
from surehand.integrations.langchain.schemas import Checked, schema_for
from surehand.policy import ToolOptions
from surehand.spec import Injection, InjectionKind, ToolContext, ToolSpec
from surehand.spec.body import Body
from surehand.tools import BaseTool

__all__ = ["LangChainTool", "from_langchain_tool", "is_langchains"]

author_error(ToolException)  # its text is what the tool's author wants the model to read

_CONTEXT: Final = "surehand tool context"
"""The name of no parameter."""
_DEFAULT_VALIDATION_TEXT: Final = "Tool input validation error"
"""What LangChain tells of arguments that do not fit, where the tool says no more than that it handles them."""


class LangChainTool(BaseTool):
    """A tool of LangChain's, run by its own ``invoke`` or ``ainvoke``.

    Args:
        tool: LangChain's tool.
        by_name: Whether a parameter that is called ``runtime`` and says nothing of its type gets LangGraph's runtime.

    Raises:
        ToolDefinitionError: Something about it cannot be used.
    """

    def __init__(self, tool: ForeignTool, *, by_name: bool = False) -> None:
        self.langchain = tool
        """LangChain's tool itself."""
        wanted = wanted_by(tool, by_name=by_name)
        self.name = tool.name
        self.description = tool.description
        self.return_direct = tool.return_direct
        self.response_format = tool.response_format
        self.tags = tuple(tool.tags or ())
        self.metadata = dict(tool.metadata or {})
        self.__dict__["_spec"] = ToolSpec(
            name=tool.name,
            description=tool.description,
            schema=schema_for(tool, hidden=wanted.names),
            body=_body_of(tool, wanted),
            options=ToolOptions(handle_tool_errors=_own_rule(tool)) if tool.handle_validation_error else ToolOptions(),
            return_direct=tool.return_direct,
            response_format=tool.response_format,
            tags=self.tags,
            metadata=self.metadata,
        )
        self.args_schema = self.spec.schema.model


def from_langchain_tool(tool: ForeignTool, *, by_name: bool = False) -> LangChainTool:
    """A tool of LangChain's as one of ours; nodes, agents and ``run_tool_calls`` do this with those they are given.

    Args:
        tool: LangChain's tool.
        by_name: Whether a parameter that is called ``runtime`` and says nothing of its type gets LangGraph's runtime.

    Raises:
        ToolDefinitionError: Something about it cannot be used.
        MissingExtraError: Its arguments are a JSON Schema, and the ``jsonschema`` extra is not installed.
    """
    return LangChainTool(tool, by_name=by_name)


def is_langchains(spec: ToolSpec) -> bool:
    """Whether a tool is one of LangChain's."""
    return isinstance(spec.body, _ForeignBody)


def _own_rule(tool: ForeignTool) -> Mapping[type[Exception], Any]:
    """What the tool itself says to arguments that do not fit."""
    rule = tool.handle_validation_error
    if callable(rule):
        return {InvalidArguments: _told_by(rule)}
    return {InvalidArguments: rule if isinstance(rule, str) else _DEFAULT_VALIDATION_TEXT}


def _told_by(rule: Callable[[Any], Any]) -> Callable[[InvalidArguments], Any]:
    return lambda error: rule(error.__cause__ or error)


# -- its body --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _ForeignBody(Body):
    """Runs a tool of LangChain's."""

    tool: ForeignTool
    listened: ForeignTool
    """The same, whose function is listened to; itself where it cannot be."""
    plain: PlainTool | None
    """How its function is run where nobody listens; None where that is always left to ``invoke``."""
    runtimes: frozenset[str]
    has_sync: bool
    has_async: bool

    @override
    def call(self, values: Mapping[str, Any], injected: Mapping[str, Any]) -> Any:
        host = dict(injected)
        context: ToolContext = host.pop(_CONTEXT)
        host |= {name: tool_runtime(context) for name in self.runtimes}
        arguments = copy.deepcopy(values.sent) if isinstance(values, Checked) else dict(values)
        call = {"type": "tool_call", "id": context.call_id, "name": self.tool.name, "args": arguments | host}
        is_sync = self.has_sync and (entered_by_sync_door() or not self.has_async)
        return self._now(call, context) if is_sync else self._later(call, context)

    def _now(self, call: Mapping[str, Any], context: ToolContext) -> Any:
        config = config_for(context)
        if (quiet := self._quiet(call, config)) is not None:
            plain, complete = quiet
            return self._taken(plain, plain.now(call["args"], call["id"], complete), call)
        with _listening() as heard:
            answer = self.listened.invoke(cast("Any", call), config)
        return self._result(answer, heard)

    async def _later(self, call: Mapping[str, Any], context: ToolContext) -> Any:
        config = config_for(context)
        if (quiet := self._quiet(call, config)) is not None:
            plain, complete = quiet
            return self._taken(plain, await plain.later(call["args"], call["id"], complete), call)
        with _listening() as heard:
            answer = await self.listened.ainvoke(cast("Any", call), config)
        return self._result(answer, heard)

    def _quiet(self, call: Mapping[str, Any], config: RunnableConfig) -> tuple[PlainTool, RunnableConfig] | None:
        """How the function is run without ``invoke``, and the complete configuration; None where that cannot be."""
        if self.plain is None or not self.plain.fits(call["args"]):
            return None
        complete = ensure_config(config)
        return None if is_heard(self.listened, complete) else (self.plain, complete)

    def _taken(self, plain: PlainTool, returned: Returned, call: Mapping[str, Any]) -> Any:
        """What the function returned, where ``invoke`` did not write it down."""
        frame = current_frame()
        is_known = returned.is_value and (frame is None or not frame.is_compatible)
        answer = None if is_known else plain.answer(returned, call["id"])
        return self._result(answer, [returned.value] if is_known else [])

    def _result(self, answer: Any, heard: list[Any]) -> Any:
        """What the function returned, as far as it was heard; where the tool has handled an error, its answer."""
        frame = current_frame()
        is_error = getattr(answer, "status", "") == "error"
        if frame is not None and (frame.is_compatible or is_error or not heard):
            return answer
        if is_error or not heard:
            return as_ours(answer)
        value = heard[-1]
        if self.tool.response_format == "content_and_artifact":
            content, artifact = value
            return ToolReturn(content, artifact=artifact)
        return value if frame is not None else as_ours(value)


def _body_of(tool: ForeignTool, wanted: Wanted) -> Body:
    is_plain = isinstance(tool, StructuredTool | ForeignTextTool)
    has_sync = bool(getattr(tool, "func", None)) if is_plain else True
    has_async = bool(getattr(tool, "coroutine", None)) if is_plain else _has_own_arun(tool)
    # Without a runtime to make of it nobody looks at the state, and to make a long one read-only takes its time.
    context = Injection(parameter=_CONTEXT, kind=InjectionKind.CONTEXT, shows_state=bool(wanted.runtimes))
    return _ForeignBody(
        function=tool.invoke,
        is_async=has_async and not has_sync,
        injections=(*wanted.injections, context),
        reserved=wanted.runtimes,
        tool=tool,
        listened=_listened(tool),
        plain=plain_tool(tool),
        runtimes=wanted.runtimes,
        has_sync=has_sync or not has_async,
        has_async=has_async,
    )


def _has_own_arun(tool: ForeignTool) -> bool:
    return getattr(type(tool), "_arun", None) is not getattr(ForeignTool, "_arun", None)


_heard: ContextVar[list[Any] | None] = ContextVar("surehand_heard", default=None)


@contextmanager
def _listening() -> Any:
    """Entered while a tool runs, for what its function returns."""
    heard: list[Any] = []
    token = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(token)


def _listened(tool: ForeignTool) -> ForeignTool:
    """A copy of a plain tool whose function is listened to; any other tool itself, which may have state of its own."""
    if type(tool) not in (StructuredTool, ForeignTextTool):
        return tool
    plain = cast("StructuredTool", tool)
    changed: dict[str, Any] = {}
    if plain.func is not None:
        changed["func"] = _reporting(plain.func)
    if plain.coroutine is not None:
        changed["coroutine"] = _reporting_later(plain.coroutine)
    return plain.model_copy(update=changed)


def _reporting(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def reporting(*args: Any, **kwargs: Any) -> Any:
        return _reported(function(*args, **kwargs))

    return reporting


def _reporting_later(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def reporting(*args: Any, **kwargs: Any) -> Any:
        return _reported(await function(*args, **kwargs))

    return reporting


def _reported(value: Any) -> Any:
    heard = _heard.get()
    if heard is not None and not inspect.isawaitable(value):
        heard.append(value)
    return value
