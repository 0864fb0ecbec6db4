"""Where schemas stand inside of a JSON Schema, and where their references lead.

What stands under ``const`` or ``default`` looks like a schema and is none; a property may be called ``$ref``. So a
schema is gone through by the keywords that hold schemas, and by nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from surehand.shapes import is_array, is_object
from surehand.spec.places import Place, pointed

__all__ = ["REFERENCES", "Part", "References", "item_parts", "parts_of", "with_parts"]

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")

_SAME_VALUE: Final = frozenset(
    {"not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies"}
)
"""Keywords whose schemas are asked about the value itself."""
_SINGLE: Final = frozenset({
    *("not", "if", "then", "else", "items", "additionalItems", "unevaluatedItems", "contains"),
    *("additionalProperties", "unevaluatedProperties", "propertyNames"),
})  # fmt: skip
"""Keywords that hold one schema."""
_LISTED: Final = frozenset({"allOf", "anyOf", "oneOf", "items", "prefixItems"})
"""Keywords that hold schemas in a list; ``items`` does so in drafts up to 2019-09."""
_NAMED: Final = frozenset(
    {"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
)
"""Keywords that hold schemas by name."""
_SCHEMAS: Final = frozenset({dict, bool})
_UNUSED: Final = frozenset({"$defs", "definitions"})


class Part(NamedTuple):
    """A schema that stands directly in another one."""

    keyword: str
    key: str | int | None
    """Its name or index under the keyword; None where the keyword holds the one."""
    schema: Any
    """An object, true or false."""

    @property
    def is_of_same_value(self) -> bool:
        """Whether it is asked about the same value as the schema that it stands in."""
        return self.keyword in _SAME_VALUE

    @property
    def is_definition(self) -> bool:
        """Whether it counts only where a reference names it."""
        return self.keyword in _UNUSED

    @property
    def steps(self) -> Place:
        """The way to it."""
        return (self.keyword,) if self.key is None else (self.keyword, self.key)


def parts_of(schema: Mapping[str, Any]) -> Iterator[Part]:
    """Every schema that stands directly in this one."""
    for keyword, value in schema.items():
        if keyword in _NAMED and is_object(value):
            yield from (Part(keyword, name, part) for name, part in value.items() if _is_schema(part))
        elif keyword in _SINGLE and _is_schema(value):
            yield Part(keyword, None, value)
        elif keyword in _LISTED and is_array(value):
            yield from (Part(keyword, index, part) for index, part in enumerate(value) if _is_schema(part))


def with_parts(schema: Mapping[str, Any], step: Callable[[Part], Any]) -> dict[str, Any]:
    """A copy of a schema with what the step gives in the place of every schema that stands directly in it.

    Args:
        schema: The schema; what is no schema in it, such as a ``default``, stands in the copy too.
        step: Is given what stands under a name or in a list whatever it is; hosts write there what is no schema.
    """
    return {keyword: _with_parts(keyword, value, step) for keyword, value in schema.items()}


def _with_parts(keyword: str, value: Any, step: Callable[[Part], Any]) -> Any:
    if keyword in _NAMED and is_object(value):
        return {name: step(Part(keyword, name, part)) for name, part in value.items()}
    if keyword in _LISTED and is_array(value):
        return [step(Part(keyword, index, part)) for index, part in enumerate(value)]
    return step(Part(keyword, None, value)) if keyword in _SINGLE and _is_schema(value) else value


def item_parts(schema: Mapping[str, Any], count: int) -> Iterator[Any]:
    """The schema of each of the first items of a list, in the spelling of any draft; true where none is given."""
    items = schema.get("items", True)
    prefix = schema.get("prefixItems", items)
    first: list[Any] = prefix if is_array(prefix) else []
    rest = schema.get("additionalItems", True) if is_array(items) else items
    for index in range(count):
        yield first[index] if index < len(first) else rest


def _is_schema(value: object) -> bool:
    return type(value) in _SCHEMAS or is_object(value)


class References:
    """Finds what references of one schema lead to; nothing outside of it is ever found.

    Args:
        root: The whole schema; it must not change afterwards.
    """

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._bases: dict[int, str] = {}
        self._resources: dict[str, Mapping[str, Any]] = {"": root}
        self._anchors: dict[tuple[str, str], Mapping[str, Any]] = {}
        self._read(root, "")
        self._root_base = self._bases[id(root)]
        self._resources.setdefault(self._root_base, root)

    def target(self, schema: Mapping[str, Any], reference: str) -> Any:
        """The schema that a reference in a schema leads to; None where it leads out of the whole or nowhere."""
        base = self._bases.get(id(schema), self._root_base)
        uri, fragment = urldefrag(_joined(base, reference))
        resource = self._resources.get(uri)
        if resource is None:
            return None
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            return self._anchors.get((uri, fragment))
        try:
            found = pointed(resource, fragment)
        except LookupError:
            return None
        if is_object(found) and id(found) not in self._bases:
            self._read(found, uri)  # stands under a keyword that nobody knows
        return found if _is_schema(found) else None

    def _read(self, schema: Mapping[str, Any], base: str) -> None:
        waiting: list[tuple[Mapping[str, Any], str]] = [(schema, base)]
        while waiting:
            current, base = waiting.pop()
            named = current.get("$id")
            if isinstance(named, str) and named:
                uri, fragment = urldefrag(_joined(base, named))
                if fragment:  # how drafts up to 7 write an anchor
                    self._anchors.setdefault((base, fragment), current)
                if uri != base and not named.startswith("#"):
                    base = uri
                    self._resources.setdefault(base, current)
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(anchor := current.get(keyword), str):
                    self._anchors.setdefault((base, anchor), current)
            self._bases[id(current)] = base
            waiting.extend((part.schema, base) for part in parts_of(current) if is_object(part.schema))


def _joined(base: str, reference: str) -> str:
    """The reference made absolute; ``urljoin`` leaves alone what is relative to a URN."""
    return f"{base}{reference}" if reference.startswith("#") else urljoin(base, reference)
