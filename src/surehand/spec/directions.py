"""A JSON Schema, read once as directions: what a value may be turned into, and where its parts lead.

Directions never decide whether a value is valid; the validator does. They say what a validator's schema *asks for*, so
that a value can be coerced towards it, unknown keys be noticed and secrets be kept out of complaints.

They are read from JSON Schema because every kind of schema here has one. Pydantic's own inner schema says more, but is
not for others to read, and a tool with a JSON Schema has none. To validate by these directions would be a second
validator, which would disagree with the first. So what cannot be known without a value is read loosely: the keys of
``if``, ``then`` and of alternatives that add to an object are known and never required, and where no type is declared
nothing is asked for. To say too little costs a coercion, and a round trip to the model; to say too much would change a
value that was right. What a JSON Schema's validator asks for where it refuses a value (``Wanted``) makes good for what
was said too little; but names, nulls and secrets have to be known before.

Schemas refer to themselves. A place that is named again while it is still being read is the same object, filled later:
hence a class that is changed while it is built. What would change our minds: validators that all say what they ask for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from surehand.shapes import is_array, is_object
from surehand.spec.json_places import REFERENCES, References
from surehand.spec.places import Place

__all__ = ["KEYS", "NAMES", "Direction", "choices_at", "direct", "direction_at", "is_hidden", "type_name"]

NAMES: Final = "x-surehand-names"
"""Our keyword on an object: name a key may have -> name the validator takes."""
KEYS: Final = "x-surehand-keys"
"""Our keyword on an object whose keys are values of another type: what makes that value of a key."""

_PYTHON_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (),
    "object": (),
}
_NAMES_OF_TYPES: Final[Mapping[type, str]] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
}
_ANNOTATIONS: Final = frozenset({"$ref", "title", "description", "default", "examples", "deprecated", "$comment"})
_DATES: Final = frozenset({"date", "date-time", "time"})
_TIMES: Final = _DATES | {"duration"}


@dataclass(slots=True, eq=False)
class Direction:
    """What one place of a schema asks for. Built by ``direct`` and never changed afterwards."""

    types: frozenset[str] = frozenset()
    """The JSON types of a value here; empty where everything goes."""
    quiet: frozenset[type] | None = None
    """The Python types that need no second look here; None where nothing does."""
    choices: tuple[Any, ...] = ()
    """The only values allowed; empty where the schema does not list them."""
    properties: dict[str, Direction] = field(default_factory=dict[str, "Direction"])
    names: dict[str, str] = field(default_factory=dict[str, str])
    """Name a key may have -> name the validator takes."""
    required: frozenset[str] = frozenset()
    extras: Direction | bool | None = None
    """What other keys lead to; True for anything, False where there must be none, None where nothing is said."""
    keys: Callable[[str], Hashable] | None = None
    """What the validator makes of a key, where that is not the key itself; raises ValueError where it takes none."""
    items: Direction | None = None
    prefix: tuple[Direction, ...] = ()
    branches: tuple[Direction, ...] = ()
    """The alternatives of a union, without null."""
    tag: str | None = None
    """The key whose value chooses the branch."""
    is_nullable: bool = True
    is_secret: bool = False
    """Whether the value must never be shown."""
    times: frozenset[str] = frozenset()
    """The formats of dates, times and durations that are taken here; validators read numbers, and true, as seconds."""
    is_date: bool = False
    """Whether all text is a date or time here."""
    is_complete: bool = False
    """Whether it has been read to its end; a reference to a place that is still being read has not."""
    is_text: bool = False
    """Whether text is text here, and never to be read as something else."""

    @property
    def dates(self) -> frozenset[str]:
        """The formats of which nobody means seconds by a number."""
        return self.times & _DATES

    def hides_secret(self) -> bool:
        """Whether a secret stands here or anywhere below."""
        return any(direction.is_secret for direction in self._below({}))

    def _below(self, seen: dict[int, Direction]) -> Iterator[Direction]:
        if id(self) in seen:
            return
        seen[id(self)] = self
        yield self
        for child in self.children():
            yield from child._below(seen)  # noqa: SLF001 - of the same class

    def children(self) -> Iterator[Direction]:
        """The directions one step below, alternatives included."""
        yield from self.properties.values()
        yield from self.prefix
        yield from self.branches
        if self.items is not None:
            yield self.items
        if isinstance(self.extras, Direction):
            yield self.extras

    def child(self, step: str | int) -> Direction | None:
        """Where a key or an index leads; None where the schema does not say."""
        return next(self.all_of(step), None)

    def all_of(self, step: str | int) -> Iterator[Direction]:
        """Where a key or an index leads in this and in each of the alternatives that say so."""
        for place in (self, *self.branches):
            if isinstance(step, int):
                found = place.prefix[step] if step < len(place.prefix) else place.items
            else:
                extras = place.extras if isinstance(place.extras, Direction) else None
                found = place.properties.get(place.names.get(step, step), extras)
            if found is not None:
                yield found


def direct(schema: Mapping[str, Any]) -> Direction:
    """The directions of a whole schema of arguments, which are an object."""
    reader = _Reader(schema)
    root = Direction()
    reader.fill(root, schema)
    # Arguments are one object whichever form they take, and have to be named before the form is known.
    for branch in root.branches:
        _adopt(root, branch)
    root.branches = ()
    if root.extras is None and not root.properties and "properties" not in schema:
        root.extras = True
    return root


def direction_at(directions: Mapping[str, Direction], place: Place) -> Direction | None:
    """Where a way through the arguments leads; None where the schema does not say."""
    node = directions.get(str(place[0])) if place else None
    for step in place[1:]:
        node = node.child(step) if node is not None else None
    return node


def choices_at(directions: Mapping[str, Direction], place: Place) -> tuple[Any, ...]:
    """The only values that are allowed at a place, in whichever alternative; empty where one of them takes others."""
    nodes = [directions[str(place[0])]] if place and str(place[0]) in directions else []
    for step in place[1:]:
        nodes = [child for node in nodes for child in node.all_of(step)]
    if not all(node.choices for node in nodes):
        return ()
    found: list[Any] = []
    for choice in (choice for node in nodes for choice in node.choices):
        if not any(type(choice) is type(known) and choice == known for known in found):
            found.append(choice)
    return tuple(found)


def is_hidden(directions: Mapping[str, Direction], place: Place) -> bool:
    """Whether what stands at a place of the arguments must not be shown: it is, holds or belongs to a secret."""
    node = directions.get(str(place[0])) if place else None
    for step in place[1:]:
        if node is None or node.is_secret:
            break
        node = node.child(step)
    return node is not None and node.hides_secret()


class _Reader:
    """Reads one schema; a place that several references name is read once, which also ends recursion."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._seen: dict[int, Direction] = {}

    @functools.cached_property
    def _references(self) -> References:
        return References(self._root)

    def read(self, schema: object) -> Direction:
        if not is_object(schema):
            return Direction()
        reference = schema.get("$ref")
        if isinstance(reference, str) and schema.keys() <= _ANNOTATIONS:
            return self._read_reference(schema, reference)
        direction = Direction()
        self.fill(direction, schema)
        direction.is_complete = True
        return direction

    def _read_reference(self, schema: Mapping[str, Any], reference: str) -> Direction:
        target = self._references.target(schema, reference)
        if not is_object(target):
            return Direction(is_complete=True)
        if (known := self._seen.get(id(target))) is not None:
            return known
        direction = self._seen[id(target)] = Direction()
        self.fill(direction, target)
        direction.is_complete = True
        return direction

    def fill(self, direction: Direction, schema: Mapping[str, Any]) -> None:
        """Add what the schema says to the direction."""
        for keyword in REFERENCES:
            if isinstance(reference := schema.get(keyword), str):
                _inherit(direction, self._read_reference(schema, reference))
        for whole in _mappings(schema.get("allOf")):
            self.fill(direction, whole)
        self._fill_values(direction, schema)
        self._fill_object(direction, schema)
        self._fill_array(direction, schema)
        self._fill_branches(direction, schema)
        self._conclude(direction)

    def _fill_values(self, direction: Direction, schema: Mapping[str, Any]) -> None:
        types = _types_of(schema)
        if types:
            direction.types = direction.types & types or types
        if "const" in schema:
            direction.choices = (schema["const"],)
        elif is_array(values := schema.get("enum")):
            direction.choices = tuple(values)
        if (name := schema.get("format")) in _TIMES:
            direction.times |= {name}
        direction.is_secret |= bool(schema.get("writeOnly")) or schema.get("format") == "password"

    def _fill_object(self, direction: Direction, schema: Mapping[str, Any]) -> None:
        properties = schema.get("properties")
        if is_object(properties):
            direction.properties.update({name: self.read(part) for name, part in properties.items()})
            direction.names.update({name: name for name in properties})
        if is_object(names := schema.get(NAMES)):
            direction.names.update(names)
        direction.keys = schema.get(KEYS, direction.keys)
        if is_array(required := schema.get("required")):
            direction.required |= frozenset(name for name in required if isinstance(name, str))
        self._fill_extras(direction, schema)

    def _fill_extras(self, direction: Direction, schema: Mapping[str, Any]) -> None:
        other = schema.get("additionalProperties", schema.get("unevaluatedProperties"))
        if schema.get("patternProperties") or (other is False and "additionalProperties" not in schema):
            direction.extras = True
        elif is_object(other):
            direction.extras = self.read(other)
        elif isinstance(other, bool):
            direction.extras = other

    def _fill_array(self, direction: Direction, schema: Mapping[str, Any]) -> None:
        items = schema.get("items")
        prefix = schema.get("prefixItems", items)
        if is_array(prefix):
            direction.prefix = tuple(self.read(part) for part in prefix)
        if is_object(items):
            direction.items = self.read(items)

    def _fill_branches(self, direction: Direction, schema: Mapping[str, Any]) -> None:
        """Alternatives of different types are a union; anything else only adds to the object it stands in."""
        for keyword in ("anyOf", "oneOf"):
            forms = schema.get(keyword)
            found = [self.read(part) for part in forms if part is not False] if is_array(forms) else []
            if not found:
                continue
            if direction.types or direction.properties or not all(part.types for part in found):
                for part in found:
                    _adopt(direction, part)
            else:
                _unite(direction, found)
        discriminator = schema.get("discriminator")
        if is_object(discriminator) and isinstance(tag := discriminator.get("propertyName"), str):
            direction.tag = tag
        for condition in _conditional_parts(schema):
            _adopt(direction, self.read(condition))

    def _conclude(self, direction: Direction) -> None:
        types = direction.types
        direction.is_nullable = not types or "null" in types
        direction.is_text = "string" in types or any(branch.is_text for branch in direction.branches)
        texts = [branch for branch in direction.branches if "string" in branch.types] or [direction]
        direction.is_date = all(branch.dates for branch in texts)
        if types:
            quiet = {python for name in types for python in _PYTHON_TYPES.get(name, ())}
            # text for a date gets a second look: digits alone would be read as seconds
            direction.quiet = frozenset(quiet - {str} if direction.is_date else quiet)


def _unite(direction: Direction, found: Sequence[Direction]) -> None:
    """Make the direction the union of the found ones; a single one besides null is simply that one, or null."""
    kinds = [part for part in found if part.types != frozenset({"null"})]
    types = frozenset(name for part in found for name in part.types)
    nested = [inner for part in kinds for inner in (part.branches or (part,))]
    if len(nested) == 1:
        _inherit(direction, nested[0])
    else:
        direction.branches = tuple(nested)
        direction.tag = next((part.tag for part in kinds if part.tag), direction.tag)
    direction.types = types
    direction.times = frozenset(name for part in found for name in part.times)


_INHERITED: Final = (
    "choices",
    "required",
    "extras",
    "keys",
    "items",
    "prefix",
    "branches",
    "tag",
    "times",
    "is_secret",
)


def _inherit(target: Direction, source: Direction) -> None:
    """Make the target what the source is; one that is still being read is not there yet to be copied from."""
    if not source.is_complete:
        target.branches = (source,)
        target.types |= source.types
        return
    target.types = target.types & source.types or target.types or source.types
    for name in _INHERITED:
        setattr(target, name, getattr(source, name) or getattr(target, name))
    target.properties.update(source.properties)
    target.names.update(source.names)


def _adopt(direction: Direction, part: Direction) -> None:
    """Know the keys of a part that may or may not hold."""
    for name, child in part.properties.items():
        direction.properties.setdefault(name, child)
    for given, name in part.names.items():
        direction.names.setdefault(given, name)
    if direction.extras is None and part.extras is not None:
        direction.extras = True


def _conditional_parts(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for keyword in ("if", "then", "else"):
        yield from _mappings([schema.get(keyword)])
    if is_object(dependent := schema.get("dependentSchemas")):
        yield from _mappings(list(dependent.values()))


def _mappings(parts: object) -> Iterator[Mapping[str, Any]]:
    if is_array(parts):
        yield from (part for part in parts if is_object(part))


def _types_of(schema: Mapping[str, Any]) -> frozenset[str]:
    declared = schema.get("type")
    if isinstance(declared, str):
        return frozenset({declared})
    if is_array(declared):
        return frozenset(name for name in declared if isinstance(name, str))
    if "const" in schema:
        return frozenset({type_name(schema["const"])})
    if is_array(values := schema.get("enum")):
        return frozenset(type_name(value) for value in values)
    if "properties" in schema:
        return frozenset({"object"})
    return frozenset()


def type_name(value: object) -> str:
    """The JSON type of a value."""
    if is_object(value):
        return "object"
    known = _NAMES_OF_TYPES.get(type(value))
    return known or next((name for kind, name in _NAMES_OF_TYPES.items() if isinstance(value, kind)), "array")
