"""Pieces of sentences that many messages are made of."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

__all__ = ["NO_OUTPUT", "clipped", "did_you_mean", "followed_by", "one_line"]

NO_OUTPUT: Final = "(no output)"
"""What a model reads where there is no text: providers refuse an empty content."""
_CLOSERS: Final = tuple(")]}\"'»”’")  # may end a text without ending a sentence


def clipped(text: str, limit: int) -> str:
    """The text, at most ``limit`` characters long; where it is cut, an ellipsis is its last one."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def one_line(text: str, limit: int = 80) -> str:
    """A foreign text for a line of a log: clipped, and with its line breaks and other controls escaped."""
    short = clipped(text, limit)
    return short if short.isprintable() else short.encode("unicode_escape").decode("ascii")


def followed_by(text: str, sentence: str) -> str:
    """The text with a sentence after it: below where it has lines of its own, else behind it, with a stop between."""
    if "\n" in text:
        return f"{text}\n{sentence}"
    return f"{text}. {sentence}" if text[-1:].isalnum() or text[-1:] in _CLOSERS else f"{text} {sentence}"


def did_you_mean(name: object, known: Iterable[str], *, most: int = 1) -> str:
    """`` Did you mean 'city'?`` with its blank in front, or nothing where no known name is like this one."""
    near = get_close_matches(str(name), list(known), n=most)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
