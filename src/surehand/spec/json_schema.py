"""Arguments described by a JSON Schema, checked by the ``jsonschema`` package."""

from __future__ import annotations

import copy
import functools
import importlib
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any, Final, Protocol

from typing_extensions import override

from surehand.errors import MissingExtraError, ToolDefinitionError, shown
from surehand.shapes import is_array, is_object
from surehand.spec.json_problems import problems_of
from surehand.spec.patterns import matcher
from surehand.spec.schema import ArgumentSchema, Problem, SchemaMismatch, without

__all__ = ["JsonSchema"]

_FORMATS: Final = ("date", "email", "ipv4", "ipv6", "uuid")
"""Formats that the standard library can check; whatever else is installed must not change what is accepted."""


class _Validator(Protocol):
    def iter_errors(self, instance: Any) -> Iterator[Any]: ...

    def is_valid(self, instance: Any) -> bool: ...


class JsonSchema(ArgumentSchema):
    """A JSON Schema as its author wrote it; nothing of it is simplified, and no reference leaves it.

    Args:
        schema: Draft 2020-12, or the draft that its ``$schema`` names.
        tool: The tool it belongs to, for errors.
        hidden: Properties that the host fills; the model may neither see nor set them.

    Raises:
        MissingExtraError: The ``jsonschema`` extra is not installed.
        ToolDefinitionError: Not a JSON Schema of an object, or a reference in it leads nowhere.
    """

    keeps_unknown_keys = True

    def __init__(self, schema: Mapping[str, Any], *, tool: str, hidden: frozenset[str] = frozenset()) -> None:
        own = without(_copied(schema, tool=tool), hidden)
        self._validator = _validator(own, tool=tool)
        self._direct(own)
        self.json_schema = own
        self._defaults = self._usable_defaults(own)

    @override
    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        values = dict(arguments)
        try:
            errors = list(self._validator.iter_errors(values))
        except RecursionError as error:
            problem = Problem(place=(), text="is nested too deeply to be checked", rule="nested_too_deeply")
            raise SchemaMismatch(error=error, describe=lambda: [problem]) from error
        if errors:
            raise SchemaMismatch(
                error=errors[0], describe=functools.partial(problems_of, errors, self.directions)
            ) from errors[0]
        for name, default in self._defaults.items():
            if name not in values:
                values[name] = copy.deepcopy(default)
        return values

    @override
    def dump_json(self, arguments: Mapping[str, Any]) -> str:
        return json.dumps(self.validate(arguments), ensure_ascii=False)

    def _usable_defaults(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Declared defaults that the schema itself accepts; authors also write null where text is declared."""
        properties = schema.get("properties", {})
        found = {
            name: part["default"]
            for name, part in properties.items()
            if is_object(part) and "default" in part and name not in self.required
        }
        own = {"required", "allOf", "anyOf", "oneOf", "not", "if", "minProperties", "dependentRequired"}
        alone = {key: value for key, value in schema.items() if key not in own}
        validator = _validator(alone, tool="") if found else self._validator
        return {name: default for name, default in found.items() if validator.is_valid({name: default})}


def _copied(schema: object, *, tool: str) -> dict[str, Any]:
    """A copy that nobody else can change."""
    if not is_object(schema):
        raise ToolDefinitionError(
            tool=tool, problem=f"its schema is {shown(schema)}", remedy="Give it a JSON Schema of type object."
        )
    declared = schema.get("type", "object")
    if declared != "object" and not (is_array(declared) and "object" in declared):
        raise ToolDefinitionError(
            tool=tool,
            problem=f"its schema describes a value of type {declared!r}",
            remedy="Arguments are an object: give it a JSON Schema of type object.",
        )
    return {"type": "object", **copy.deepcopy(dict(schema))}


def _validator(schema: dict[str, Any], *, tool: str) -> _Validator:
    try:
        validators = importlib.import_module("jsonschema.validators")
    except ImportError as error:
        raise MissingExtraError(
            feature="A tool with a JSON Schema", package="jsonschema", extra="jsonschema"
        ) from error
    exceptions = importlib.import_module("jsonschema.exceptions")
    kind = validators.validator_for(schema, default=validators.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except exceptions.SchemaError as error:
        raise ToolDefinitionError(
            tool=tool,
            problem=f"its JSON Schema is not valid at {error.json_path}: {shown(error.message, 200)}",
            remedy=f"Correct it, or name its draft with $schema ({kind.__name__} was used).",
        ) from error
    registry = importlib.import_module("jsonschema_specifications").REGISTRY
    _check_references(schema, registry, kind, tool=tool)
    checking = validators.extend(kind, {"multipleOf": _check_multiple, "pattern": _check_pattern})
    validator: _Validator = checking(schema, registry=registry, format_checker=_format_checker())
    return validator


def _check_multiple(validator: Any, unit: float, value: Any, _schema: Any) -> Iterator[Exception]:
    """Digits decide, and not what floats make of them: 19.99 is a multiple of 0.01."""
    if validator.is_type(value, "number") and (_exact(value) / _exact(unit)).denominator != 1:
        exceptions = importlib.import_module("jsonschema.exceptions")
        yield exceptions.ValidationError("is not a multiple")


def _check_pattern(validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[Exception]:
    if validator.is_type(value, "string") and not matcher(pattern)(value):
        exceptions = importlib.import_module("jsonschema.exceptions")
        yield exceptions.ValidationError("does not match")


def _exact(number: Any) -> Fraction:
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


@functools.cache
def _format_checker() -> Any:
    checker = importlib.import_module("jsonschema").FormatChecker(formats=_FORMATS)
    checker.checks("date-time", raises=ValueError)(_is_datetime)
    return checker


def _is_datetime(value: object) -> bool:
    """Whether text is a date and time; a missing time zone is let through, as models often leave it out."""
    if not isinstance(value, str):
        return True
    datetime.fromisoformat(value)
    return len(value) > len("2024-05-31")


def _check_references(schema: dict[str, Any], registry: Any, kind: Any, *, tool: str) -> None:
    """Find references that lead nowhere now, and not when the first call comes."""
    referencing = importlib.import_module("referencing")
    specification = importlib.import_module("referencing.jsonschema").specification_with(
        kind.META_SCHEMA["$schema"], default=None
    )
    resource = referencing.Resource(contents=schema, specification=specification)
    resolver = registry.resolver_with_root(resource)
    for reference, has_own_base in _references(schema, has_own_base=False):
        if has_own_base:  # relative to an embedded $id; the validator alone knows to what
            continue
        try:
            resolver.lookup(reference)
        except referencing.exceptions.Unresolvable as error:
            raise ToolDefinitionError(
                tool=tool,
                problem=f"its JSON Schema refers to {reference!r}, which is not in it",
                remedy="Put the definition under $defs; nothing is ever fetched.",
            ) from error


def _references(part: Any, *, has_own_base: bool) -> Iterator[tuple[str, bool]]:
    if is_array(part):
        for item in part:
            yield from _references(item, has_own_base=has_own_base)
    if not is_object(part):
        return
    for key, value in part.items():
        if key in ("$ref", "$dynamicRef") and isinstance(value, str):
            yield value, has_own_base
        elif key not in ("const", "enum", "default", "examples"):
            is_embedded = is_object(value) and isinstance(value.get("$id"), str)
            yield from _references(value, has_own_base=has_own_base or is_embedded)
