"""Schemas of older drafts, written as draft 2020-12: Anthropic refuses others, and nobody else reads ``$schema``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from surehand.shapes import is_array, is_object
from surehand.tools.forms.subschemas import rewritten

__all__ = ["modernised"]

_OLD: Final = ("draft-04", "draft-06", "draft-07", "2019-09")
_LONE_REFERENCES: Final = ("draft-04", "draft-06", "draft-07")
"""Drafts in which nothing that stands beside a ``$ref`` counts."""
_BESIDE_A_REFERENCE: Final = frozenset({
    *("$ref", "title", "description", "default", "examples", "definitions", "$defs"),
})  # fmt: skip


def modernised(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the schema that means the same in draft 2020-12, without its ``$schema``."""
    declared = str(schema.get("$schema", ""))
    draft = next((old for old in _OLD if old in declared), None)

    def step(node: dict[str, Any], _place: str) -> dict[str, Any]:
        return node if draft is None else _renewed(node, draft)

    copied: dict[str, Any] = rewritten(schema, step)
    copied.pop("$schema", None)
    return copied


def _renewed(node: dict[str, Any], draft: str) -> dict[str, Any]:
    if "$ref" in node and draft in _LONE_REFERENCES:
        node = {key: value for key, value in node.items() if key in _BESIDE_A_REFERENCE}
    if is_array(node.get("items")):
        node["prefixItems"] = node.pop("items")
        if "additionalItems" in node:
            node["items"] = node["additionalItems"]
    node.pop("additionalItems", None)
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(is_exclusive := node.get(exclusive), bool):
            del node[exclusive]
            if is_exclusive and bound in node:
                node[exclusive] = node.pop(bound)
    if is_object(dependencies := node.pop("dependencies", None)):
        needs = {name: needed for name, needed in dependencies.items() if is_array(needed)}
        schemas = {name: schema for name, schema in dependencies.items() if not is_array(schema)}
        node |= {"dependentRequired": needs} if needs else {}
        node |= {"dependentSchemas": schemas} if schemas else {}
    if node.get("$recursiveRef") == "#":
        node["$ref"] = node.pop("$recursiveRef")
    return node
