"""Messages, and what a conversation made of them has to obey.

A *call* is one entry of ``AIMessage.tool_calls``; a *tool message* answers exactly one call.
"""

from __future__ import annotations

from typing import TypeAlias

from surehand.messages.ai import AIMessage, AIMessageChunk
from surehand.messages.base import (
    REMOVE_ALL_MESSAGES,
    HumanMessage,
    Message,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from surehand.messages.calls import InvalidToolCall, ToolCall, ToolCallChunk, new_call_id
from surehand.messages.content import Content, text_of
from surehand.messages.finish import FinishReason, finish_reason_of

AnyMessage: TypeAlias = Message
"""Any message, for annotations; as a field of a pydantic model it accepts whatever converts to one message."""

__all__ = [
    "REMOVE_ALL_MESSAGES",
    "AIMessage",
    "AIMessageChunk",
    "AnyMessage",
    "Content",
    "FinishReason",
    "HumanMessage",
    "InvalidToolCall",
    "Message",
    "RemoveMessage",
    "SystemMessage",
    "ToolCall",
    "ToolCallChunk",
    "ToolMessage",
    "finish_reason_of",
    "new_call_id",
    "text_of",
]
