"""Values that fit a JSON Schema, made by hypothesis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import jsonschema
from hypothesis import strategies as st

from surehand.shapes import is_array, is_object, mapping_of

__all__ = ["instances"]

_KINDS: Final = ("string", "integer", "number", "boolean", "null")
_FORMATS: Final[Mapping[str, st.SearchStrategy[str]]] = {
    "date": st.dates().map(str),
    "date-time": st.datetimes().map(lambda moment: f"{moment.isoformat()}Z"),
    "uuid": st.uuids().map(str),
    "ipv4": st.ip_addresses(v=4).map(str),
    "ipv6": st.ip_addresses(v=6).map(str),
    "email": st.just("who@example.org"),
    "uri": st.just("https://example.org/a?b=c"),
}
_DEEPEST: Final = 4
_MOST_ITEMS: Final = 3


def instances(schema: Any) -> st.SearchStrategy[Any]:
    """Values that the schema takes: built along its types, and then checked against the whole of it."""
    validator: Any = jsonschema.Draft202012Validator(schema)
    return _Builder(mapping_of(schema)).value(schema, 0).filter(lambda value: bool(validator.is_valid(value)))


class _Builder:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def value(self, schema: Any, depth: int) -> st.SearchStrategy[Any]:
        """Values for a schema inside; most of them fit it."""
        if not is_object(schema):
            return st.sampled_from([None, True, 0, "text", [], {}])
        node = self._followed(schema)
        if "const" in node:
            return st.just(node["const"])
        if "enum" in node:
            return st.sampled_from(cast("list[Any]", node["enum"]))
        for keyword in ("anyOf", "oneOf"):
            if keyword in node:
                choices = cast("list[Any]", node[keyword])
                beside = {key: inner for key, inner in node.items() if key != keyword}
                options = [self.value(_beside(choice, beside), depth) for choice in choices if choice is not False]
                return st.one_of(options)
        kind = node.get("type", "object" if "properties" in node else list(_KINDS))
        kinds = cast("list[str]", kind) if is_array(kind) else [cast("str", kind)]
        return st.one_of([self._of_kind(kind, node, depth) for kind in kinds])

    def _followed(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        node = dict(schema)
        while "$ref" in node:
            target: Any = self._root
            for token in str(node.pop("$ref")).split("/")[1:]:
                target = target[token]
            node = {**target, **node}
        for part in node.pop("allOf", []):
            node = {**self._followed(part), **node}
        return node

    def _of_kind(self, kind: str, node: Mapping[str, Any], depth: int) -> st.SearchStrategy[Any]:
        low, high = _bounds(node)
        made: dict[str, Callable[[], st.SearchStrategy[Any]]] = {
            "object": lambda: self._object(node, depth),
            "array": lambda: self._array(node, depth),
            "string": lambda: _text(node),
            "integer": lambda: st.integers(None if low is None else int(low), None if high is None else int(high)),
            "number": lambda: st.floats(low, high, allow_nan=False, allow_infinity=False),
            "boolean": st.booleans,
            "null": st.none,
        }
        return made[kind]()

    def _object(self, node: Mapping[str, Any], depth: int) -> st.SearchStrategy[Any]:
        properties = cast("Mapping[str, Any]", node.get("properties") or {})
        required = {name: self.value(properties.get(name, {}), depth + 1) for name in node.get("required", [])}
        optional = {
            name: self.value(inner, depth + 1)
            for name, inner in properties.items()
            if name not in required and depth < _DEEPEST
        }
        declared = st.fixed_dictionaries(required, optional=optional)
        extra = node.get("additionalProperties", True)
        if extra is False:
            return declared
        # Not a declared name in another spelling either: that is read as the declared one.
        known = {name.casefold() for name in properties}
        names = st.text("abc", min_size=1, max_size=3).filter(lambda name: name not in known)
        more = st.dictionaries(names, self.value(extra, depth + 1) if depth < _DEEPEST else st.none(), max_size=1)
        return st.tuples(declared, more).map(lambda parts: {**parts[1], **parts[0]})

    def _array(self, node: Mapping[str, Any], depth: int) -> st.SearchStrategy[Any]:
        if "prefixItems" in node:
            return st.tuples(*[self.value(item, depth + 1) for item in node["prefixItems"]]).map(list)
        least = int(node.get("minItems", 0))
        most = max(least, min(int(node.get("maxItems", _MOST_ITEMS)), _MOST_ITEMS if depth < _DEEPEST else 0))
        items = self.value(node.get("items", {}), depth + 1)
        return st.lists(items, min_size=least, max_size=most)


def _beside(choice: Any, beside: Mapping[str, Any]) -> Any:
    if not is_object(choice):
        return dict(beside)
    properties = {**beside.get("properties", {}), **choice.get("properties", {})}
    required = [*beside.get("required", []), *choice.get("required", [])]
    joined = {**beside, **choice}
    return {**joined, "properties": properties, "required": required} if properties else joined


def _text(node: Mapping[str, Any]) -> st.SearchStrategy[str]:
    if "pattern" in node:
        return st.from_regex(str(node["pattern"]))
    least = int(node.get("minLength", 0))
    return _FORMATS.get(str(node.get("format")), st.text(min_size=least, max_size=max(least, 8)))


def _bounds(node: Mapping[str, Any]) -> tuple[float | None, float | None]:
    low = node.get("minimum", node.get("exclusiveMinimum"))
    high = node.get("maximum", node.get("exclusiveMaximum"))
    return low, high
