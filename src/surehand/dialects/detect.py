"""Which dialect a host's messages speak."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from surehand.dialects import anthropic_messages, openai_chat
from surehand.dialects.wire import payload_of
from surehand.messages import Message, ToolMessage
from surehand.shapes import items_of, mapping_of

__all__ = ["Dialect", "dialect_of"]


class Dialect(Protocol):
    """A way of writing messages that is not ours: reads a host's message, writes answers beside it."""

    @property
    def name(self) -> str:
        """The dialect's name: ``openai_chat`` or ``anthropic_messages``."""
        ...

    def read(self, message: Any) -> Message:
        """One message of the host's, as ours."""
        ...

    def write_answers(self, answers: Iterable[ToolMessage]) -> list[Any]:
        """The answers as the host's own messages; their number may differ."""
        ...


@dataclass(frozen=True, slots=True)
class _ModuleDialect:
    name: str
    _read: Callable[[Any], Message]
    _write: Callable[[Iterable[ToolMessage]], list[Any]]

    def read(self, message: Any) -> Message:
        return self._read(message)

    def write_answers(self, answers: Iterable[ToolMessage]) -> list[Any]:
        return self._write(answers)


_OPENAI: Final = _ModuleDialect("openai_chat", openai_chat.read_message, openai_chat.write_answers)
_ANTHROPIC: Final = _ModuleDialect(
    "anthropic_messages", anthropic_messages.read_message, anthropic_messages.write_answers
)


def dialect_of(messages: Sequence[object]) -> Dialect | None:
    """The dialect of the newest assistant's message; None where that is a message of ours, or nothing is recognised.

    Messages may be plain JSON or the objects that a provider's SDK makes of it.
    """
    for message in reversed(messages):
        if isinstance(message, Message):
            if message.type == "ai":
                return None
        elif (fields := payload_of(message)).get("role") == "assistant":
            return _ANTHROPIC if _has_tool_use(fields) else _OPENAI
    return None


def _has_tool_use(fields: Mapping[str, Any]) -> bool:
    blocks = [] if fields.get("tool_calls") else items_of(fields.get("content"))
    return any(mapping_of(block).get("type") == "tool_use" for block in blocks)
