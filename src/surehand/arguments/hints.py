"""What somebody may have meant by a name or a value that is none of those allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from surehand.arguments.suggestions import MAX_CANDIDATES, near_name, perhaps
from surehand.shapes import mapping_of
from surehand.spec import ArgumentSchema, Direction, Place, Problem, direction_at, value_at

__all__ = ["with_hints"]

_ALL_LISTED: Final = 20
"""Of so many allowed values all are told, and a hint would say nothing new."""

_MAX_HINTS: Final = 40
"""How many problems are given a thought; a model is told 20."""


def with_hints(problems: Sequence[Problem], schema: ArgumentSchema, arguments: Mapping[str, Any]) -> list[Problem]:
    """The problems, with the near name where a key is unknown and the near value where too many are allowed to list."""
    return [
        *(_with_hint(problem, schema, arguments) for problem in problems[:_MAX_HINTS]),
        *problems[_MAX_HINTS:],
    ]


def _with_hint(problem: Problem, schema: ArgumentSchema, arguments: Mapping[str, Any]) -> Problem:
    near = None
    if problem.rule == "unknown_argument" and "(" not in problem.text:
        near = _near_key(problem.place, schema, arguments)
    elif problem.expected.startswith("one of "):
        near = _near_choice(value_at(arguments, problem.place), direction_at(schema.directions, problem.place))
    return problem if near is None else replace(problem, text=f"{problem.text} {perhaps(near)}")


def _near_key(place: Place, schema: ArgumentSchema, arguments: Mapping[str, Any]) -> str | None:
    """A free key of the same object that is like this one."""
    names = schema.names if len(place) == 1 else _names(direction_at(schema.directions, place[:-1]))
    given = mapping_of(value_at(arguments, place[:-1]))
    return near_name(str(place[-1]), [name for name in names if name not in given])


def _names(direction: Direction | None) -> set[str]:
    if direction is None:
        return set()
    return set(direction.names).union(*(branch.names for branch in direction.branches))


def _near_choice(value: Any, direction: Direction | None) -> str | None:
    if direction is None or not isinstance(value, str) or not _ALL_LISTED < len(direction.choices) <= MAX_CANDIDATES:
        return None
    near = near_name(value, [choice for choice in direction.choices if isinstance(choice, str)])
    return None if near is None else repr(near)
