"""What code reads from a store, for whoever has to know: a secret that was read must not leave with an error's text.

The reader's own context says where to note it, so that two calls that read at the same time do not mix, and a store
that nobody watches pays for one look.
"""

from __future__ import annotations

from collections import deque
from contextvars import ContextVar
from typing import Any, Final

__all__ = ["Reads", "note_read", "watch_reads"]

_MOST: Final = 200
"""How many values are kept of one watch: the newest."""

Reads = deque[Any]
"""Values that were read, the oldest first."""

_reads: ContextVar[Reads | None] = ContextVar("surehand_store_reads", default=None)


def watch_reads(into: Reads | None = None) -> Reads:
    """Note from now on, in this context, what is read from stores; the newest are kept.

    Args:
        into: Where earlier reads of the same call were noted; None for a new place.
    """
    reads: Reads = deque(maxlen=_MOST) if into is None else into
    _reads.set(reads)
    return reads


def note_read(value: Any) -> None:
    """Note a value that a store is about to hand out."""
    reads = _reads.get()
    if reads is not None:
        reads.append(value)
