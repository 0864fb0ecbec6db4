"""Instances of JSON Schemas, made up: such as fit, and such as do not."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from surehand.shapes import is_array, is_object

__all__ = ["broken", "fitting"]

Place = tuple[str | int, ...]

_DEEPEST = 4
_ANYTHING = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)
_SAMPLES = {
    "uri": ["https://example.com/a?b=c", "file:///tmp/x"],
    "date": ["2024-05-31", "2000-02-29"],
    "date-time": ["2024-05-31T09:30:00Z", "2024-05-31T09:30:00+02:00"],
    "email": ["someone@example.com"],
}
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
    @given(_instances(schema, schema, _DEEPEST))
    def collect(instance: Any) -> None:
        found.append(copy.deepcopy(instance))

    collect()
    return found[:count]


def _instances(root: Any, schema: Any, deepest: int) -> st.SearchStrategy[Any]:
    """Instances of a schema as real servers write them; nothing is filtered out afterwards."""
    if not is_object(schema):
        return _ANYTHING
    if isinstance(reference := schema.get("$ref"), str):
        return _instances(root, _pointed(root, reference), deepest)
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if forms := schema.get("anyOf") or schema.get("oneOf"):
        own = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
        return st.one_of([_instances(root, _merged(own, form), deepest) for form in forms])
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return st.one_of([_of_type(root, schema, kind, deepest) for kind in kinds]) if kinds else _ANYTHING


def _of_type(root: Any, schema: Any, kind: str, deepest: int) -> st.SearchStrategy[Any]:
    least, most = _least(schema), schema.get("maximum")
    made: dict[str, Callable[[], st.SearchStrategy[Any]]] = {
        "string": lambda: _texts(schema),
        "integer": lambda: st.integers(min_value=least, max_value=most),
        "number": lambda: st.floats(min_value=least, max_value=most, allow_nan=False, allow_infinity=False),
        "boolean": st.booleans,
        "array": lambda: _arrays(root, schema, deepest),
        "object": lambda: _objects(root, schema, deepest),
        "null": st.none,
    }
    return made[kind]()


def _arrays(root: Any, schema: Any, deepest: int) -> st.SearchStrategy[Any]:
    least = schema.get("minItems", 0)
    most = least if deepest < 1 else max(least, min(schema.get("maxItems", 3), 3))
    return st.lists(_instances(root, schema.get("items"), deepest - 1), min_size=least, max_size=most)


def _least(schema: Any) -> Any:
    above = schema.get("exclusiveMinimum")
    return schema.get("minimum") if above is None else above + 1


def _texts(schema: Any) -> st.SearchStrategy[Any]:
    if schema.get("format") in _SAMPLES:
        return st.sampled_from(_SAMPLES[schema["format"]])
    if "pattern" in schema:
        return st.from_regex(schema["pattern"].removesuffix("$") + r"\Z", alphabet=st.characters(codec="ascii"))
    return st.text(min_size=schema.get("minLength", 0), max_size=min(schema.get("maxLength", 20), 20))


def _objects(root: Any, schema: Any, deepest: int) -> st.SearchStrategy[Any]:
    required = schema.get("required", [])
    parts = {name: _instances(root, part, deepest - 1) for name, part in _reachable(schema, required, deepest)}
    known = st.fixed_dictionaries(
        {name: part for name, part in parts.items() if name in required},
        optional={name: part for name, part in parts.items() if name not in required},
    )
    other = schema.get("additionalProperties")
    if not is_object(other) or not other:
        return known
    more = st.dictionaries(st.sampled_from(["k1", "k2", "k3"]), _instances(root, other, deepest - 1), max_size=2)
    return st.tuples(more, known).map(lambda pair: {**pair[0], **pair[1]})


def _reachable(schema: Any, required: list[str], deepest: int) -> Iterator[tuple[str, Any]]:
    properties = schema.get("properties", {})
    for name in {**dict.fromkeys(required), **properties}:
        if deepest > 0 or name in required:
            yield name, properties.get(name)


def _merged(own: Any, form: Any) -> Any:
    if not is_object(form):
        return own
    merged = {**own, **form, "required": [*own.get("required", []), *form.get("required", [])]}
    if "properties" in own:
        merged["properties"] = {**own["properties"], **form.get("properties", {})}
    return merged


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
