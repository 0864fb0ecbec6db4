"""What is forgotten with old checkpoints, and what has to stay for those that remain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self, TypeVar

from surehand.checkpoints.checks import check_pruning

__all__ = ["Retention", "is_at_or_below", "is_inside_step", "needed_versions"]

N = TypeVar("N")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Which checkpoints of a namespace stay."""

    keep: int
    """So many of the newest stay in any case: 1 or more."""
    created_before: float | None
    """Only those that were created earlier go, in seconds since the epoch; None for any age."""

    @classmethod
    def of(cls, *, keep: int | None, older_than: float | None) -> Self:
        """What ``Checkpointer.prune`` was asked for.

        Raises:
            OptionError: One of them makes no sense.
        """
        check_pruning(keep, older_than)
        before = None if older_than is None else datetime.now(UTC).timestamp() - older_than
        return cls(keep=1 if keep is None else keep, created_before=before)

    def forgotten(self, checkpoints: Sequence[tuple[N, float]]) -> list[N]:
        """Those that go.

        Args:
            checkpoints: Of a namespace, the newest first: a name of each, whatever it is, and when it was created.
        """
        return [name for name, at in checkpoints[self.keep :] if self._is_old(at)]

    def _is_old(self, created_at: float) -> bool:
        return self.created_before is None or created_at < self.created_before


def is_at_or_below(namespace: str, top: str) -> bool:
    """Whether a namespace is ``top``, or is inside of it."""
    return namespace == top or namespace.startswith(f"{top}/")


def is_inside_step(namespace: str, outer: str, checkpoint_ids: Collection[str]) -> bool:
    """Whether a namespace is of what ran inside of the step after one of these checkpoints of ``outer``.

    Such a namespace begins with that of the checkpoint and its id: ``<outer>/<id>:<task>``.
    """
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
