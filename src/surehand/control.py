"""How tools and nodes speak to the graph they run in, without importing it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Generic, Protocol, TypedDict, TypeGuard

from typing_extensions import TypeVar

from surehand.policy import UNSET
from surehand.shapes import is_a

__all__ = ["END", "START", "Command", "Publisher", "RunConfig", "Runtime", "Send", "current_runtime", "is_command"]

START: Final = "__start__"
"""The name of a graph's entry."""
END: Final = "__end__"
"""The name of a graph's exit."""


class RunConfig(TypedDict, total=False):
    """The configuration of a run; LangGraph's spelling."""

    configurable: dict[str, Any]
    """Free-form; ``thread_id`` names the conversation."""
    recursion_limit: int
    """How many steps a graph may take; 25 by default."""
    max_concurrency: int
    """How many nodes, or calls of one turn, may run at a time; unlimited by default."""
    timeout: float | None
    """Seconds that each call of this run may take, whatever its tool says; None for no limit."""
    tags: list[str]
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Send:
    """Run ``node`` with ``arg`` in place of the state."""

    node: str
    arg: Any


TargetT = TypeVar("TargetT", default=str)


@dataclass(frozen=True, kw_only=True)  # with slots, Command[…](…) fails before Python 3.12
class Command(Generic[TargetT]):
    """What a node, or a tool where the node allows it, asks of the graph.

    ``Command[Literal["b", "c"]]`` as a return annotation names the nodes that ``goto`` may lead to.
    """

    PARENT: ClassVar[str] = "__parent__"

    graph: str | None = None
    """None for the graph the node is in; ``Command.PARENT`` for the graph around it."""
    update: Any = None
    """A partial state, merged by the graph's reducers; None changes nothing."""
    resume: Any = UNSET
    """The answer to the question that a run waits for, or a mapping of answers by the questions' ids; any value is an
    answer, also None. Only as the input of a run."""
    goto: str | Send | Sequence[str | Send] = ()
    """Where to go on, besides the static edges."""

    @property
    def targets(self) -> tuple[str | Send, ...]:
        """``goto`` as a tuple."""
        return (self.goto,) if isinstance(self.goto, str | Send) else tuple(self.goto)


def is_command(value: object) -> TypeGuard[Command[Any]]:
    """Whether the value is a command (a plain ``isinstance`` leaves a type checker with an unknown parameter)."""
    return is_a(value, Command)


class Publisher(Protocol):
    """Puts what happens in a node on the graph's stream, with where it happens."""

    def __call__(self, mode: str, item: Any) -> None:
        """Put a value on the stream of a mode; on a thread, wait until there is room for it."""
        ...

    @property
    def is_full(self) -> bool:
        """Whether the reader is so far behind that whoever can wait should."""
        ...

    async def room(self) -> None:
        """Wait until there is room."""
        ...

    def within(self, call_id: str) -> Publisher:
        """The same for what happens in one call."""
        ...


class KeptRun(Protocol):
    """What keeps a run, as far as nodes need to know it."""

    @property
    def saver(self) -> Any:
        """The ``Checkpointer``."""
        ...

    @property
    def codec(self) -> Any:
        """How values are written for it."""
        ...

    @property
    def thread_id(self) -> str:
        """The thread that the run is kept under."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """What a graph hands to the nodes it runs."""

    config: RunConfig = field(default_factory=RunConfig)
    store: Any = None
    """The store the graph was compiled with; None without one."""
    context: Any = None
    """The host's own object, as given to ``invoke(…, context=…)``."""
    emit: Callable[[Any], None] | None = None
    """Puts a value on the graph's ``custom`` stream; None outside a stream."""
    publish: Publisher | None = None
    """Puts a value on the stream of a mode; None outside a stream."""
    wanted: frozenset[str] = frozenset()
    """The modes that somebody reads."""
    keeping: KeptRun | None = None
    """What keeps the run, for what runs inside of this node; None where it is not kept."""
    namespace: str = ""
    """Where in the thread what runs inside of this node is kept; empty where nothing is."""
    attempt: int = 1
    """How often the node was begun in this step, by its retry policy, from 1."""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    elapsed: Callable[[], float] | None = None
    """Seconds since the run began; None where nobody knows."""
    shared: dict[Any, Any] = field(default_factory=dict[Any, Any])
    """For whatever belongs to this run of this graph: the same dict for all its nodes, gone with it, never stored."""

    def began(self, now: Callable[[], float]) -> float:
        """When the run began, by a clock; by one that is not the machine's, when it was first asked for."""
        elapsed = 0.0 if self.elapsed is None else self.elapsed()
        begun: float = self.shared.setdefault(("began", now), now() - elapsed)
        return begun


_runtime: ContextVar[Runtime | None] = ContextVar("surehand_runtime", default=None)


def current_runtime() -> Runtime | None:
    """The runtime of the graph that runs this code; None outside a graph."""
    return _runtime.get()
