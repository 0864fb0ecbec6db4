"""What a final answer must say; each check is a plain test of its text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from decimal import Decimal
from typing import Final, TypeAlias

__all__ = ["Check", "all_of", "any_of", "anything", "number", "says", "says_not"]

Check: TypeAlias = Callable[[str], bool]

_NUMBER: Final = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")
_GROUPED: Final = re.compile(r"(?<=\d)[,\u202f\u00a0](?=\d{3}(?!\d))")


def anything(answer: str) -> bool:
    """There is an answer."""
    return bool(answer.strip())


def says(text: str) -> Check:
    """The text stands in the answer, whatever its case."""
    wanted = _folded(text)
    return lambda answer: wanted in _folded(answer)


def says_not(*texts: str) -> Check:
    """None of the texts stands in the answer."""
    unwanted = [_folded(text) for text in texts]
    return lambda answer: not any(text in _folded(answer) for text in unwanted)


def number(value: str) -> Check:
    """The number stands in the answer, however it is written: 1204.1, 1,204.10."""
    wanted = Decimal(value)
    return lambda answer: any(Decimal(found) == wanted for found in _NUMBER.findall(_GROUPED.sub("", answer)))


def any_of(*checks: Check) -> Check:
    """One of the checks holds."""
    return lambda answer: any(check(answer) for check in checks)


def all_of(*checks: Check) -> Check:
    """All checks hold."""
    return lambda answer: all(check(answer) for check in checks)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
