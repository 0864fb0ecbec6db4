"""The part of OpenAPI 3.0 that Gemini's ``parameters`` takes: no references, one type a schema, texts alone in an enum.

The newer ``parametersJsonSchema`` takes the schema as it is; this form is for servers that do not know that field.
Source: the ``Schema`` message of ``google.ai.generativelanguage``, and what the API answers: it refuses unknown
keywords, lists without ``items``, objects without properties, and required names that are no properties.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from surehand.shapes import is_array, is_object
from surehand.tools.forms.adaptation import Notes
from surehand.tools.forms.lists import types_of
from surehand.tools.forms.references import inlined

__all__ = ["gemini_parameters"]

_KEPT: Final = frozenset({
    *("type", "format", "title", "description", "nullable", "enum", "items", "properties", "required", "anyOf"),
    *("minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength", "pattern"),
    *("minimum", "maximum"),
})  # fmt: skip
_SILENT: Final = frozenset({"$id", "$comment", "examples", "example", "deprecated", "readOnly", "writeOnly", "$anchor"})
"""Keywords that say nothing about which values fit."""
_FORMATS: Final = {
    "string": frozenset({"date-time", "enum"}),
    "number": frozenset({"float", "double"}),
    "integer": frozenset({"int32", "int64"}),
}
_AS_TEXT: Final = "As JSON text."


def gemini_parameters(root: Mapping[str, Any], notes: Notes) -> dict[str, Any] | None:
    """The schema of the whole in that form; None where there are no arguments, for which the field is left out.

    Args:
        root: A plain object.
        notes: Takes down what is adapted.

    Raises:
        ToolDefinitionError: The schema contains itself.
    """
    if not root.get("properties"):
        if root.get("additionalProperties", True) is not False:
            notes.add("$", "takes no arguments", "closed")
        _note_undescribed(root, "$", notes)
        return None
    return _Writer(notes).schema(inlined(root, notes), "$")


class _Writer:
    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def schema(self, node: Any, place: str) -> dict[str, Any]:
        """One schema in the form of the field."""
        if not is_object(node):
            return self._anything({}, place)
        made = self._one_union(self._merged(dict(node), place), place)
        if "anyOf" in made:
            return self._kept(self._union(made, place), place)
        if "const" in made:
            made["enum"] = [made.pop("const")]
        types = types_of(made) or _types_of_values(made)
        made["type"] = types[0] if types else None
        match made["type"]:
            case "object":
                made = self._object(made, place)
            case "array":
                made = self._array(made, place)
            case "null":
                made = {"type": "string", "nullable": True, **_described(made)}
            case None:
                return self._anything(made, place)
            case _:
                made = self._plain(made, place)
        return self._kept(made, place)

    def _merged(self, node: dict[str, Any], place: str) -> dict[str, Any]:
        """The node with an ``allOf`` of one in its place; of several only what stands beside them."""
        parts = [part for part in node.pop("allOf", []) if is_object(part)]
        if len(parts) == 1:
            return {**parts[0], **node}
        for part in parts:
            node = {**part, **node, "properties": {**part.get("properties", {}), **node.get("properties", {})}}
        if parts:
            self._notes.add(place, "tells allOf as one schema", "wider")
        return {key: value for key, value in node.items() if key != "properties" or value}

    def _one_union(self, node: dict[str, Any], place: str) -> dict[str, Any]:
        """The node with ``oneOf``, several types and null said by ``anyOf`` and ``nullable``."""
        if "oneOf" in node:
            node["anyOf"] = [*node.get("anyOf", []), *node.pop("oneOf")]
            self._notes.add(place, "tells oneOf as anyOf", "wider")
        types = types_of(node)
        if len(types) > 1 and "anyOf" not in node:
            others = [kind for kind in types if kind != "null"]
            values = [value for value in node.pop("enum", []) if value is not None]
            node["nullable"] = "null" in types
            node["type"] = others[0]
            if values:
                node["enum"] = values
            if len(others) > 1:
                del node["type"]
                node["anyOf"] = [{**_narrowing(node), "type": kind} for kind in others]
        return {key: value for key, value in node.items() if key != "nullable" or value}

    def _union(self, node: dict[str, Any], place: str) -> dict[str, Any]:
        beside = [key for key in node if key in _KEPT and key not in ("anyOf", "description", "title", "nullable")]
        if beside:
            self._notes.add(place, f"leaves out {', '.join(beside)} beside anyOf", "wider")
        choices = [choice for choice in node["anyOf"] if not _is_null(choice)]
        said = {**_described(node), **({"nullable": True} if len(choices) < len(node["anyOf"]) else {})}
        if node.get("nullable"):
            said["nullable"] = True
        made = [self.schema(choice, place) for choice in choices]
        if len(made) == 1:
            return {**made[0], **said}
        return {"anyOf": made, **said}

    def _object(self, node: dict[str, Any], place: str) -> dict[str, Any]:
        properties: Mapping[str, Any] = node.get("properties") or {}
        if not properties:
            self._notes.add(place, "asks for an object of free keys as JSON text", "narrower")
            return _as_text(node)
        if node.get("additionalProperties") is not False:
            self._notes.add(place, "takes no keys but the declared", "closed")
        if "patternProperties" in node:
            self._notes.add(place, "leaves out patternProperties", "closed")
        silent = ("additionalProperties", "patternProperties")
        made = {key: value for key, value in node.items() if key not in silent}
        made["properties"] = {name: self.schema(inner, f"{place}.{name}") for name, inner in properties.items()}
        _note_undescribed(node, place, self._notes)
        required = [name for name in node.get("required", []) if name in properties]
        made.pop("required", None)
        return {**made, "required": required} if required else made

    def _array(self, node: dict[str, Any], place: str) -> dict[str, Any]:
        items = node.get("items", {})
        if "prefixItems" in node:
            tuples = [*node.pop("prefixItems"), *([items] if items is not False else [])]
            items = {"anyOf": tuples} if len(tuples) > 1 else tuples[0]
            self._notes.add(place, "tells a tuple as a list of what its places may hold", "wider")
        if "enum" in node:
            del node["enum"]
            self._notes.add(place, "leaves out enum of lists", "wider")
        return {**node, "items": self.schema(items, f"{place}[]")}

    def _plain(self, node: dict[str, Any], place: str) -> dict[str, Any]:
        """A text, number or truth value; an enum of anything but texts is said in the description."""
        values = node.get("enum")
        if is_array(values) and not all(isinstance(value, str) and value for value in values):
            words = ", ".join(json.dumps(value, ensure_ascii=False) for value in values)
            self._notes.add(place, "says the values of enum in the description", "wider")
            node = _saying({key: value for key, value in node.items() if key != "enum"}, f"One of: {words}.")
        if "default" in node:
            default = json.dumps(node.pop("default"), ensure_ascii=False)
            node = _saying(node, f"Default: {default}.")
            self._notes.add(place, "says the default in the description", "same")
        return node

    def _anything(self, node: Mapping[str, Any], place: str) -> dict[str, Any]:
        self._notes.add(place, "asks for any value as text, number or truth value", "narrower")
        kinds = ("string", "number", "boolean")
        return {"anyOf": [{"type": kind} for kind in kinds], "nullable": True, **_described(node)}

    def _kept(self, node: Mapping[str, Any], place: str) -> dict[str, Any]:
        kept = {key: value for key, value in node.items() if key in _KEPT and value is not None}
        form = kept.get("format")
        if form is not None and form not in _FORMATS.get(str(kept.get("type")), frozenset()):
            del kept["format"]
            self._notes.add(place, f"leaves out the format {form!r}", "wider")
        for key in node:
            if key not in _KEPT and key not in _SILENT and key != "default":
                self._notes.add(place, f"leaves out {key}", "wider")
        return kept


def _note_undescribed(node: Mapping[str, Any], place: str, notes: Notes) -> None:
    unknown = [name for name in node.get("required", []) if name not in (node.get("properties") or {})]
    if unknown:
        notes.add(place, f"does not require {', '.join(sorted(unknown))}, which it does not describe", "wider")


def _as_text(node: Mapping[str, Any]) -> dict[str, Any]:
    """A free object as text: arguments that are declared an object are read from JSON text without loss."""
    nullable = {"nullable": True} if node.get("nullable") else {}
    return _saying({"type": "string", **_described(node), **nullable}, _AS_TEXT)


def _saying(node: dict[str, Any], sentence: str) -> dict[str, Any]:
    return {**node, "description": f"{node.get('description', '')} {sentence}".lstrip()}


def _described(node: Mapping[str, Any]) -> dict[str, Any]:
    return {key: node[key] for key in ("title", "description") if key in node}


def _narrowing(node: Mapping[str, Any]) -> dict[str, Any]:
    """What of a schema with several types each of them keeps."""
    return {
        key: value for key, value in node.items() if key not in ("description", "title", "nullable", "default", "anyOf")
    }


def _is_null(choice: Any) -> bool:
    return is_object(choice) and types_of(choice) == ["null"]


def _types_of_values(node: Mapping[str, Any]) -> list[str]:
    """The type of a schema that declares none, where its other keywords leave no doubt."""
    if "properties" in node:
        return ["object"]
    if "items" in node or "prefixItems" in node:
        return ["array"]
    values: list[Any] = node.get("enum") or ([node["const"]] if "const" in node else [])
    kinds = {_TYPES.get(type(value).__name__, "") for value in values}
    return [kinds.pop()] if len(kinds) == 1 and "" not in kinds else []


_TYPES: Final = {"str": "string", "bool": "boolean", "int": "integer", "float": "number"}
