"""The names of tools on the wire: providers take fewer characters than people and other programs use."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Final

from surehand.errors import ToolDefinitionError
from surehand.spec.names import MAX_NAME_LENGTH

__all__ = ["export_names", "original_names", "wire_name"]

_LEGAL: Final = re.compile(rf"[a-zA-Z_][a-zA-Z0-9_-]{{0,{MAX_NAME_LENGTH - 1}}}")
_ILLEGAL_RUN: Final = re.compile(r"[^a-zA-Z0-9_-]+")
_MARK_LENGTH: Final = 8
"""Hexadecimal digits that tell apart names which had to be cut."""


def wire_name(name: str) -> str:
    """The name in the form that every provider takes: 1 to 64 of the characters a-z, A-Z, 0-9, ``_`` and ``-``.

    It begins with a letter or ``_``, which Gemini insists on: ``3d_print`` becomes ``_3d_print``. A name of that form
    stays as it is. Accents are dropped, other scripts are written by code point (``查询`` becomes
    ``u67e5u8be2``), and what is left of illegal characters becomes one ``_`` each run. The same name always gives the
    same result.
    """
    if _LEGAL.fullmatch(name):
        return name
    plain = "".join(map(_plain_letters, unicodedata.normalize("NFKD", name)))
    wire = _ILLEGAL_RUN.sub("_", plain).strip("_").lstrip("-")
    if not wire:
        return f"tool_{_mark(name)}"
    if wire[0].isdecimal():
        wire = f"_{wire}"
    return wire if len(wire) <= MAX_NAME_LENGTH else f"{wire[: MAX_NAME_LENGTH - _MARK_LENGTH - 1]}_{_mark(name)}"


def _plain_letters(character: str) -> str:
    if character.isascii():
        return character
    if unicodedata.combining(character):
        return ""
    return f"u{ord(character):x}" if character.isalnum() else "_"


def _mark(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:_MARK_LENGTH]


def export_names(names: Iterable[str]) -> dict[str, str]:
    """Each name -> the name on the wire, for tools that are offered together.

    Raises:
        ToolDefinitionError: Two names would be the same on the wire.
    """
    wires: dict[str, str] = {}
    taken: dict[str, str] = {}
    for name in names:
        wire = wire_name(name)
        other = taken.setdefault(wire, name)
        if other != name:
            raise ToolDefinitionError(
                tool=name,
                problem=f"it and the tool {other!r} would both be called {wire!r} by the provider",
                remedy="Rename one of them.",
            )
        wires[name] = wire
    return wires


def original_names(wires: Mapping[str, str]) -> dict[str, str]:
    """The way back: the name on the wire -> the tool's own, for the result of ``export_names``."""
    return {wire: name for name, wire in wires.items()}
