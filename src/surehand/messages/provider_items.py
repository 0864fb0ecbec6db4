"""Items of providers' own that are no message in the usual spelling, each read by its dialect.

Most providers' messages have a role and a content, and calls where others have them. Some have not: to read those by
the same rules would lose the calls in them without a word. Each dialect says which items are such (``owns``). The
dialects stand above the messages and are named here by their modules, so that nothing is imported before an item comes
that may be one.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from surehand.foreign import is_langchain
from surehand.messages.base import Message
from surehand.shapes import items_of, mapping_of

__all__ = ["dialect_of_item", "read_items"]

_TYPES: Final = frozenset({"ai", "human", "remove", "system", "tool"})
"""What the type of a stored message says, where it has no role."""


def dialect_of_item(item: object) -> str | None:
    """The name of the dialect that an item has to be read by; None for what has the usual spelling."""
    fields = _fields(item)
    if not fields or _is_usual(fields):
        return None
    owner: str | None = importlib.import_module("surehand.dialects.detect").owner_of(fields)
    return owner


def _is_usual(fields: Mapping[str, Any]) -> bool:
    """Whether no dialect need be asked: nearly all messages are texts, or blocks that name their types."""
    is_message = fields["type"] in _TYPES if "type" in fields else "role" in fields
    return is_message and "parts" not in fields and all(map(_is_typed, items_of(fields.get("content"))))


def _is_typed(block: object) -> bool:
    return isinstance(block, str) or "type" in mapping_of(block)


def _fields(item: object) -> Mapping[str, Any]:
    dump = getattr(item, "model_dump", None)
    if not callable(dump) or isinstance(item, type) or is_langchain(item):
        return mapping_of(item)
    return mapping_of(dump(exclude_none=True, warnings=False))


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
