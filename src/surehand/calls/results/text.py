"""Text that every provider, store and log can carry: well-formed, and of bounded length."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from surehand.calls.results.cut import ADVICE, cut_of

__all__ = ["MAX_LISTED", "REPLACEMENT", "listed", "shorten", "well_formed", "without_links"]

REPLACEMENT: Final = "\ufffd"
"""What stands for a character that cannot be sent."""
MAX_LISTED: Final = 20
"""The most errors of one call that a model is told of."""


_LINK: Final = re.compile(r"\n[ \t]*For further information visit https?://\S+")


def well_formed(text: str) -> str:
    """The text with U+FFFD for every lone surrogate and every NUL; the same object where there are none.

    Lone surrogates cannot be encoded as UTF-8, so one of them would spoil every later request of the conversation.
    A NUL is legal in JSON, but PostgreSQL refuses it and C programs end the text there.
    """
    if "\0" in text:
        text = text.replace("\0", REPLACEMENT)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        # Through UTF-16, so that a pair of surrogates that stands for one character becomes that character.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def without_links(text: str) -> str:
    """The text without the lines that point to pydantic's documentation: they cost a model tokens for nothing."""
    return _LINK.sub("", text)


def listed(texts: Sequence[str], *, total: int) -> str:
    """Texts of errors as a list of at most ``MAX_LISTED``, a single one as it is.

    Args:
        texts: The texts, at least as many as are listed.
        total: How many errors there are.
    """
    if total == 1:
        return texts[0]
    more = [f"and {total - MAX_LISTED} more"] if total > MAX_LISTED else []
    lines = "\n".join(f"- {text}" for text in (*texts[:MAX_LISTED], *more))
    return f"{total} errors:\n{lines}"


def shorten(text: str, limit: int, *, advice: str = ADVICE) -> str:
    """The text, or its head and tail with a notice of the sizes between them where it is longer than ``limit``.

    The result has at most ``limit`` characters, the notice included, unless the limit leaves no room for one. Of a text
    that was cut before, the notice keeps the sizes of the whole and its handle.
    """
    cut = cut_of(text, limit, was_cut=True)
    return text if cut is None else "".join(cut.to(limit, advice=advice))
