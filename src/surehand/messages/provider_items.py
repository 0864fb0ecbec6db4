"""Items of providers' own that are no message in the usual spelling, told by their marks.

Most providers' messages have a role and a content, and calls where others have them. Some have not: to read those by
the same rules would lose the calls in them without a word. They are read by their dialect. The dialects stand above the
messages and are named here by their modules, so that nothing is imported before such an item comes.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from surehand.foreign import is_langchain
from surehand.messages.base import Message
from surehand.shapes import is_array, items_of, mapping_of

__all__ = ["dialect_of_item", "read_items"]

_BEDROCK: Final = frozenset(
    {
        "text", "toolUse", "toolResult", "reasoningContent", "image", "document", "video", "audio", "cachePoint",
        "guardContent", "citationsContent", "searchResult",
    }
)  # fmt: skip
"""What a block of Bedrock's is named by; it has no ``type``."""
_RESPONSES: Final = frozenset({"reasoning", "item_reference", "compaction", "additional_tools", "configuration_update"})
"""Kinds of items of OpenAI's Responses that do not end like the others."""
_RESPONSES_ENDS: Final = ("_call", "_call_output", "_approval_request", "_approval_response", "_list_tools")


def dialect_of_item(item: object) -> str | None:
    """The name of the dialect that an item has to be read by; None for what has the usual spelling."""
    fields = _fields(item)
    if not fields:
        return None
    kind = fields.get("type")
    if isinstance(kind, str) and (kind in _RESPONSES or kind.endswith(_RESPONSES_ENDS)):
        return "openai_responses"
    if "role" not in fields:
        return _without_role(fields)
    if is_array(fields.get("parts")) and "content" not in fields:
        return "gemini"
    if "stop_reason" in fields and fields.get("type") == "message":
        return "anthropic_messages"
    has_bedrocks = any(map(_is_bedrocks, items_of(fields.get("content"))))
    return "bedrock_converse" if has_bedrocks else None


def _is_bedrocks(block: object) -> bool:
    fields = mapping_of(block)
    return "type" not in fields and not _BEDROCK.isdisjoint(fields)


def _without_role(fields: Mapping[str, Any]) -> str | None:
    """Whole replies, and contents whose role is left out."""
    if mapping_of(fields.get("message")):
        is_cohere = "done" not in fields and str(fields.get("finish_reason")).isupper()
        return "ollama_chat" if isinstance(fields.get("done"), bool) else "cohere_chat" if is_cohere else None
    if mapping_of(mapping_of(fields.get("output")).get("message")):
        return "bedrock_converse"
    found = (name for key, name in _REPLIES.items() if is_array(fields.get(key)) and "type" not in fields)
    return next(found, None)


_REPLIES: Final = {
    "choices": "openai_chat",
    "candidates": "gemini",
    "output": "openai_responses",
    "parts": "gemini",
}
"""The list in a reply, or in a content without a role, that no other dialect has."""


def _fields(item: object) -> Mapping[str, Any]:
    dump = getattr(item, "model_dump", None)
    if not callable(dump) or isinstance(item, type) or is_langchain(item):
        return mapping_of(item)
    return mapping_of(dump(exclude_none=True))


def read_items(items: Sequence[object], names: Sequence[str | None]) -> list[Message]:
    """The messages of items of which some have to be read by a dialect; each stretch by its own.

    Args:
        items: As a host holds them.
        names: What ``dialect_of_item`` says of each.

    Raises:
        InputError: One is nothing that its dialect knows.
    """
    messages: list[Message] = []
    start, current = 0, next(filter(None, names))
    for place, name in enumerate([*names, None]):
        is_end = place == len(items)
        if is_end or (name is not None and name != current):
            dialect = importlib.import_module(f"surehand.dialects.{current}")
            messages += dialect.read_messages(items[start:place])
            start, current = place, name or current
    return messages
