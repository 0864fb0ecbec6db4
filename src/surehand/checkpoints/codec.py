"""Values as versioned JSON, and back: lossless, or refused when they are written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["Codec"]


class Codec:
    """Turns values into texts and texts into the same values; usable from several threads at a time.

    What JSON has keeps its type, and so do the standard library's values (tuples, sets, bytes, dates, decimals, UUIDs,
    paths, and the like), dicts with keys of any of these, Surehand's messages, ``Send``, ``Command``, ``Interrupt``,
    ``Answer``, ``Outcome`` and ``Item``. Enums, dataclasses, pydantic models and named tuples do where their class is
    one of those given: a text names its class, the name is looked up among these, and nothing is ever imported by it.

    Which object two places share is not kept: they come back as two equal values.
    """

    def __init__(self, types: Iterable[type] = ()) -> None:
        """Know these classes, and those that their fields are annotated with (see ``types_in``).

        Raises:
            OptionError: One is no class that can be stored.
        """
        self._types = tuple(types)

    def dumps(self, value: Any, *, where: str) -> str:
        """The value as a text: compact JSON, without characters that UTF-8 does not have.

        A message never fails: what stands in it (an artifact, arguments, what a provider sent beside) and cannot be
        stored is stored as what comes nearest, and logged as a warning.

        Args:
            value: What is stored; it is not changed and not kept.
            where: What it is, for errors: ``key 'plan'``.

        Raises:
            CheckpointError: It, or something in it, would not come back as it is; the message shows which and where.
        """
        raise NotImplementedError

    def loads(self, text: str, *, where: str) -> Any:
        """The value of a text.

        Takes time and memory in proportion to the text, whatever it holds.

        Raises:
            CheckpointError: It is damaged, another program's, a later version's, or of a class that is not known here.
        """
        raise NotImplementedError
