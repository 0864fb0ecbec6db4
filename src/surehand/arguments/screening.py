"""A look at arguments before they are validated.

Validators are lenient where it hurts: they take true for the number 1, drop unknown keys of nested objects without a
word, and call the text 'nan' a number. What they would do silently is found here, and noted or refused; and whatever
is an object or array is copied, so that no tool can change the message its arguments came in.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any, Final

from surehand.arguments.naming import variants
from surehand.arguments.paths import json_path
from surehand.errors import MalformedArguments
from surehand.grammar import MAX_DEPTH, ExactFloat, parse_value, same_value
from surehand.shapes import is_array, is_object
from surehand.spec import ArgumentSchema, Direction, Place, Problem, date_or_time, expectation, one_of, received

__all__ = ["Screen", "branch_for", "whole_number"]

_NUMERIC: Final = frozenset({"integer", "number"})
_READABLE: Final = frozenset({"integer", "number", "boolean"})
"""Types that validators read from text."""


class Screen:
    """Copies arguments and collects what is to be said about them.

    Args:
        schema: The schema they will be validated against.
        is_strict: Whether no name is guessed.
        refused: The places that an exact validator has refused, for it alone knows which nulls are wrong; none yet
            keeps every null. Other validators are not asked.
    """

    def __init__(self, schema: ArgumentSchema, *, is_strict: bool = False, refused: Collection[Place] = ()) -> None:
        self.schema = schema
        self.is_strict = is_strict
        self.refused = refused
        self.has_doubtful_null = False
        """Whether a null was kept that can only mean 'not given' if the validator refuses it."""
        self.notes: list[str] = []
        """What is changed here, in order."""
        self.later_notes: list[str] = []
        """What the validator will have changed, if it accepts."""
        self.problems: list[Problem] = []
        """What the validator would accept, and must not."""
        self.unknown: list[Place] = []
        """Keys of nested objects that the schema does not know."""

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments, copied; a null that can only mean 'not given' is left out."""
        found: dict[str, Any] = {}
        for name, value in given.items():
            direction = self.schema.directions.get(name, self.schema.other_direction)
            if self._means_nothing((name,), value, direction, self.schema.required):
                self.notes.append(f"left out the null at {json_path((name,))}, which is optional")
            else:
                found[name] = self._value(value, direction, (name,))
        return found

    def _value(self, value: Any, direction: Direction | None, place: Place) -> Any:
        if len(place) > MAX_DEPTH:
            self.problems.append(
                Problem(place=place[:3], text=f"is nested deeper than {MAX_DEPTH} levels", rule="nested_too_deeply")
            )
            return None
        if is_object(value):
            return self._object(value, direction and branch_for(direction, value), place)
        if is_array(value):
            node = direction and branch_for(direction, value)
            return [self._value(item, node and node.child(index), (*place, index)) for index, item in enumerate(value)]
        return self._scalar(value, direction, place) if direction is not None and direction.types else value

    def _object(self, value: Mapping[str, Any], node: Direction | None, place: Place) -> dict[str, Any]:
        if node is not None and node.keys is not None:
            self._check_repeated(_read_keys(value, node), value, place)
        if node is None or not node.properties:
            below = node.extras if node is not None and isinstance(node.extras, Direction) else None
            return {key: self._value(item, below, (*place, key)) for key, item in value.items()}
        names = self._names(value, node, place)
        found: dict[str, Any] = {}
        for key, item in value.items():
            name = names.get(key, key)
            child = node.child(name)
            if self._means_nothing((*place, name), item, child, node.required):
                self.notes.append(f"left out the null at {json_path((*place, key))}, which is optional")
            else:
                found[name] = self._value(item, child, (*place, key))
        return found

    def _names(self, value: Mapping[str, Any], node: Direction, place: Place) -> dict[str, str]:
        """Key as it was given -> key as the validator takes it, where the two differ."""
        known = {key: node.names[key] for key in value if key in node.names}
        self._check_repeated(known, value, place)
        unknown = [key for key in value if key not in known]
        guessed = {} if self.is_strict else variants(unknown, node.names, known.values())
        if self.schema.is_exact and node.extras is not None and node.extras is not False:
            # other keys are data there, and a guess is due only where the object cannot be right without it
            guessed = {key: name for key, name in guessed.items() if name in node.required}
        for key in unknown:
            path = json_path((*place, key))
            if key in guessed:
                self.notes.append(f"read the key {path} as {guessed[key]!r}")
            elif node.extras is None:
                self.unknown.append((*place, key))
                if not self.schema.is_exact:
                    self.later_notes.append(f"dropped the unknown key {path}")
        return {**known, **guessed}

    def _check_repeated(self, known: Mapping[str, Hashable], value: Mapping[str, Any], place: Place) -> None:
        """Refuses several names of one key, unless they were given the same value."""
        first: dict[Hashable, str] = {}
        for key, target in known.items():
            earlier = first.setdefault(target, key)
            if earlier == key:
                continue
            if same_value(value[earlier], value[key]):
                self.notes.append(f"dropped the key {json_path((*place, key))}, the same as {earlier!r}")
            else:
                text = f"is another name of {earlier}, and both were given with different values"
                self.problems.append(Problem(place=(*place, key), text=text, rule="given_twice"))

    def _means_nothing(self, place: Place, value: Any, direction: Direction | None, required: frozenset[str]) -> bool:
        """Whether a null can only stand for 'not given'."""
        if value is not None or direction is None or direction.is_nullable or place[-1] in required:
            return False
        if not self.schema.is_exact:
            return True
        is_refused = any(place[:end] in self.refused for end in range(len(place) + 1))
        self.has_doubtful_null |= not is_refused
        return is_refused

    def _scalar(self, value: Any, direction: Direction, place: Place) -> Any:
        types = direction.types
        if isinstance(value, float) and "integer" in types and "number" not in types:
            return self._integer(value, direction, place)
        if self.schema.is_exact:
            return value  # what is wrong with it the validator says, and it alone knows the form that was meant
        if isinstance(value, str):
            return self._text(value, direction, place)
        if not isinstance(value, int | float):
            return value
        if isinstance(value, bool):
            is_wrong = "boolean" not in types and bool(types & _NUMERIC or direction.times)
        else:
            is_wrong = bool(direction.dates) and not types & _NUMERIC
        if is_wrong:
            self._refuse(value, direction, place)
        elif not isinstance(value, bool) and types <= {"boolean", "null"}:
            self.later_notes.append(f"read the number at {json_path(place)} as true or false")
        return value

    def _text(self, value: str, direction: Direction, place: Place) -> Any:
        """The text; where digits are a number here and could be seconds or a truth value as well, that number."""
        types = direction.types
        is_numeric = bool(types & _NUMERIC)
        number = _number_of(value) if direction.is_date or is_numeric else None
        is_double = direction.is_date or ("boolean" in types and not direction.is_text)
        if direction.is_date and number is not None and not is_numeric:  # '20240131' would be so many seconds
            self._refuse(value, direction, place)
        elif number is not None and is_numeric and is_double and math.isfinite(number):
            return self._spelt_number(value, direction, place)
        elif direction.is_text or not types & _READABLE:
            return value
        elif number is not None and not math.isfinite(number):
            self._refuse(value, direction, place)
        else:
            self.later_notes.append(f"read the text at {json_path(place)} as {expectation(types - {'null'})}")
        return value

    def _spelt_number(self, text: str, direction: Direction, place: Place) -> Any:
        number = _parsed(text)
        found = whole_number(number) if isinstance(number, float) and "number" not in direction.types else number
        if found is None:
            self._refuse(text, direction, place)
            return text
        kind = "an integer" if isinstance(found, int) else "a number"
        self.notes.append(f"read the text at {json_path(place)} as {kind}")
        return found

    def _integer(self, value: float, direction: Direction, place: Place) -> Any:
        """The integer that the number is, if it is one."""
        whole = whole_number(value)
        if whole is not None:
            self.notes.append(f"read the number at {json_path(place)} as an integer")
            return whole
        if isinstance(value, ExactFloat):
            self._refuse(value, direction, place)
        return value

    def _refuse(self, value: Any, direction: Direction, place: Place) -> None:
        is_shown = self.schema.is_input_shown and not direction.hides_secret()
        expected = _expected(direction)
        got = received(value, is_shown=is_shown)
        self.problems.append(
            Problem(
                place=place,
                text=f"expected {expected}, got {got}",
                rule="wrong_type",
                expected=expected,
                received=got,
            )
        )


def _expected(direction: Direction) -> str:
    if direction.times:
        other = "" if direction.is_date or not direction.dates else " or a string"
        return f"{date_or_time(direction.times)}{other}"
    return one_of(direction.choices) if direction.choices else expectation(direction.types)


def _read_keys(value: Mapping[str, Any], node: Direction) -> dict[str, Hashable]:
    """Key -> what the validator makes of it; those that it does not take are its own to refuse."""
    found: dict[str, Hashable] = {}
    for key in value:
        with suppress(ValueError):
            found[key] = node.keys(key) if node.keys is not None else key
    return found


def _parsed(text: str) -> int | float | None:
    """The number that the text spells as JSON does; None where it is none."""
    try:
        value = parse_value(text)[0]
    except MalformedArguments:
        return None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number_of(text: str) -> float | None:
    """The number that Python reads the text as, which takes more than JSON does; None where it is none."""
    try:
        return float(text)
    except ValueError:
        return None


def whole_number(value: float) -> int | None:
    """The integer that the digits of the number spell: 1e23 is that power of ten, and not the float next to it."""
    if not math.isfinite(value):
        return None
    exact = Decimal(value.literal if isinstance(value, ExactFloat) else repr(value))
    return int(exact) if exact == exact.to_integral_value() else None


def branch_for(direction: Direction, value: Any) -> Direction | None:
    """The alternative that the value belongs to: the only one of its kind, or the one its tag names; else None."""
    if not direction.branches:
        return direction
    kind = "object" if is_object(value) else "array"
    found = [branch for branch in direction.branches if kind in branch.types]
    if len(found) > 1 and is_object(value):
        found = [branch for branch in found if _is_meant(branch, value, direction.tag)]
    return found[0] if len(found) == 1 else None


def _is_meant(branch: Direction, value: Mapping[str, Any], tag: str | None) -> bool:
    """Whether the value has what sets the alternative apart: its tag, or its fixed values and required keys."""
    if tag is not None:
        return tag in branch.properties and value.get(tag) in branch.properties[tag].choices
    fixed = {name: part.choices[0] for name, part in branch.properties.items() if len(part.choices) == 1}
    return branch.required <= value.keys() and all(value.get(name, fixed[name]) == fixed[name] for name in fixed)
