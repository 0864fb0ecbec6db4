"""Models of ``pydantic.v1``, where pydantic still carries it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema
from typing_extensions import override

from surehand.shapes import is_array, is_object
from surehand.spec.directions import NAMES, Direction, direct, direction_at, is_hidden, type_name
from surehand.spec.generation import shown_schema
from surehand.spec.places import Place, value_at
from surehand.spec.schema import ArgumentSchema, Problem, SchemaMismatch
from surehand.spec.wording import expectation, received

__all__ = ["LegacyField", "LegacySchema", "is_legacy_model", "legacy_problems"]


def is_legacy_model(kind: object) -> bool:
    """Whether it is a model class of ``pydantic.v1``; never imports that package."""
    module = sys.modules.get("pydantic.v1.main")
    return module is not None and isinstance(kind, type) and issubclass(kind, module.BaseModel)


class LegacyField:
    """Tells pydantic 2 how to validate a v1 model and what its JSON Schema is."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._root = direct(_schema_of(model))

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
        return value if isinstance(value, self.model) else _parsed(self.model, value, self._root)


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
        self._root = self._direct(directed)
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
        try:
            return _parsed(self.model, dict(arguments), self._root)
        except _legacy_error() as error:
            raise SchemaMismatch(error=error, describe=functools.partial(self._problems, error, arguments)) from error

    def _problems(self, error: Any, arguments: Mapping[str, Any]) -> list[Problem]:
        return legacy_problems(error, arguments, self.directions)


def legacy_problems(
    error: Any, arguments: Mapping[str, Any], directions: Mapping[str, Direction], *, above: Place = ()
) -> list[Problem]:
    """Every error of a validation by v1, worded for a model.

    Args:
        error: What v1 raised.
        arguments: All the arguments.
        directions: Where they lead, so that secrets stay hidden and missing values are described.
        above: Where the value stands that was validated.
    """
    return [_problem(entry, arguments, directions, above) for entry in error.errors()]


def _problem(
    entry: Mapping[str, Any],
    arguments: Mapping[str, Any],
    directions: Mapping[str, Direction],
    above: Place,
) -> Problem:
    place = (*above, *(step for step in entry["loc"] if step != "__root__"))
    if entry["type"] == "value_error.missing":
        node = direction_at(directions, place)
        wanted = expectation(node.types) if node is not None else ""
        return Problem(place=place, text=f"missing, expected {wanted}" if wanted else "missing", rule="missing")
    if entry["type"] == "value_error.extra":
        return Problem(place=place, text="unknown argument", rule="extra_forbidden")
    message = " ".join(str(entry["msg"]).split()) or "is not accepted"
    if entry["type"].startswith("type_error"):
        is_shown = not is_hidden(directions, place)
        message = f"{message}, got {received(value_at(arguments, place), is_shown=is_shown)}"
    # Nothing tells a rule of the author's from one of v1's own, whose texts lose nothing by being taken for his.
    return Problem(place=place, text=message, rule=entry["type"], is_authors=True)


def _parsed(model: Any, value: Any, root: Direction) -> Any:
    """The instance that the value describes, without what v1 does to a value of another type than the declared one.

    It cuts 3.7 down to the integer 3, spells a number out as text, and makes objects of arrays and of blank text.
    """
    misfits = dict(_misfits(value, root, ()))
    if value is None and not root.is_nullable:
        misfits = {(): expectation(root.types)}
    if () in misfits:
        raise _misfitting(model, {(): misfits[()]})
    errors: list[Any] = []
    instance = None
    try:
        instance = model.parse_obj(value)
    except _legacy_error() as error:
        found: Any = error
        errors = [*found.raw_errors]
        misfits = {place: misfits[place] for place in misfits.keys() - {entry["loc"] for entry in found.errors()}}
    if not errors and not misfits:
        return instance
    raise _misfitting(model, misfits, errors)


def _misfitting(model: Any, misfits: Mapping[Any, str], errors: Sequence[Any] = ()) -> Exception:
    """The error of v1 for values of another type than the declared one, after those that it has found itself."""
    wrappers = sys.modules["pydantic.v1.error_wrappers"]
    more = [wrappers.ErrorWrapper(TypeError(f"expected {wanted}"), place) for place, wanted in misfits.items()]
    return _legacy_error()([*errors, *more], model)


def _misfits(value: Any, node: Direction | None, place: Place) -> Iterator[tuple[Any, str]]:
    """The place of every value of another type than the declared ones, and what these are; text may spell a scalar."""
    if node is None or not node.types or value is None or (isinstance(value, str) and not node.types <= _CONTAINERS):
        return
    branches = [branch for branch in node.branches if type_name(value) in branch.types]
    if not _fits(value, node.types):
        yield place, expectation(node.types)
    elif len(branches) == 1:
        yield from _misfits(value, branches[0], place)
    elif node.branches:
        return
    elif is_object(value):
        for key, item in value.items():
            yield from _misfits(item, node.child(key), (*place, key))
    elif is_array(value):
        for index, item in enumerate(value):
            yield from _misfits(item, node.child(index), (*place, index))


_CONTAINERS = frozenset({"array", "object", "null"})


def _fits(value: Any, types: frozenset[str]) -> bool:
    kind = type_name(value)
    if kind == "boolean":
        return kind in types
    if kind in ("integer", "number"):
        is_whole = kind == "integer" or value.is_integer()
        return "number" in types or (is_whole and "integer" in types) or (value in (0, 1) and "boolean" in types)
    return kind in types


def _legacy_error() -> type[Exception]:
    module = sys.modules["pydantic.v1.error_wrappers"]
    error: type[Exception] = module.ValidationError
    return error
