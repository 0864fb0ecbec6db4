"""Replies, tools and readings that tests of agents share."""

from __future__ import annotations

from typing import Any

from surehand import AIMessage, ToolMessage, tool

__all__ = ["add", "asking", "call", "kinds", "outcomes"]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def call(name: str = "add", call_id: str = "c1", **args: Any) -> dict[str, Any]:
    """One call, of ``add`` unless it says otherwise."""
    return {"id": call_id, "name": name, "args": args or ({"a": 2, "b": 3} if name == "add" else {})}


def asking(*calls: dict[str, Any], content: str = "") -> AIMessage:
    """A reply with these calls, or with one of ``add``."""
    return AIMessage(content, tool_calls=list(calls) or [call()])


def kinds(result: dict[str, Any]) -> list[str]:
    """The types of the messages of a result."""
    return [message.type for message in result["messages"]]


def outcomes(result: dict[str, Any]) -> list[str | None]:
    """How the calls of a result ended, in the order of their answers; None for a success."""
    answers = [message for message in result["messages"] if isinstance(message, ToolMessage)]
    found = [answer.outcome.kind if answer.outcome is not None else None for answer in answers]
    return [None if kind is None else str(kind) for kind in found]
