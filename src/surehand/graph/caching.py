"""What nodes returned before, for what they were given."""

from __future__ import annotations

import copy
import hashlib
from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Any, Final

from surehand.checkpoints.codec import Codec
from surehand.concurrency import SYSTEM_CLOCK
from surehand.errors import CheckpointError, NodeError
from surehand.policy import CachePolicy

__all__ = ["MISSED", "NodeCache"]


class _Missed:
    def __repr__(self) -> str:
        return "MISSED"


MISSED: Final = _Missed()
"""What is found where nothing is kept."""


class NodeCache:
    """The results of one node; usable from several threads."""

    def __init__(self, policy: CachePolicy, types: frozenset[type]) -> None:
        self._policy = policy
        self._codec = Codec(types)
        self._lock = Lock()
        self._results: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()

    def find(self, key: Hashable) -> object:
        """What was returned for a key, as a copy; MISSED where it is not known any more."""
        with self._lock:
            at, result = self._results.get(key, (0.0, MISSED))
        ttl = self._policy.ttl
        if result is MISSED or (ttl is not None and SYSTEM_CLOCK.now() - at > ttl):
            return MISSED
        return copy.deepcopy(result)

    def keep(self, key: Hashable, returned: object) -> None:
        """Keep what was returned for a key."""
        kept = copy.deepcopy(returned)
        with self._lock:
            self._results[key] = (SYSTEM_CLOCK.now(), kept)
            self._results.move_to_end(key)
            while len(self._results) > self._policy.max_results:
                self._results.popitem(last=False)

    def key_of(self, node: str, seen: object) -> Hashable:
        """What tells what a node is given from others; made before the node runs, which may change what it is given.

        Raises:
            NodeError: It cannot be told from others.
        """
        if self._policy.key is not None:
            made: Hashable = self._policy.key(seen)
            return made
        try:
            text = self._codec.dumps(seen, where="what it was given")
        except CheckpointError as error:
            raise NodeError(
                node=node,
                problem=f"what it was given cannot be told from others ({error})",
                remedy="Give CachePolicy a key=, a function of what the node is given.",
            ) from error
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
