"""The values that flow through the pipeline: a host, a turn, a call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from os import urandom
from typing import Any, NamedTuple, Protocol

from surehand.calls.breakers import Breakers
from surehand.calls.budget import RetryBudget
from surehand.calls.claims import Entry
from surehand.calls.journal import CallJournal, CallKey, digest_of, mark_of
from surehand.calls.middleware import Middleware
from surehand.calls.redaction import Redactor, secret_texts
from surehand.calls.results import Rendered, Renderers, ResultShelf
from surehand.calls.table import RegisteredTool, ToolTable
from surehand.calls.watch import Alarm
from surehand.concurrency import SYSTEM_CLOCK, Clock, RateWindow, Slots
from surehand.control import Command, Publisher
from surehand.events import Listener
from surehand.freeze import freeze
from surehand.interrupts import Interrupted
from surehand.messages import AIMessage, Message, ToolMessage
from surehand.outcomes import Outcome
from surehand.policy import UNSET, Limits, NoProgress, RateLimit, ToolOptions, Unset, seconds_or_none
from surehand.shapes import is_object
from surehand.stores import Reads

__all__ = ["Approve", "Call", "CallGuard", "Host", "Surroundings", "Through", "Turn", "timeout_of"]

Approve = Callable[[str, Mapping[str, Any]], bool | str | Awaitable[bool | str]]
"""Asked with a tool's name and its typed arguments: True runs the call, False or a text (the reason) denies it."""

GiveBack = Callable[[], object]
"""Gives back what a call keeps from others, such as a place; it neither waits nor raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What a node brings to every turn it runs."""

    table: ToolTable
    approve: Approve | None = None
    """None where whoever resumes the run is asked, and where nobody can be: there such calls are denied."""
    listener: Listener | None = None
    allows_commands: bool = False
    """Whether a tool may return a Command for the graph."""
    clock: Clock = SYSTEM_CLOCK
    tags: tuple[str, ...] = ()
    middleware: tuple[Middleware, ...] = ()
    """Run around every call that is ready to run; the first one is the outermost."""
    fatal: tuple[type[BaseException], ...] = ()
    """Exceptions that end the turn at once."""
    is_sequential: bool = False
    """Whether the calls of a turn run one after another."""
    stops_on_failure: bool = False
    """Whether, one after another, the calls after a failed one are not run."""
    groups: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many calls of a group of tools may run at a time."""
    limits: Limits | None = None
    no_progress: NoProgress | None = None
    retry_budget: int | None = None
    """How many retries the calls of one turn may make together; None for no limit."""
    shelf: ResultShelf | None = None
    """Keeps the results that are too long for the model."""
    max_turn_output: int | None = None
    """The most characters that the results of one turn may have together; None for no limit."""
    renderers: Renderers | None = None
    """How the host's own types are written for the model; None for what holds everywhere."""
    breakers: Breakers | None = None
    """None where no tool has a circuit breaker."""
    slots: Slots = field(default_factory=Slots)
    """The places that are limited, for all turns of the node."""
    windows: dict[str, RateWindow] = field(default_factory=dict[str, RateWindow])
    """The starts of each tool whose rate is limited."""

    def window(self, tool: RegisteredTool | None) -> RateWindow | None:
        """When the tool's calls started; None where their rate is not limited."""
        limit = None if tool is None else tool.options.rate_limit
        if tool is None or not isinstance(limit, RateLimit):
            return None
        return self.windows.setdefault(tool.spec.name, RateWindow(limit, self.clock))


@dataclass(kw_only=True)
class Turn:
    """One AI message on its way to its answers, and what is shared by its calls."""

    host: Host
    message: AIMessage
    conversation: Sequence[Message] = ()
    """The messages around it, the oldest first; empty where they are not known."""
    state: Any = None
    store: Any = None
    context: Any = None
    thread_id: str = ""
    place: str = ""
    """What tells the run from others, for messages without an id; empty where the conversation does."""
    journal: CallJournal | None = None
    """Where the calls are recorded; None where nothing is."""
    retries_failures: bool = True
    """Whether calls that are recorded as failed may be run again: not where a run only goes on."""
    messages_key: str = "messages"
    is_direct: bool = False
    """Whether it is one call that a program makes, and the message was made for it."""
    is_inline: bool = False
    """Whether the turn runs without a loop, so that nothing in it may await; what has to wait blocks the caller."""
    max_concurrency: int | None = None
    """How many of the calls may run at a time; None for no limit."""
    timeout: float | Unset | None = UNSET
    """Seconds that each call of this run may take, whatever its tool says; None for no limit."""
    guard: CallGuard | None = None
    """Says which calls must not run; None where nothing is guarded."""
    retries: RetryBudget | None = None
    """The retries that are left; None for no limit."""
    stream: Publisher | None = None
    """Takes the events of the calls for whoever reads the graph's stream; None where nobody reads them."""
    lose: Callable[[Call], None] | None = None
    """Takes a call whose body goes on though it was cancelled: it is answered, and nobody waits for it any longer."""
    under_way: dict[int, Callable[[], Outcome]] = field(default_factory=dict[int, "Callable[[], Outcome]"])
    """What is known so far of calls that got as far as being attempted, by position: the figures of an outcome."""
    lost: set[int] = field(default_factory=set[int])
    """The positions of calls that were answered though their bodies went on; what they come to goes nowhere."""
    had: Callable[[str], bool] | None = None
    """Whether a tool of this name was there before in the conversation; None where nobody knows."""
    shared: dict[Any, Any] = field(default_factory=dict[Any, Any])
    """What middlewares keep for the length of the turn."""
    held: dict[int, list[GiveBack]] = field(default_factory=dict[int, "list[GiveBack]"])
    """What calls keep from others while they run, by position: how it is given back."""
    surroundings: Surroundings | None = None
    """What stands around the calls in a graph that is not ours; None in ours, and outside of any."""
    reads: dict[int, Reads] = field(default_factory=dict[int, Reads])
    """What calls have read from the store, by position: secrets among it stay out of the words about a failure."""

    def may_retry(self) -> bool:
        """Whether one more retry is left in this turn; it is taken then."""
        return self.retries is None or self.retries.take()

    def holding(self, position: int, give_back: GiveBack) -> AbstractContextManager[None]:
        """Entered while a call keeps something from others, which is given back once: at the end, or by ``let_go``."""
        return _Holding(self.held.setdefault(position, []), give_back)

    def let_go(self, position: int) -> None:
        """Give back what a call keeps from others: it goes on, and nobody knows for how long."""
        held = self.held.get(position, [])
        while held:
            held.pop()()

    @cached_property
    def is_cut_off(self) -> bool:
        """Whether it is known that something of the message is missing."""
        return self.message.is_cut_off

    @cached_property
    def mark(self) -> str:
        """What tells the message from others, and is the same each time the turn is run: its id, where it has one.

        Those of a payload have none, and the ids of its calls may repeat: there the conversation up to it has to do. It
        does so within one conversation or run; of what was said word for word by two people, each has his own.
        """
        if self.message.id:
            return self.message.id
        before = takewhile(lambda message: message is not self.message, self.conversation)
        place = self.place or ("" if self.thread_id else urandom(8).hex())
        return f"after {mark_of([*before, self.message])} in {place}"

    @cached_property
    def alarm(self) -> Alarm:
        """Rings when the time of a body is over; to be put away when none is left."""
        return Alarm(self.host.clock)

    @cached_property
    def shown_state(self) -> Any:
        """The state as tools may see it: they cannot change it."""
        return freeze(self.state)

    def show(self, answer: ToolMessage) -> None:
        """Let the calls that follow in a sequence see an answer among the messages of their state."""
        messages = self.state.get(self.messages_key) if is_object(self.state) else None
        if isinstance(messages, list):
            self.state = {**self.state, self.messages_key: [*messages, answer]}
            self.__dict__.pop("shown_state", None)

    def redactor(self, call: Call) -> Redactor:
        """What must not leave with a text about this call: everything that was injected into it."""
        injections = call.tool.spec.injections if call.tool is not None else ()
        read = tuple(self.reads.get(call.position, ()))
        secrets = secret_texts(injections, call.values, state=self.state, context=self.context, read=read)
        return Redactor(secrets, sent=call.arguments)


def timeout_of(config: Mapping[str, Any] | None) -> float | Unset | None:
    """The time limit that a run's configuration sets for each of its calls; UNSET where it sets none.

    Raises:
        OptionError: It is neither None nor a number of seconds above 0.
    """
    timeout = (config or {}).get("timeout", UNSET)
    return timeout if isinstance(timeout, Unset) else seconds_or_none("timeout", timeout)


class _Holding:
    """A class, not a generator: that would write its own frames into the exceptions of tools."""

    __slots__ = ("_give_back", "_held")

    def __init__(self, held: list[GiveBack], give_back: GiveBack) -> None:
        self._held = held
        self._give_back = give_back

    def __enter__(self) -> None:
        self._held.append(self._give_back)

    def __exit__(self, *_: object) -> None:
        if self._give_back in self._held:
            self._held.remove(self._give_back)
            self._give_back()


class CallGuard(Protocol):
    """Says which calls of a turn must not run, and what there is to say about those that did."""

    def check(self, call: Call) -> Call:
        """The call, ended where it must not run; asked in call order, before any body of the turn starts."""
        ...

    def after(self, call: Call) -> Call:
        """The call with its answer, and what is to be said about it."""
        ...


Through = Callable[["Call"], Awaitable["Call"]]
"""Brings a call from its start to its answer, or to what it asks."""


class Surroundings(Protocol):
    """What a graph that is not ours has around the calls of one of its turns.

    It speaks of questions, commands and wrappers in words of its own, which are made into ours here, so that no step of
    the pipeline knows them.
    """

    @property
    def needs_loop(self) -> bool:
        """Whether a call can only go through it where there is an event loop."""
        ...

    async def around(self, call: Call, through: Through) -> Call:
        """The call at its end, after it went through, as often as is asked for; it is not resolved yet."""
        ...

    def asked(self, call: Call, error: BaseException) -> Interrupted | None:
        """The question that an exception of a body stands for; None where it is a failure."""
        ...

    def received(self, call: Call, value: Any) -> Any:
        """What a body returned, in our own words.

        Raises:
            Exception: It cannot be the answer of the call; that is the tool's failure.
        """
        ...


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
    sent: dict[str, Any] | None = None
    """The arguments that the model sent, where a middleware changed them."""
    number: int = 0
    """Where a middleware runs the call with several arguments, which of them these are, from 0."""
    is_rerun: bool = False
    """Whether a middleware runs the call once more, after its body was started."""
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
    is_fatal: bool = False
    """Whether what it raised ends the turn."""
    entry: Entry | None = None
    """What it has to do with the journal; None where there is none, and outside of the steps that ask it."""
    is_approved: bool = False
    """Whether a human agreed to it."""
    asks: Interrupted | None = None
    """The questions that it waits for an answer to; it has no answer itself then."""

    @property
    def limits(self) -> tuple[float | None, float | None]:
        """Seconds that an attempt may take in all, and without a sign of life; None for no limit."""
        options = self.tool.options if self.tool is not None else ToolOptions()
        timeout, idle = options.timeout, options.idle_timeout
        if not isinstance(self.turn.timeout, Unset):
            timeout = self.turn.timeout
        return (
            timeout if isinstance(timeout, float | int) else None,
            idle if isinstance(idle, float | int) else None,
        )

    @property
    def key(self) -> CallKey:
        """The call's place in its conversation, for the journal."""
        return CallKey(
            thread_id=self.turn.thread_id,
            message_id=self.turn.mark,
            position=self.position,
            call_id=self.id,
            tool=self.name,
            digest=digest_of(self.arguments if self.sent is None else self.sent),
            number=self.number,
        )
