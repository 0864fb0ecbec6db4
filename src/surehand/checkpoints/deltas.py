"""What changed in one key of the state since its last version, so that a conversation is stored once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from surehand.checkpoints.codec import Codec

__all__ = ["Change", "Track", "restore"]


class Change(NamedTuple):
    """What a ``ChannelRow`` of the new version holds."""

    previous: int | None
    """The version that the text is a change of; None where it begins anew."""
    text: str


class Track:
    """Follows one key through the versions of a run.

    Lists are stored as what was put in and what was kept, dicts as the keys that changed, texts that grow as what was
    added; everything else whole. A chain of changes begins anew before it is about twice as long as the whole value.
    """

    def __init__(self, codec: Codec, where: str) -> None:
        """Follow a key that has no version yet; ``where`` names it in errors: ``key 'plan'``."""
        self._codec = codec
        self._where = where

    @classmethod
    def restored(cls, codec: Codec, where: str, texts: Sequence[str], version: int) -> Track:
        """Go on from a stored version; ``value`` is then what was stored.

        Args:
            codec: Reads the texts and writes the next.
            where: Names the key in errors.
            texts: The chain of the version, the oldest first, as ``LoadedCheckpoint.channels`` has it.
            version: The version that they end at, as ``CheckpointRow.channels`` has it.

        Raises:
            CheckpointError: The texts cannot be read, or are no chain.
        """
        raise NotImplementedError

    @property
    def value(self) -> Any:
        """The value of the newest version; None before the first."""
        raise NotImplementedError

    @property
    def version(self) -> int | None:
        """The newest version; None before the first."""
        raise NotImplementedError

    def change(self, value: Any, version: int) -> Change | None:
        """What is to be stored under a new version for the key to have this value; None where it has it already.

        Ask for keys that were written; for one that was not, the version stays. A Track counts on what it returned
        being stored: where storing failed, throw it away and restore another.

        Raises:
            CheckpointError: The value cannot be stored; the Track is as it was.
        """
        raise NotImplementedError


def restore(codec: Codec, texts: Sequence[str], *, where: str) -> Any:
    """The value at the end of a chain of texts, the oldest first, for who does not go on from it.

    Raises:
        CheckpointError: The texts cannot be read, or are no chain.
    """
    raise NotImplementedError
