"""Which dialect a host's messages speak."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, cast

from surehand.dialects.wire import payload_of
from surehand.messages import Message, ToolMessage

__all__ = ["Dialect", "dialect_of", "owner_of"]


class Dialect(Protocol):
    """A way of writing messages that is not ours; each is a module of this package.

    A host's item is a message, a part of one where the dialect cuts them so, or a provider's whole reply.
    """

    @property
    def NAME(self) -> str:  # noqa: N802 - a module's constant
        """The module's name, such as ``openai_chat``."""
        ...

    def knows(self, item: object, fields: Mapping[str, Any]) -> bool:
        """Whether a host's item is what a model said, in this dialect and no other.

        Args:
            item: As the host holds it: plain JSON, or an object of a provider's SDK.
            fields: The same as a mapping; empty where it has no such form.
        """
        ...

    def owns(self, fields: Mapping[str, Any]) -> bool:
        """Whether only this dialect can read an item, whoever said it: it has not the usual spelling.

        The usual one is a role, a content, and calls under ``tool_calls`` or as blocks with a type; read by its rules,
        an item of another would lose the calls in it without a word.

        Args:
            fields: The item as a mapping.
        """
        ...

    def read_messages(self, given: Sequence[object], /) -> list[Message]:
        """The host's items as messages, calls and answers paired."""
        ...

    def write_answers(self, answers: Iterable[ToolMessage], /, given: Sequence[object] = ()) -> list[Any]:
        """The answers as the host's own items; their number may differ.

        Args:
            answers: One for each call, in call order.
            given: The host's items that they answer, for what only those tell, such as which calls came without an id.
        """
        ...


_MODULES: Final = (
    "langchain_messages",
    "bedrock_converse",
    "gemini",
    "cohere_chat",
    "ollama_chat",
    "openai_responses",
    "anthropic_messages",
    "openai_chat",
)
"""The dialects, those first whose marks nobody else has."""


@functools.cache
def _dialects() -> list[Dialect]:
    # Imported when a host's first foreign message is looked at: programs with our own messages need none of them.
    return [cast("Dialect", importlib.import_module(f"surehand.dialects.{name}")) for name in _MODULES]


def dialect_of(messages: Sequence[object]) -> Dialect | None:
    """The dialect of what the model said last; None where that is a message of ours, or nothing is recognised.

    Messages may be plain JSON or the objects that a provider's SDK makes of it.
    """
    for message in reversed(messages):
        if isinstance(message, Message):
            if message.type == "ai":
                return None
            continue
        fields = payload_of(message)
        for dialect in _dialects():
            if dialect.knows(message, fields):
                return dialect
    return None


def owner_of(fields: Mapping[str, Any]) -> str | None:
    """The name of the dialect that alone can read an item; None for what has the usual spelling."""
    return next((dialect.NAME for dialect in _dialects() if dialect.owns(fields)), None)
