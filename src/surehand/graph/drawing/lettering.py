"""Names as they can be drawn: cleaned, measured, and broken into lines."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

__all__ = ["cells_of", "cleaned", "ems_of", "wrapped"]

_UNSEEN: Final = frozenset({"Cc", "Cs", "Cn", "Co"})
_TURNS: Final = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
"""Marks that turn the direction of what follows them, also of what is not theirs."""
_JOINERS: Final = frozenset({"Mn", "Me", "Mc", "Cf", "Sk"})
_BREAKS: Final = re.compile(r"(?<=[ _\-./:])|(?<=[a-z])(?=[A-Z])")

# How wide characters are in the widest of the usual sans-serif fonts (DejaVu Sans and Verdana), in hundredths of an em,
# rounded up. Whatever font a viewer has, text is not wider than this.
_ASCII: Final = {
    28: "il",
    37: "jf',. ",
    46: 'rtIJ!"()[]|/\\:;-',
    57: "cszL?",
    64: "abdeghknopquvxyEFPTY0123456789$*_`{}",
    70: "ABCKRSVXZ",
    80: "DGHNOQU&",
    85: "w#+<=>^~",
    90: "M",
    100: "mW@",
    108: "%",
}
_EMS: Final = {letter: hundredths / 100 for hundredths, letters in _ASCII.items() for letter in letters}
_WIDE_LETTERS: Final = frozenset("æœшщюжмыфѿАДЖМЩШЮФЫѠÆŒΩΨΦω…—")


def cleaned(text: str) -> str:
    """The text on one line, without characters that cannot be shown or that change how others are.

    Control characters, halves of surrogate pairs, unassigned characters and turns of direction become ``\\ufffd``.
    """
    return "".join(_shown(letter) for letter in " ".join(text.split())) or "\ufffd"


@cache
def _shown(letter: str) -> str:
    is_unseen = unicodedata.category(letter) in _UNSEEN or unicodedata.bidirectional(letter) in _TURNS
    return "\ufffd" if is_unseen else letter


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
    plain = unicodedata.normalize("NFD", letter)[0]  # an accent does not make a letter wider
    if plain in _EMS:
        return _EMS[plain]
    category = unicodedata.category(plain)
    if category in {"Mn", "Me", "Cf"}:
        return 0.0
    if unicodedata.east_asian_width(plain) in {"W", "F"}:
        return 1.02 if category == "Lo" else 1.4  # pictures are drawn wider than the letters beside them
    if plain in _WIDE_LETTERS or category not in {"Ll", "Lu", "Nd"}:
        return 1.2
    return 0.7 if category == "Ll" else 0.85


def wrapped(
    text: str, width: float, *, measure: Callable[[str], float], max_lines: int, ellipsis: str
) -> tuple[str, ...]:
    """The text in lines that are not wider than ``width``, broken between words where that is possible.

    What does not fit into ``max_lines`` is left out, and the last line ends with the ellipsis.
    """
    lines, rest = list[str](), text
    while rest and len(lines) < max_lines:
        line = _first_line(rest, width, measure)
        lines.append(line)
        rest = rest[len(line) :]
    if rest:
        lines[-1] = _start_of(lines[-1], width - measure(ellipsis), measure) + ellipsis
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
