"""The strict forms of a JSON Schema: what a provider takes when it promises that the model keeps to the schema.

Strict decoding knows a part of JSON Schema only. What is outside of it falls into two kinds. A keyword that merely
narrows (``minLength``, ``not``, ``format: uri``) is left out: the model may then send a little more, and the tool's own
schema, which is never changed, still refuses it. A construct without which the model could not send what the tool needs
(an object of free keys, a value of any type) cannot be left out, and the tool is refused with the place and a way out.
"""

# A JSON Schema is JSON data of any shape, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from surehand.errors import ToolDefinitionError

__all__ = ["ANTHROPIC", "OPENAI", "StrictRules", "strict_schema"]

_COMMON: Final = frozenset({
    *("$ref", "$defs", "definitions", "type", "description", "enum", "const", "properties", "required"),
    *("additionalProperties", "items", "anyOf"),
})  # fmt: skip
_OPENAI_FORMATS: Final = frozenset({
    *("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"),
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictRules:
    """What one provider's strict decoding knows."""

    provider: str
    keywords: frozenset[str]
    """Keywords that may stay."""
    formats: frozenset[str]
    """Values of ``format`` that may stay."""
    is_all_required: bool
    """Whether every property has to be required, so that optional ones are made nullable."""
    allows_recursion: bool
    """Whether a definition may refer to itself."""


OPENAI: Final = StrictRules(
    provider="OpenAI",
    keywords=_COMMON
    | {"format", "pattern", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
    | {"minItems", "maxItems"},
    formats=_OPENAI_FORMATS,
    is_all_required=True,
    allows_recursion=True,
)
ANTHROPIC: Final = StrictRules(
    provider="Anthropic",
    keywords=_COMMON | {"format", "default"},
    formats=_OPENAI_FORMATS | {"uri"},
    is_all_required=False,
    allows_recursion=False,
)


def strict_schema(schema: Mapping[str, Any], rules: StrictRules, *, tool: str) -> dict[str, Any]:
    """A strict copy of the schema; the schema itself is not changed.

    Raises:
        ToolDefinitionError: The schema holds a construct that strict decoding cannot carry.
    """
    root = copy.deepcopy(dict(schema))
    if not rules.allows_recursion:
        _refuse_recursion(root, rules, tool)
    writer = _Writer(rules, tool)
    root.setdefault("type", "object")
    root.setdefault("properties", {})
    return writer.schema(root, "$")


class _Writer:
    def __init__(self, rules: StrictRules, tool: str) -> None:
        self._rules = rules
        self._tool = tool

    def schema(self, node: Any, place: str) -> dict[str, Any]:
        """The strict form of one schema."""
        if not isinstance(node, dict):
            raise self._refusal(place, "may be any value", "Declare its type")
        node = self._merged(dict(node), place)
        if "$ref" in node:
            return self._reference(node)
        # Providers know no tuples: a list of what its places may hold is wider, and the tool's own schema is stricter.
        if "prefixItems" in node:
            node["items"] = _union(node.pop("prefixItems"))
        if "anyOf" in node:
            node["anyOf"] = [self.schema(option, place) for option in node["anyOf"]]
        self._require_a_type(node, place)
        types = _types_of(node)
        if "object" in types or "properties" in node:
            self._object(node, place)
        if "array" in types:
            self._array(node, place)
        return self._kept(node)

    def _merged(self, node: dict[str, Any], place: str) -> dict[str, Any]:
        """The node with ``oneOf`` as ``anyOf`` (the wider of the two) and an ``allOf`` of one merged into it."""
        if "oneOf" in node:
            node["anyOf"] = [*node.get("anyOf", []), *node.pop("oneOf")]
        parts = node.pop("allOf", [])
        if len(parts) > 1:
            raise self._refusal(place, "combines several schemas by allOf", "Write them as one schema")
        return {**parts[0], **node} if parts else node

    def _reference(self, node: dict[str, Any]) -> dict[str, Any]:
        """A reference may not have neighbours, so one with a description is put inside an ``anyOf``."""
        rest = {key: value for key, value in node.items() if key not in {"$ref", "$defs", "definitions"}}
        kept = self._kept(rest)
        lone: dict[str, Any] = {"$ref": node["$ref"]}
        whole = {"anyOf": [lone], **kept} if kept else lone
        return {**whole, **self._definitions(node)}

    def _object(self, node: dict[str, Any], place: str) -> None:
        properties = node.get("properties") or {}
        extra = node.get("additionalProperties")
        is_free = extra is not None and extra is not False
        if not properties and place != "$" and (extra is not False or "patternProperties" in node):
            raise self._refusal(place, "is an object of free keys", "Name its properties, or take a list of pairs")
        if not properties and place == "$" and is_free:
            raise self._refusal(place, "takes arguments of any name", "Name them")
        required = set(node.get("required", ()))
        node["properties"] = {
            name: self._property(self.schema(inner, f"{place}.{name}"), inner, is_required=name in required)
            for name, inner in properties.items()
        }
        node["required"] = [name for name in properties if self._rules.is_all_required or name in required]
        node["additionalProperties"] = False

    def _property(self, strict: dict[str, Any], original: Any, *, is_required: bool) -> dict[str, Any]:
        if is_required or not self._rules.is_all_required:
            return strict
        default = original.get("default") if isinstance(original, dict) else None
        if default is not None:
            said = strict.get("description", "")
            text = f"{said} Null stands for the default, {json.dumps(default, ensure_ascii=False)}.".lstrip()
            strict = {**_behind_any_of(strict), "description": text} if "$ref" in strict else strict
            strict["description"] = text
        return _nullable(strict)

    def _array(self, node: dict[str, Any], place: str) -> None:
        if not node.get("items"):
            raise self._refusal(place, "is a list of any values", "Declare the type of its items")
        node["items"] = self.schema(node["items"], f"{place}[]")

    def _require_a_type(self, node: dict[str, Any], place: str) -> None:
        if not {"type", "anyOf", "enum", "const", "properties"} & node.keys():
            raise self._refusal(place, "may be any value", "Declare its type")

    def _kept(self, node: dict[str, Any]) -> dict[str, Any]:
        """The node with the keywords that may stay, and with its definitions made strict."""
        kept = {key: value for key, value in node.items() if key in self._rules.keywords}
        if kept.get("format") not in self._rules.formats:
            kept.pop("format", None)
        for name in ("$defs", "definitions"):
            kept.pop(name, None)
        return {**kept, **self._definitions(node)}

    def _definitions(self, node: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: {name: self.schema(inner, f"${name}") for name, inner in node[key].items()}
            for key in ("$defs", "definitions")
            if key in node
        }

    def _refusal(self, place: str, what: str, remedy: str) -> ToolDefinitionError:
        return ToolDefinitionError(
            tool=self._tool,
            problem=f"{place} {what}, which the strict form for {self._rules.provider} cannot carry",
            remedy=f"{remedy}, or export the tool without strict=True.",
        )


def _types_of(node: Mapping[str, Any]) -> list[str]:
    kind = node.get("type", [])
    return [kind] if isinstance(kind, str) else list(kind)


def _union(schemas: Iterable[Any]) -> Any:
    """One schema for the items of a tuple; their order is left to the tool's own schema."""
    distinct: list[Any] = []
    for schema in schemas:
        if schema not in distinct:
            distinct.append(schema)
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def _behind_any_of(node: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [node]}


def _nullable(node: dict[str, Any]) -> dict[str, Any]:
    """The schema with null as one more value."""
    if "$ref" in node:
        return {"anyOf": [node, {"type": "null"}]}
    if "anyOf" in node:
        has_null = any("null" in _types_of(option) for option in node["anyOf"])
        return node if has_null else {**node, "anyOf": [*node["anyOf"], {"type": "null"}]}
    # `const` admits one value and nothing beside it; as an `enum` of one it can take null too.
    if "const" in node:
        node = {**{key: value for key, value in node.items() if key != "const"}, "enum": [node["const"]]}
    types = _types_of(node)
    widened: dict[str, Any] = {}
    if types and "null" not in types:
        widened["type"] = [*types, "null"]
    if "enum" in node and None not in node["enum"]:
        widened["enum"] = [*node["enum"], None]
    return {**node, **widened}


def _refuse_recursion(root: Mapping[str, Any], rules: StrictRules, tool: str) -> None:
    definitions: dict[str, Any] = {**root.get("definitions", {}), **root.get("$defs", {})}
    reaches = {name: set(_references(inner)) for name, inner in definitions.items()}
    for start in definitions:
        seen: set[str] = set()
        waiting = list(reaches[start])
        while waiting:
            name = waiting.pop()
            if name == start:
                raise ToolDefinitionError(
                    tool=tool,
                    problem=f"{name} contains itself, which the strict form for {rules.provider} cannot carry",
                    remedy="Bound its depth, or export the tool without strict=True.",
                )
            if name not in seen:
                seen.add(name)
                waiting += reaches.get(name, ())


def _references(node: Any) -> Iterable[str]:
    if isinstance(node, dict):
        target = node.get("$ref")
        if isinstance(target, str):
            yield target.rpartition("/")[2]
        for inner in node.values():
            yield from _references(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from _references(inner)
