"""Messages, and what a conversation made of them has to obey.

A *call* is one entry of ``AIMessage.tool_calls``; a *tool message* answers exactly one call.
"""

from __future__ import annotations

from typing import TypeAlias

from surehand.messages.ai import AIMessage, AIMessageChunk
from surehand.messages.assembly import CallAssembler
from surehand.messages.base import (
    REMOVE_ALL_MESSAGES,
    HumanMessage,
    Message,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    is_empty,
)
from surehand.messages.calls import InvalidToolCall, ToolCall, ToolCallChunk, new_call_id
from surehand.messages.coercion import convert_to_messages, plain_messages, plain_reply
from surehand.messages.content import Content, text_of
from surehand.messages.fields import core_schema_of
from surehand.messages.finish import BROKE_OFF, FinishReason, finish_reason_of, is_broken, is_ended
from surehand.messages.json_form import json_form
from surehand.messages.parts import WHOLE_KINDS, message_of, parts_of
from surehand.messages.reducer import add_messages, as_new, with_id
from surehand.messages.stored import message_from_dict, message_to_dict, outcome_from_dict
from surehand.messages.telling import asked, message_reader, tell, telling, told
from surehand.messages.transcripts import (
    NOT_RECORDED,
    ProblemKind,
    TranscriptProblem,
    check_transcript,
    close_call,
    left_calls,
    repair_transcript,
    trim_messages,
    unanswered_calls,
)

AnyMessage: TypeAlias = Message
"""Any message, for annotations; as a field of a pydantic model it accepts whatever converts to one message."""

__all__ = [
    "BROKE_OFF",
    "NOT_RECORDED",
    "REMOVE_ALL_MESSAGES",
    "WHOLE_KINDS",
    "AIMessage",
    "AIMessageChunk",
    "AnyMessage",
    "CallAssembler",
    "Content",
    "FinishReason",
    "HumanMessage",
    "InvalidToolCall",
    "Message",
    "ProblemKind",
    "RemoveMessage",
    "SystemMessage",
    "ToolCall",
    "ToolCallChunk",
    "ToolMessage",
    "TranscriptProblem",
    "add_messages",
    "as_new",
    "asked",
    "check_transcript",
    "close_call",
    "convert_to_messages",
    "core_schema_of",
    "finish_reason_of",
    "is_broken",
    "is_empty",
    "is_ended",
    "json_form",
    "left_calls",
    "message_from_dict",
    "message_of",
    "message_reader",
    "message_to_dict",
    "new_call_id",
    "outcome_from_dict",
    "parts_of",
    "plain_messages",
    "plain_reply",
    "repair_transcript",
    "tell",
    "telling",
    "text_of",
    "told",
    "trim_messages",
    "unanswered_calls",
    "with_id",
]
