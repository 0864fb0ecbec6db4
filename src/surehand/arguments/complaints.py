"""What the model is told about arguments that break the schema: everything at once, each with its path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from surehand.arguments.paths import json_path
from surehand.arguments.suggestions import near_name, perhaps
from surehand.errors import Complaint
from surehand.spec import ArgumentSchema, Problem
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


def complaints_of(
    problems: Sequence[Problem], *, dropped: Iterable[str] = (), collected: Iterable[str] = ()
) -> list[Complaint]:
    """The problems as complaints, the same ones once, and unknown names beside the missing ones they may stand for.

    Args:
        problems: What is wrong.
        dropped: Names that the schema does not know.
        collected: Names that it does not know either, but takes.
    """
    told = _with_unknown(_merged(problems), list(dropped), list(collected))
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
    """The problems of the arguments as they were sent, without those that a coercion has solved."""
    is_left, is_known = _beside(second), _beside(first)
    return [
        *(problem for problem in first if is_left(problem)),
        *(problem for problem in second if not is_known(problem)),
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


def _with_unknown(problems: list[Problem], dropped: list[str], collected: list[str]) -> list[Problem]:
    """The problems, with each unknown name beside the missing one it is most like; else as a problem of its own."""
    missing = [str(problem.place[0]) for problem in problems if _is_missing(problem)]
    if not missing:
        return problems
    meant: dict[str, list[str]] = {}
    rest: list[Problem] = []
    for name in (*dropped, *collected):
        near = near_name(str(name), missing)
        if near is not None:
            meant.setdefault(near, []).append(f"{name} {perhaps(near)}")
        elif name in dropped:
            rest.append(Problem(place=(name,), text="unknown argument", rule="unknown_argument"))
    told = [
        replace(problem, text=f"{problem.text}; unknown: {', '.join(meant[str(problem.place[0])])}")
        if _is_missing(problem) and str(problem.place[0]) in meant
        else problem
        for problem in problems
    ]
    return [*told, *rest]


def _is_missing(problem: Problem) -> bool:
    return problem.rule.startswith("missing") and len(problem.place) == 1


def hint_of(schema: ArgumentSchema, problems: Iterable[Problem]) -> str:
    """The arguments that the tool takes, where a name was missing or unknown; else nothing."""
    if not any(problem.rule.startswith("missing") or problem.rule == "unknown_argument" for problem in problems):
        return ""
    properties: Mapping[str, Any] = schema.json_schema.get("properties", {})
    if not properties:
        return "The tool takes no arguments."
    required = schema.json_schema.get("required", ())
    parts = [f"{name} ({'required' if name in required else 'optional'})" for name in properties]
    hidden = len(parts) - _MAX_ARGUMENTS
    more = f" and {hidden} more" if hidden > 0 else ""
    return f"Arguments: {', '.join(parts[:_MAX_ARGUMENTS])}{more}."
