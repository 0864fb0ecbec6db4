"""The JSON Schema of typed arguments: once with our directions in it, once as the model sees it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, JsonSchemaWarningKind
from pydantic_core import SchemaError, SchemaValidator, core_schema

from surehand.shapes import is_array, is_object
from surehand.spec.directions import KEYS, NAMES
from surehand.spec.json_places import Part, with_parts

__all__ = ["UntitledGenerator", "directed_schema", "shown_schema"]


class UntitledGenerator(GenerateJsonSchema):
    """Pydantic's own generator, without titles that are made of names."""

    ignored_warning_kinds: ClassVar[set[JsonSchemaWarningKind]] = {  # type: ignore[misc]  # declared as a plain attribute
        "skipped-choice",
        "non-serializable-default",
        "skipped-discriminator",
    }

    def field_title_should_be_set(self, schema: Any) -> bool:
        """No title is made up for a field; one that its author gave is kept."""
        return False


class _Generator(UntitledGenerator):
    """With our keywords, and without the titles of classes."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        return _untitled(super().model_schema(schema))

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        return _untitled(super().dataclass_schema(schema))

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        return _untitled(super().enum_schema(schema))

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        found = super().dict_schema(schema)
        read = _reader_of(schema.get("keys_schema"))
        return found if read is None else {**found, KEYS: read}

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        found = _untitled(super().typed_dict_schema(schema))
        return _named(found, [(name, part) for name, part in schema["fields"].items()])

    def model_fields_schema(self, schema: core_schema.ModelFieldsSchema) -> JsonSchemaValue:
        found = super().model_fields_schema(schema)
        return _named(found, [(name, part) for name, part in schema["fields"].items()])

    def dataclass_args_schema(self, schema: core_schema.DataclassArgsSchema) -> JsonSchemaValue:
        found = super().dataclass_args_schema(schema)
        for part in schema["fields"]:
            if not part.get("init", True):  # the class fills it, whatever is sent
                found["properties"].pop(part["name"], None)
        return _named(found, [(part["name"], part) for part in schema["fields"] if part.get("init", True)])


def _reader_of(keys: core_schema.CoreSchema | None) -> Callable[[str], Hashable] | None:
    """What makes the value that a key of a typed mapping stands for; None where that is the key itself.

    An enum is known by its values, and those of one type do not stand for one another.
    """
    if keys is None or dict(keys) == {"type": "str"}:
        return None
    try:
        read: Callable[[str], Hashable] = SchemaValidator(keys).validate_python
    except SchemaError:  # it refers to what is defined elsewhere
        return None
    return read


def _untitled(schema: JsonSchemaValue) -> JsonSchemaValue:
    schema.pop("title", None)
    return schema


def _named(schema: JsonSchemaValue, fields: Sequence[tuple[str, Any]]) -> JsonSchemaValue:
    """The schema of an object with every name that its keys may have."""
    known = schema.get("properties", {})
    names: dict[str, str] = {}
    for own, part in fields:
        paths = _alias_paths(part.get("validation_alias"))
        aliases = [path[0] for path in paths if len(path) == 1]
        wire = next((alias for alias in aliases if alias in known), own)
        names.update({path[0]: path[0] for path in paths})
        names.update(dict.fromkeys(aliases, wire))
        names[own] = wire
    if any(given != wire for given, wire in names.items()) or names.keys() - known.keys():
        schema[NAMES] = names
    return schema


def _alias_paths(alias: object) -> list[list[str]]:
    """Where a validation alias looks: a path of one step is another name, a longer one leads into another value."""
    if isinstance(alias, str):
        return [[alias]]
    if not is_array(alias) or not alias:
        return []
    paths = alias if isinstance(alias[0], list) else [alias]
    return [path for path in paths if path and isinstance(path[0], str)]


def directed_schema(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a model class or a TypeAdapter, with our keywords in it.

    Raises:
        PydanticInvalidForJsonSchema: A part of it has no JSON form.
    """
    if isinstance(kind, TypeAdapter):
        return _untitled(kind.json_schema(schema_generator=_Generator))
    found: dict[str, Any] = kind.model_json_schema(schema_generator=_Generator)
    return _untitled(found)  # older pydantic adds the title of the class last


def shown_schema(directed: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the schema without our keywords; properties keep their names, whatever they are."""
    return with_parts({key: value for key, value in directed.items() if key not in (NAMES, KEYS)}, _shown_part)


def _shown_part(part: Part) -> Any:
    shown = shown_schema(part.schema) if is_object(part.schema) else part.schema
    return _untitled(shown) if part.keyword == "$defs" else shown
