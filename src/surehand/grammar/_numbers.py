"""Numbers without loss."""

from __future__ import annotations

from decimal import Decimal
from math import isinf
from typing import Final, Self

from surehand.grammar.limits import MAX_DIGITS

__all__ = ["ExactFloat", "NumberError", "to_float", "to_int"]

# Sixteen characters hold at most fifteen digits and a point, and fifteen digits always survive in a float.
_ALWAYS_EXACT: Final = 16


class NumberError(ValueError):
    """A number that no Python number stands for; the text is the reason."""


class ExactFloat(float):
    """A float whose literal has more digits than a float can keep; `literal` and ``str()`` have all of them.

    It is that float for every computation. A decimal field reads the digits through ``str()``.
    """

    __slots__ = ("literal",)

    literal: str
    """The number as it was sent."""

    def __new__(cls, literal: str) -> Self:
        number = super().__new__(cls, literal)
        number.literal = literal
        return number

    def __str__(self) -> str:
        return self.literal

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]  # float's own takes the float
        return (self.literal,)


def to_int(literal: str) -> int:
    """The integer that ``literal`` spells; NumberError over the limit."""
    _check_size(literal)
    try:
        return int(literal)
    except ValueError as error:  # the host lowered Python's own limit
        raise NumberError(f"a number of {len(literal)} digits is too long for this Python") from error


def to_float(literal: str) -> float:
    """The float nearest to ``literal``, an `ExactFloat` if digits got lost; NumberError past the largest float."""
    number = float(literal) if len(literal) <= MAX_DIGITS else 0.0
    if len(literal) <= _ALWAYS_EXACT and not isinf(number) and (number or not literal.strip("-0.")):
        return number
    _check_size(literal)
    if isinf(number):
        raise NumberError("a number is larger than any float")
    return number if _same_digits(literal, number) else ExactFloat(literal)


def _same_digits(literal: str, number: float) -> bool:
    try:
        return Decimal(literal) == Decimal(repr(number))
    except ArithmeticError:  # an exponent beyond even a decimal's
        return False


def _check_size(literal: str) -> None:
    if len(literal) > MAX_DIGITS:
        raise NumberError(f"a number of {len(literal)} characters is too long, at most {MAX_DIGITS} are read")
