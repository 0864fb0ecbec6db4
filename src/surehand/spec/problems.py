"""Pydantic's errors, worded for a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast, get_args

from pydantic import ValidationError
from pydantic_core.core_schema import ErrorType

from surehand.shapes import is_object
from surehand.spec.directions import Direction, direction_at, is_hidden
from surehand.spec.schema import Problem
from surehand.spec.wording import expectation, listed, one_of, plural, received

__all__ = ["problems_of"]

_AN_OBJECT: Final = "an object"
_AN_ARRAY: Final = "an array"
_A_DATE: Final = "a date such as '2024-05-31'"
_A_DATETIME: Final = "a date and time such as '2024-05-31T09:30:00Z'"
_A_TIME: Final = "a time such as '09:30:00'"
_A_DURATION: Final = "a duration such as 'PT1H30M' or a number of seconds"

_EXPECTED: Final[Mapping[str, str]] = {
    "int_type": "an integer",
    "int_parsing": "an integer",
    "int_parsing_size": "an integer of fewer digits",
    "int_from_float": "an integer",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "a string",
    "string_sub_type": "a string",
    "string_unicode": "a string of valid characters",
    "bytes_type": "a string",
    "bytes_invalid_encoding": "a string in the right encoding",
    "none_required": "null",
    "list_type": _AN_ARRAY,
    "tuple_type": _AN_ARRAY,
    "set_type": _AN_ARRAY,
    "frozen_set_type": _AN_ARRAY,
    "iterable_type": _AN_ARRAY,
    "dict_type": _AN_OBJECT,
    "mapping_type": _AN_OBJECT,
    "model_type": _AN_OBJECT,
    "model_attributes_type": _AN_OBJECT,
    "dataclass_type": _AN_OBJECT,
    "arguments_type": "an object or an array",
    "date_type": _A_DATE,
    "date_parsing": _A_DATE,
    "date_from_datetime_parsing": _A_DATE,
    "date_from_datetime_inexact": "a date without a time of day",
    "datetime_type": _A_DATETIME,
    "datetime_parsing": _A_DATETIME,
    "datetime_from_date_parsing": _A_DATETIME,
    "datetime_object_invalid": _A_DATETIME,
    "timezone_aware": "a date and time with a time zone",
    "timezone_naive": "a date and time without a time zone",
    "time_type": _A_TIME,
    "time_parsing": _A_TIME,
    "time_delta_type": _A_DURATION,
    "time_delta_parsing": _A_DURATION,
    "decimal_type": "a decimal number",
    "decimal_parsing": "a decimal number",
    "uuid_type": "a UUID",
    "uuid_parsing": "a UUID",
    "url_type": "a URL",
    "url_parsing": "a URL",
    "path_type": "a path",
    "complex_type": "a complex number",
    "complex_str_parsing": "a complex number",
}

_CONSTRAINTS: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "greater_than": lambda ctx: f"must be greater than {ctx['gt']}",
    "greater_than_equal": lambda ctx: f"must be at least {ctx['ge']}",
    "less_than": lambda ctx: f"must be less than {ctx['lt']}",
    "less_than_equal": lambda ctx: f"must be at most {ctx['le']}",
    "multiple_of": lambda ctx: f"must be a multiple of {ctx['multiple_of']}",
    "string_too_short": lambda ctx: f"must have at least {plural(ctx['min_length'], 'character')}",
    "string_too_long": lambda ctx: f"must have at most {plural(ctx['max_length'], 'character')}",
    "bytes_too_short": lambda ctx: f"must have at least {plural(ctx['min_length'], 'byte')}",
    "bytes_too_long": lambda ctx: f"must have at most {plural(ctx['max_length'], 'byte')}",
    "too_short": lambda ctx: f"must have at least {plural(ctx['min_length'], 'item')}",
    "too_long": lambda ctx: f"must have at most {plural(ctx['max_length'], 'item')}",
    "string_pattern_mismatch": lambda ctx: f"must match the pattern {ctx['pattern']!r}",
}

_UNKNOWN: Final = frozenset({"extra_forbidden", "unexpected_keyword_argument", "unexpected_positional_argument"})
_MISSING: Final = frozenset({"missing", "missing_argument", "missing_keyword_only_argument"})
_SPOKEN: Final = frozenset({"value_error", "assertion_error"})
"""Errors whose text is the schema's author's own; so is that of every error that pydantic does not have itself."""
_PYDANTICS: Final = frozenset[str](get_args(ErrorType)) - _SPOKEN


def problems_of(
    error: ValidationError, arguments: Mapping[str, Any], directions: Mapping[str, Direction], *, is_shown: bool = True
) -> list[Problem]:
    """Every error of the validation, in pydantic's order.

    Args:
        error: What pydantic raised.
        arguments: What was validated; tells keys of the value from names of union members in an error's location.
        directions: Where the arguments lead, so that secrets stay hidden.
        is_shown: Whether values may be shown at all.
    """
    found: list[Problem] = []
    for entry in error.errors(include_url=False):
        place = _place(entry["loc"], arguments, directions, keeps_last=entry["type"] in _MISSING)
        shows = is_shown and not is_hidden(directions, place)
        found.extend(_nested(entry, place) or [_problem(entry, place, directions, shows=shows)])
    return found


def _place(
    location: Sequence[str | int], arguments: Any, directions: Mapping[str, Direction], *, keeps_last: bool
) -> tuple[str | int, ...]:
    """The location without the names of union members, which lead to no part of the value.

    The first step inside a union is such a name, even where the value has a key that is called the same.
    """
    place: list[str | int] = []
    value = arguments
    node: Direction | None = None
    is_at_union = False
    for index, step in enumerate(location):
        if is_at_union and isinstance(step, str):
            is_at_union = False
            continue
        if _has(value, step):
            value = value[step]
        elif not (keeps_last and index == len(location) - 1):
            continue
        place.append(step)
        node = node.child(step) if node is not None else directions.get(str(step)) if len(place) == 1 else None
        is_at_union = node is not None and len(node.branches) > 1
    return tuple(place)


def _has(value: Any, step: str | int) -> bool:
    if is_object(value):
        return step in value
    return isinstance(value, list | tuple) and isinstance(step, int) and step < len(cast("list[Any]", value))


def _nested(entry: Mapping[str, Any], place: tuple[str | int, ...]) -> list[Problem]:
    """The errors inside an error, where a parameter is a model of ``pydantic.v1``."""
    inner = entry.get("ctx", {}).get("error")
    if not hasattr(inner, "raw_errors") or not hasattr(inner, "errors"):
        return []
    return [
        Problem(place=(*place, *part["loc"]), text=_sentence(part["msg"]), rule=part["type"], is_authors=True)
        for part in inner.errors()
    ]


def _problem(
    entry: Mapping[str, Any], place: tuple[str | int, ...], directions: Mapping[str, Direction], *, shows: bool
) -> Problem:
    rule: str = entry["type"]
    got = received(entry.get("input"), is_shown=shows)
    node = direction_at(directions, place)
    expected = _expected(entry, node)
    if expected:
        if node is not None and "null" in node.types and not node.branches and "null" not in expected:
            expected = f"{expected} or null"
        return Problem(place=place, text=f"expected {expected}, got {got}", rule=rule, expected=expected, received=got)
    is_authors = rule not in _PYDANTICS
    return Problem(place=place, text=_text(entry, place, directions, got), rule=rule, is_authors=is_authors)


def _expected(entry: Mapping[str, Any], node: Direction | None) -> str:
    rule, ctx = entry["type"], entry.get("ctx", {})
    if rule in _EXPECTED:
        return _EXPECTED[rule]
    if rule in ("literal_error", "enum"):
        if node is not None and node.choices and entry["loc"][-1:] != ("[key]",):
            return one_of(node.choices)  # as the model is to write them; pydantic names them as Python does
        return (
            f"one of {ctx['expected']}" if len(ctx["expected"]) < _MAX_EXPECTED else f"one of {_cut(ctx['expected'])}"
        )
    if rule == "is_instance_of":
        return f"an instance of {ctx['class']}"
    return ""


_MAX_EXPECTED: Final = 400
"""The most characters of allowed values."""


def _cut(choices: str) -> str:
    return f"{choices[: choices.rfind(',', 0, _MAX_EXPECTED)]} and more"


def _text(entry: Mapping[str, Any], place: tuple[str | int, ...], directions: Mapping[str, Direction], got: str) -> str:
    rule, ctx = entry["type"], entry.get("ctx", {})
    if rule in _MISSING:
        wanted = _wanted(directions, place)
        return f"missing, expected {wanted}" if wanted else "missing"
    if rule in _UNKNOWN:
        return "unknown argument"
    if rule in _CONSTRAINTS:
        return f"{_CONSTRAINTS[rule](ctx)}, got {got}"
    if rule.startswith("union_tag"):
        return _tag_text(ctx, _tags(directions, place))
    if rule in _SPOKEN:
        return str(ctx.get("error", "")).strip() or f"is not accepted, got {got}"
    return f"{_sentence(entry['msg']) or 'is not accepted'}, got {got}"


def _tag_text(ctx: Mapping[str, Any], tags: str) -> str:
    name = ctx["discriminator"]
    if "tag" in ctx:
        return f"{name} must be one of {ctx['expected_tags']}, got {received(ctx['tag'])}"
    return f"{name} is missing, expected one of {tags}" if tags else f"{name} is missing"


def _wanted(directions: Mapping[str, Direction], place: tuple[str | int, ...]) -> str:
    node = direction_at(directions, place)
    if node is None:
        return ""
    return f"one of {listed(node.choices)}" if node.choices else expectation(node.types)


def _tags(directions: Mapping[str, Direction], place: tuple[str | int, ...]) -> str:
    """The values that choose a member of the union that stands there."""
    node = direction_at(directions, place)
    return listed(_tag_values(node)) if node is not None else ""


def _tag_values(node: Direction) -> Iterator[Any]:
    for branch in node.branches:
        if node.tag in branch.properties:
            yield from branch.properties[node.tag].choices


def _sentence(message: str) -> str:
    """A message as a clause: no capital at its start, no full stop at its end."""
    text = " ".join(message.split()).rstrip(".")
    return text[:1].lower() + text[1:] if not text[:2].isupper() else text
