"""Which of a completion's choices is the one that is read.

They are alternatives where several were asked for, each with its number. Some servers that nobody asked send what one
turn is made of as several: the text in one, and the calls in another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from surehand.messages import text_of
from surehand.shapes import items_of, mapping_of

__all__ = ["choice_of"]

_FOR_CALLS: Final = ("tool_calls", "function_call")


def choice_of(reply: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    """The choice of this number; its calls may stand in another one."""
    entries = [mapping_of(entry) for entry in items_of(reply.get("choices"))]
    numbers = [entry.get("index", place) for place, entry in enumerate(entries)]
    found = [entry for entry, its in zip(entries, numbers, strict=True) if its == number]
    if not found:  # servers count as they like
        found = entries[number : number + 1] if number >= 0 else []
    if len(found) == 1 and found[0].get("finish_reason") in _FOR_CALLS and not _has_calls(found[0]):
        found += [entry for entry in entries if _has_calls(entry)]
    return found[0] if len(found) == 1 else _as_one(found)


def _has_calls(choice: Mapping[str, Any]) -> bool:
    message = mapping_of(choice.get("message"))
    return bool(message.get("tool_calls") or message.get("function_call"))


def _as_one(parts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Choices that are no alternatives: some servers send a text and the calls after it as two."""
    messages = [mapping_of(part.get("message")) for part in parts]
    fields = {key: value for message in messages for key, value in message.items() if value}
    said = [message["content"] for message in messages if message.get("content")]
    calls = [call for message in messages for call in items_of(message.get("tool_calls"))]
    content = said[0] if len(said) == 1 else "".join(text_of(content) for content in said)
    reasons = [part["finish_reason"] for part in parts if part.get("finish_reason")]
    whole = {**fields, "content": content, "tool_calls": calls} if fields else {}
    return {"message": whole, "finish_reason": reasons[-1] if reasons else None}
