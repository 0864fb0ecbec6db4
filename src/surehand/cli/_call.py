"""What ``surehand call`` does: one call through the whole pipeline, as a model would make it."""

from __future__ import annotations

from typing import Any

from surehand import AIMessage, BaseTool, ToolMessage, ToolNode

__all__ = ["call_tool", "outcome_of"]


def call_tool(tool: BaseTool, arguments: str) -> ToolMessage:
    """The tool message that answers a call with this argument text; never raises on what the text holds."""
    message = AIMessage("", tool_calls=[{"id": "call_1", "name": tool.name, "args": arguments}])
    answers: list[ToolMessage] = ToolNode([tool]).invoke([message])
    return answers[0]


def outcome_of(answer: ToolMessage, *, sent: str) -> dict[str, Any]:
    """All that is known of a call, as JSON data."""
    return {
        "id": answer.tool_call_id,
        "name": answer.name,
        "sent": sent,
        "told": answer.content,
        "outcome": answer.outcome.to_dict() if answer.outcome else None,
    }
