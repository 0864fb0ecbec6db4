"""Who stands beside whom in a row, so that few lines cross."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from typing import Final

from surehand.graph.drawing.web import Web

__all__ = ["put_in_order"]

_ROUNDS: Final = 12
_LARGE: Final = 5000
"""Items of a drawing that gets fewer rounds."""

_Ties = list[list[int]]
"""For each item the items that it is tied to."""


def _ties_of(web: Web) -> tuple[_Ties, _Ties]:
    """For each item those that it is tied to in the row above, and in the row below."""
    above: _Ties = [[] for _ in web.items]
    below: _Ties = [[] for _ in web.items]
    for leg in web.legs:
        if (ends := leg.upper_and_lower) is not None:
            below[ends[0].item].append(ends[1].item)
            above[ends[1].item].append(ends[0].item)
    return above, below


def put_in_order(web: Web) -> None:
    """Sort each row by the middle of what its items are tied to, down and up again; the best found is kept."""
    above, below = _ties_of(web)
    rows, places = [list(row) for row in web.rows], [0] * len(web.items)
    for row in rows:
        _note(row, places)
    fewest, best = _crossings(rows, places, below), [list(row) for row in rows]
    for number in range(_ROUNDS if len(web.items) < _LARGE else 4):
        if not fewest:
            break
        ties, downward = (above, rows[1:]) if number % 2 == 0 else (below, rows[-2::-1])
        for row in downward:
            _sort(row, places, ties)
        crossings = _crossings(rows, places, below)
        if crossings < fewest:
            fewest, best = crossings, [list(row) for row in rows]
    web.rows = best


def _sort(row: list[int], places: list[int], ties: _Ties) -> None:
    middles = {item: sum(places[tied] for tied in ties[item]) / len(ties[item]) for item in row if ties[item]}
    movable = iter(sorted(middles, key=lambda item: middles[item]))
    row[:] = [next(movable) if item in middles else item for item in row]
    _note(row, places)


def _note(row: Sequence[int], places: list[int]) -> None:
    for place, item in enumerate(row):
        places[item] = place


def _crossings(rows: Sequence[Sequence[int]], places: Sequence[int], below: _Ties) -> int:
    count = 0
    for row in rows:
        seen = list[int]()
        for item in row:
            lower = [places[tied] for tied in below[item]]
            count += sum(len(seen) - bisect_right(seen, place) for place in lower)
            for place in lower:
                insort(seen, place)
    return count
