"""How much work a JSON Schema can make, known before the first call.

A validator follows references for as long as they go on, in native code: a schema that refers to itself about the very
same value never ends, one whose definitions double thirty times takes a minute, and a long chain of references on a
deep value overflows the stack, which ends the process. None of it can be interrupted, so it is counted when the tool is
made. What a schema asks itself about inner values is asked once for each value, as the validator remembers the answer;
its complaints it does not remember, and they double with each level. So a depth is counted up to which they are
collected, and below it they are asked for in another way. Schemas that people write stay far from all limits. What
would change our mind: a validator that takes a budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from surehand.grammar import MAX_DEPTH
from surehand.shapes import is_object
from surehand.spec.json_places import REFERENCES, References, parts_of

__all__ = ["Bounds", "EndlessReference", "TooMuchWork"]

MAX_VISITS: Final = 100_000
"""The most schemas that are asked on the way from the arguments to one value inside, each recursive one once."""
MAX_TOLD: Final = 1_000
"""The most schemas whose complaints are collected; each costs a hundred times as much as an answer."""
_MAX_STEPS: Final = 1_600
"""The most schemas that may wait for each other: a stack of one megabyte bears 2,000."""
_MAX_WAY: Final = 400
"""The most definitions that lead from one to the next."""
_AGAIN: Final = 3
"""How often what stands beside ``unevaluatedProperties`` or ``unevaluatedItems`` is gone through."""


class EndlessReference(Exception):
    """References lead in a circle about one and the same value; ``reference`` is one of them."""

    def __init__(self, reference: str) -> None:
        super().__init__(reference)
        self.reference = reference


class TooMuchWork(Exception):
    """More schemas than can be gone through."""


class _Node:
    """A schema as a place that work is done at."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        self.same: list[_Node] = []
        """What is asked about the same value."""
        self.below: dict[object, list[_Node]] = {}
        """Key, or None for any -> what is asked about the value there."""
        self.weight = _AGAIN if schema.keys() & {"unevaluatedProperties", "unevaluatedItems"} else 1
        self.length = 1
        """How many schemas wait for each other about one value."""

    def all_inner(self) -> list[_Node]:
        """What is asked about the value or a value below."""
        return [*self.same, *(node for nodes in self.below.values() for node in nodes)]


class Bounds:
    """What a schema can be asked about within bounds.

    Args:
        root: The whole schema.
        references: Its references.

    Raises:
        EndlessReference: A schema asks itself about the same value.
        TooMuchWork: It cannot be asked about anything within the limits.
    """

    deepest: int
    """The most levels of a value that is checked."""

    def __init__(self, root: Mapping[str, Any], references: References) -> None:
        self._references = references
        self._nodes: dict[int, _Node] = {}
        start = self._built(root)
        order = self._ordered()
        self._check_work(start)
        self._told = self._visits_of_depths(start, order)
        self.deepest = min(MAX_DEPTH, _MAX_STEPS // max(node.length for node in order))
        if self.deepest < 1:
            raise TooMuchWork

    def _built(self, root: Mapping[str, Any]) -> _Node:
        start = self._nodes[id(root)] = _Node(root)
        waiting = [(start, 0)]
        while waiting:
            node, way = waiting.pop()
            if way > _MAX_WAY:
                raise TooMuchWork
            for key, schema in self._asked(node.schema):
                found = self._nodes.get(id(schema))
                if found is None:
                    found = self._nodes[id(schema)] = _Node(schema)
                    waiting.append((found, way + 1))
                node.same.append(found) if key is self else node.below.setdefault(key, []).append(found)
        return start

    def _asked(self, schema: Mapping[str, Any]) -> Iterator[tuple[object, Mapping[str, Any]]]:
        """What a schema asks: about the same value (under this very object), or about the value of a key."""
        for keyword in REFERENCES:
            if isinstance(reference := schema.get(keyword), str):
                target = self._references.target(schema, reference)
                if is_object(target):
                    yield self, target
        for part in parts_of(schema):
            if part.is_definition or not is_object(part.schema):
                continue
            if part.is_of_same_value:
                yield self, part.schema
            else:
                yield part.key if part.keyword == "properties" else None, part.schema

    def _ordered(self) -> list[_Node]:
        """The nodes, those that others ask about the same value before these others."""
        order = list(_inner_first(self._nodes.values(), lambda node: node.same, is_circle_allowed=False))
        for node in order:
            node.length = 1 + max((inner.length for inner in node.same), default=0)
        return order

    def _check_work(self, start: _Node) -> None:
        visits: dict[int, int] = {}
        for node in _inner_first([start], _Node.all_inner, is_circle_allowed=True):
            visits[id(node)] = _visits(node, visits, visits)
        if visits[id(start)] > MAX_VISITS:
            raise TooMuchWork

    def visits_at(self, depth: int) -> int | None:
        """The most schemas that are asked on the way to a value at a depth; None for too many."""
        is_known = depth < len(self._told) or self._is_same_below
        return self._told[min(depth, len(self._told) - 1)] if is_known and self._told else None

    def _visits_of_depths(self, start: _Node, order: list[_Node]) -> list[int]:
        found: list[int] = []
        below: dict[int, int] = {}
        self._is_same_below = False
        while len(found) <= MAX_DEPTH and not self._is_same_below:
            visits: dict[int, int] = {}
            for node in order:
                visits[id(node)] = _visits(node, visits, below)
            if visits[id(start)] > MAX_TOLD:
                break
            self._is_same_below = visits == below  # deeper values find nothing more to ask
            found.append(visits[id(start)])
            below = visits
        return found


def _inner_first(
    nodes: Iterable[_Node], inner: Callable[[_Node], list[_Node]], *, is_circle_allowed: bool
) -> Iterator[_Node]:
    """The nodes and all that is inside of them, what is inside before what it is in."""
    is_done: dict[int, bool] = {}
    for first in nodes:
        stack = [] if id(first) in is_done else [(first, iter(inner(first)))]
        is_done.setdefault(id(first), False)
        while stack:
            node, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                stack.pop()
                is_done[id(node)] = True
                yield node
            elif id(following) not in is_done:
                is_done[id(following)] = False
                stack.append((following, iter(inner(following))))
            elif not (is_circle_allowed or is_done[id(following)]):
                raise EndlessReference(_reference_of(node.schema))


def _visits(node: _Node, same: Mapping[int, int], below: Mapping[int, int]) -> int:
    """How many schemas a node asks, where it is known how many those inside of it ask."""
    asked = sum(same.get(id(inner), 0) for inner in node.same) + _most_below(node, below)
    return min(1 + node.weight * asked, MAX_VISITS + 1)


def _most_below(node: _Node, visits: Mapping[int, int]) -> int:
    """The most visits that one value below can get from this node alone."""
    sums = {key: sum(visits.get(id(inner), 0) for inner in inners) for key, inners in node.below.items()}
    return sums.pop(None, 0) + max(sums.values(), default=0)


def _reference_of(schema: Mapping[str, Any]) -> str:
    return next((str(schema[keyword]) for keyword in REFERENCES if keyword in schema), "#")
