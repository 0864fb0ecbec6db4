"""What may be stored: the same for every saver, so that a program that works on one works on all.

A text has to be UTF-8 without the character NUL, which PostgreSQL does not take; JSON writes both otherwise. A number
has to fit into eight bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Final, get_args

from surehand.checkpoints.records import CallRow, CallState, ChannelRow, CheckpointRow, WriteRow
from surehand.errors import CheckpointConflict, CheckpointError, OptionError, shown

__all__ = [
    "MAX_NUMBER",
    "already_there",
    "check_call",
    "check_follows",
    "check_inside",
    "check_names",
    "check_page",
    "check_pruning",
    "check_put",
    "check_writes",
]

MAX_NUMBER: Final = 2**63 - 1


def check_names(thread_id: str, *others: str | None) -> None:
    """Check a thread's name, and those of what is looked for in it.

    Raises:
        CheckpointError: One of them cannot be stored.
    """
    _Place(thread_id, "").text("the thread's id", thread_id)
    for name in others:
        if name is not None:
            _Place(thread_id, "").text("a name", name)


def check_put(
    row: CheckpointRow,
    changes: Sequence[ChannelRow],
    after: str | None,
    drop: Sequence[str],
    inside: tuple[str, str] | None,
) -> None:
    """Check a checkpoint.

    Raises:
        CheckpointError: It, or one of its versions, cannot be stored, or makes no sense.
    """
    check_names(row.thread_id, row.namespace, after, *(inside or ()))
    place = _Place(row.thread_id, f"checkpoint {shown(row.id)}")
    place.text("its id", row.id)
    if not row.id or set(row.id) & set("/:"):  # namespaces of what runs inside of its step begin with it
        raise place.refused(f"its id is {shown(row.id)}", "Expected a text that is not empty, without '/' and ':'.")
    if row.parent is not None:
        place.text("its parent", row.parent)
    place.text("its body", row.body)
    place.number("its number", row.number)
    place.seconds("its created_at", row.created_at)
    _check_channels(place, row.channels)
    for change in changes:
        _check_change(place, change)
    if len({(change.key, change.version) for change in changes}) < len(changes):
        raise place.refused("it brings one version of one key twice", "Give each version once.")
    for name in drop:
        place.text("a namespace to drop", name)
        if not name or row.namespace == name or row.namespace.startswith(f"{name}/"):
            raise place.refused(f"it would be forgotten itself with the namespace {name!r}", "Drop others.")


def check_follows(row: CheckpointRow, *, after: str | None, newest: tuple[str, int] | None) -> None:
    """Check that a checkpoint is the next one.

    Args:
        row: The checkpoint.
        after: What its writer took for the id of the newest one.
        newest: The id and the number of the newest one; None where there is none.

    Raises:
        CheckpointConflict: Another one is the newest.
        CheckpointError: Its number is not the next one.
    """
    newest_id, number = newest or (None, 0)
    if newest_id != after:
        raise CheckpointConflict(thread_id=row.thread_id, where=f"checkpoint {row.id!r}")
    if row.number != number + 1:
        raise already_there(row, f"its number is {row.number} where {number + 1} is the next")


def check_inside(row: CheckpointRow, inside: tuple[str, str], newest: tuple[str, int] | None) -> None:
    """Check that a step in which a checkpoint was made has not ended.

    Args:
        row: The checkpoint.
        inside: The namespace, and the id of the checkpoint that the step begins from.
        newest: The id and the number of the newest one there; None where there is none.

    Raises:
        CheckpointConflict: Another one is the newest.
    """
    if newest is None or newest[0] != inside[1]:
        raise CheckpointConflict(thread_id=row.thread_id, where=f"checkpoint {inside[1]!r}")


def already_there(
    row: CheckpointRow, problem: str = "its id, or a version that it brings, is there"
) -> CheckpointError:
    """The error for a checkpoint that is in the way of one that is stored."""
    return CheckpointError(
        problem=problem,
        remedy="Each checkpoint of a namespace has an id and a number of its own, and writes versions of its number.",
        thread_id=row.thread_id,
        where=f"checkpoint {row.id!r}",
    )


def _check_channels(place: _Place, channels: Mapping[str, int]) -> None:
    for key, version in channels.items():
        place.text("a key of its channels", key)
        place.number(f"the version of key {shown(key)}", version)


def _check_change(place: _Place, change: ChannelRow) -> None:
    place.text("a key", change.key)
    name = f"key {shown(change.key)}"
    place.number(f"the version of {name}", change.version)
    place.text(f"the text of {name}", change.text)
    if change.previous is not None:
        place.number(f"the previous version of {name}", change.previous)
        if change.previous >= change.version:
            raise place.refused(
                f"version {change.version} of {name} cannot be a change of version {change.previous}",
                "A change is one of an earlier version.",
            )


def check_writes(thread_id: str, namespace: str, checkpoint_id: str, writes: Sequence[WriteRow]) -> None:
    """Check what became known after a checkpoint.

    Raises:
        CheckpointError: Something in it cannot be stored.
    """
    check_names(thread_id, namespace)
    place = _Place(thread_id, f"checkpoint {shown(checkpoint_id)}")
    place.text("its id", checkpoint_id)
    for row in writes:
        place.text("a task", row.task)
        place.text("a kind", row.kind)
        place.number("the number of a write", row.number, least=0)
        place.text("the text of a write", row.text)


def check_call(thread_id: str, row: CallRow, after: int | None) -> None:
    """Check what is to be known of a call.

    Raises:
        CheckpointError: It cannot be stored, or its version does not come after that of the row before.
    """
    check_names(thread_id)
    place = _Place(thread_id, f"call {shown(row.key)}")
    place.text("its key", row.key)
    place.text("its text", row.text)
    place.number("its version", row.version)
    place.seconds("its changed_at", row.changed_at)
    if after is not None:
        place.number("the version before", after)
    if row.state not in get_args(CallState):
        raise place.refused(f"its state is {shown(row.state)}", f"Expected one of {', '.join(get_args(CallState))}.")
    if row.version != (after or 0) + 1:
        raise place.refused(
            f"its version {row.version} does not come after {after or 0}",
            "The first row has version 1; each that takes its place has one more.",
        )


def check_page(before: int | None, limit: int | None) -> None:
    """Check which part of a history is asked for.

    Raises:
        OptionError: One of them is no whole number from 0 to ``MAX_NUMBER``.
    """
    for option, value in (("before", before), ("limit", limit)):
        if value is not None and not _is_number(value, least=0):
            raise OptionError(option=option, value=value, expected="a whole number from 0, or None")


def check_pruning(keep: int | None, older_than: float | None) -> None:
    """Check what is to be forgotten.

    Raises:
        OptionError: ``keep`` is no whole number from 1, or ``older_than`` no number of seconds from 0.
    """
    if keep is not None and not _is_number(keep):
        raise OptionError(option="keep", value=keep, expected="a whole number from 1, or None")
    if older_than is not None and not _is_span(older_than):
        raise OptionError(option="older_than", value=older_than, expected="seconds from 0, or None")


def _is_number(value: object, *, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= MAX_NUMBER


def _is_span(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


class _Place:
    """Where something is to be stored; says of single values that they cannot be."""

    def __init__(self, thread_id: object, where: str) -> None:
        self._thread_id = thread_id
        self._where = where

    def text(self, name: str, value: object) -> None:
        if not isinstance(value, str):
            raise self.refused(f"{name} is {shown(value)}", "Expected a text.")
        if "\0" in value or not _is_utf8(value):
            raise self.refused(
                f"{name} holds a NUL or half a surrogate pair ({shown(value)})", "Store what can be written as UTF-8."
            )

    def number(self, name: str, value: object, *, least: int = 1) -> None:
        if not _is_number(value, least=least):
            raise self.refused(f"{name} is {shown(value)}", f"Expected a whole number from {least} to {MAX_NUMBER}.")

    def seconds(self, name: str, value: object) -> None:
        if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
            raise self.refused(f"{name} is {shown(value)}", "Expected seconds since the epoch.")

    def refused(self, problem: str, remedy: str) -> CheckpointError:
        thread = self._thread_id if isinstance(self._thread_id, str) else shown(self._thread_id)
        return CheckpointError(problem=problem, remedy=remedy, thread_id=thread, where=self._where)


def _is_utf8(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
