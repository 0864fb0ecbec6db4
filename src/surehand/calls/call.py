"""The values that flow through the pipeline: a host, a turn, a call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

from surehand.calls.journal import CallJournal, CallKey, digest_of
from surehand.calls.redact import Redactor
from surehand.calls.render import Rendered
from surehand.calls.table import RegisteredTool, ToolTable
from surehand.concurrency import SYSTEM_CLOCK, Clock
from surehand.control import Command
from surehand.events import Listener
from surehand.freeze import freeze
from surehand.messages import AIMessage, ToolMessage
from surehand.outcomes import Outcome
from surehand.shapes import is_object

__all__ = ["Approve", "Call", "Host", "Turn"]

Approve = Callable[[str, Mapping[str, Any]], bool | str | Awaitable[bool | str]]
"""Asked with a tool's name and its typed arguments: True runs the call, False or a text (the reason) denies it."""

_NO_SLOT = nullcontext()
_SECRET_LENGTH: Final = 8
"""Shorter texts are not redacted: they would turn up by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What a node brings to every turn it runs."""

    table: ToolTable
    approve: Approve | None = None
    """None where nobody can be asked: calls that need an approval are denied."""
    listener: Listener | None = None
    journal: CallJournal | None = None
    allows_commands: bool = False
    """Whether a tool may return a Command for the graph."""
    clock: Clock = SYSTEM_CLOCK
    tags: tuple[str, ...] = ()


@dataclass(kw_only=True)
class Turn:
    """One AI message on its way to its answers, and what is shared by its calls."""

    host: Host
    message: AIMessage
    state: Any = None
    store: Any = None
    context: Any = None
    thread_id: str = ""
    messages_key: str = "messages"
    is_inline: bool = False
    """Whether the turn runs in the caller's thread without a loop, so that nothing in it may wait."""
    max_concurrency: int | None = None
    """How many of the calls may run at a time; None for no limit."""
    _slots: dict[str | None, asyncio.Semaphore] = field(default_factory=dict[str | None, asyncio.Semaphore])

    @cached_property
    def cut_off_by(self) -> str | None:
        """``length`` or ``content_filter`` where the message was cut off by it; None for a complete one."""
        reason = self.message.finish_reason
        return reason if reason in {"length", "content_filter"} else None

    @cached_property
    def shown_state(self) -> Any:
        """The state as tools may see it: they cannot change it."""
        return freeze(self.state)

    def redactor(self, call: Call) -> Redactor:
        """What must not leave with a text about this call: everything that was injected into it."""
        return Redactor(_secret_texts(self, call))

    def slot(self, tool: RegisteredTool) -> AbstractAsyncContextManager[None]:
        """Entered while a call of the tool runs; waits while as many run as may."""
        if self.max_concurrency is None and tool.options.concurrency is None:
            return _NO_SLOT
        return self._limited(tool)

    @asynccontextmanager
    async def _limited(self, tool: RegisteredTool) -> AsyncGenerator[None]:
        async with (
            self._semaphore(tool.spec.name, tool.options.concurrency),
            self._semaphore(None, self.max_concurrency),
        ):
            yield

    def _semaphore(self, key: str | None, limit: int | Any) -> AbstractAsyncContextManager[None]:
        if not isinstance(limit, int):
            return _NO_SLOT
        return self._slots.setdefault(key, asyncio.Semaphore(limit))


class Call(NamedTuple):
    """One call on its way through the pipeline; each step returns a changed copy.

    A named tuple, not a dataclass: a call is copied at most steps, and ``_replace`` costs a third of
    ``dataclasses.replace``.
    """

    id: str
    name: str
    """As the model sent it, until the call is resolved; then the tool's own."""
    raw: Any
    """The arguments as they came."""
    position: int
    """The call's place in its turn, from 0."""
    turn: Turn
    tool: RegisteredTool | None = None
    arguments: dict[str, Any] = {}  # noqa: RUF012 - never mutated; a named tuple's default
    """The arguments as an object, once they are parsed."""
    values: Mapping[str, Any] = {}
    """The typed arguments by parameter name, once they are validated."""
    repairs: tuple[str, ...] = ()
    outcome: Outcome | None = None
    """How the call ended; no further step before the answer looks at a call that has one."""
    value: Any = None
    """What the tool returned, untouched."""
    raises: BaseException | None = None
    """What is to be raised when the turn has ended, because nobody handles it."""
    command: Command | None = None
    """What the tool asks of the graph, besides its answer."""
    rendered: Rendered | None = None
    """The result, or the words about the failure, as the model is given them."""
    message: ToolMessage | None = None
    """The answer; every call ends with one."""
    is_journalled: bool = False
    """Whether the start of the call's body was recorded, so that its end has to be."""

    @property
    def key(self) -> CallKey:
        """The call's place in its conversation, for the journal."""
        return CallKey(
            thread_id=self.turn.thread_id,
            message_id=self.turn.message.id or "",
            position=self.position,
            call_id=self.id,
            tool=self.name,
            digest=digest_of(self.arguments),
        )


def _secret_texts(turn: Turn, call: Call) -> list[str]:
    """The texts that the host injected and the secrets among the arguments; short ones are no secrets."""
    injected = call.tool.injected if call.tool is not None and turn.context is not None else ()
    found = [_text_of(turn.context, name) for name in injected]
    found += [_revealed(value) for value in call.values.values()]
    return [text for text in found if text is not None and len(text) >= _SECRET_LENGTH]


def _text_of(context: Any, name: str) -> str | None:
    value = context.get(name) if is_object(context) else getattr(context, name, None)
    return value if isinstance(value, str) else _revealed(value)


def _revealed(value: Any) -> str | None:
    """The text in a ``SecretStr`` or the like."""
    reveal = getattr(value, "get_secret_value", None)
    secret = reveal() if callable(reveal) else None
    return secret if isinstance(secret, str) else None
