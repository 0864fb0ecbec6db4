"""Lists whose items nobody described."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surehand.tools.forms.adaptation import Notes
from surehand.tools.forms.subschemas import rewritten

__all__ = ["types_of", "with_items"]


def with_items(schema: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    """A copy of the schema in which every list says what its items are, if only that they may be anything.

    OpenAI refuses a request with ``array schema missing items``, whether or not it is strict.
    """

    def step(node: dict[str, Any], place: str) -> dict[str, Any]:
        if "array" in types_of(node) and "items" not in node:
            node["items"] = {}
            notes.add(
                place, "says that items may be anything", "same", why=f"{notes.form} refuses a list without items"
            )
        return node

    made: dict[str, Any] = rewritten(schema, step)
    return made


def types_of(node: Mapping[str, Any]) -> list[str]:
    """The declared types of a schema, none where it declares none."""
    kind = node.get("type", [])
    return [kind] if isinstance(kind, str) else list(kind)
