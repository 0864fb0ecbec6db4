"""The values that flow through the pipeline: a host, a turn, a call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from surehand.calls.journal import CallJournal, CallKey, digest_of
from surehand.calls.redact import Redactor
from surehand.calls.render import Rendered
from surehand.calls.secrets import secret_texts
from surehand.calls.table import RegisteredTool, ToolTable
from surehand.concurrency import SYSTEM_CLOCK, Clock
from surehand.control import Command
from surehand.events import Listener
from surehand.freeze import freeze
from surehand.messages import AIMessage, ToolMessage
from surehand.outcomes import Outcome

__all__ = ["Approve", "Call", "Host", "Turn"]

Approve = Callable[[str, Mapping[str, Any]], bool | str | Awaitable[bool | str]]
"""Asked with a tool's name and its typed arguments: True runs the call, False or a text (the reason) denies it."""

_NO_SLOT = nullcontext()


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
    """Whether the turn runs without a loop, so that nothing in it may await; what has to wait blocks the caller."""
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
        injections = call.tool.spec.injections if call.tool is not None else ()
        return Redactor(secret_texts(injections, call.values, state=self.state, context=self.context))

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
    is_told: bool = False
    """Whether the tool's own rule took up a failure of its arguments: a direct caller then gets its words."""
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
