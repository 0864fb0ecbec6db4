"""What changed in one key of the state since its last version, so that a conversation is stored once.

A change of a list says what the new one is made of: ``[0, 7]`` for the items 0 to 6 of the old one, ``{"put": [...]}``
for others. A change of a dict says which keys are set and which are dropped, one of a text what is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from surehand.checkpoints.codec.comparing import ALL, NOTHING, Seen, Sizes, Whole, is_dict, is_list, seen_as, shares
from surehand.checkpoints.codec.reading import Damaged, list_of, object_of, text_of
from surehand.checkpoints.codec.texts import Codec
from surehand.errors import CheckpointError
from surehand.shapes import is_array

__all__ = ["Change", "Track"]

_LITTLE: Final = 1_000
"""Characters, up to which it does not matter how much longer than its value a chain is."""
_ROW: Final = 200
"""What a row of a chain costs who loads it beside its text, in characters."""


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
        self._value: Any = None
        self._version: int | None = None
        self._seen: Seen = Whole("")
        self._cost = 0
        """Of the chain, in characters."""

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
        value, sizes = _read(codec, texts, where)
        track = cls(codec, where)
        track._value, track._version = value, version
        track._seen = seen_as(value, track._text, sizes)
        track._cost = sum(len(text) + _ROW for text in texts)
        return track

    @property
    def value(self) -> Any:
        """The value of the newest version; None before the first."""
        return self._value

    @property
    def version(self) -> int | None:
        """The newest version; None before the first."""
        return self._version

    def change(self, value: Any, version: int) -> Change | None:
        """What is to be stored under a new version for the key to have this value; None where it has it already.

        Ask for keys that were written; for one that was not, the version stays. A Track counts on what it returned
        being stored: where storing failed, throw it away and restore another.

        Raises:
            CheckpointError: The value cannot be stored; the Track is as it was.
        """
        seen, change = self._compared(value)
        if change is NOTHING:
            self._value, self._seen = value, seen
            return None
        previous, text = self._version, self._change_text(change)
        cost = self._cost
        if text is not None:
            seen.weigh(len(text), anew=False)
            cost += len(text) + _ROW
        if text is None or len(text) > seen.size or cost > 2 * max(seen.size, _LITTLE):
            previous, text = None, self._text(value)
            seen.weigh(len(text), anew=True)
            cost = len(text) + _ROW
        self._value, self._version, self._seen, self._cost = value, version, seen, cost
        return Change(previous, text)

    def _compared(self, value: Any) -> tuple[Seen, Any]:
        try:
            seen = seen_as(value, self._text)
        except CheckpointError:
            self._text(value)  # of the whole value, so that the error shows the way from there
            raise
        return seen, ALL if self._version is None else seen.since(self._seen, value, self._text)

    def _text(self, value: Any) -> str:
        return self._codec.dumps(value, where=self._where)

    def _change_text(self, change: Any) -> str | None:
        """The text of a change; None where the whole value is to be stored."""
        if change is ALL:
            return None
        try:
            return self._codec.dumps_change(change, where=self._where)
        except CheckpointError:
            return None  # what is wrong is told of the whole value; it may be deep enough for a change to be too deep


def _read(codec: Codec, texts: Sequence[str], where: str) -> tuple[Any, Sizes]:
    """The value of a chain, and the sizes of its parts."""
    if not texts:
        raise _broken("there is no text", where)
    value = codec.loads(texts[0], where=where)
    sizes = shares(_parts(value), len(texts[0]))
    for text in texts[1:]:
        kind, change = codec.read(text, where=where)
        if kind != "change":
            raise _broken("the text of a whole value stands among changes", where)
        try:
            value, sizes = _changed(value, sizes, change, len(text))
        except Damaged as damage:
            raise _broken(damage.problem, where) from damage
    return value, sizes


def _broken(problem: str, where: str) -> CheckpointError:
    return CheckpointError(
        problem=f"the texts are no chain of versions: {problem}",
        remedy="Restore them from a copy, or go on from an earlier checkpoint.",
        where=where,
    )


def _parts(value: Any) -> list[Any]:
    """What is compared one by one."""
    if is_list(value):
        return value
    return [*value.values()] if is_dict(value) else []


def _changed(value: Any, sizes: Sizes, change: Any, length: int) -> tuple[Any, Sizes]:
    """A value after a change whose text has this length, with the sizes of its parts."""
    if isinstance(value, str):
        return value + text_of(object_of(change).get("add")), sizes
    if is_list(value):
        return _changed_list(value, sizes, list_of(change), length)
    if is_dict(value):
        return _changed_dict(value, sizes, object_of(change), length)
    raise Damaged("a value is changed that has no parts")


def _changed_list(old: list[Any], sizes: Sizes, pieces: list[Any], length: int) -> tuple[list[Any], Sizes]:
    puts = [list_of(object_of(piece).get("put")) for piece in pieces if not is_array(piece)]
    put_sizes = iter(shares(chain.from_iterable(puts), length))
    made: list[Any] = []
    made_sizes: Sizes = []
    left = len(old)
    for piece in pieces:
        if is_array(piece):
            start, end = _kept(piece, left)
            left -= end - start
            made += old[start:end]
            made_sizes += sizes[start:end]
        else:
            made += piece["put"]
            made_sizes += islice(put_sizes, len(piece["put"]))
    return made, made_sizes


def _kept(piece: list[Any], left: int) -> tuple[int, int]:
    """Which items are kept; no more than are left of the old list, which could else double with every line."""
    start, end = list_of(piece, 2)
    if type(start) is not int or type(end) is not int or not 0 <= start <= end or end - start > left:
        raise Damaged(f"there are no items {start!r} to {end!r} to be kept")
    return start, end


def _changed_dict(
    old: dict[Any, Any], sizes: Sizes, change: dict[str, Any], length: int
) -> tuple[dict[Any, Any], Sizes]:
    added = change.get("set")
    if not is_dict(added):
        raise Damaged("it is not said which keys are set")
    left = dict(zip(old, sizes, strict=True))
    for key in list_of(change.get("drop")):
        if left.pop(key, None) is None:
            raise Damaged(f"there is no key {key!r:.80} to be dropped")
    made_sizes = left | dict(zip(added, shares(added.values(), length), strict=True))
    made = {key: old[key] for key in left} | added
    return made, [*made_sizes.values()]
