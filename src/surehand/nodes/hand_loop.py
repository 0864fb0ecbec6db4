"""The calls of one AI message, answered without a graph: for a loop that is written by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from surehand.control import RunConfig
from surehand.errors import InputError
from surehand.nodes.tool_node import ToolNode

__all__ = ["arun_tool_calls", "run_tool_calls"]


def run_tool_calls(
    ai_message: Any,
    tools: Iterable[Any],
    *,
    config: RunConfig | None = None,
    context: Any = None,
    **options: Any,
) -> list[Any]:
    """Execute the calls of one AI message, for a hand-written loop; see ``arun_tool_calls``."""
    answers: list[Any] = ToolNode(tools, **options).invoke(_alone(ai_message), config, context=context)
    return answers


async def arun_tool_calls(
    ai_message: Any,
    tools: Iterable[Any],
    *,
    config: RunConfig | None = None,
    context: Any = None,
    **options: Any,
) -> list[Any]:
    """Execute the calls of one AI message and return their tool messages, in call order.

    Args:
        ai_message: An AIMessage, or what a provider's model said: its message or the whole reply, as JSON or as the
            SDK's object; the answers have the same form.
        tools: The tools.
        config: The run's configuration.
        context: The host's own object, for injected parameters.
        **options: Everything that ``ToolNode`` takes.

    Raises:
        InputError: ``ai_message`` is no AI message.
        Exception: What a tool raised, where ``handle_tool_errors`` lets it out.
    """
    answers: list[Any] = await ToolNode(tools, **options).ainvoke(_alone(ai_message), config, context=context)
    return answers


def _alone(ai_message: Any) -> list[Any]:
    if isinstance(ai_message, list | tuple):
        raise InputError(
            problem="The calls of one AI message are run at a time, expected the message itself",
            value=ai_message,  # pyright: ignore[reportUnknownArgumentType] - whatever it holds is shown
            remedy="Pass the model's reply, not a list; ToolNode takes a list.",
        )
    return [ai_message]
