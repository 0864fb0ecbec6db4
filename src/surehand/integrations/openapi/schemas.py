"""Schemas of a document as JSON Schema of draft 2020-12, for what is sent.

OpenAPI 3.0 has a dialect of its own: ``nullable``, exclusive bounds that are true or false, and no types besides. What
the server alone sets (``readOnly``) is left out, as is what concerns other readers: examples, XML, discriminators.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from surehand.integrations.openapi.document import Document
from surehand.shapes import is_array, is_object, mapping_of
from surehand.spec.json_places import Part, with_parts

__all__ = ["Schemas"]

_COMPONENT: Final = "#/components/schemas/"
_LEFT_OUT: Final = frozenset({
    *("nullable", "discriminator", "xml", "externalDocs", "example", "examples", "readOnly", "writeOnly", "deprecated"),
    *("$schema", "$id", "title"),
})  # fmt: skip
_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9._-]+")
_REF: Final = "#/$defs/"


class Schemas:
    """Translates schemas of one document; what is referred to is translated once.

    Args:
        document: Where references are followed.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self._definitions: dict[str, Any] = {}
        """Name -> the translated schema of what was referred to."""
        self._names: dict[str, str] = {}
        """Reference -> name."""
        self._reached: dict[str, frozenset[str]] = {}

    def translated(self, schema: Any) -> Any:
        """The schema as JSON Schema; references lead to ``$defs`` that ``definitions_of`` gives.

        Raises:
            ToolDefinitionError: A reference leads out of the document, or nowhere.
        """
        if not is_object(schema):
            return schema if isinstance(schema, bool) else {}
        kept = {key: value for key, value in schema.items() if key not in _LEFT_OUT}
        if isinstance(reference := kept.get("$ref"), str):
            kept["$ref"] = _REF + self._defined(reference)
        made = with_parts(kept, self._inside)
        self._forget_read_only(schema, made)
        return self._in_todays_words(schema, made) if self._document.is_3_0 else made

    def definitions_of(self, *schemas: Any) -> dict[str, Any]:
        """The ``$defs`` that translated schemas need, those that they need in turn among them."""
        waiting = [name for schema in schemas for name in _names_in(schema)]
        needed: dict[str, Any] = {}
        while waiting:
            name = waiting.pop()
            if name not in needed:
                needed[name] = self._definitions[name]
                if name not in self._reached:
                    self._reached[name] = frozenset(_names_in(needed[name]))
                waiting += self._reached[name]
        return {name: needed[name] for name in sorted(needed)}

    def resolved(self, schema: Any) -> Any:
        """A translated schema, or what it refers to, without definitions."""
        seen: set[str] = set()
        while is_object(schema) and isinstance(reference := schema.get("$ref"), str) and reference not in seen:
            seen.add(reference)
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**mapping_of(self._definitions[reference.removeprefix(_REF)]), **beside}
        return schema

    def _inside(self, part: Part) -> Any:
        # A list says which properties one asks for, as drafts up to 7 wrote it under ``dependencies``.
        return part.schema if is_array(part.schema) else self.translated(part.schema)

    def _defined(self, reference: str) -> str:
        """The name of the definition of what is referred to."""
        if reference in self._names:
            return self._names[reference]
        target = self._document.target(reference)
        wished = _ILLEGAL.sub("_", reference.removeprefix(_COMPONENT).removeprefix("#/")) or "whole"
        name, number = wished, 2
        while name in self._definitions:
            name, number = f"{wished}_{number}", number + 1
        self._names[reference] = name
        self._definitions[name] = {}  # known while it is translated, for schemas that hold themselves
        self._definitions[name] = self.translated(target)
        return name

    def _forget_read_only(self, schema: Mapping[str, Any], made: dict[str, Any]) -> None:
        hidden = {name for name, inner in mapping_of(schema.get("properties")).items() if self._is_read_only(inner)}
        if hidden:
            made["properties"] = {name: inner for name, inner in made["properties"].items() if name not in hidden}
        if is_array(required := made.get("required")):
            made["required"] = [name for name in required if name not in hidden]

    def _is_read_only(self, schema: Any) -> bool:
        return mapping_of(schema).get("readOnly") is True or self._document.followed(schema).get("readOnly") is True

    def _in_todays_words(self, schema: Mapping[str, Any], made: dict[str, Any]) -> dict[str, Any]:
        if "$ref" in made:
            return {"$ref": made["$ref"]}  # in 3.0 nothing that stands beside a reference counts
        for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if isinstance(is_exclusive := made.get(exclusive), bool):
                del made[exclusive]
                if is_exclusive and bound in made:
                    made[exclusive] = made.pop(bound)
        return _nullable(made) if schema.get("nullable") is True else made


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if is_array(values := schema.get("enum")) and None not in values:
        schema["enum"] = [*values, None]
    if isinstance(kind := schema.get("type"), str):
        return {**schema, "type": [kind, "null"]}
    described: dict[str, Any] = {key: schema[key] for key in ("description", "default") if key in schema}
    inner = {key: value for key, value in schema.items() if key not in described}
    return {"anyOf": [inner, {"type": "null"}], **described} if inner else described


def _names_in(schema: Any) -> list[str]:
    if is_array(schema):
        return [name for item in schema for name in _names_in(item)]
    if not is_object(schema):
        return []
    own = schema.get("$ref")
    inner = [name for value in schema.values() for name in _names_in(value)]
    return [own.removeprefix(_REF), *inner] if isinstance(own, str) else inner
