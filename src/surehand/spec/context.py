"""What a running tool may ask about its own call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic

from typing_extensions import TypeVar

from surehand.interrupts import interrupt

__all__ = ["ToolContext"]

HostT = TypeVar("HostT", default=Any)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext(Generic[HostT]):
    """One attempt of one call, seen from inside the tool; injected into any parameter annotated with it.

    ``ToolContext[MyDeps]`` names the type of ``context``.

    Example:
        @tool
        async def send(text: str, ctx: ToolContext) -> str:
            ctx.progress("connecting")
            return await api.send(text, key=ctx.idempotency_key)
    """

    call_id: str
    """The id of the call that is being answered."""
    tool_name: str
    """The name the tool is registered under."""
    state: Any = None
    """The state of the node, read-only; None outside a node."""
    store: Any = None
    """The store of the node or graph; None without one."""
    attempt: int = 1
    """The number of this attempt, from 1."""
    deadline: float | None = None
    """When the attempt times out, on the clock of ``time.monotonic``, in seconds; None without a timeout."""
    idempotency_key: str = ""
    """The same for every attempt of a call, also after a crash; for services that refuse to act twice."""
    thread_id: str = ""
    """The conversation, as the run's configuration names it; empty where it names none."""
    context: HostT = None  # type: ignore[assignment]  # without a host there is no object of its type
    """The host's own object, as given to ``invoke(…, context=…)``; None without one."""
    on_progress: Callable[[Any], None] | None = field(default=None, repr=False)
    """Takes what ``progress`` is given; None drops it."""
    is_approved: bool = False
    """Whether a human agreed to this call: a body that raises ``ApprovalRequired`` need not do so again."""
    on_heartbeat: Callable[[], None] | None = field(default=None, repr=False)
    """Told by ``heartbeat``; None drops it."""
    on_interrupt: Callable[..., Any] | None = field(default=None, repr=False)
    """Asks for ``interrupt``; None asks as ``surehand.interrupt`` would here."""

    def heartbeat(self) -> None:
        """Say that the body is alive: the time of an ``idle_timeout`` begins anew."""
        if self.on_heartbeat is not None:
            self.on_heartbeat()

    def progress(self, value: Any) -> None:
        """Announce an intermediate value to whoever listens; it is never part of the result, and a sign of life."""
        if self.on_progress is not None:
            self.on_progress(value)

    def interrupt(self, value: Any, *, key: str | None = None, expires_in: float | None = None) -> Any:
        """Ask whoever runs the graph, and return the answer; the run stops meanwhile, as long as it takes.

        This call alone is run again when the answer is there, from its first line, and each of its questions that has
        an answer returns it. So ask before anything is done that must not be done twice. A question belongs to the call
        and to its arguments. It is no ``Exception`` that stops the run: ``except Exception`` lets it through.

        Args:
            value: What is asked, as JSON can carry it.
            key: Tells the question from others of the call; None counts them in the order in which they are asked,
                which has to be the same each time.
            expires_in: Seconds until it may no longer be answered; None for ever.

        Raises:
            InterruptError: Nobody could answer: there is no graph with a checkpointer and a thread around the call, or
                the tool runs in a process of its own.
            InterruptExpired: Nobody answered in time; left uncaught, it is told to the model.
        """
        ask = interrupt if self.on_interrupt is None else self.on_interrupt
        return ask(value, key=key, expires_in=expires_in)
