"""A function on a thread that asks the loop it was started from to do something, and waits for it.

What it asks for runs in the task that waits for the thread, with the context variables as they are on the thread at
that moment. So to that task it is as if the function had awaited: a cancellation strikes what runs, and nothing is left
running beside it. The thread is always woken: when its question is answered, or when nobody waits for it any longer.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Generic, TypeVar

from surehand.concurrency.workers import Job, deliver_to_loop, served_here, workers

__all__ = ["run_with_callback"]

T = TypeVar("T")
QuestionT = TypeVar("QuestionT")
ReplyT = TypeVar("ReplyT")

_UNSET: Final = object()


async def run_with_callback(
    function: Callable[[Callable[[QuestionT], ReplyT]], T], serve: Callable[[QuestionT], Awaitable[ReplyT]]
) -> T:
    """Run a function on a worker thread and return what it returns; what it asks is served here.

    Args:
        function: Called on the thread with a function that asks: it blocks until ``serve`` has the reply, and raises
            what ``serve`` raises. It raises CancelledError where nobody waits for the thread any longer.
        serve: Called on the loop, in this task; one question after another.

    Raises:
        BaseException: Whatever the function raises, the same object.
        WorkersExhausted: Too many given-up bodies are still running in this process.
    """
    desk: _Desk[QuestionT, ReplyT] = _Desk(asyncio.get_running_loop())
    job: Job[T] = Job(partial(function, desk.ask), deliver=lambda _: None)
    deliver_to_loop(job).add_done_callback(lambda _: desk.end())
    workers().start(job)
    try:
        while (question := await desk.next()) is not None:
            await _serve(question, serve)
    except BaseException:
        workers().abandon(job)
        raise
    finally:
        desk.close()
    return job.outcome()


@dataclass(slots=True, eq=False)
class _Question(Generic[QuestionT, ReplyT]):
    """What a thread asked."""

    asked: QuestionT
    reply: Future[ReplyT] = field(default_factory=Future["ReplyT"])
    context: contextvars.Context = field(default_factory=contextvars.copy_context)


class _Desk(Generic[QuestionT, ReplyT]):
    """Where a thread asks and its loop looks what was asked."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._questions: asyncio.Queue[_Question[QuestionT, ReplyT] | None] = asyncio.Queue()
        self._open: set[Future[ReplyT]] = set()
        self._is_closed = False
        self._lock = threading.Lock()

    def ask(self, asked: QuestionT) -> ReplyT:
        """Ask, on the thread, and wait for the reply."""
        question: _Question[QuestionT, ReplyT] = _Question(asked)
        with self._lock:
            if self._is_closed:
                raise asyncio.CancelledError
            self._open.add(question.reply)
            self._loop.call_soon_threadsafe(self._questions.put_nowait, question)
        served = served_here()
        try:
            with served.waiting() if served is not None else nullcontext():
                return question.reply.result()
        finally:
            with self._lock:
                self._open.discard(question.reply)

    async def next(self) -> _Question[QuestionT, ReplyT] | None:
        """The next question; None when the function has ended."""
        return await self._questions.get()

    def end(self) -> None:
        """Say that there will be no further question."""
        self._questions.put_nowait(None)

    def close(self) -> None:
        """Wake whoever waits for a reply, and let nobody ask again."""
        with self._lock:
            self._is_closed = True
            unanswered = [reply for reply in self._open if not reply.done()]
        for reply in unanswered:
            reply.set_exception(asyncio.CancelledError())


async def _serve(question: _Question[QuestionT, ReplyT], serve: Callable[[QuestionT], Awaitable[ReplyT]]) -> None:
    with _variables_of(question.context):
        try:
            reply = await serve(question.asked)
        except Exception as error:  # noqa: BLE001 - the thread asked, and hears what became of it
            question.reply.set_exception(error)
        else:
            question.reply.set_result(reply)


@contextmanager
def _variables_of(context: contextvars.Context) -> Generator[None]:
    """Let this task see the variables as they are in another context."""
    changed: list[tuple[contextvars.ContextVar[Any], contextvars.Token[Any]]] = []
    for variable, value in context.items():
        if variable.get(_UNSET) is not value:
            changed.append((variable, variable.set(value)))
    try:
        yield
    finally:
        for variable, token in reversed(changed):
            variable.reset(token)
