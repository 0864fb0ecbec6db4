"""Random graphs as data: nodes, edges, joins, and paths that choose by the length of the log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from surehand import END, START, Send

__all__ = ["Shape", "Target", "path_of", "shapes"]

Target = str | tuple[str, str]
"""A node's name, or a name and what it is sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A graph as data: what it is built from, and what the model of the rules reads."""

    names: list[str]
    edges: list[tuple[str, str]]
    joins: list[tuple[tuple[str, ...], str]]
    choices: dict[str, list[list[Target]]]
    """By source: what its path answers, chosen by the length of the log."""
    is_async: list[bool]
    delays: list[float]

    def choice(self, source: str, log: list[str]) -> list[Target]:
        answers = self.choices.get(source, [[]])
        return answers[len(log) % len(answers)]


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    names = [f"n{number}" for number in range(draw(st.integers(1, 5)))]
    some, ends = st.sampled_from(names), st.sampled_from([*names, END])
    targets = st.lists(ends | st.tuples(some, st.sampled_from("xyz")), max_size=3)
    count = len(names)
    return Shape(
        names=names,
        edges=[(START, draw(some)), *draw(st.lists(st.tuples(some, ends), max_size=5))],
        joins=[
            (tuple(sources), draw(ends))
            for sources in draw(st.lists(st.lists(some, min_size=2, max_size=3, unique=True), max_size=2))
        ]
        if count > 1
        else [],
        choices=draw(st.dictionaries(some, st.lists(targets, min_size=1, max_size=2), max_size=2)),
        is_async=draw(st.lists(st.booleans(), min_size=count, max_size=count)),
        delays=draw(st.lists(st.sampled_from([0.0, 0.0, 0.001, 0.002]), min_size=count, max_size=count)),
    )


def path_of(shape: Shape, source: str) -> Callable[[Any], Any]:
    def path(state: Any) -> list[Any]:
        return [target if isinstance(target, str) else Send(*target) for target in shape.choice(source, state["log"])]

    return path
