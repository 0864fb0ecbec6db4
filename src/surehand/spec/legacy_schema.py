"""Models of ``pydantic.v1``, where pydantic still carries it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from typing import Any

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema
from typing_extensions import override

from surehand.spec.directions import NAMES
from surehand.spec.generation import shown_schema
from surehand.spec.schema import ArgumentSchema, Problem, SchemaMismatch
from surehand.spec.shapes import is_array, is_object
from surehand.spec.wording import expectation, received

__all__ = ["LegacyField", "LegacySchema", "is_legacy_model"]


def is_legacy_model(kind: object) -> bool:
    """Whether it is a model class of ``pydantic.v1``; never imports that package."""
    module = sys.modules.get("pydantic.v1.main")
    return module is not None and isinstance(kind, type) and issubclass(kind, module.BaseModel)


class LegacyField:
    """Tells pydantic 2 how to validate a v1 model and what its JSON Schema is."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self._validate,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda instance: instance.dict(), when_used="json"
            ),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return _inlined(_schema_of(self.model))

    def _validate(self, value: Any) -> Any:
        return value if isinstance(value, self.model) else self.model.parse_obj(value)


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with its definitions put in place: a part of another schema cannot keep definitions of its own."""
    definitions = schema.pop("definitions", {})

    def inline(part: Any, depth: int) -> Any:
        if is_array(part):
            return [inline(item, depth) for item in part]
        if not is_object(part):
            return part
        reference = part.get("$ref")
        if isinstance(reference, str):
            target = definitions.get(reference.rpartition("/")[2])
            return inline(target, depth - 1) if target is not None and depth else {}
        return {key: inline(value, depth) for key, value in part.items()}

    found: dict[str, Any] = inline(schema, _MAX_NESTING)
    return found


_MAX_NESTING = 8
"""How deep a v1 model that contains itself is shown."""


def _schema_of(model: Any) -> dict[str, Any]:
    schema: dict[str, Any] = _untitled(model.schema(by_alias=True))
    names = {name: field.alias for name, field in model.__fields__.items()}
    schema[NAMES] = {**{wire: wire for wire in names.values()}, **names}
    return schema


def _untitled(schema: Any, *, is_map: bool = False) -> Any:
    """The schema without titles; properties that are called ``title`` stay."""
    if is_array(schema):
        return [_untitled(part) for part in schema]
    if not is_object(schema):
        return schema
    return {
        key: value
        if key in ("default", "enum") and not is_map
        else _untitled(value, is_map=not is_map and key in _MAPS)
        for key, value in schema.items()
        if is_map or key != "title"
    }


_MAPS = frozenset({"properties", "definitions"})


class LegacySchema(ArgumentSchema):
    """A model class of ``pydantic.v1``."""

    def __init__(self, model: Any, *, whole: str | None = None) -> None:
        directed = _schema_of(model)
        self._direct(directed)
        self.json_schema = shown_schema(directed)
        self.model = model
        self._whole = whole

    @override
    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        instance = self._instance(arguments)
        return {self._whole: instance} if self._whole is not None else dict(instance.__dict__)

    @override
    def dump_json(self, arguments: Mapping[str, Any]) -> str:
        text: str = self._instance(arguments).json()
        return text

    def _instance(self, arguments: Mapping[str, Any]) -> Any:
        model: Any = self.model
        try:
            return model.parse_obj(dict(arguments))
        except _legacy_error() as error:
            raise SchemaMismatch(error=error, describe=functools.partial(self._problems, error, arguments)) from error

    def _problems(self, error: Any, arguments: Mapping[str, Any]) -> list[Problem]:
        return [self._problem(entry, arguments) for entry in error.errors()]

    def _problem(self, entry: Mapping[str, Any], arguments: Mapping[str, Any]) -> Problem:
        place = tuple(step for step in entry["loc"] if step != "__root__")
        if entry["type"] == "value_error.missing":
            node = self.directions.get(str(place[0])) if len(place) == 1 else None
            wanted = expectation(node.types) if node is not None else ""
            return Problem(place=place, text=f"missing, expected {wanted}" if wanted else "missing", rule="missing")
        if entry["type"] == "value_error.extra":
            return Problem(place=place, text="unknown argument", rule="extra_forbidden")
        message = " ".join(str(entry["msg"]).split()) or "is not accepted"
        if entry["type"].startswith("type_error"):
            message = f"{message}, got {received(_value_at(arguments, place), is_shown=not self._hides(place))}"
        return Problem(place=place, text=message, rule=entry["type"])

    def _hides(self, place: tuple[str | int, ...]) -> bool:
        node = self.directions.get(str(place[0])) if place else None
        return node is not None and node.hides_secret()


def _value_at(arguments: Any, place: tuple[str | int, ...]) -> Any:
    for step in place:
        try:
            arguments = arguments[step]
        except (KeyError, IndexError, TypeError):
            return None
    return arguments


def _legacy_error() -> type[Exception]:
    module = sys.modules["pydantic.v1.error_wrappers"]
    error: type[Exception] = module.ValidationError
    return error
