"""Raw arguments to an object, with the help of the schema where there is one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from surehand.arguments.coercion import Coercion
from surehand.arguments.naming import variants
from surehand.grammar import ParsedArguments
from surehand.grammar import parse_arguments as parse_object
from surehand.shapes import is_object
from surehand.spec import ArgumentSchema, Direction, read_directions, schema_of

__all__ = ["parse_arguments"]


def parse_arguments(raw: object, *, schema: object = None) -> ParsedArguments:
    """The one JSON object that the raw arguments are, after lossless relaxations only.

    Args:
        raw: Text, bytes, a mapping, or nothing; whatever a model or provider sent.
        schema: A JSON Schema, model, TypedDict, dataclass, function or ArgumentSchema. Values are then coerced towards
            it where nothing is lost (``"5"`` for an integer, JSON text for an array); whether the result is valid
            is not decided here.

    Raises:
        MalformedArguments: They are not one object.
    """
    parsed = parse_object(raw)
    if schema is None:
        return parsed
    directions, names, other = _directed(schema)
    times = Counter(names[name] for name in parsed.value if name in names)
    known = {name: names[name] for name in parsed.value if name in names and times[names[name]] == 1}
    given = {known.get(name, name) for name in parsed.value}
    guessed = variants([name for name in parsed.value if name not in names], names, given)
    renamed = {**known, **guessed}
    coercion = Coercion()
    named = {renamed.get(name, name): value for name, value in parsed.value.items()}
    value = coercion.arguments(named, directions, other)
    notes = [f"read the argument {name!r} as {target!r}" for name, target in guessed.items()]
    return ParsedArguments(value=value, repairs=(*parsed.repairs, *notes, *coercion.notes))


def _directed(schema: object) -> tuple[Mapping[str, Direction], Mapping[str, str], Direction | None]:
    if is_object(schema):
        root = read_directions(schema)
        return root.properties, root.names, root.extras if isinstance(root.extras, Direction) else None
    found = schema if isinstance(schema, ArgumentSchema) else schema_of(schema)
    return found.directions, found.names, found.other_direction
