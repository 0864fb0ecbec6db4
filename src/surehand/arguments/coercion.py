"""Turning values into what the schema asks for, where nothing is lost by it.

A closed list: JSON text (or Python's spelling of it) for a declared array, object, number, integer or boolean; 20.0 for
an integer; 0 and 1 for a boolean; the one allowed value that differs only in case and separators. A declared string is
never read as anything else, a number never becomes text, and the text 'null' never becomes null.

Models often know the value and miss its form: a list as text, a number in quotes, ``KM`` for ``km``. Validators help
with some of it, each with other things: pydantic reads '5' and also 'yes', no JSON inside text, and one of JSON Schema
nothing at all. The list makes such a value fit whatever the schema was written in. What is on it has one reading, and
each use is noted. To wrap a lone value in a list or to split 'a, b' was left out, because both invent a structure that
the model did not send. What would change our minds: a form that recorded calls have often, and that has one reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from surehand.arguments.paths import json_path
from surehand.arguments.screening import branch_for, whole_number
from surehand.arguments.suggestions import plain_name
from surehand.errors import MalformedArguments
from surehand.grammar import parse_value
from surehand.shapes import is_array, is_object
from surehand.spec import Direction, Place, Wanted, expectation, type_name, value_at, with_value

__all__ = ["Coercion"]

_TRUTH: Final[Mapping[str, bool]] = {"true": True, "false": False}
_MAX_LEVELS: Final = 200
"""Texts inside texts could otherwise go on."""


class Coercion:
    """One attempt to make arguments fit; ``notes`` says what was changed, in order."""

    def __init__(self, *, is_strict: bool = False) -> None:
        self.is_strict = is_strict
        self.notes: list[str] = []
        self._gathered: dict[int, tuple[tuple[Any, ...], dict[str, list[str]]]] = {}

    def arguments(
        self, given: Mapping[str, Any], directions: Mapping[str, Direction], other: Direction | None
    ) -> dict[str, Any]:
        """The arguments with every value that could be made to fit."""
        return {name: self._value(value, directions.get(name, other), (name,)) for name, value in given.items()}

    def asked(self, given: dict[str, Any], wanted: Iterable[Wanted]) -> dict[str, Any]:
        """The arguments with what the validator itself asked for at a place, where the value can be made that."""
        found: Any = given
        for place, want in {want.place: want for want in wanted}.items():
            direction = Direction(types=want.types, choices=want.choices, is_text="string" in want.types)
            value = value_at(found, place)
            coerced = self._value(value, direction, place)
            if coerced is not value:
                found = with_value(found, place, coerced)
        return dict(found)

    def _value(self, value: Any, direction: Direction | None, place: Place) -> Any:
        if direction is None or value is None or not direction.types or len(place) > _MAX_LEVELS:
            return value
        if isinstance(value, float):
            return self._number(value, direction, place)
        if direction.choices:
            return self._choice(value, direction, place)
        if isinstance(value, dict | list):
            return self._container(value, direction, place)
        if isinstance(value, str):
            # where a string may stand, the text itself is one reading, and no other can be the only one
            return value if direction.is_text else self._text(value, direction, place)
        is_truth = isinstance(value, int) and not isinstance(value, bool) and direction.types <= {"boolean", "null"}
        return self._truth(value, place) if is_truth else value

    def _container(self, value: Any, direction: Direction, place: Place) -> Any:
        node = branch_for(direction, value) or self._tagged(value, direction)
        if node is None:
            return value
        if is_array(value):
            return [self._value(item, node.child(index), (*place, index)) for index, item in enumerate(value)]
        return {key: self._value(item, node.child(key), (*place, key)) for key, item in value.items()}

    def _tagged(self, value: Any, direction: Direction) -> Direction | None:
        """The alternative whose tag is the value's, but for its spelling."""
        tag = direction.tag
        given = value.get(tag) if tag is not None and is_object(value) else None
        if tag is None or not isinstance(given, str):
            return None
        found = [
            branch
            for branch in direction.branches
            if tag in branch.properties and self._unique(given, branch.properties[tag].choices) is not None
        ]
        return found[0] if len(found) == 1 else None

    def _choice(self, value: Any, direction: Direction, place: Place) -> Any:
        if not isinstance(value, str) or value in direction.choices:
            return value
        found = self._unique(value, direction.choices)
        if found is None and not direction.is_text:
            parsed = _parsed(value)
            found = next((c for c in direction.choices if type(c) is type(parsed) and c == parsed), None)
        if found is None:
            return value
        self.notes.append(f"read the text at {json_path(place)} as {found!r}")
        return found

    def _unique(self, value: str, choices: tuple[Any, ...]) -> str | None:
        """The one allowed text that differs from the value only in case and separators."""
        if self.is_strict:
            return value if value in choices else None
        found = self._by_plain_name(choices).get(plain_name(value), ())
        return found[0] if len(found) == 1 else None

    def _by_plain_name(self, choices: tuple[Any, ...]) -> dict[str, list[str]]:
        """The allowed texts by what is left of them; gathered once, as a long list may be wrong at every item."""
        known = self._gathered.get(id(choices))
        if known is None:
            names: dict[str, list[str]] = {}
            for choice in choices:
                if isinstance(choice, str):
                    names.setdefault(plain_name(choice), []).append(choice)
            known = self._gathered[id(choices)] = (choices, names)
        return known[1]

    def _number(self, value: float, direction: Direction, place: Place) -> Any:
        is_integer = "integer" in direction.types and "number" not in direction.types
        whole = whole_number(value) if is_integer else None
        if whole is None:
            return value
        self.notes.append(f"read the number at {json_path(place)} as an integer")
        return whole

    def _truth(self, value: int, place: Place) -> Any:
        if value not in (0, 1):
            return value
        self.notes.append(f"read the number at {json_path(place)} as {'true' if value else 'false'}")
        return bool(value)

    def _text(self, text: str, direction: Direction, place: Place) -> Any:
        """What the text spells, where that is of a declared type, and of one alternative only."""
        wanted = direction.types - {"null"}
        value = _as_wanted(text, wanted)
        if value is None:
            return text
        is_container = is_array(value) or is_object(value)
        node = branch_for(direction, value) or self._tagged(value, direction) if is_container else direction
        if node is None:
            return text
        kind: set[str] = {type_name(value)}
        self.notes.append(f"read the text at {json_path(place)} as {expectation(kind)}")
        return self._value(value, node, place) if is_container else value


def _as_wanted(text: str, wanted: frozenset[str]) -> Any:
    """The value that the text spells, if it is of a wanted type; else None."""
    if "boolean" in wanted and text.strip().lower() in _TRUTH:
        return _TRUTH[text.strip().lower()]
    value = _parsed(text)
    if isinstance(value, int) and not isinstance(value, bool):
        return value if wanted & {"integer", "number"} else _as_truth(value, wanted)
    if isinstance(value, float):
        return value if "number" in wanted else whole_number(value) if "integer" in wanted else None
    if is_array(value):
        return value if "array" in wanted else None
    return value if "object" in wanted and is_object(value) else None


def _as_truth(value: int, wanted: frozenset[str]) -> bool | None:
    return bool(value) if wanted == frozenset({"boolean"}) and value in (0, 1) else None


def _parsed(text: str) -> Any:
    try:
        return parse_value(text)[0]
    except MalformedArguments:
        return None
