"""LangChain's messages: objects of classes that are looked up in the host's own ``langchain_core``.

They part the calls that can be read from those that cannot, and know no outcome; ours stands in the response metadata
under ``surehand`` and is read from there again.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from surehand.foreign import is_langchain
from surehand.messages import (
    AIMessage,
    HumanMessage,
    Message,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    outcome_from_dict,
)
from surehand.shapes import mapping_of

__all__ = ["NAME", "knows", "owns", "read_messages", "write_answers", "write_message", "write_messages"]

NAME: Final = "langchain_messages"

_OUTCOME: Final = "surehand"
"""The key of a call's outcome in a message's response metadata."""


def knows(item: object, fields: Mapping[str, Any]) -> bool:
    """Whether it is an AI message of LangChain's."""
    return fields.get("type") in ("ai", "AIMessageChunk") and is_langchain(item, "langchain_core.messages")


def owns(fields: Mapping[str, Any]) -> bool:
    """Never: the fields of LangChain's messages are the usual ones."""
    del fields
    return False


def read_messages(given: Sequence[object], /) -> list[Message]:
    """LangChain's messages as ours; what is known of the outcome of a call is read too."""
    return [_with_outcome(message) for message in convert_to_messages(list(given))]


def _with_outcome(message: Message) -> Message:
    if not isinstance(message, ToolMessage) or _OUTCOME not in message.response_metadata:
        return message
    metadata = dict(message.response_metadata)
    outcome = outcome_from_dict(metadata.pop(_OUTCOME))
    return message.replace(outcome=outcome, response_metadata=metadata) if outcome is not None else message


def write_messages(messages: Iterable[Message]) -> list[Any]:
    """Our messages as LangChain's.

    Raises:
        ImportError: There is no ``langchain_core``.
    """
    return [write_message(message) for message in messages]


def write_answers(answers: Iterable[ToolMessage], /, given: Sequence[object] = ()) -> list[Any]:
    """The answers as LangChain's tool messages, each with its outcome in the response metadata."""
    del given
    return write_messages(answers)


def write_message(message: Message) -> Any:
    """One message of ours as LangChain's."""
    langchain = importlib.import_module("langchain_core.messages")
    if isinstance(message, RemoveMessage):
        return langchain.RemoveMessage(id=message.id)
    common: dict[str, Any] = {
        "content": message.content,
        "name": message.name,
        "id": message.id,
        "additional_kwargs": dict(message.additional_kwargs),
        "response_metadata": dict(message.response_metadata),
    }
    match message:
        case AIMessage():
            return langchain.AIMessage(**common, **_written_calls(message))
        case ToolMessage():
            if message.outcome is not None:
                common["response_metadata"][_OUTCOME] = message.outcome.to_dict()
            return langchain.ToolMessage(
                **common, tool_call_id=message.tool_call_id, status=message.status, artifact=message.artifact
            )
        case SystemMessage():
            return langchain.SystemMessage(**common)
        case HumanMessage():
            return langchain.HumanMessage(**common)
        case _:
            raise TypeError(f"there is no such message: {type(message).__name__}")


def _written_calls(message: AIMessage) -> dict[str, Any]:
    """The calls that can be read apart from those that cannot, and the tokens where all three are known."""
    errors = {call["id"]: call["error"] for call in message.invalid_tool_calls}
    invalid = [
        {
            "type": "invalid_tool_call",
            "id": call["id"],
            "name": call["name"],
            "args": call["args"] if isinstance(call["args"], str) else json.dumps(call["args"], default=str),
            "error": errors[call["id"]],
        }
        for call in message.tool_calls
        if call["id"] in errors
    ]
    valid = [dict(call) for call in message.tool_calls if call["id"] not in errors]
    written: dict[str, Any] = {"tool_calls": valid, "invalid_tool_calls": invalid}
    usage = mapping_of(message.usage_metadata)
    if {"input_tokens", "output_tokens", "total_tokens"} <= usage.keys():
        written["usage_metadata"] = dict(usage)
    return written
