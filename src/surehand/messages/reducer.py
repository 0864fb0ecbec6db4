"""How a list of messages takes in new ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import urandom

from surehand.errors import InputError
from surehand.messages.ai import AIMessage, AIMessageChunk
from surehand.messages.base import REMOVE_ALL_MESSAGES, Message, RemoveMessage, are_messages
from surehand.messages.coercion import as_items, convert_to_messages
from surehand.shapes import is_array

__all__ = ["add_messages", "as_new", "with_id"]


def add_messages(left: object, right: object) -> list[Message]:
    """``left`` with the messages of ``right`` appended, replaced by id where they are, or removed.

    Both sides take whatever ``convert_to_messages`` takes; ``left`` may be None. Messages without an id get one, in a
    copy: neither argument is changed. Use it as a reducer: ``Annotated[list, add_messages]``.

    Raises:
        InputError: A side is no message or list of messages, or a ``RemoveMessage`` names an id that is not there.
    """
    # From the back: what stands before the last request to remove everything need not be looked at.
    kept = [] if left is None else convert_to_messages(left)
    new = _read_after(kept, right)
    for position in reversed(range(len(new))):
        if new[position].id == REMOVE_ALL_MESSAGES and isinstance(new[position], RemoveMessage):
            kept, new = [], new[position + 1 :]
            break
    # The usual case, a step's new messages: nothing to change in what is there, and nothing to look up in it.
    base = [m if m.id is not None and not isinstance(m, AIMessageChunk) else with_id(m) for m in kept]
    return base + [with_id(message) for message in new] if _are_new(base, new) else _merge(base, new)


def _read_after(kept: list[Message], right: object) -> list[Message]:
    """The messages of ``right``; where they came without ids, answers are found to belong to the newest calls."""
    if is_array(right) and are_messages(right):
        return right
    start = next((place for place in reversed(range(len(kept))) if kept[place].type == "ai"), len(kept))
    known = kept[start:]
    return convert_to_messages([*known, *as_items(right)])[len(known) :]


def _are_new(base: list[Message], new: list[Message]) -> bool:
    """Whether all that there is to do is to append."""
    ids = [message.id for message in new if message.id is not None]
    if not ids:
        return True
    if len(ids) > len(set(ids)) or any(isinstance(message, RemoveMessage) for message in new):
        return False
    return {message.id for message in base}.isdisjoint(ids)


def with_id(message: Message) -> Message:
    """The message whole, with an id; as it is where it has one."""
    if isinstance(message, AIMessageChunk):
        message = message.to_message()
    return message if message.id is not None else message._with_id(urandom(16).hex())  # pyright: ignore[reportPrivateUsage] # noqa: SLF001 - one family of modules


def as_new(reply: AIMessage, messages: Sequence[Message]) -> AIMessage:
    """A model's reply, as a message that is not among those there are.

    Some providers give one id to several replies; ``add_messages`` would take the new one for a change of the old one.
    """
    is_known = reply.id is not None and any(message.id == reply.id for message in messages)
    return reply.replace(id=None) if is_known else reply


def _merge(base: list[Message], new: Iterable[Message]) -> list[Message]:
    merged: list[Message | None] = list(base)
    places = {message.id: place for place, message in enumerate(base)}
    for message in new:
        place = places.get(message.id)
        if isinstance(message, RemoveMessage):
            if place is None or merged[place] is None:
                raise InputError(
                    problem="There is no message of this id to remove",
                    value=message.id,
                    remedy="Name the id of a message that the list holds, or REMOVE_ALL_MESSAGES.",
                )
            merged[place] = None
        elif place is None:
            finished = with_id(message)
            places[finished.id] = len(merged)
            merged.append(finished)
        else:
            # A message that follows the removal of its own id takes the old place.
            merged[place] = with_id(message)
    return [message for message in merged if message is not None]
