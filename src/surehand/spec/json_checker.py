"""The validator behind JSON Schemas: the package ``jsonschema-rs``, held to what a tool needs.

It is asked for nothing outside the schema, within the bounds that were counted, and in two steps: whether the arguments
fit, which takes a microsecond, and only where they do not, why.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from surehand.errors import MissingExtraError, ToolDefinitionError, shown
from surehand.shapes import is_object
from surehand.spec.json_bounds import Bounds, EndlessReference, TooMuchWork
from surehand.spec.json_dialect import adapted
from surehand.spec.json_narrowing import narrowed
from surehand.spec.json_places import REFERENCES, References, parts_of
from surehand.spec.patterns import QUICK_SIZE, bounded_pattern, new_budget
from surehand.spec.places import Place

__all__ = ["Checker"]

_QUICK: Final = 1_000
"""The most schemas, for all values together, whose complaints are collected at once: a tenth of a second."""
_TOO_MUCH: Final = 20_000
"""From so many on they are not collected at all."""
_MAX_ERRORS: Final = 200
"""The most errors that are looked at; a model is told 20."""
_MAX_KEY: Final = 500
_STEPS: Final = 1_000
"""How many steps back a pattern of keys may take."""
_OFFICIAL: Final = ("http://json-schema.org/", "https://json-schema.org/")
_MEANT: Final[Mapping[str, str]] = {
    "any": "Leave the type out: without one everything is taken.",
    "dict": "Write 'object'.",
    "map": "Write 'object'.",
    "float": "Write 'number'.",
    "double": "Write 'number'.",
    "decimal": "Write 'number'.",
    "int": "Write 'integer'.",
    "long": "Write 'integer'.",
    "str": "Write 'string'.",
    "text": "Write 'string'.",
    "bool": "Write 'boolean'.",
    "list": "Write 'array'.",
    "tuple": "Write 'array'.",
    "set": "Write 'array', with uniqueItems.",
    "none": "Write 'null'.",
    "file": "Write 'string', and say in the description what the text holds.",
}
"""Words for types that are none in JSON Schema. They are not translated: the model's provider would refuse them."""


class Checker:
    """Says whether values fit a JSON Schema, and what is wrong with those that do not.

    Args:
        schema: The whole schema, of any type; it must not change afterwards.
        tool: The tool it belongs to, for errors.

    Raises:
        MissingExtraError: The ``jsonschema`` extra is not installed.
        ToolDefinitionError: No JSON Schema, a reference that leads out of it or nowhere, a pattern that cannot be read,
            or more work than a call should wait for.
    """

    schema: Any
    """The schema that is checked by: what was given, in the validator's words."""
    references: References
    """Where the references of ``schema`` lead."""

    def __init__(self, schema: Any, *, tool: str) -> None:
        package = _package()
        try:
            self.schema, written = adapted(schema)
        except RecursionError as error:
            raise _unusable(tool, "it is nested too deeply") from error
        self.written = written
        """Pattern as it is read -> as its author wrote it."""
        root: Mapping[str, Any] = self.schema if is_object(self.schema) else {}
        self.references = References(root)
        _check_references(root, self.references, tool=tool)
        self._bounds = _bounds(root, self.references, tool=tool)
        self._maker = _Maker(package, self.schema, written, tool=tool)
        self._validator = self._maker.validator()
        self.longest_key = _MAX_KEY if self._maker.is_bounded else None
        """The most characters of a key that is matched against patterns; None for any number."""
        self._has_patterns = bool(written)

    @property
    def deepest(self) -> int:
        """The most levels of arrays and objects, one inside the other, that a value may have."""
        return self._bounds.deepest

    def accepts(self, value: Any) -> bool:
        """Whether the value, which has to be JSON, fits."""
        if self._has_patterns:
            new_budget()
        return bool(self._validator.is_valid(value))

    def errors(self, value: Any, *, depth: int, count: int) -> list[Any]:
        """Why it does not fit, at most 200 reasons; none where that could not be found out in time.

        Args:
            value: What was not accepted.
            depth: Its levels of arrays and objects.
            count: How many values are in it.
        """
        if self._has_patterns:
            new_budget()
        visits = self._bounds.visits_at(depth + 1)  # what stands in the deepest of them is asked about as well
        work = _TOO_MUCH if visits is None else visits * count
        found = self._collected(self._validator, value) if work <= _QUICK else self._narrowed(value)
        return found or (self._collected(self._validator, value) if _QUICK < work < _TOO_MUCH else [])

    def _narrowed(self, value: Any) -> list[Any]:
        try:
            schema = narrowed(self.schema, value, self.references, self.accepts_part)
            return self._collected(self._maker.validator_of(schema), value)
        except ToolDefinitionError:  # deeper than the validator reads, or with words of an old draft
            return []

    def _collected(self, validator: Any, value: Any) -> list[Any]:
        return [error for _, error in zip(range(_MAX_ERRORS), validator.iter_errors(value), strict=False)]

    def accepts_part(self, part: Mapping[str, Any], value: Any) -> bool:
        """Whether a value fits a part of ``schema``, itself and not a copy of it."""
        pointer = self._pointers.get(id(part))
        return pointer is not None and bool(self._parts[pointer].is_valid(value))

    def errors_of_part(self, steps: Place, value: Any) -> list[Any] | None:
        """Why a value does not fit the part that stands at a place; None where that takes nothing at all."""
        part = self._parts.get(_pointer(steps))
        return None if part is None or _at(self.schema, steps) is False else list(part.iter_errors(value))

    @functools.cached_property
    def _pointers(self) -> dict[int, str]:
        return {id(part): _pointer(place) for place, part in _schemas(self.schema, ())}

    @functools.cached_property
    def _parts(self) -> Any:
        return self._maker.parts()


class _Maker:
    """Makes the validator, with the quick engine for patterns where that takes them all."""

    def __init__(self, package: Any, schema: Any, written: Mapping[str, str], *, tool: str) -> None:
        self.package = package
        self.schema = schema
        self.written = written
        self.tool = tool
        self.is_bounded = False
        """Whether there are patterns that the quick engine does not take."""

    def validator(self) -> Any:
        """The validator of the whole."""
        try:
            return self._made(self.package.validator_for)
        except self.package.ValidationError as error:
            if not _is_about_pattern(error):
                raise self._error(error) from error
        self.is_bounded = True
        try:
            return self._made(self.package.validator_for)
        except self.package.ValidationError as error:
            raise self._error(error) from error

    def parts(self) -> Any:
        """The validators of its parts, by their pointers."""
        return self._made(self.package.validator_map_for)

    def validator_of(self, schema: Any) -> Any:
        """The validator of another schema, made of parts of this one."""
        return self._made(self.package.Draft202012Validator, schema)

    def _made(self, make: Any, schema: Any = None) -> Any:
        quick = self.package.RegexOptions(size_limit=QUICK_SIZE)
        options: dict[str, Any] = {"pattern_options": quick}
        if self.is_bounded:
            options["pattern_options"] = self.package.FancyRegexOptions(backtrack_limit=_STEPS)
            options["keywords"] = {"pattern": bounded_pattern(self.written)}
        try:
            return make(
                self.schema if schema is None else schema,
                offline=True,
                validate_formats=True,
                formats=_formats(),
                **options,
            )
        except (ValueError, TypeError, OverflowError) as error:
            if isinstance(error, self.package.ValidationError):
                raise
            raise _unusable(self.tool, f"it is no JSON ({shown(str(error))})") from error

    def _error(self, error: Any) -> ToolDefinitionError:
        path = _path(error.instance_path)
        if _is_about_pattern(error):
            pattern = self.written.get(str(error.instance), str(error.instance))
            return ToolDefinitionError(
                tool=self.tool,
                problem=f"its JSON Schema has the pattern {shown(pattern, 100)} at {path}, which no engine can read",
                remedy="Write it as JavaScript would take it, and not longer than necessary.",
            )
        if type(error.kind).__name__.endswith("Referencing"):
            return self._reference_error(error)
        value = _at(self.schema, error.instance_path)
        remedy = _MEANT.get(str(value).lower(), "") if error.instance_path[-1:] == ["type"] else ""
        return ToolDefinitionError(
            tool=self.tool,
            problem=f"its JSON Schema is not valid at {path}: {shown(value, 100)} {_expected(error)}",
            remedy=remedy or "Correct it, or name its draft with $schema (without one it is 2020-12).",
        )

    def _reference_error(self, error: Any) -> ToolDefinitionError:
        named = self.schema.get("$schema") if is_object(self.schema) else None
        if "meta-schema" in error.message:
            return ToolDefinitionError(
                tool=self.tool,
                problem=f"its JSON Schema names {shown(named)} as its $schema, which is no draft of JSON Schema",
                remedy="Name one of the drafts 7, 2019-09 and 2020-12, or leave $schema out.",
            )
        return _unusable(self.tool, f"a reference in it leads nowhere ({shown(error.message, 200)})")


def _is_about_pattern(error: Any) -> bool:
    kind = error.kind
    return (kind.name == "format" and kind.value == "regex") or type(kind).__name__ == "Custom"


def _expected(error: Any) -> str:
    kind, value = error.kind.name, error.kind.value
    if error.instance_path[-1:] == ["type"]:
        return "is no type of JSON Schema"
    if kind == "type":
        return f"is not of the type {' or '.join(map(str, value))}"
    return f"breaks the rule {kind} of the draft"


def _at(schema: Any, path: Iterable[str | int]) -> Any:
    for step in path:
        try:
            schema = schema[step]
        except (KeyError, IndexError, TypeError):
            return None
    return schema


def _package() -> Any:
    try:
        return importlib.import_module("jsonschema_rs")
    except ImportError as error:
        raise MissingExtraError(
            feature="A tool with a JSON Schema", package="jsonschema-rs", extra="jsonschema"
        ) from error


@functools.cache
def _formats() -> dict[str, Any]:
    package = _package()
    # Addresses in other scripts exist, and what takes them is not for a schema's author to guess.
    address = package.Draft202012Validator({"format": "idn-email"}, validate_formats=True)
    exact = package.Draft202012Validator({"format": "date-time"}, validate_formats=True)

    def is_datetime(text: str) -> bool:
        return bool(exact.is_valid(text)) or _is_datetime(text)

    return {"date-time": is_datetime, "email": address.is_valid}


def _is_datetime(text: str) -> bool:
    """Whether text is a date and time; the zone and the seconds may be missing, as models often leave them out."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return len(text) > len("2024-05-31") and not text.isdecimal()


def _check_references(root: Mapping[str, Any], references: References, *, tool: str) -> None:
    """Find references that lead out of the schema, or nowhere, now and not when the first call comes."""
    for place, schema in _schemas(root, ()):
        for keyword in REFERENCES:
            reference = schema.get(keyword)
            if not isinstance(reference, str) or reference.startswith(_OFFICIAL):
                continue  # a draft's own schema, which the validator knows
            if references.target(schema, reference) is not None:
                continue
            raise ToolDefinitionError(
                tool=tool,
                problem=f"its JSON Schema refers to {reference!r} at {_path(place)}, which is not in it",
                remedy="Put the definition under $defs; nothing is ever fetched.",
            )


def _schemas(schema: Mapping[str, Any], place: Place) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    yield place, schema
    for part in parts_of(schema):
        if is_object(part.schema):
            yield from _schemas(part.schema, (*place, *part.steps))


def _bounds(root: Mapping[str, Any], references: References, *, tool: str) -> Bounds:
    try:
        return Bounds(root, references)
    except EndlessReference as error:
        raise ToolDefinitionError(
            tool=tool,
            problem=f"its JSON Schema refers to {error.reference!r} in a circle, about one and the same value",
            remedy="Let a schema refer to itself only for a property or an item of its value.",
        ) from error
    except TooMuchWork as error:
        raise ToolDefinitionError(
            tool=tool,
            problem="its JSON Schema makes more work than a call can wait for",
            remedy="Let fewer definitions refer to each other, or take apart what is nested.",
        ) from error


def _unusable(tool: str, problem: str) -> ToolDefinitionError:
    return ToolDefinitionError(
        tool=tool, problem=f"its JSON Schema cannot be used: {problem}", remedy="Give a JSON Schema of type object."
    )


def _path(steps: Any) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def _pointer(steps: Place) -> str:
    return "#" + "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)
