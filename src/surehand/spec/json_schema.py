"""Arguments described by a JSON Schema."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Mapping
from typing import Any, Final

from typing_extensions import override

from surehand.errors import ToolDefinitionError, shown
from surehand.shapes import is_array, is_object
from surehand.spec.json_checker import Checker
from surehand.spec.json_defaults import Defaults
from surehand.spec.json_problems import Words
from surehand.spec.places import Place
from surehand.spec.schema import ArgumentSchema, Problem, SchemaMismatch, Wanted, without
from surehand.spec.wording import received

__all__ = ["JsonSchema"]

_MAX_BITS: Final = 14_000
"""The most bits of an integer that can be written as digits."""
_PLAIN: Final = frozenset({bool, type(None)})


class JsonSchema(ArgumentSchema):
    """A JSON Schema as its author wrote it; nothing of it is simplified, and no reference leaves it.

    Args:
        schema: Draft 2020-12, or the draft that its ``$schema`` names.
        tool: The tool it belongs to, for errors.
        hidden: Properties that the host fills; the model may neither see nor set them.

    Raises:
        MissingExtraError: The ``jsonschema`` extra is not installed.
        ToolDefinitionError: Not a JSON Schema of an object, a reference in it leads nowhere, a pattern cannot be read,
            or it makes more work than a call can wait for.
    """

    is_exact = True

    def __init__(self, schema: Mapping[str, Any], *, tool: str, hidden: frozenset[str] = frozenset()) -> None:
        own = without(_copied(schema, tool=tool), hidden)
        self._checker = Checker(own, tool=tool)
        self._direct(self._checker.schema)
        self.json_schema = own
        self._defaults = Defaults(self._checker)

    @override
    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        values = dict(arguments)
        foreign = _Foreign(self._checker.deepest, self._checker.longest_key)
        for name, value in values.items():
            foreign.look_at_key(name, ())
            foreign.look(value, (name,))
        if foreign.problems:
            raise SchemaMismatch(error=_mismatch(foreign.problems), describe=lambda: foreign.problems)
        if foreign.has_kinds_of_their_own:
            values = _plain(values)
        if self._checker.accepts(values):
            return self._defaults.filled(values)
        raise self._mismatch(values, foreign)

    def _mismatch(self, values: dict[str, Any], looked: _Foreign) -> SchemaMismatch:
        errors = self._checker.errors(values, depth=looked.depth, count=looked.count)
        if not errors:
            text = "does not fit the schema, and is too large or nested too deeply for the reason to be told"
            problems = [Problem(place=(), text=text, rule="nested_too_deeply")]
            return SchemaMismatch(error=_mismatch(problems), describe=lambda: problems)
        words = Words(arguments=values, directions=self.directions, checker=self._checker)

        def wanted() -> list[Wanted]:
            return list(words.wanted(errors))

        return SchemaMismatch(error=errors[0], describe=lambda: words.problems(errors), wanted=wanted)

    @override
    def dump_json(self, arguments: Mapping[str, Any]) -> str:
        return json.dumps(self.validate(arguments), ensure_ascii=False)


def _mismatch(problems: list[Problem]) -> ValueError:
    return ValueError("; ".join(problem.text for problem in problems))


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
    try:
        return {"type": "object", **copy.deepcopy(dict(schema))}
    except RecursionError as error:
        raise ToolDefinitionError(
            tool=tool, problem="its schema is nested too deeply", remedy="Put parts of it under $defs."
        ) from error


class _Foreign:
    """Finds what is no JSON, which the validator would take for null or not take at all.

    Models send JSON; a host may hand in anything.
    """

    def __init__(self, deepest: int, longest_key: int | None) -> None:
        self.deepest = deepest
        self.longest_key = longest_key
        self.depth = 0
        """The most levels of objects and arrays that were seen."""
        self.count = 1
        """How many values were seen."""
        self.problems: list[Problem] = []
        self.has_kinds_of_their_own = False
        """Whether texts or numbers are of a subclass, such as an enum; the validator takes none."""

    def look(self, value: Any, place: Place) -> None:
        """Look at a value and all that is in it."""
        if isinstance(value, str):
            self.has_kinds_of_their_own |= type(value) is not str
            if not (value.isascii() or _is_text(value)):
                self._refuse(place, "expected a string of valid characters", received(value))
        elif is_object(value) or isinstance(value, list | tuple):
            self._look_below(value, place)
        elif isinstance(value, float):
            self.has_kinds_of_their_own |= type(value) is not float
            if not math.isfinite(value):
                self._refuse(place, "expected a finite number", f"the number {value}")
        elif isinstance(value, int):
            self.has_kinds_of_their_own |= type(value) is not int
            if value.bit_length() > _MAX_BITS:
                self._refuse(place, "expected an integer of fewer digits", received(value))
        elif value is not None:
            self._refuse(place, "expected a value that JSON can carry", received(value))

    def _look_below(self, value: Any, place: Place) -> None:
        self.depth = max(self.depth, len(place))
        self.count += len(value)
        if len(place) > self.deepest:
            text = f"is nested deeper than {self.deepest} levels, which are the most that can be checked"
            self.problems.append(Problem(place=place[:3], text=text, rule="nested_too_deeply"))
            return
        if not is_object(value):
            for index, item in enumerate(value):
                if type(item) not in _PLAIN:
                    self.look(item, (*place, index))
            return
        for key, item in value.items():
            self.look_at_key(key, place)
            if type(item) not in _PLAIN:
                self.look(item, (*place, key))

    def look_at_key(self, key: object, place: Place) -> None:
        """Look at the name of a value."""
        if not isinstance(key, str):
            self._refuse(place, "expected names that are text", received(key))
            return
        self.has_kinds_of_their_own |= type(key) is not str
        if not (key.isascii() or _is_text(key)):
            self._refuse(place, "expected names of valid characters", received(key))
        elif self.longest_key is not None and len(key) > self.longest_key:
            self._refuse(place, f"expected names of at most {self.longest_key} characters", received(key))

    def _refuse(self, place: Place, expected: str, got: str) -> None:
        self.problems.append(Problem(place=place, text=f"{expected}, got {got}", rule="wrong_type"))


def _plain(value: Any) -> Any:
    """The same value, of nothing but the types of JSON; a number of more digits than a float keeps is that float."""
    if is_object(value):
        return {str.__str__(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return float(value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.encode("utf-8", "replace").decode() == value
