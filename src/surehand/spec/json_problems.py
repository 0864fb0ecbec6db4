"""What a JSON Schema's validator found wrong, worded for a model, and what it asked for instead."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from surehand.shapes import is_object, items_of
from surehand.spec.directions import Direction, choices_at, direction_at, is_hidden, type_name
from surehand.spec.json_branches import meant_of
from surehand.spec.json_checker import Checker
from surehand.spec.places import Place, value_at
from surehand.spec.schema import Problem, Wanted
from surehand.spec.wording import date_or_time, expectation, listed, plural, received
from surehand.wording import clipped

__all__ = ["Words"]

_LISTING: Final = frozenset({"const", "enum"})
"""The rules that list the only values that are allowed."""
_MAX_FORMS: Final = 3
"""How many alternatives of a union are spelled out."""
_MAX_FORM: Final = 200
"""The most characters of one alternative."""

_CONSTRAINTS: Final[Mapping[str, Callable[[Any], str]]] = {
    "minimum": lambda limit: f"must be at least {limit}",
    "maximum": lambda limit: f"must be at most {limit}",
    "exclusiveMinimum": lambda limit: f"must be greater than {limit}",
    "exclusiveMaximum": lambda limit: f"must be less than {limit}",
    "multipleOf": lambda limit: f"must be a multiple of {limit}",
    "minLength": lambda limit: f"must have at least {plural(limit, 'character')}",
    "maxLength": lambda limit: f"must have at most {plural(limit, 'character')}",
    "minItems": lambda limit: f"must have at least {plural(limit, 'item')}",
    "maxItems": lambda limit: f"must have at most {plural(limit, 'item')}",
    "uniqueItems": lambda _: "must not have equal items",
    "minProperties": lambda limit: f"must have at least {limit} keys",
    "maxProperties": lambda limit: f"must have at most {limit} keys",
    "not": lambda _: "has a form that is not allowed here",
    "contains": lambda _: "does not hold the items that are asked for",
    "falseSchema": lambda _: "is not allowed here",
    "additionalItems": lambda limit: f"must have at most {plural(limit, 'item')}",
    "contentMediaType": lambda kind: f"must hold text of the media type {kind}",
    "contentEncoding": lambda kind: f"must be encoded as {kind}",
}

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Words the errors of one validation."""

    arguments: Mapping[str, Any]
    """What was validated."""
    directions: Mapping[str, Direction]
    """Where the arguments lead, so that secrets stay hidden and missing values are described."""
    checker: Checker
    """What found the errors."""
    lists: dict[Place, Wanted] = field(default_factory=dict[Place, Wanted])
    """What rules that list the allowed values ask for, by their places in the schema."""

    def problems(self, errors: Iterable[Any]) -> list[Problem]:
        """Every error, in the order of the schema; each missing or unknown key is a problem of its own."""
        found: dict[tuple[Place, str], Problem] = {}
        for error in _telling(list(errors)):
            for problem in self._problems(error):
                found.setdefault((problem.place, problem.text), problem)
        return list(found.values())

    def _problems(self, error: Any) -> Iterator[Problem]:
        place = tuple(error.instance_path)
        keyword, limit = error.kind.name, error.kind.value
        got = self._received(place)
        match keyword:
            case "type":
                yield _mistyped(place, expectation(limit), got, keyword)
            case "enum":
                yield _mistyped(place, f"one of {listed(limit)}", got, keyword)
            case "const":
                yield _mistyped(place, listed([limit]), got, keyword)
            case "format":
                yield _misformatted(place, limit, f"{got}{_no_day(error.instance, limit)}")
            case "required":
                yield self._missing((*place, limit))
            case "additionalProperties":
                yield from (_unknown((*place, name)) for name in limit)
            case "unevaluatedProperties" | "unevaluatedItems":
                yield from self._unevaluated(error, place)
            case "propertyNames":
                yield from self._misnamed(limit, place)
            case "anyOf" | "oneOf":
                yield from self._alternatives(error, place, got)
            case _:
                yield Problem(place=place, text=f"{self._broken(error)}, got {got}", rule=keyword)

    def _received(self, place: Place) -> str:
        return received(value_at(self.arguments, place), is_shown=not is_hidden(self.directions, place))

    def _broken(self, error: Any) -> str:
        kind, limit = error.kind, error.kind.value
        if kind.name in _CONSTRAINTS:
            return _CONSTRAINTS[kind.name](limit)
        if type(kind).__name__ == "Custom":
            return str(error.message)
        if type(kind).__name__ == "Pattern":
            return f"must match the pattern {self.checker.written.get(limit, limit)!r}"
        if kind.name == "pattern":
            return "has a key that took too long to be matched against a pattern"
        return f"breaks the rule {kind.name}"

    def _missing(self, place: Place) -> Problem:
        node = direction_at(self.directions, place)
        wanted = _described(node, choices_at(self.directions, place)) if node is not None else ""
        return Problem(place=place, text=f"missing, expected {wanted}" if wanted else "missing", rule="missing")

    def _unevaluated(self, error: Any, place: Place) -> Iterator[Problem]:
        """What nothing else in the schema is about: there must be none of it, or it has a schema of its own."""
        for step in self._left_over(error, place):
            at = (*place, step)
            errors = self._errors_of_rest(error, at)
            if errors is None:
                text = f"is not allowed here, got {self._received(at)}"
                yield _unknown(at) if isinstance(step, str) else Problem(place=at, text=text, rule=error.kind.name)
                continue
            shown = {} if is_hidden(self.directions, at) else {"": value_at(self.arguments, at)}
            inner = Words(arguments=shown, directions={}, checker=self.checker)
            for problem in inner.problems([_Moved(found, *found.instance_path) for found in errors]):
                yield replace(problem, place=(*at, *problem.place[1:]))

    def _left_over(self, error: Any, place: Place) -> list[str | int]:
        """The keys or indices; the validator names items by their value, and those come last."""
        if error.kind.name == "unevaluatedProperties":
            return list(error.kind.value)
        texts = {_as_text(json.loads(text)) for text in error.kind.value}
        items = items_of(value_at(self.arguments, place))
        found = [index for index, item in enumerate(items) if _as_text(item) in texts] or range(len(items))
        return list(found[-len(error.kind.value) :])

    def _errors_of_rest(self, error: Any, place: Place) -> list[Any] | None:
        return self.checker.errors_of_part(tuple(error.schema_path), value_at(self.arguments, place))

    def _misnamed(self, error: Any, place: Place) -> Iterator[Problem]:
        """A key of the object that breaks a rule for keys; the validator names it as the value that is wrong."""
        name = str(error.instance)
        inner = Words(arguments={"": name}, directions={}, checker=self.checker)
        for problem in inner.problems([_Moved(error)]):
            yield Problem(place=(*place, name), text=f"has a name that {_as_clause(problem)}", rule="propertyNames")

    def wanted(self, errors: Iterable[Any]) -> Iterator[Wanted]:
        """What was asked for at each place where a value was of the wrong type, or none of the allowed ones."""
        for error in errors:
            place = tuple(error.instance_path)
            if error.kind.name == "type":
                yield Wanted(place=place, types=frozenset(error.kind.value))
            elif error.kind.name in _LISTING:
                yield replace(self._listed(error), place=place)
            elif error.kind.name in ("anyOf", "oneOf"):
                yield from self._wanted_of_forms(error.kind.context, place)
            elif error.kind.name in ("unevaluatedProperties", "unevaluatedItems"):
                for step in self._left_over(error, place):
                    for inner in self.wanted(self._errors_of_rest(error, (*place, step)) or ()):
                        yield replace(inner, place=(*place, step, *inner.place))

    def _listed(self, error: Any) -> Wanted:
        """The only values that an error's rule allows; gathered once, as a long list may be wrong at every item."""
        rule = tuple(error.schema_path)
        if rule not in self.lists:
            choices = tuple(choices_of(error))
            self.lists[rule] = Wanted(place=(), types=frozenset(map(type_name, choices)), choices=choices)
        return self.lists[rule]

    def _wanted_of_forms(self, forms: list[list[Any]], place: Place) -> Iterator[Wanted]:
        possible = meant_of(forms, depth=len(place)) or forms
        if len(possible) == 1:
            yield from self.wanted(possible[0])
            return
        own = [[inner for inner in self.wanted(form) if inner.place == place] for form in possible]
        if all(own):
            flat = [inner for found in own for inner in found]
            yield Wanted(
                place=place,
                types=frozenset(name for inner in flat for name in inner.types),
                choices=tuple(c for inner in flat for c in inner.choices) if all(i.choices for i in flat) else (),
            )

    def _alternatives(self, error: Any, place: Place, got: str) -> Iterator[Problem]:
        """The problems of the one form that was meant, or what all the forms expect."""
        forms: list[list[Any]] = error.kind.context
        keyword = error.kind.name
        if any(not form for form in forms):
            text = "fits more than one of the allowed forms, expected exactly one"
            yield Problem(place=place, text=text, rule=keyword)
            return
        meant = meant_of(forms, depth=len(place))
        if len(meant) == 1:
            yield from self.problems(meant[0])
        elif not meant:
            yield from self._of_no_kind(forms, place, got, keyword)
        else:
            yield Problem(place=place, text=self._forms(meant, len(place)), rule=keyword)

    def _forms(self, forms: list[list[Any]], depth: int) -> str:
        texts = ["; ".join(_located(problem, depth) for problem in self.problems(form)) for form in forms]
        different = list(dict.fromkeys(clipped(text, _MAX_FORM) for text in texts))
        hidden = len(different) - _MAX_FORMS
        more = f" (and {hidden} more)" if hidden > 0 else ""
        return f"fits none of the allowed forms: {' | '.join(different[:_MAX_FORMS])}{more}"

    def _of_no_kind(self, forms: list[list[Any]], place: Place, got: str, rule: str) -> Iterator[Problem]:
        """No form is of the value's kind, or none has its tag."""
        kinds: set[str] = set()
        tags: dict[Place, list[Any]] = {}
        for error in (error for form in forms for error in _telling(form)):
            below = tuple(error.instance_path)[len(place) :]
            choices = choices_of(error)
            if error.kind.name == "type" and not below:
                kinds.update(error.kind.value)
            elif choices and len(below) < 2:  # noqa: PLR2004 - the value itself or a key of it
                tags.setdefault(below, []).extend(choice for choice in choices if choice not in tags.get(below, ()))
        tagged = [below for below in tags if below]
        if tagged and is_object(value_at(self.arguments, place)):
            at = (*place, *tagged[0])
            yield _mistyped(at, f"one of {listed(tags[tagged[0]])}", self._received(at), rule)
        elif tags and not kinds:
            yield _mistyped(place, f"one of {listed(next(iter(tags.values())))}", got, rule)
        else:
            fixed = [listed(tags[()])] if () in tags else []
            yield _mistyped(place, " or ".join([expectation(kinds), *fixed]), got, rule)


class _Moved:
    """An error about a value of its own, as one about the argument without a name."""

    def __init__(self, error: Any, *inner: str | int) -> None:
        self.kind = error.kind
        self.message = error.message
        self.instance = error.instance
        self.schema_path = error.schema_path
        self.instance_path: list[str | int] = ["", *inner]


def _as_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _telling(errors: list[Any]) -> list[Any]:
    """The errors without those about a type where the same schema lists the allowed values, which say it better."""
    listing = {_schema_of(error) for error in errors if error.kind.name in _LISTING}
    return [error for error in errors if error.kind.name != "type" or _schema_of(error) not in listing]


def _schema_of(error: Any) -> tuple[Place, Place]:
    """The value and the schema that an error is about."""
    return tuple(error.instance_path), tuple(error.schema_path)[:-1]


def choices_of(error: Any) -> list[Any]:
    """The only values that an error's rule allows; empty where it is about something else."""
    match error.kind.name:
        case "const":
            return [error.kind.value]
        case "enum":
            return list(error.kind.value)
        case _:
            return []


def _mistyped(place: Place, expected: str, got: str, rule: str) -> Problem:
    return Problem(place=place, text=f"expected {expected}, got {got}", rule=rule, expected=expected, received=got)


def _misformatted(place: Place, name: str, got: str) -> Problem:
    return _mistyped(place, date_or_time([name]) or f"a string of the format {name}", got, "format")


def _no_day(value: Any, name: str) -> str:
    """That a date of the right form is in no calendar."""
    is_written = name == "date" and isinstance(value, str) and _DAY.fullmatch(value)
    return ", there is no such day" if is_written else ""


def _unknown(place: Place) -> Problem:
    return Problem(place=place, text="unknown argument", rule="unknown_argument")


def _as_clause(problem: Problem) -> str:
    return f"is not {problem.expected}" if problem.expected else problem.text


def _described(node: Direction, choices: tuple[Any, ...]) -> str:
    return f"one of {listed(choices)}" if choices else expectation(node.types)


def _located(problem: Problem, depth: int) -> str:
    inner = ".".join(str(step) for step in problem.place[depth:])
    return f"{inner}: {problem.text}" if inner else problem.text
