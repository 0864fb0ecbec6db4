"""The strict forms of a JSON Schema: what a provider takes when it promises that the model keeps to the schema.

Strict decoding knows a part of JSON Schema only. What is outside of it falls into two kinds. A keyword that merely
narrows (``minLength``, ``not``, ``format: uri``) is left out: the model may then send a little more, and the tool's own
schema, which is never changed, still refuses it. A construct without which the model could not send what the tool needs
(an object of free keys, a value of any type) cannot be left out, and the tool is refused with the place and a way out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from surehand.shapes import is_array, is_object
from surehand.tools.forms import Notes, inlined
from surehand.tools.forms.lists import types_of
from surehand.tools.limits import SchemaLimits, check_limits

__all__ = ["ANTHROPIC", "OPENAI", "StrictRules", "strict_schema"]

_DEFINITIONS: Final = ("$defs", "definitions")
_COMMON: Final = frozenset({
    *("$ref", "$defs", "definitions", "type", "description", "enum", "const", "properties", "required"),
    *("additionalProperties", "items", "anyOf"),
})  # fmt: skip
_SILENT: Final = frozenset({
    *("title", "default", "examples", "example", "$id", "$comment", "deprecated", "readOnly", "writeOnly", "$anchor"),
})  # fmt: skip
"""Keywords that say nothing about which values fit."""
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
    most_min_items: int | None
    """The highest ``minItems`` that may stay; None for any."""
    is_all_required: bool
    """Whether every property has to be required, so that optional ones are made nullable."""
    allows_recursion: bool
    """Whether a definition may refer to itself."""
    limits: SchemaLimits


# https://platform.openai.com/docs/guides/structured-outputs, "Supported schemas"
OPENAI: Final = StrictRules(
    provider="OpenAI",
    keywords=_COMMON
    | {"format", "pattern", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
    | {"minItems", "maxItems"},
    formats=_OPENAI_FORMATS,
    most_min_items=None,
    is_all_required=True,
    allows_recursion=True,
    limits=SchemaLimits(properties=5_000, enum_values=1_000, depth=10, characters=120_000),
)
# https://platform.claude.com/docs/en/build-with-claude/structured-outputs, "JSON Schema limitations"
ANTHROPIC: Final = StrictRules(
    provider="Anthropic",
    keywords=_COMMON | {"format", "default", "minItems"},
    formats=_OPENAI_FORMATS | {"uri"},
    most_min_items=1,
    is_all_required=False,
    allows_recursion=False,
    limits=SchemaLimits(optional=24, unions=16),
)


def strict_schema(root: Mapping[str, Any], rules: StrictRules, notes: Notes) -> dict[str, Any]:
    """A strict copy of a schema that is a plain object; the schema itself is not changed.

    Raises:
        ToolDefinitionError: The schema holds a construct that strict decoding cannot carry, or is too large for it.
    """
    if not rules.allows_recursion:
        _refuse_recursion(root, notes)
    strict = _Writer(rules, notes).schema(_only_definitions(root, notes), "$")
    check_limits(strict, rules.limits, notes)
    return strict


class _Writer:
    def __init__(self, rules: StrictRules, notes: Notes) -> None:
        self._rules = rules
        self._notes = notes

    def schema(self, node: Any, place: str) -> dict[str, Any]:
        """The strict form of one schema."""
        if not is_object(node):
            raise self._notes.refusal(place, "may be any value", "Declare its type")
        own = self._merged(dict(node), place)
        if "$ref" in own:
            return self._reference(own, place)
        if "prefixItems" in own:
            own = self._listed(own, place)
        if "anyOf" in own:
            own["anyOf"] = [self.schema(option, place) for option in own["anyOf"]]
        own = self._typed(own, place)
        types = types_of(own)
        if "object" in types:
            own = self._object(own, place)
        if "array" in types:
            own = self._array(own, place)
        return self._kept(own, place)

    def _merged(self, node: dict[str, Any], place: str) -> dict[str, Any]:
        """The node with ``oneOf`` as ``anyOf`` (the wider of the two) and an ``allOf`` of one merged into it."""
        if "oneOf" in node:
            node["anyOf"] = [*node.get("anyOf", []), *node.pop("oneOf")]
            self._notes.add(place, "tells oneOf as anyOf", "wider")
        parts = node.pop("allOf", [])
        if len(parts) > 1:
            raise self._notes.refusal(place, "combines several schemas by allOf", "Write them as one schema")
        return self._merged({**parts[0], **node}, place) if parts and is_object(parts[0]) else node

    def _reference(self, node: dict[str, Any], place: str) -> dict[str, Any]:
        """A reference may not have neighbours, so one with a description is put inside an ``anyOf``."""
        rest = {key: value for key, value in node.items() if key not in {"$ref", *_DEFINITIONS}}
        kept = self._kept(rest, place)
        lone: dict[str, Any] = {"$ref": node["$ref"]}
        whole = {"anyOf": [lone], **kept} if kept else lone
        return {**whole, **self._definitions(node)}

    def _listed(self, node: dict[str, Any], place: str) -> dict[str, Any]:
        """A tuple as a list of what its places may hold: providers know no tuples."""
        items = node.get("items", True)
        rest = [items] if is_object(items) and items else []
        is_open = items is not False and not rest
        self._notes.add(
            place,
            "tells a tuple as a list of what its places may hold",
            "narrower" if is_open else "wider",
        )
        return {**{key: value for key, value in node.items() if key != "prefixItems"},
                "items": _union([*node["prefixItems"], *rest])}  # fmt: skip

    def _typed(self, node: dict[str, Any], place: str) -> dict[str, Any]:
        """The node with a type, which strict decoding wants of each schema that is no choice among others."""
        for keyword in ("enum", "const"):
            values = node.get("enum", []) if keyword == "enum" else [node.get("const")]
            if keyword in node and any(is_object(value) or is_array(value) for value in values):
                del node[keyword]
                self._notes.add(place, f"leaves out {keyword} of lists and objects", "wider")
        if "type" in node or "anyOf" in node:
            return node
        if kinds := _implied_types(node):
            return {"type": kinds[0] if len(kinds) == 1 else kinds, **node}
        raise self._notes.refusal(place, "may be any value", "Declare its type")

    def _object(self, node: dict[str, Any], place: str) -> dict[str, Any]:
        properties: Mapping[str, Any] = node.get("properties") or {}
        extra = node.get("additionalProperties", True)
        if not properties and place != "$" and (extra is not False or "patternProperties" in node):
            raise self._notes.refusal(
                place, "is an object of free keys", "Name its properties, or take a list of pairs"
            )
        if not properties and place == "$" and "additionalProperties" in node and extra is not False:
            raise self._notes.refusal(place, "takes arguments of any name", "Name them")
        if is_object(extra) or "patternProperties" in node or (extra is True and "additionalProperties" in node):
            self._notes.add(place, "takes no keys but the declared", "narrower")
        elif extra is not False:
            self._notes.add(place, "takes no keys but the declared", "closed")
        required = set(node.get("required", ()))
        if unknown := sorted(required - properties.keys()):
            self._notes.add(place, f"does not require {', '.join(unknown)}, which it does not describe", "wider")
        return {
            **{key: value for key, value in node.items() if key != "patternProperties"},
            "properties": {
                name: self._property(inner, f"{place}.{name}", is_required=name in required)
                for name, inner in properties.items()
            },
            "required": [name for name in properties if self._rules.is_all_required or name in required],
            "additionalProperties": False,
        }

    def _property(self, original: Any, place: str, *, is_required: bool) -> dict[str, Any]:
        strict = self.schema(original, place)
        if is_required or not self._rules.is_all_required:
            return strict
        self._notes.add(
            place,
            "is required, and null stands for what is left out",
            "same",
            why=f"{self._notes.form} wants every property",
        )
        default = original.get("default") if is_object(original) else None
        if default is not None:
            said = strict.get("description", "")
            text = f"{said} Null stands for the default, {json.dumps(default, ensure_ascii=False)}.".lstrip()
            strict = {**_behind_any_of(strict), "description": text} if "$ref" in strict else strict
            strict["description"] = text
        return _nullable(strict)

    def _array(self, node: dict[str, Any], place: str) -> dict[str, Any]:
        if not node.get("items"):
            raise self._notes.refusal(place, "is a list of any values", "Declare the type of its items")
        return {**node, "items": self.schema(node["items"], f"{place}[]")}

    def _kept(self, node: dict[str, Any], place: str) -> dict[str, Any]:
        """The node with the keywords that may stay, and with its definitions made strict."""
        kept = {key: value for key, value in node.items() if key in self._rules.keywords and key not in _DEFINITIONS}
        left_out = [key for key in node if key not in self._rules.keywords and key not in _SILENT]
        if "format" in kept and kept["format"] not in self._rules.formats:
            left_out.append(f"the format {kept.pop('format')!r}")
        most = self._rules.most_min_items
        if most is not None and kept.get("minItems", 0) > most:
            left_out.append(f"minItems {kept.pop('minItems')}")
        for what in left_out:
            self._notes.add(place, f"leaves out {what}", "wider")
        return {**kept, **self._definitions(node)}

    def _definitions(self, node: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: {name: self.schema(inner, f"${name}") for name, inner in node[key].items()}
            for key in _DEFINITIONS
            if key in node
        }


def _implied_types(node: Mapping[str, Any]) -> list[str]:
    """The types of a schema that declares none, where its other keywords leave no doubt."""
    if "properties" in node:
        return ["object"]
    if "items" in node:
        return ["array"]
    values = node.get("enum") or ([node["const"]] if "const" in node else [])
    return list(dict.fromkeys(_TYPES[type(value)] for value in values))


_TYPES: Final = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


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
        has_null = any("null" in types_of(option) for option in node["anyOf"])
        return node if has_null else {**node, "anyOf": [*node["anyOf"], {"type": "null"}]}
    # `const` admits one value and nothing beside it; as an `enum` of one it can take null too.
    if "const" in node:
        node = {**{key: value for key, value in node.items() if key != "const"}, "enum": [node["const"]]}
    types = types_of(node)
    widened: dict[str, Any] = {}
    if types and "null" not in types:
        widened["type"] = [*types, "null"]
    if "enum" in node and None not in node["enum"]:
        widened["enum"] = [*node["enum"], None]
    return {**node, **widened}


def _only_definitions(root: Mapping[str, Any], notes: Notes) -> Mapping[str, Any]:
    """The schema with references to definitions and to itself alone: whatever else is referred to may be rewritten."""
    known = tuple(f"#/{key}/" for key in _DEFINITIONS)
    is_plain = all(
        reference == "#" or (reference.startswith(known) and reference.count("/") == 2)  # noqa: PLR2004 - #/$defs/Name
        for reference in _references(root)
    )
    return root if is_plain else inlined(root, notes)


def _refuse_recursion(root: Mapping[str, Any], notes: Notes) -> None:
    definitions: dict[str, Any] = {**root.get("definitions", {}), **root.get("$defs", {})}
    reaches = {name: _referred(inner) for name, inner in definitions.items()}
    if "" in _referred(root):
        raise notes.refusal("$", "contains itself", "Bound its depth")
    for start in definitions:
        seen: set[str] = set()
        waiting = list(reaches[start])
        while waiting:
            name = waiting.pop()
            if name == start:
                raise notes.refusal(name, "contains itself", "Bound its depth")
            if name not in seen:
                seen.add(name)
                waiting += reaches.get(name, ())


def _referred(node: Any) -> set[str]:
    return {reference.rpartition("/")[2].removeprefix("#") for reference in _references(node)}


def _references(node: Any) -> Iterable[str]:
    if is_object(node):
        target = node.get("$ref")
        if isinstance(target, str):
            yield target
        for key, inner in node.items():
            if key not in ("enum", "const", "default", "examples"):
                yield from _references(inner)
    elif is_array(node):
        for inner in node:
            yield from _references(inner)
