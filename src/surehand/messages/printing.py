"""Messages as people read them in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, cast

from surehand.messages.ai import AIMessage
from surehand.messages.base import Message
from surehand.messages.calls import ToolCall

__all__ = ["pretty"]

WIDTH: Final = 80


def pretty(message: Message) -> str:
    """A centred title of ``=``, then name, content and calls, each on lines of its own; what is empty is left out."""
    return "\n".join(_lines(message))


def _lines(message: Message) -> Iterator[str]:
    yield _title(f" {message.type.title()} Message ")
    if message.name:
        yield f"Name: {message.name}"
    if message.content:
        yield str(message.content)
    if isinstance(message, AIMessage) and message.tool_calls:
        errors = {call["id"]: call["error"] for call in message.invalid_tool_calls}
        yield "Tool Calls:"
        for call in message.tool_calls:
            yield from _call_lines(call, errors.get(call["id"]))


def _title(words: str) -> str:
    left = (WIDTH - len(words)) // 2
    return f"{'=' * left}{words}{'=' * (WIDTH - len(words) - left)}"


def _call_lines(call: ToolCall, error: str | None) -> Iterator[str]:
    yield f"  {call['name']} ({call['id']})"
    if error is not None:
        yield f"  Error: {error}"
    yield "  Args:"
    if isinstance(call["args"], Mapping):
        for name, value in cast("Mapping[str, object]", call["args"]).items():
            yield f"    {name}: {value}"
    else:
        yield f"    {call['args']}"
