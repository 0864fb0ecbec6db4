"""The defaults of a JSON Schema, filled into arguments that are valid.

A validator only reads defaults, and does not fill them. Which ones hold for an object is plain where its own schema,
one that it refers to or one of its ``allOf`` declares them; alternatives are left alone, since it is the author's
business what an alternative that was not chosen would mean. A default that its own schema does not accept (authors
write null where text is declared) is none.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from surehand.shapes import is_array, is_object
from surehand.spec.json_checker import Checker
from surehand.spec.json_places import item_parts, parts_of
from surehand.spec.places import Place, with_value

__all__ = ["Defaults"]

_MAX_ONE_BY_ONE: Final = 50
"""How many defaults are tried alone where all together do not fit."""


class _Missing(NamedTuple):
    place: Place
    """Where the default belongs."""
    value: Any


class Defaults:
    """Fills what arguments leave out."""

    def __init__(self, checker: Checker) -> None:
        self._checker = checker
        self._own: dict[int, Mapping[str, Any]] = {}
        self._are_there = is_object(checker.schema) and _mentions_default(checker.schema)

    def filled(self, values: dict[str, Any]) -> dict[str, Any]:
        """The valid values with the defaults that keep them valid; what was given is not changed."""
        if not self._are_there:
            return values
        missing = list(self._missing(self._checker.schema, values, ()))
        if not missing:
            return values
        whole = values
        for one in missing:
            whole = with_value(whole, one.place, one.value)
        if self._checker.accepts(whole):
            return whole
        found = values
        for one in missing[:_MAX_ONE_BY_ONE]:
            more = with_value(found, one.place, one.value)
            found = more if self._checker.accepts(more) else found
        return found

    def _missing(self, schema: Any, value: Any, place: Place) -> Iterator[_Missing]:
        said: set[str] = set()
        for part in self._same(schema):
            if is_object(value):
                yield from self._missing_keys(part, value, place, said)
            elif is_array(value):
                yield from self._missing_below(part, value, place)

    def _missing_keys(
        self, schema: Mapping[str, Any], value: Mapping[str, Any], place: Place, said: set[str]
    ) -> Iterator[_Missing]:
        properties = schema.get("properties")
        for name, part in properties.items() if is_object(properties) else ():
            if name in value:
                if is_object(part) and (is_object(value[name]) or is_array(value[name])):
                    yield from self._missing(part, value[name], (*place, name))
            elif name not in said:
                yield from self._default(part, (*place, name), said)
        other = schema.get("additionalProperties")
        for name, item in value.items() if is_object(other) else ():
            if not is_object(properties) or name not in properties:
                yield from self._missing(other, item, (*place, name))

    def _missing_below(self, schema: Mapping[str, Any], value: list[Any], place: Place) -> Iterator[_Missing]:
        for index, (part, item) in enumerate(zip(item_parts(schema, len(value)), value, strict=True)):
            if is_object(part):
                yield from self._missing(part, item, (*place, index))

    def _default(self, schema: Any, place: Place, said: set[str]) -> Iterator[_Missing]:
        for part in self._same(schema):
            if "default" in part:
                said.add(str(place[-1]))
                value = self._usable(part)
                if value is not None:
                    yield _Missing(place, value[0])
                return

    def _usable(self, schema: Mapping[str, Any]) -> tuple[Any] | None:
        """A copy of the schema's default, in a tuple, if the schema accepts it."""
        known = self._own.get(id(schema))
        if known is None:
            is_fit = self._checker.accepts_part(schema, schema["default"])
            known = self._own[id(schema)] = {"value": schema["default"]} if is_fit else {}
        return (copy.deepcopy(known["value"]),) if known else None

    def _same(self, schema: Any) -> Iterator[Mapping[str, Any]]:
        """The schema, and what is sure to hold for the same value."""
        if not is_object(schema):
            return
        yield schema
        if isinstance(reference := schema.get("$ref"), str):
            yield from self._same(self._checker.references.target(schema, reference))
        if is_array(wholes := schema.get("allOf")):
            for whole in wholes:
                yield from self._same(whole)


def _mentions_default(schema: Mapping[str, Any]) -> bool:
    waiting: list[Any] = [schema]
    while waiting:
        current = waiting.pop()
        if "default" in current:
            return True
        waiting += [part.schema for part in parts_of(current) if is_object(part.schema)]
    return False
