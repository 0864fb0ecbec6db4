"""Names that somebody may have meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection

__all__ = ["MAX_CANDIDATES", "near_name", "perhaps", "plain_name"]

_SEPARATORS = re.compile(r"[\s_\-]+")
_WORDS = re.compile(r"[^\W_]+")
_LIKENESS = 0.6
MAX_CANDIDATES = 200
"""Beyond so many names the comparison costs more than the hint is worth."""


def plain_name(name: str) -> str:
    """The name without case and separators: what ``userId``, ``user_id`` and ``User-ID`` share."""
    return _SEPARATORS.sub("", name).casefold()


def near_name(name: str, candidates: Collection[str]) -> str | None:
    """The candidate most like the name; None where none is like it."""
    if len(candidates) > MAX_CANDIDATES:
        return None
    plain = {plain_name(candidate): candidate for candidate in candidates}
    found = difflib.get_close_matches(plain_name(name), plain, n=1, cutoff=_LIKENESS)
    if found:
        return plain[found[0]]
    words = _words(name)
    sharing = [candidate for candidate in candidates if words and (words < (own := _words(candidate)) or own < words)]
    return sharing[0] if len(sharing) == 1 else None


def perhaps(name: str) -> str:
    """``(did you mean path?)``: the hint inside a complaint, where a sentence of its own would break the list."""
    return f"(did you mean {name}?)"


def _words(name: str) -> set[str]:
    return {word.casefold() for word in _WORDS.findall(name.replace("_", " "))}
