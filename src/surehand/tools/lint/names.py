"""Rules about the names of tools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

from surehand.spec import ToolSpec, wire_name
from surehand.tools.lint.finding import Asked, Remark, Rule

__all__ = ["RULES"]


def _changed(tools: Sequence[ToolSpec], _asked: Asked) -> Iterator[Remark]:
    for tool in tools:
        if (wire := wire_name(tool.name)) != tool.name:
            yield Remark(
                tool=tool.name,
                message=f"Providers do not take this name; the model will see {wire!r}.",
                remedy="Name it with letters a-z, digits, _ and -, beginning with a letter.",
            )


def _collides(tools: Sequence[ToolSpec], _asked: Asked) -> Iterator[Remark]:
    for one, other in combinations(tools, 2):
        if (wire := wire_name(one.name)) == wire_name(other.name):
            yield Remark(
                tool=other.name,
                message=f"It and the tool {one.name!r} are both called {wire!r} by the provider, so both are refused.",
                remedy="Rename one of them, or tell them apart with prefixed(…).",
            )


def _nearly_collides(tools: Sequence[ToolSpec], _asked: Asked) -> Iterator[Remark]:
    for one, other in combinations(tools, 2):
        if wire_name(one.name) != wire_name(other.name) and _are_near(one.name, other.name):
            yield Remark(
                tool=other.name,
                message=f"Its name is nearly that of {one.name!r}, and models mix such names up.",
                remedy="Give one of them a name that says the difference.",
            )


_SEPARATORS: Final = re.compile(r"[\W_]+")
_SHORTEST: Final = 5
"""Characters of a name from which on one character more or less is no difference to go by."""


def _are_near(one: str, other: str) -> bool:
    left, right = (_SEPARATORS.sub("", name).casefold() for name in (one, other))
    if left == right:
        return True
    if min(len(left), len(right)) < _SHORTEST or abs(len(left) - len(right)) > 1:
        return False
    shorter, longer = sorted((left, right), key=len)
    place = next((at for at, character in enumerate(shorter) if character != longer[at]), len(shorter))
    if longer[place].isdigit():  # step_1 and step_2 are numbered on purpose
        return False
    return shorter[place + (len(shorter) == len(longer)) :] == longer[place + 1 :]


RULES: Final = (
    Rule(id="name-changed", severity="warning", check=_changed),
    Rule(id="name-collision", severity="error", check=_collides),
    Rule(id="name-near", severity="warning", check=_nearly_collides),
)
