"""What the model is told about arguments that break the schema: everything at once, each with its path."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from surehand.arguments.paths import json_path
from surehand.arguments.suggestions import near_name, perhaps
from surehand.errors import Complaint
from surehand.spec import ArgumentSchema, Place, Problem, direction_at
from surehand.wording import clipped

__all__ = ["MAX_COMPLAINTS", "MAX_PROBLEM", "complaints_of", "hint_of", "unresolved"]

MAX_COMPLAINTS: Final = 20
"""The most complaints that are told at once."""
MAX_PROBLEM: Final = 500
"""The most characters of one complaint that a model is told; a schema's author may write long texts."""
_MAX_AUTHORS: Final = 20_000
"""The most characters of his that are kept: they are to be redacted before they are cut."""
_MAX_ARGUMENTS: Final = 30
"""The most arguments that a hint lists."""
_MAX_OBJECTS: Final = 3
"""The most objects whose keys a hint lists."""
_UNKNOWN: Final = frozenset({"unknown_argument", "extra_forbidden"})


def complaints_of(
    problems: Sequence[Problem], *, dropped: Iterable[Place] = (), collected: Iterable[Place] = ()
) -> list[Complaint]:
    """The problems as complaints, the same ones once, and unknown names beside the missing ones they may stand for.

    Args:
        problems: What is wrong.
        dropped: Keys that the schema does not know.
        collected: Keys that it does not know either, but takes.
    """
    told = _with_unknown(_merged(problems), dict.fromkeys(dropped), collected)
    found = [_complaint(problem) for problem in told[:MAX_COMPLAINTS]]
    hidden = len(told) - MAX_COMPLAINTS
    if hidden > 0:
        found.append(Complaint(path="$", problem=f"… and {hidden} more", rule="more"))
    return found


def _complaint(problem: Problem) -> Complaint:
    most = _MAX_AUTHORS if problem.is_authors else MAX_PROBLEM
    return Complaint(
        path=json_path(problem.place),
        problem=clipped(problem.text, most),
        rule=problem.rule,
        is_authors=problem.is_authors,
    )


def unresolved(first: Sequence[Problem], second: Sequence[Problem]) -> list[Problem]:
    """The problems of the arguments as they were sent, without those that a coercion has solved.

    With what came to light behind one: where text may stand for a list, it is the list that is wrong, and a model
    that cannot send but text would never hear of it.
    """
    is_left = _beside(second)
    known = {(problem.place, problem.rule) for problem in first}
    return [
        *(problem for problem in first if is_left(problem)),
        *(problem for problem in second if (problem.place, problem.rule) not in known),
    ]


def _beside(problems: Sequence[Problem]) -> Callable[[Problem], bool]:
    """Whether a problem stands at, above or below the place of one of these, told without going through them."""
    places = {problem.place for problem in problems}
    above = {place[:end] for place in places for end in range(len(place))}

    def is_beside(problem: Problem) -> bool:
        place = problem.place
        return place in above or any(place[:end] in places for end in range(len(place) + 1))

    return is_beside


def _merged(problems: Sequence[Problem]) -> list[Problem]:
    """One problem for each place and text; what a union's members expect of one value becomes one sentence."""
    found: dict[object, Problem] = {}
    for problem in problems:
        key = (problem.place, problem.received) if problem.expected else (problem.place, problem.text)
        known = found.get(key)
        if known is None:
            found[key] = problem
        elif problem.expected and problem.expected not in known.expected:
            expected = f"{known.expected} or {problem.expected}"
            found[key] = replace(known, expected=expected, text=f"expected {expected}, got {known.received}")
    return list(found.values())


def _with_unknown(problems: list[Problem], dropped: Collection[Place], collected: Iterable[Place]) -> list[Problem]:
    """The problems, with each unknown key beside the missing one it is most like; else as a problem of its own."""
    missing: dict[Place, list[str]] = {}
    for problem in problems:
        if _is_missing(problem):
            missing.setdefault(problem.place[:-1], []).append(str(problem.place[-1]))
    meant: dict[Place, list[str]] = {}
    rest: list[Problem] = []
    for place in (*dropped, *collected):
        above, name = place[:-1], place[-1]
        near = near_name(str(name), missing.get(above, ()))
        if near is not None:
            meant.setdefault((*above, near), []).append(f"{name} {perhaps(near)}")
        elif above in missing and place in dropped:
            rest.append(Problem(place=place, text="unknown argument", rule="unknown_argument"))
    told = [
        replace(problem, text=f"{problem.text}; unknown: {', '.join(meant[problem.place])}")
        if _is_missing(problem) and problem.place in meant
        else problem
        for problem in problems
    ]
    return [*told, *rest]


def _is_missing(problem: Problem) -> bool:
    return problem.rule.startswith("missing") and bool(problem.place)


def hint_of(schema: ArgumentSchema, problems: Iterable[Problem]) -> str:
    """What the tool takes, or an object below, where a name of it was missing or unknown; else nothing."""
    about_names = [problem for problem in problems if _is_missing(problem) or problem.rule in _UNKNOWN]
    objects = list(dict.fromkeys(problem.place[:-1] for problem in about_names))
    return " ".join(filter(None, (_keys_of(schema, place) for place in objects[:_MAX_OBJECTS])))


def _keys_of(schema: ArgumentSchema, place: Place) -> str:
    """The names that an object may have; nothing where the schema does not list them, or lists several forms."""
    if not place:
        properties: Mapping[str, Any] = schema.json_schema.get("properties", {})
        required = schema.json_schema.get("required", ())
        return f"Arguments: {_named(properties, required)}." if properties else "The tool takes no arguments."
    node = direction_at(schema.directions, place)
    if node is None or node.branches or not node.properties:
        return ""
    return f"Keys of {json_path(place)}: {_named(node.properties, node.required)}."


def _named(names: Iterable[str], required: Collection[str]) -> str:
    parts = [f"{name} ({'required' if name in required else 'optional'})" for name in names]
    hidden = len(parts) - _MAX_ARGUMENTS
    more = f" and {hidden} more" if hidden > 0 else ""
    return f"{', '.join(parts[:_MAX_ARGUMENTS])}{more}"
