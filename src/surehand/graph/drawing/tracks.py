"""On which line between two rows each net goes to the side, so that few lines cross and none lies on another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Self

__all__ = ["Span", "shared_columns", "tracks_of"]

_ON_ANOTHER: Final = 1000
"""How much worse it is that lines lie on one another than that they cross."""

_MANY: Final = 40
"""Above this many nets only a guess is made at the best order of them: all pairs would take too long."""


@dataclass(frozen=True, slots=True)
class Span:
    """Where one net touches the rows above and below."""

    upper: frozenset[int]
    lower: frozenset[int]
    least: int
    """The leftmost column."""
    most: int
    """The rightmost column."""

    @classmethod
    def of(cls, upper: Iterable[int], lower: Iterable[int]) -> Self:
        """The span of a net that touches the rows in these columns."""
        columns = {*upper, *lower}
        return cls(frozenset(upper), frozenset(lower), min(columns), max(columns))

    @property
    def is_straight(self) -> bool:
        """Whether it needs no way to the side."""
        return self.least == self.most and bool(self.upper) and bool(self.lower)


def tracks_of(spans: Mapping[int, Span]) -> dict[int, int]:
    """The track of each net that goes to the side, counted from the top."""
    bent = [net for net, span in spans.items() if not span.is_straight]
    tracks: dict[int, int] = {}
    for net in _in_order(bent, spans):
        span = spans[net]
        over = [
            tracks[other]
            for other in tracks
            if spans[other].least <= span.most + 1 and span.least <= spans[other].most + 1
        ]
        tracks[net] = max(over, default=-1) + 1
    return tracks


def shared_columns(spans: Mapping[int, Span], tracks: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """``(net, column)`` where a net comes down from its track over another one that goes down to a lower track."""
    upper = {column: net for net, span in spans.items() for column in span.upper}
    for net, track in tracks.items():
        for column in spans[net].lower:
            other = upper.get(column, net)
            if other != net and tracks.get(other, -1) > track:
                yield net, column


def _in_order(nets: Sequence[int], spans: Mapping[int, Span]) -> list[int]:
    """The nets from the top: always the one next that is best above all that are left."""
    if len(nets) > _MANY:
        return sorted(nets, key=lambda net: _guess(spans[net]))
    worse = {net: {other: _harm(spans[net], spans[other]) for other in nets if other != net} for net in nets}
    for net, other in combinations(nets, 2):  # a crossing counts where it can be avoided, as much as it can be
        common = min(worse[net][other] % _ON_ANOTHER, worse[other][net] % _ON_ANOTHER)
        worse[net][other] -= common
        worse[other][net] -= common
    totals = {net: sum(harms.values()) for net, harms in worse.items()}
    order = list[int]()
    while totals:
        best = min(totals, key=lambda net: totals[net])
        order.append(best)
        del totals[best]
        for net in totals:
            totals[net] -= worse[net][best]
    return order


def _harm(above: Span, below: Span) -> int:
    """How bad it is if the one net is above the other: how often they cross, and where they would share a column."""
    crossings = sum(above.least < column < above.most for column in below.upper)
    crossings += sum(below.least < column < below.most for column in above.lower)
    return crossings + _ON_ANOTHER * len(above.lower & below.upper)


def _guess(span: Span) -> tuple[bool, int]:
    """Lines to the right first, the ones on the right before the others; then those to the left, from the left."""
    is_rightward = bool(span.upper) and min(span.upper) == span.least
    return not is_rightward, -span.least if is_rightward else span.least
