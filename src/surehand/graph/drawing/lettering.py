"""Names as they can be drawn: cleaned, measured, and broken into lines."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

__all__ = ["cells_of", "cleaned", "ems_of", "wrapped"]

_UNSEEN: Final = frozenset({"Cc", "Cs", "Cn", "Co"})
_TIES: Final = "\u200c\u200d"
"""What ties characters together, or keeps them apart, within a word."""

_JOINERS: Final = frozenset({"Mn", "Me", "Mc", "Cf", "Sk"})
_BREAKS: Final = re.compile(r"(?<=[ _\-./:])|(?<=[a-z])(?=[A-Z])")

# How wide characters are in the widest of the usual sans-serif fonts (DejaVu Sans, Verdana, Open Sans), in hundredths
# of an em. Whatever font a viewer has, text is hardly ever wider than this, and boxes have room beside it.
_ASCII: Final = {
    28: "il",
    37: "jf',. ",
    46: 'rtIJ!"()[]/\\:;-',
    57: "cszL?|",
    64: "abdeghknopquvxyEFPTY0123456789$*_`{}",
    70: "ABCKRSVXZ",
    80: "DGHNOQU&",
    85: "w#+<=>^~",
    91: "M",
    100: "mW@",
    108: "%",
}
_EMS: Final = {letter: hundredths / 100 for hundredths, letters in _ASCII.items() for letter in letters}
_SMALL_LETTERS: Final = frozenset("αβγδεζηθικλνξοπρςστυχабвгдезийклнопрстухцчьэяß")
_CAPITALS: Final = frozenset("ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩАБВГДЕЗИЙКЛМНОПРСТУХЦЧЬЭЯ")


def cleaned(text: str) -> str:
    """The text on one line, without characters that cannot be seen or that change how others are.

    Control characters, halves of surrogate pairs and unassigned characters are replaced; what turns the direction of
    text, or only says where lines may be broken, is left out.
    """
    return "".join(_shown(letter) for letter in " ".join(text.split())) or "\ufffd"


@cache
def _shown(letter: str) -> str:
    category = unicodedata.category(letter)
    if category == "Cf":
        return letter if letter in _TIES else ""
    return "\ufffd" if category in _UNSEEN else letter


def cells_of(text: str) -> int:
    """The columns that the text takes on a terminal."""
    return sum(_cells_of_letter(letter) for letter in text)


@cache
def _cells_of_letter(letter: str) -> int:
    if unicodedata.category(letter) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(letter) in {"W", "F"} else 1


def ems_of(text: str) -> float:
    """The most that the text may take in a sans-serif font, in ems."""
    return sum(_ems_of_letter(letter) for letter in text)


@cache
def _ems_of_letter(letter: str) -> float:
    category = unicodedata.category(letter)
    if category in {"Mn", "Me", "Cf"}:
        return 0.0
    plain = unicodedata.normalize("NFD", letter)[0]
    accent = 0.0 if plain == letter else 0.12
    if plain in _EMS:
        return _EMS[plain] + accent
    if plain in _SMALL_LETTERS or plain in _CAPITALS:
        return (0.72 if plain in _SMALL_LETTERS else 0.92) + accent
    if category == "Lo" and unicodedata.east_asian_width(letter) in {"W", "F"}:
        return 1.02
    return 1.45 if category in {"So", "Sm"} else 1.22


def wrapped(
    text: str, width: float, *, measure: Callable[[str], float], max_lines: int, ellipsis: str
) -> tuple[str, ...]:
    """The text in lines that are not wider than ``width``, broken between words where that is possible.

    What does not fit into ``max_lines`` is left out, and the last line ends with the ellipsis.
    """
    lines, rest = list[str](), text
    while rest and len(lines) < max_lines:
        line = _first_line(rest, width, measure)
        if len(lines) == max_lines - 1 and len(line) < len(rest):
            line = rest = _start_of(rest, width - measure(ellipsis), measure) + ellipsis
        lines.append(line)
        rest = rest[len(line) :]
    return tuple(line.strip() or line for line in lines)


def _first_line(text: str, width: float, measure: Callable[[str], float]) -> str:
    line = ""
    for word in _BREAKS.split(text):
        if measure((line + word).rstrip()) > width:
            break
        line += word
    return line or _start_of(text, width, measure)


def _start_of(text: str, width: float, measure: Callable[[str], float]) -> str:
    """As much of the text as fits, at least one character, without parting a character from its accents."""
    line = ""
    for part in _characters(text):
        if line and measure(line + part) > width:
            break
        line += part
    return line


def _characters(text: str) -> Sequence[str]:
    parts = list[str]()
    for letter in text:
        if parts and (unicodedata.category(letter) in _JOINERS or parts[-1].endswith("\u200d")):
            parts[-1] += letter
        else:
            parts.append(letter)
    return parts
