"""Things in a row, as near as can be to where they are wanted."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["apart"]


def apart(wanted: Sequence[float], weights: Sequence[float], offsets: Sequence[float]) -> list[float]:
    """Places as near as can be to the wanted ones, by least squares, that differ at least as the offsets do.

    Without the offsets these are places that do not decrease: wherever one does, both are moved to their mean, as a
    block, which may then have to be joined with the block before it.
    """
    blocks: list[tuple[float, float, int]] = []  # mean, weight, count
    for place, weight, offset in zip(wanted, weights, offsets, strict=True):
        mean, total, count = place - offset, weight, 1
        while blocks and blocks[-1][0] > mean:
            before, its_weight, its_count = blocks.pop()
            mean = (before * its_weight + mean * total) / (its_weight + total)
            total, count = total + its_weight, count + its_count
        blocks.append((mean, total, count))
    means = [mean for mean, _, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]
