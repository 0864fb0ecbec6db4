"""The messages in a node's input, and answers in the form they came in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from surehand.dialects import Dialect, dialect_of
from surehand.errors import InputError
from surehand.messages import Message, ToolMessage, convert_to_messages
from surehand.messages.provider_items import dialect_of_item
from surehand.shapes import is_array, is_object

__all__ = ["Conversation", "messages_in"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What a node was given: a list of messages, or a state that holds one."""

    given: list[Any]
    """The messages as they came."""
    key: str
    """Where the state holds them."""
    is_list: bool
    """Whether they came as a bare list."""
    dialect: Dialect | None
    """The payload form they came in; None for Surehand's own."""

    @classmethod
    def of(cls, state: Any, key: str) -> Conversation:
        """The conversation in a node's input.

        Raises:
            InputError: The input is neither a list of messages nor a state that holds one.
        """
        given = messages_in(state, key)
        return cls(given=given, key=key, is_list=is_array(state), dialect=dialect_of(given))

    def messages(self) -> list[Message]:
        """All of them, as Surehand's own; read together, as one message of a provider's may hold several answers."""
        dialect = self.dialect
        if dialect is None or any(dialect_of_item(item) not in (None, dialect.NAME) for item in self.given):
            return convert_to_messages(self.given)  # each stretch by its own dialect: the provider has changed
        return dialect.read_messages(self.given)

    def last(self) -> Message | None:
        """The last one, without a look at the others; None where there is none."""
        if not self.given:
            return None
        newest = self.given[-1]
        if isinstance(newest, Message):
            return newest
        return self.messages()[-1]  # read with the others: a provider's message may be cut into several items

    def update(self, answers: Sequence[ToolMessage]) -> Any:
        """The answers as the input came: a list for a list, else ``{key: […]}``, in the dialect of the messages."""
        written: list[Any] = self.dialect.write_answers(answers, self.given) if self.dialect else list(answers)
        return written if self.is_list else {self.key: written}


def messages_in(state: Any, key: str) -> list[Any]:
    """The messages of a state: the list itself, or what a mapping or an object holds under the key.

    Raises:
        InputError: There is no list of messages.
    """
    found = state if is_array(state) else _held(state, key)
    if not is_array(found):
        raise InputError(
            problem=f"The state's {key!r} is no list of messages",
            value=found,
            remedy=f"Pass a list of messages, or a state whose {key!r} is one.",
        )
    return found


def _held(state: Any, key: str) -> Any:
    if is_object(state):
        return state.get(key)
    if isinstance(state, str | tuple) or not hasattr(state, key):
        raise InputError(
            problem=f"A node takes a list of messages or a state with {key!r}",
            value=state,
            remedy=f"Pass [AIMessage(…)] or {{{key!r}: [AIMessage(…)]}}.",
        )
    return getattr(state, key)
