"""What is forgotten with old checkpoints, and what has to stay for those that remain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

__all__ = ["forgotten_of", "is_at_or_below", "is_below_step", "needed_versions"]

N = TypeVar("N")


def forgotten_of(checkpoints: Sequence[tuple[N, float]], *, keep: int, created_before: float | None) -> list[N]:
    """Those checkpoints of a namespace that go.

    Args:
        checkpoints: A name of each, whatever it is, and when it was created; the newest first.
        keep: How many of the newest stay in any case.
        created_before: Only older ones go; None for any age.
    """
    return [name for name, at in checkpoints[keep:] if created_before is None or at < created_before]


def is_at_or_below(namespace: str, top: str) -> bool:
    """Whether a namespace is ``top``, or is inside of it."""
    return namespace == top or namespace.startswith(f"{top}/")


def is_below_step(namespace: str, outer: str, checkpoint_ids: Collection[str]) -> bool:
    """Whether a namespace belongs to what ran inside of the step after one of these checkpoints of ``outer``."""
    prefix = f"{outer}/" if outer else ""
    if not namespace.startswith(prefix):
        return False
    checkpoint_id, colon, _ = namespace[len(prefix) :].partition(":")
    return bool(colon) and checkpoint_id in checkpoint_ids


def needed_versions(
    roots: Iterable[Mapping[str, int]], previous: Mapping[tuple[str, int], int | None]
) -> set[tuple[str, int]]:
    """The versions that chains lead to, each a key and a version.

    Args:
        roots: The versions that the remaining checkpoints name.
        previous: For each version that there is, the one that it is a change of.
    """
    needed: set[tuple[str, int]] = set()
    for channels in roots:
        for key, version in channels.items():
            at: int | None = version
            while at is not None and (key, at) in previous and (key, at) not in needed:
                needed.add((key, at))
                at = previous[key, at]
    return needed
