"""The errors of ``jsonschema``, worded for a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from surehand.shapes import is_array, is_object
from surehand.spec.directions import Direction, is_hidden
from surehand.spec.schema import Problem
from surehand.spec.wording import expectation, listed, plural, received
from surehand.wording import clipped

__all__ = ["problems_of"]

_MAX_FORMS: Final = 3
"""How many alternatives of a union are spelled out."""
_MAX_MESSAGE: Final = 200
"""The most characters of what jsonschema says itself, and of one alternative; both may quote whole schemas."""

_CONSTRAINTS: Final[Mapping[str, Callable[[Any], str]]] = {
    "minimum": lambda limit: f"must be at least {limit}",
    "maximum": lambda limit: f"must be at most {limit}",
    "exclusiveMinimum": lambda limit: f"must be greater than {limit}",
    "exclusiveMaximum": lambda limit: f"must be less than {limit}",
    "multipleOf": lambda limit: f"must be a multiple of {limit}",
    "minLength": lambda limit: f"must have at least {plural(limit, 'character')}",
    "maxLength": lambda limit: f"must have at most {plural(limit, 'character')}",
    "pattern": lambda limit: f"must match the pattern {limit!r}",
    "minItems": lambda limit: f"must have at least {plural(limit, 'item')}",
    "maxItems": lambda limit: f"must have at most {plural(limit, 'item')}",
    "uniqueItems": lambda _: "must not have equal items",
    "minProperties": lambda limit: f"must have at least {limit} keys",
    "maxProperties": lambda limit: f"must have at most {limit} keys",
    "not": lambda _: "has a form that is not allowed here",
}


def problems_of(errors: Iterable[Any], directions: Mapping[str, Direction]) -> list[Problem]:
    """Every error, in the order of the schema; each missing or unknown key is a problem of its own."""
    found: dict[tuple[tuple[str | int, ...], str], Problem] = {}
    for error in errors:
        for problem in _problems(error, directions):
            found.setdefault((problem.place, problem.text), problem)
    return list(found.values())


def _problems(error: Any, directions: Mapping[str, Direction]) -> Iterator[Problem]:  # noqa: C901 - one case a keyword
    place = tuple(error.absolute_path)
    keyword, limit, value = error.validator, error.validator_value, error.instance
    got = received(value, is_shown=not is_hidden(directions, place))
    match keyword:
        case "type":
            kinds = [limit] if isinstance(limit, str) else limit
            yield _mistyped(place, expectation(kinds), got, keyword)
        case "enum":
            yield _mistyped(place, f"one of {listed(limit)}", got, keyword)
        case "const":
            yield _mistyped(place, listed([limit]), got, keyword)
        case "format":
            yield _mistyped(place, f"a string of the format {limit}", got, keyword)
        case "required":
            yield from _missing(error, place)
        case "additionalProperties" if limit is False:
            yield from _unknown(error, place)
        case "anyOf" | "oneOf" if error.context:
            yield from _alternatives(error, place, got, directions)
        case "oneOf":
            yield Problem(
                place=place, text="fits more than one of the allowed forms, expected exactly one", rule=keyword
            )
        case _ if keyword in _CONSTRAINTS:
            yield Problem(place=place, text=f"{_CONSTRAINTS[keyword](limit)}, got {got}", rule=keyword)
        case _ if is_hidden(directions, place):
            yield Problem(place=place, text="is not accepted", rule=str(keyword or "false"))
        case _:
            yield Problem(place=place, text=_bounded(error.message), rule=str(keyword or "false"))


def _mistyped(place: tuple[str | int, ...], expected: str, got: str, rule: str) -> Problem:
    return Problem(place=place, text=f"expected {expected}, got {got}", rule=rule, expected=expected, received=got)


def _missing(error: Any, place: tuple[str | int, ...]) -> Iterator[Problem]:
    properties = error.schema.get("properties", {})
    for name in error.validator_value:
        if name not in error.instance:
            wanted = _wanted(properties.get(name))
            yield Problem(
                place=(*place, name), text=f"missing, expected {wanted}" if wanted else "missing", rule="missing"
            )


def _wanted(schema: Any) -> str:
    if not is_object(schema):
        return ""
    if is_array(choices := schema.get("enum")):
        return f"one of {listed(choices)}"
    kinds = schema.get("type")
    return expectation([kinds] if isinstance(kinds, str) else kinds) if kinds else ""


def _unknown(error: Any, place: tuple[str | int, ...]) -> Iterator[Problem]:
    known = error.schema.get("properties", {})
    patterns = "|".join(error.schema.get("patternProperties", ()))
    for name in error.instance:
        if name not in known and not (patterns and re.search(patterns, name)):
            yield Problem(place=(*place, name), text="unknown argument", rule="unknown_argument")


def _alternatives(
    error: Any, place: tuple[str | int, ...], got: str, directions: Mapping[str, Direction]
) -> Iterator[Problem]:
    """The problems of the one form that was meant, or what all the forms expect."""
    forms: dict[Any, list[Any]] = {}
    for inner in error.context:
        forms.setdefault(inner.schema_path[0], []).append(inner)
    depth = len(place)
    meant = [found for found in forms.values() if not any(_is_other_kind(inner, depth) for inner in found)]
    if len(meant) == 1:
        yield from problems_of(meant[0], directions)
        return
    if not meant:
        yield from _of_no_kind(error, place, got, forms)
        return
    texts = ["; ".join(_located(problem, depth) for problem in problems_of(found, directions)) for found in meant]
    hidden = len(texts) - _MAX_FORMS
    more = f" (and {hidden} more)" if hidden > 0 else ""
    yield Problem(
        place=place,
        text=f"fits none of the allowed forms: {' | '.join(_bounded(text) for text in texts[:_MAX_FORMS])}{more}",
        rule=error.validator,
    )


def _is_other_kind(error: Any, depth: int) -> bool:
    """Whether the value is of another type, or has another tag, than this form: it was not the one meant."""
    below = len(error.absolute_path) - depth
    if error.validator == "type":
        return below == 0
    return error.validator == "const" and below <= 1


def _of_no_kind(
    error: Any, place: tuple[str | int, ...], got: str, forms: Mapping[Any, list[Any]]
) -> Iterator[Problem]:
    kinds: set[str] = set()
    tags: dict[str | int, list[Any]] = {}
    for inner in (inner for found in forms.values() for inner in found):
        if inner.validator == "type" and len(inner.absolute_path) == len(place):
            limit = inner.validator_value
            kinds.update([limit] if isinstance(limit, str) else limit)
        elif inner.validator == "const" and len(inner.absolute_path) == len(place) + 1:
            tags.setdefault(inner.absolute_path[-1], []).append(inner.validator_value)
        elif inner.validator == "const":
            tags.setdefault("", []).append(inner.validator_value)
    if tags and is_object(error.instance):
        name, choices = next(iter(tags.items()))
        tag = error.instance.get(str(name))
        yield _mistyped((*place, name), f"one of {listed(choices)}", received(tag), error.validator)
    elif tags and not kinds:
        yield _mistyped(place, f"one of {listed(next(iter(tags.values())))}", got, error.validator)
    else:
        yield _mistyped(place, expectation(kinds), got, error.validator)


def _located(problem: Problem, depth: int) -> str:
    inner = ".".join(str(step) for step in problem.place[depth:])
    return f"{inner}: {problem.text}" if inner else problem.text


def _bounded(message: str) -> str:
    return clipped(" ".join(message.split()), _MAX_MESSAGE)
