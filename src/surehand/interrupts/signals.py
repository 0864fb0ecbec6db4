"""How code asks: the question's identity, the answer that was given to it, and the signal that ends what asked.

A question is known by its place: the thread, the checkpoint, the node or call that asks, and how many it asked before.
The place is the same whenever the code is run again, in whichever process, so that an answer finds its question and
no other. What was shown to a human can be part of the place: an answer to other arguments is then no answer.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, Literal, TypeAlias

from surehand.concurrency import is_cancelled_from_outside
from surehand.errors import CheckpointError, InterruptError, InterruptExpired
from surehand.shapes import leaf_errors

__all__ = [
    "Answer",
    "Interrupt",
    "InterruptScope",
    "Interrupted",
    "Questions",
    "current_scope",
    "gets_through",
    "interrupt",
    "interrupted_in",
    "is_signal",
    "set_scope",
    "use_scope",
]

InterruptKind: TypeAlias = Literal["question", "approval", "doubt"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupt:
    """A question that a run waits for."""

    id: str
    """32 hexadecimal digits; the same for this question whenever it is asked again."""
    value: Any
    """What is asked, as JSON can carry it."""
    kind: InterruptKind = "question"
    """``approval``: whether a call may run; ``doubt``: what is to become of one that was interrupted while it ran. Both
    are answered by a decision (``read_decision``)."""
    node: str = ""
    """The node that asks, or that the tool runs in."""
    call_id: str | None = None
    """The call that asks; None where a node does."""
    tool: str | None = None
    asked_at: float = 0.0
    """When it was first asked, in seconds since the epoch."""
    expires_at: float | None = None
    """Until when it may be answered, in seconds since the epoch; None for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What somebody answered; any value is an answer, also None, ``{}`` and ``[]``."""

    value: Any
    given_at: float
    """In seconds since the epoch."""


class Interrupted(BaseException):
    """Ends what asked, up to the graph; no ``Exception``, so that ``except Exception`` does not swallow a question."""

    def __init__(self, interrupts: Iterable[Interrupt]) -> None:
        self.interrupts: tuple[Interrupt, ...] = tuple(interrupts)
        super().__init__(self.interrupts)


def interrupted_in(error: BaseException) -> Interrupted | None:
    """The questions in an exception or in a group of them that holds nothing else; None where something else failed."""
    if isinstance(error, Interrupted):
        return error
    leaves = leaf_errors(error, limit=_MAX_LEAVES)
    questions = [leaf for leaf in leaves if isinstance(leaf, Interrupted)]
    if len(questions) < len(leaves):
        return None
    return Interrupted(question for leaf in questions for question in leaf.interrupts)


_MAX_LEAVES: Final = 1_000_000
"""More questions than anybody asks at once: none of them may be lost."""


def gets_through(error: BaseException) -> bool:
    """Whether the exception is meant for whoever runs the program, and no failure of what raised it."""
    return any(isinstance(leaf, KeyboardInterrupt | GeneratorExit) for leaf in leaf_errors(error))


def is_signal(error: BaseException) -> bool:
    """Whether an exception out of the host's own code is no failure of it: it goes up, and is not handled on its way.

    Such are Ctrl-C, a question, and a cancellation of the caller's. A ``CancelledError`` that the code has come by in
    another way, as of a task that it looked at, is a failure like any other, and so is whatever else it raises.
    """
    if isinstance(error, asyncio.CancelledError):
        return is_cancelled_from_outside()
    return gets_through(error) or interrupted_in(error) is not None


@dataclass(slots=True, kw_only=True, eq=False)
class Questions:
    """What a run has asked and heard; one for a run and all that runs inside of it."""

    asked: dict[str, Interrupt] = field(default_factory=dict[str, Interrupt])
    """The open questions of the checkpoint, by id, as they were first asked."""
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])
    check: Callable[[Any], object] = lambda _: None
    """Raises a ``CheckpointError`` about a value that cannot be kept as a question."""
    now: Callable[[], float] = time.time  # noqa: TID251 - an expiry is a time of day, and outlives the process


class InterruptScope:
    """A place that may ask: a node's task, or one call."""

    def __init__(
        self,
        questions: Questions,
        path: tuple[str, ...],
        *,
        node: str = "",
        call_id: str | None = None,
        tool: str | None = None,
    ) -> None:
        self._questions = questions
        self._path = path
        self._node = node
        self._call_id = call_id
        self._tool = tool
        self._count = 0
        self._entered: Counter[tuple[str, ...]] = Counter()
        self._lock = Lock()

    def within(self, *path: str, call_id: str | None = None, tool: str | None = None) -> InterruptScope:
        """The scope of something inside of this one."""
        return InterruptScope(
            self._questions,
            (*self._path, *path),
            node=self._node,
            call_id=call_id or self._call_id,
            tool=tool or self._tool,
        )

    def within_next(self, *path: str, tool: str | None = None) -> InterruptScope:
        """The scope of something inside of this one that comes several times: the first time, the second, and so on."""
        with self._lock:
            number = self._entered[path]
            self._entered[path] += 1
        return self.within(*path, str(number), tool=tool)

    def left_open(self, ids: Sequence[str]) -> list[Interrupt]:
        """The questions with these ids, where each of them is known, unanswered and not expired; else nothing."""
        asked, answers, now = self._questions.asked, self._questions.answers, self._questions.now()
        found = [asked[id] for id in ids if id in asked and id not in answers]
        is_late = any(question.expires_at is not None and now > question.expires_at for question in found)
        return found if len(found) == len(ids) and not is_late else []

    @property
    def has_answers(self) -> bool:
        """Whether the run has any answer, to whichever question."""
        return bool(self._questions.answers)

    def is_answered(self, key: str) -> bool:
        """Whether the question of this place that has a key was asked before, and is answered."""
        return self._id_of(_keyed(key)) in self._questions.answers

    def ask(
        self,
        value: Any,
        *,
        key: str | None = None,
        expires_in: float | None = None,
        kind: InterruptKind = "question",
    ) -> Any:
        """The answer, where there is one; what it was asked and its expiry stay as they were first asked.

        Args:
            value: What is asked.
            key: Tells the question from others of this place; None counts them in their order.
            expires_in: Seconds until it may no longer be answered; None for ever.
            kind: What it is.

        Raises:
            Interrupted: Nobody has answered yet.
            InterruptError: What is asked cannot be kept.
            InterruptExpired: Nobody answered in time.
        """
        found = self.look_up(value, key=key, expires_in=expires_in, kind=kind)
        if isinstance(found, Answer):
            return found.value
        raise Interrupted([found])

    def look_up(
        self, value: Any, *, key: str | None, expires_in: float | None, kind: InterruptKind
    ) -> Answer | Interrupt:
        """The answer, or the question that waits for one.

        Raises:
            InterruptError: What is asked cannot be kept.
            InterruptExpired: Nobody answered in time.
        """
        with self._lock:
            number, self._count = self._count, self._count + (key is None)
        id = self._id_of(str(number) if key is None else _keyed(key))
        now = self._questions.now()
        fresh = Interrupt(
            id=id,
            value=value,
            kind=kind,
            node=self._node,
            call_id=self._call_id,
            tool=self._tool,
            asked_at=now,
            expires_at=None if expires_in is None else now + expires_in,
        )
        if id not in self._questions.asked:
            self._check(value)
        question = self._questions.asked.setdefault(id, fresh)
        answer = self._questions.answers.get(id)
        heard_at = now if answer is None else answer.given_at
        if question.expires_at is not None and heard_at > question.expires_at:
            raise InterruptExpired(question=question.value, expired_at=question.expires_at)
        return question if answer is None else answer

    def _check(self, value: Any) -> None:
        """Refuse what nobody could be shown later, where it is asked: kept, it would end the run time and again."""
        try:
            self._questions.check(value)
        except CheckpointError as error:
            raise InterruptError(
                problem=f"This question cannot be kept: {error.problem}", value=value, remedy="Ask with plain data."
            ) from error

    def _id_of(self, last: str) -> str:
        text = "\x1f".join([*self._path, last])
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


def _keyed(key: str) -> str:
    return f"key:{key}"


_scope: ContextVar[InterruptScope | None] = ContextVar("surehand_interrupts", default=None)


def current_scope() -> InterruptScope | None:
    """The scope of the running code; None where nobody could ever answer."""
    return _scope.get()


@contextmanager
def use_scope(scope: InterruptScope | None) -> Generator[None, None, None]:
    """Have the code inside ask in this scope."""
    token = _scope.set(scope)
    try:
        yield
    finally:
        with suppress(ValueError):  # a task that is thrown away is closed in a context that is not its own
            _scope.reset(token)


def set_scope(scope: InterruptScope | None) -> None:
    """Have the code that follows in this context ask in this scope."""
    _scope.set(scope)


def interrupt(value: Any, *, key: str | None = None, expires_in: float | None = None) -> Any:
    """Stop the run with a question, and return its answer when the run is resumed.

    The run ends for now; ``graph.invoke`` returns the state with ``"__interrupt__"``, and
    ``graph.invoke(Command(resume=…), config)`` goes on, in this process or another. The node that asked is run again
    from its first line, and each of its questions that has an answer returns it; so do first what may be done twice,
    and ask before anything else. In a tool, the call that asked is run again, and no other.

    Args:
        value: What is asked, as JSON can carry it.
        key: Tells the question from others of the same node or call; None counts them in the order in which they are
            asked, which has to be the same each time.
        expires_in: Seconds until it may no longer be answered; None for ever.

    Raises:
        InterruptError: Nobody could answer: there is no graph with a checkpointer and a thread around this code, or
            it is a path or a reducer; or what is asked cannot be kept.
        InterruptExpired: Nobody answered in time.
    """
    scope = _scope.get()
    if scope is None:
        raise InterruptError(
            problem="Nobody could ever answer a question here",
            value=value,
            remedy="Compile the graph with a checkpointer, run it with config={'configurable': {'thread_id': …}}, and "
            "ask in a node or a tool.",
        )
    return scope.ask(value, key=key, expires_in=expires_in)
