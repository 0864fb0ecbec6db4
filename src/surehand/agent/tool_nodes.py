"""The node that runs an agent's tools: made of the host's and those of its middlewares, or given as it is."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias, cast

from surehand.agent.structured import AnswerForm
from surehand.callables import is_async_callable
from surehand.calls import ResultShelf
from surehand.errors import OptionError
from surehand.models import ChatModel, ToolChoice
from surehand.nodes import ToolNode, ToolSetFunction, ToolSetRequest
from surehand.policy import Limits, Unset
from surehand.shapes import is_same
from surehand.tools import BaseTool, as_tools

__all__ = ["AgentTools", "known_tools", "limits_of_calls", "node_of", "with_limits_of_calls", "with_own"]

AgentTools: TypeAlias = Sequence[Any] | ToolSetFunction | ToolNode | None
"""What an agent takes as tools."""

_NO_LIMITS: Final = Limits(corrections=None)


def with_own(tools: AgentTools, own: Sequence[BaseTool]) -> AgentTools:
    """The tools of the host, and those that middlewares bring along.

    Raises:
        OptionError: The host's are those of a node, which takes no others.
    """
    if not own:
        return tools
    if isinstance(tools, ToolNode):
        raise OptionError(
            option="middleware",
            value=[tool.spec.name for tool in own],
            expected="middlewares without tools beside a ToolNode",
            remedy="Give their tools to the ToolNode too, and leave tools of the middleware empty.",
        )
    if not _is_computed(tools):
        return [*as_tools(cast("Sequence[Any]", () if tools is None else tools)), *own]
    return _computed(cast("ToolSetFunction", tools), own)


def _computed(function: ToolSetFunction, own: Sequence[BaseTool]) -> ToolSetFunction:
    """A function that gives further tools besides; as asynchronous as the one that it asks."""

    async def joined(given: Awaitable[Iterable[Any]]) -> list[Any]:
        return [*await given, *own]

    async def awaited(request: ToolSetRequest) -> list[Any]:
        return await joined(cast("Awaitable[Iterable[Any]]", function(request)))

    def here(request: ToolSetRequest) -> Any:
        given = function(request)
        return joined(given) if inspect.isawaitable(given) else [*given, *own]

    return awaited if is_async_callable(function) else here


def _is_computed(tools: object) -> bool:
    return callable(tools) and not isinstance(tools, type | BaseTool) and not hasattr(tools, "__iter__")


def node_of(tools: AgentTools, options: Mapping[str, Any], *, defaults: Mapping[str, Any]) -> ToolNode | None:
    """The node that runs the tools; None where there are none.

    Args:
        tools: The tools, or the node.
        options: What was given for the node.
        defaults: What each of them is where the host gave nothing.

    Raises:
        OptionError: An option of the node is given beside a node, or cannot be meant.
    """
    if isinstance(tools, ToolNode):
        given = [name for name, value in options.items() if not is_same(value, defaults[name])]
        if given:
            raise OptionError(
                option=given[0],
                value=options[given[0]],
                expected="nothing beside a ToolNode",
                remedy=f"Give {given[0]}= to the ToolNode.",
            )
        return tools
    made: dict[str, Any] = {
        **options,
        "shelf": ResultShelf() if isinstance(options["shelf"], Unset) else options["shelf"],
    }
    registered: Any = tools if _is_computed(tools) else as_tools(cast("Sequence[Any]", () if tools is None else tools))
    # Without tools there is nothing to run, but what cannot be meant is refused all the same.
    node = ToolNode(registered or _no_tools, **made)
    return node if registered else None


def _no_tools(_: object) -> list[BaseTool]:
    """The tools of an agent that has none."""
    return []


def with_limits_of_calls(limits: Limits, of_calls: Limits | None) -> Limits:
    """The limits of the loop and those of the node as one."""
    return limits if of_calls is None else replace(of_calls, turns=limits.turns, corrections=limits.corrections)


def limits_of_calls(limits: Limits) -> Limits | None:
    """The limits that hold for calls; None where there are none. The others are the loop's."""
    of_calls = replace(limits, turns=None, corrections=None)
    return None if of_calls == _NO_LIMITS else of_calls


def known_tools(node: ToolNode | None, model: ChatModel, choice: ToolChoice, form: AnswerForm | None) -> list[BaseTool]:
    """The tools that are known when the agent is built; none where they are computed.

    Raises:
        OptionError: The model has tools bound that are not among them, or is to call one where there is none.
    """
    if node is not None and not node.tools_by_name:
        return []
    tools = [] if node is None else list(node.tools_by_name.values())
    _check_bound(model, tools)
    if not tools and (form is None or not form.offered) and choice not in (None, "auto", "none"):
        raise OptionError(option="tool_choice", value=choice, expected="None for an agent without tools")
    return tools


def _check_bound(model: ChatModel, tools: Sequence[BaseTool]) -> None:
    """Refuse a model that offers tools which nobody here can run."""
    bound = [tool.spec.name for tool in cast("Sequence[BaseTool]", getattr(model, "tools", None) or ())]
    names = {tool.spec.name for tool in tools}
    strangers = [name for name in bound if name not in names]
    if strangers:
        raise OptionError(
            option="tools",
            value=sorted(names),
            expected=f"the tools that are bound to the model too: {', '.join(strangers)}",
            remedy="Add them to tools=, or pass the model without bound tools.",
        )
