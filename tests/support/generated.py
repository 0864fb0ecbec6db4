"""Instances of JSON Schemas, made up: such as fit, and such as do not."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import jsonschema
from hypothesis import HealthCheck, given, settings

from support.instances import instances
from surehand.shapes import is_array, is_object

__all__ = ["broken", "fitting"]

Place = tuple[str | int, ...]

_WRONG: dict[str, list[Any]] = {
    "string": [12345.5, {"~": 1}, ["~"]],
    "integer": ["~~", {"~": 1}, 3.5],
    "number": ["~~", {"~": 1}, ["~"]],
    "boolean": ["~~", 3.5, {"~": 1}],
    "array": ["~~", 12345.5],
    "object": ["~~", 12345.5],
    "null": ["~~", 12345.5],
}
"""For each type values that nothing can turn into it without a loss."""


def fitting(schema: dict[str, Any], count: int) -> list[Any]:
    """Instances that fit the schema, the same ones at every run."""
    found: list[Any] = []

    @settings(
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=count,
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.data_too_large),
    )
    @given(instances(schema))
    def collect(instance: Any) -> None:
        found.append(copy.deepcopy(instance))

    collect()
    return found[:count]


def broken(schema: dict[str, Any], instances: list[Any], count: int) -> list[tuple[Any, Place]]:
    """Instances that do not fit, each with the place where it was made so."""
    validator: Any = jsonschema.Draft202012Validator(schema)
    found: list[tuple[Any, Place]] = []
    seen: set[tuple[str, Place]] = set()
    for instance in reversed(instances):  # the later ones are the larger ones
        for place, change in _mutations(schema, schema, instance, ()):
            whole = _changed(copy.deepcopy(instance), place, change)
            if (repr(whole), place) not in seen and not validator.is_valid(whole):
                seen.add((repr(whole), place))
                found.append((whole, place))
    return found[:: max(len(found) // count, 1)][:count]


_REMOVED = object()


def _mutations(root: Any, schema: Any, value: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    if not is_object(schema):
        return
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        yield from _mutations(root, _pointed(root, reference), value, place)
    for keyword in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(keyword, ()):
            yield from _mutations(root, part, value, place)
    if place:
        yield from ((place, wrong) for wrong in _wrong_values(schema))
    if is_object(value):
        yield from _mutations_of_object(root, schema, value, place)
    if is_array(value) and value:
        yield from _mutations(root, schema.get("items"), value[0], (*place, 0))


def _mutations_of_object(root: Any, schema: Any, value: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    yield from (((*place, name), _REMOVED) for name in schema.get("required", ()) if name in value)
    if schema.get("additionalProperties") is False:
        yield (*place, "zz_not_there"), 1
    for name, part in schema.get("properties", {}).items():
        if name in value:
            yield from _mutations(root, part, value[name], (*place, name))


def _wrong_values(schema: Any) -> Iterator[Any]:
    kinds = schema.get("type", [])
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        yield from _WRONG[kind]
    if "enum" in schema or "const" in schema:
        yield "~ no such choice ~"
    if "minimum" in schema:
        yield schema["minimum"] - 1
    if "maximum" in schema:
        yield schema["maximum"] + 1
    if schema.get("minLength"):
        yield ""
    if "maxLength" in schema:
        yield "a" * (schema["maxLength"] + 1)
    if schema.get("minItems"):
        yield []
    if "format" in schema:
        yield "~ no format ~"


def _pointed(root: Any, reference: str) -> Any:
    for step in reference[2:].split("/"):
        root = root[step]
    return root


def _changed(whole: Any, place: Place, change: Any) -> Any:
    holder = whole
    for step in place[:-1]:
        holder = holder[step]
    if change is _REMOVED:
        del holder[place[-1]]
    else:
        holder[place[-1]] = change
    return whole
