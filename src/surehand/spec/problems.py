"""Pydantic's errors, worded for a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast, get_args

from pydantic import ValidationError
from pydantic_core.core_schema import ErrorType

from surehand.shapes import is_object, mapping_of
from surehand.spec.directions import Direction, choices_at, direction_at, is_hidden
from surehand.spec.legacy_schema import legacy_problems
from surehand.spec.places import Place
from surehand.spec.schema import Problem
from surehand.spec.wording import A_DATE, A_DATETIME, A_DURATION, A_TIME, expectation, listed, one_of, plural, received

__all__ = ["problems_of"]

_AN_OBJECT: Final = "an object"
_AN_ARRAY: Final = "an array"

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
    "sequence_str": _AN_ARRAY,
    "deque_type": _AN_ARRAY,
    "named_tuple_type": "an array or an object",
    "json_type": "JSON text",
    "dict_type": _AN_OBJECT,
    "mapping_type": _AN_OBJECT,
    "model_type": _AN_OBJECT,
    "model_attributes_type": _AN_OBJECT,
    "dataclass_type": _AN_OBJECT,
    "arguments_type": "an object or an array",
    "date_type": A_DATE,
    "date_parsing": A_DATE,
    "date_from_datetime_parsing": A_DATE,
    "date_from_datetime_inexact": "a date without a time of day",
    "datetime_type": A_DATETIME,
    "datetime_parsing": A_DATETIME,
    "datetime_from_date_parsing": A_DATETIME,
    "datetime_object_invalid": A_DATETIME,
    "timezone_aware": "a date and time with a time zone",
    "timezone_naive": "a date and time without a time zone",
    "time_type": A_TIME,
    "time_parsing": A_TIME,
    "time_delta_type": A_DURATION,
    "time_delta_parsing": A_DURATION,
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
_Member = tuple[Place, str]

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
    for entry, place in _meant(error.errors(include_url=False), arguments, directions):
        shows = is_shown and not is_hidden(directions, place)
        found.extend(_nested(entry, place, arguments, directions) or [_problem(entry, place, directions, shows=shows)])
    return found


def _meant(
    entries: Sequence[Mapping[str, Any]], arguments: Mapping[str, Any], directions: Mapping[str, Direction]
) -> Iterator[tuple[Mapping[str, Any], Place]]:
    """The errors with their places, without those of union members that the value was plainly not meant for.

    That is a member of another kind than the value, or one whose fixed value of a key is another one, where there is
    a member of which neither is true and that found something wrong further inside. A model that has sent a dog need
    not hear what a cat would be; one that has sent a bird hears that there are cats and dogs, and nothing else.
    """
    ways = [_Way(entry, arguments, directions) for entry in entries]
    others = {way.members[-1] for way in ways if way.is_of_another_member()}
    possible = {member[0] for way in ways for member in way.members if member not in others}
    meant = {
        member[0] for way in ways for member in way.members if member not in others and len(way.place) > len(member[0])
    }
    for way in ways:
        unlike = {member[0] for member in way.members if member in others}
        if not unlike & meant and (unlike <= possible or way.is_of_another_member()):
            yield way.entry, way.place


class _Way:
    """The location of an error, read as the way through the arguments to a value.

    The names of union members, which lead to no part of the value, are taken out of it. The first step inside a union
    is such a name, even where the value has a key that is called the same.
    """

    def __init__(
        self, entry: Mapping[str, Any], arguments: Mapping[str, Any], directions: Mapping[str, Direction]
    ) -> None:
        self.entry = entry
        self.place: Place = ()
        self.members: list[_Member] = []
        """The unions on the way and the names of their members, from the outside in."""
        value: Any = arguments
        node: Direction | None = None
        is_at_union = False
        for step, is_last in _with_last(entry["loc"]):
            if is_at_union and isinstance(step, str):
                is_at_union = False
                self.members.append((self.place, step))
                continue
            if _has(value, step):
                value = value[step]
            elif not (is_last and entry["type"] in _MISSING):
                continue
            self.place = (*self.place, step)
            node = node.child(step) if node is not None else directions.get(str(step)) if len(self.place) == 1 else None
            is_at_union = node is not None and len(node.branches) > 1

    def is_of_another_member(self) -> bool:
        """Whether the error says that the value was meant for another member than the one that it comes from."""
        if not self.members:
            return False
        below = len(self.place) - len(self.members[-1][0])
        rule: str = self.entry["type"]
        return (below == 0 and rule.endswith("_type")) or (below <= 1 and rule in _FIXED)


def _with_last(steps: Sequence[str | int]) -> Iterator[tuple[str | int, bool]]:
    """The steps, each with whether it is the last one."""
    return ((step, index == len(steps)) for index, step in enumerate(steps, 1))


def _has(value: Any, step: str | int) -> bool:
    if is_object(value):
        return step in value
    return isinstance(value, list | tuple) and isinstance(step, int) and step < len(cast("list[Any]", value))


def _nested(
    entry: Mapping[str, Any], place: Place, arguments: Mapping[str, Any], directions: Mapping[str, Direction]
) -> list[Problem]:
    """The errors inside an error, where a parameter is a model of ``pydantic.v1``."""
    inner = entry.get("ctx", {}).get("error")
    if not hasattr(inner, "raw_errors") or not hasattr(inner, "errors"):
        return []
    return legacy_problems(inner, arguments, directions, above=place)


def _problem(entry: Mapping[str, Any], place: Place, directions: Mapping[str, Direction], *, shows: bool) -> Problem:
    rule: str = entry["type"]
    got = received(entry.get("input"), is_shown=shows)
    node = direction_at(directions, place)
    if entry["loc"][-1:] == ("[key]",):
        expected = _expected(entry, ())
        text = f"expected {expected}, got {got}" if expected else _text(entry, place, directions, got)
        return Problem(place=place, text=f"the key itself: {text}", rule=rule, is_authors=rule not in _PYDANTICS)
    expected = _expected(entry, choices_at(directions, place))
    if expected:
        if node is not None and "null" in node.types and not node.branches and "null" not in expected:
            expected = f"{expected} or null"
        text = f"expected {expected}, got {got}{_reason(entry)}"
        return Problem(place=place, text=text, rule=rule, expected=expected, received=got)
    is_authors = rule not in _PYDANTICS
    return Problem(place=place, text=_text(entry, place, directions, got), rule=rule, is_authors=is_authors)


def _reason(entry: Mapping[str, Any]) -> str:
    """Why a date or time of the right form is none: ``, day value is outside expected range``."""
    reason = str(entry.get("ctx", {}).get("error", "")) if entry["type"] in _OF_DATES else ""
    return f", {reason}" if "outside" in reason else ""


def _expected(entry: Mapping[str, Any], choices: tuple[Any, ...]) -> str:
    rule, ctx = entry["type"], entry.get("ctx", {})
    if rule in _EXPECTED:
        return _EXPECTED[rule]
    if rule in _FIXED:
        if choices:
            return one_of(choices)  # as the model is to write them; pydantic names them as Python does
        return (
            f"one of {ctx['expected']}" if len(ctx["expected"]) < _MAX_EXPECTED else f"one of {_cut(ctx['expected'])}"
        )
    if rule == "is_instance_of":
        return f"an instance of {ctx['class']}"
    return ""


_FIXED: Final = frozenset({"literal_error", "enum"})
_OF_DATES: Final = frozenset(
    {"date_parsing", "date_from_datetime_parsing", "datetime_parsing", "datetime_from_date_parsing", "time_parsing"}
)
_MAX_EXPECTED: Final = 400
"""The most characters of allowed values."""


def _cut(choices: str) -> str:
    return f"{choices[: choices.rfind(',', 0, _MAX_EXPECTED)]} and more"


def _text(entry: Mapping[str, Any], place: Place, directions: Mapping[str, Direction], got: str) -> str:
    rule, ctx = entry["type"], entry.get("ctx", {})
    if rule in _MISSING:
        wanted = _wanted(directions, place)
        return f"missing, expected {wanted}" if wanted else "missing"
    if rule in _UNKNOWN:
        return "unknown argument"
    if rule in _CONSTRAINTS:
        return f"{_CONSTRAINTS[rule](ctx)}, got {got}"
    if rule.startswith("union_tag"):
        return _tag_text(entry, directions, place)
    if rule in _SPOKEN:
        return str(ctx.get("error", "")).strip() or f"is not accepted, got {got}"
    return f"{_sentence(entry['msg']) or 'is not accepted'}, got {got}"


def _tag_text(entry: Mapping[str, Any], directions: Mapping[str, Direction], place: Place) -> str:
    ctx, tags = entry["ctx"], _tags(directions, place)
    name = ctx["discriminator"]
    if "tag" in ctx:
        tag = mapping_of(entry.get("input")).get(name.strip("'"), ctx["tag"])  # pydantic spells a null 'None'
        return f"{name} must be one of {ctx['expected_tags']}, got {received(tag)}"
    return f"{name} is missing, expected one of {tags}" if tags else f"{name} is missing"


def _wanted(directions: Mapping[str, Direction], place: Place) -> str:
    node, choices = direction_at(directions, place), choices_at(directions, place)
    if node is None:
        return ""
    return f"one of {listed(choices)}" if choices else expectation(node.types)


def _tags(directions: Mapping[str, Direction], place: Place) -> str:
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
