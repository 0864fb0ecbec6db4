"""A whole turn: every call of one AI message, side by side, answered in call order.

What a provider refuses above all is a turn with an answer too few, too many or under another id. So the calls are
counted once, at the start; each ends in its own place of ``ended``, whatever ends it; and the answers are read from
there in the order of the calls, never in the order of time. Calls share nothing but what the turn hands them.

A call that raises under the host's rule does not cut its siblings short: their effects are under way, and a lost answer
to a finished effect is what makes the next run repeat it. The exception goes up when all have ended, with all answers
on it. Only an exception that the host calls fatal stops them.

A task group of the standard library would do for all of this but one thing: it waits for tasks that swallow their
cancellation, and one such body would hold the answers of the whole turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from surehand.calls.attempts import CLEANUP_SECONDS
from surehand.calls.call import Call, Turn
from surehand.calls.failures import let_out, may_run_again
from surehand.calls.history import CANCELLED, NOT_REACHED, SELF_CANCELLED
from surehand.calls.journal import CallJournal
from surehand.calls.pipeline import begin, ended_as, ended_late, finish, run_call, skip, whole
from surehand.calls.turn_output import fit
from surehand.concurrency import SYSTEM_CLOCK, Timer, has_running_loop, run_sync, run_without_loop
from surehand.control import Command
from surehand.interrupts import Interrupted
from surehand.messages import ToolCall, ToolMessage, close_call
from surehand.outcomes import FailureKind
from surehand.shapes import attach

__all__ = ["Answers", "calls_of", "run_alone_sync", "run_turn", "run_turn_sync", "settle_turn"]

_ROOM: Final = 1_000
"""How many calls beyond a turn's limit are taken up at a time: enough that slow ones keep no quick one waiting, and few
enough that a turn of any length needs the memory of some hundred calls."""
_BREATH: Final = 64
"""After so many calls that were taken up without a wait, the loop may do something else."""

_CANCELLED: Final = f"{CANCELLED} It may have happened in part."
_CANCELLED_ITSELF: Final = f"{SELF_CANCELLED} It may have happened in part."
_ASKED: Final = "The call waited for an answer when the turn was ended."
_LEFT: Final = "The call was not executed: the conversation went on without it."
_NOT_BEGUN: Final = "The call was not executed: the turn was ended before it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What a turn came to."""

    messages: list[ToolMessage]
    """One per call, in call order."""
    commands: tuple[Command, ...] = ()
    """What tools ask of the graph, in call order."""
    calls: tuple[Call, ...] = ()
    """The calls as they ended, in call order."""


def run_turn_sync(calls: Sequence[Call]) -> Answers:
    """Run the calls of one turn from synchronous code; see ``run_turn``.

    A lone call of a synchronous tool needs no loop: without a time limit it runs right here, in the caller's thread.
    """
    if len(calls) == 1 and _needs_no_loop(calls[0]):
        calls[0].turn.is_inline = True
        return run_without_loop(lambda: run_turn(calls))
    return run_sync(lambda: run_turn(calls))


def run_alone_sync(call: Call) -> Call:
    """Run one call from synchronous code, to its answer."""
    if _needs_no_loop(call):
        call.turn.is_inline = True
        return run_without_loop(lambda: run_call(call))
    return run_sync(lambda: run_alone(call))


def _needs_no_loop(call: Call) -> bool:
    host = call.turn.host
    around = call.turn.surroundings is not None and call.turn.surroundings.needs_loop
    waits = host.approve is not None or _waits(call.turn.journal) or any(m.needs_loop for m in host.middleware)
    if waits or around or host.clock is not SYSTEM_CLOCK or has_running_loop():
        return False
    tool = host.table.find(call.name)
    return tool is None or not tool.needs_loop


def _waits(journal: CallJournal | None) -> bool:
    return journal is not None and getattr(journal, "never_waits", False) is not True


def calls_of(turn: Turn, calls: Sequence[ToolCall] | None = None) -> list[Call]:
    """The turn's calls at the start of the pipeline.

    Args:
        turn: The turn.
        calls: Those of its calls that are to be run; None for all.
    """
    repairs: Mapping[str, tuple[str, ...]] = turn.message.repairs
    wanted = None if calls is None else {call["id"] for call in calls}
    return [
        Call(call["id"], call["name"], call["args"], position, turn, repairs=repairs.get(call["id"], ()))
        for position, call in enumerate(turn.message.tool_calls)
        if wanted is None or call["id"] in wanted
    ]


async def run_alone(call: Call) -> Call:
    """Run one call to its answer, which is not raised."""
    floor = _Floor([call])
    await floor.run()
    floor.ask()
    return floor.answered()[0]


async def run_turn(calls: Sequence[Call]) -> Answers:
    """Run the calls of one turn; each is answered whatever happens to the others.

    Calls run side by side, or one after another where the host says so. An ``exclusive`` one waits for those before it,
    and those after it wait for it.

    Raises:
        Interrupted: Calls ask, and nothing else went wrong: with all that they ask, in call order, when the others have
            ended. ``tool_messages`` on it holds the answers there are.
        BaseException: What a tool raised and the host's rule lets out, the first in call order, when all calls have
            ended; or what the host calls fatal, when the others have ended or were cancelled. ``tool_messages`` on it
            holds the answers of the whole turn; ``may_run_again`` on it says whether running the turn once more would
            repeat no effect.
        asyncio.CancelledError: The caller was cancelled; or what is meant for the program, such as Ctrl-C.
            ``tool_messages`` on it holds the answers so far; every call without one is closed as cancelled.
    """
    if not calls:
        return Answers(messages=[])
    floor = _Floor(calls)
    try:
        await floor.run()
    except BaseException as error:
        attach(error, tool_messages=floor.closed())  # evidence for whoever goes on
        raise
    floor.ask()
    answered = floor.answered()
    _raise_first(answered)
    return Answers(
        messages=[call.message for call in answered if call.message is not None],
        commands=tuple(call.command for call in answered if call.command is not None),
        calls=tuple(answered),
    )


async def settle_turn(calls: Sequence[Call]) -> list[ToolMessage]:
    """The answers to calls that the conversation went on without, in call order; none of them is run."""
    ended = [await skip(call, _LEFT) for call in calls]
    return [call.message for call in ended if call.message is not None]


class _Floor:
    """Where the calls of one turn run.

    Whatever ends a call puts it into ``ended``, and whoever waits is woken when few enough are left.
    """

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = calls
        self._turn = calls[0].turn
        self._ended: dict[int, Call] = {}
        """Calls by position, as far as they have come."""
        self._tasks: dict[int, asyncio.Task[None] | None] = {}
        """What is running, by position; None for one that is just being started."""
        self._wake_at = 0
        self._waiter: asyncio.Future[None] | None = None
        self._broken: BaseException | None = None
        """What is meant for whoever runs the program, such as Ctrl-C."""
        self._is_closing = False
        """Whether the calls that are left are cancelled."""
        self._patience: Timer | None = None
        """Ends the wait for those that swallow it."""
        self._turn.lose = self._lose

    async def run(self) -> None:
        """Run all calls; whatever ends the turn before its time, none of them goes on unattended."""
        try:
            await self._run_groups()
        except BaseException as error:
            if not isinstance(error, GeneratorExit) or error is self._broken:  # where we are closed, nothing may wait
                await self._cancel_all()
            raise
        finally:
            self._rest()

    async def _run_groups(self) -> None:
        """Run all calls, in groups of those that may go side by side."""
        for group in _groups(self._calls):
            await self._run_group(group)
            if self._is_closing or self._must_wait(group[-1]):
                return
            if self._must_stop(group[-1]):
                await self._skip_the_rest()
                return

    async def _run_group(self, group: Sequence[Call]) -> None:
        room = None if self._turn.max_concurrency is None else self._turn.max_concurrency + _ROOM
        for number, call in enumerate(group, 1):
            if self._is_closing:
                break
            await self._take_up(call)
            if number % _BREATH == 0 and not self._turn.is_inline:
                await asyncio.sleep(0)
            if room is not None:
                await self._until(room)
        await self._until(0)

    def ask(self) -> None:
        """Ask what the calls ask, unless one of them raised: that is first to be seen to.

        Raises:
            Interrupted: With the questions, in call order, each once.
        """
        if all(call.asks is None for call in self._ended.values()):
            return
        ended = [self._ended[call.position] for call in self._calls if call.position in self._ended]
        if any(call.raises is not None for call in ended):
            return
        questions = {question.id: question for call in ended if call.asks for question in call.asks.interrupts}
        asked = Interrupted(questions.values())
        attach(asked, tool_messages=[call.message for call in ended if call.message is not None])
        raise asked

    def answered(self) -> list[Call]:
        """All calls with their answers, in call order, and kept to what the turn may have together."""
        return fit([self._closed(call) for call in self._calls], self._turn.host.max_turn_output)

    def closed(self) -> list[ToolMessage]:
        """The answers of a turn that was cancelled."""
        return [call.message for call in self.answered() if call.message is not None]

    async def _take_up(self, call: Call) -> None:
        self._ended[call.position] = call  # whatever happens, it has begun
        if self._turn.surroundings is None:
            self._ended[call.position] = call = begin(call)
            if call.message is not None:
                return
        if self._turn.is_inline:
            self._ended[call.position] = await self._completed(call)
        else:
            self._tasks[call.position] = None
            task = asyncio.get_running_loop().create_task(self._finish(call))
            if call.position in self._tasks:  # a loop may start its tasks at once, and this one may have ended
                self._tasks[call.position] = task

    def _completed(self, call: Call) -> Awaitable[Call]:
        """The call at its end, to be awaited."""
        surroundings = self._turn.surroundings
        return finish(call) if surroundings is None else surroundings.around(call, whole)

    async def _finish(self, call: Call) -> None:
        try:
            self._has_ended(await self._end_of(call))
        except BaseException as error:  # noqa: BLE001 - it is raised by the turn, once the other calls are cleared away
            self._tasks.pop(call.position, None)
            if not isinstance(error, asyncio.CancelledError):
                self._broken = self._broken or error
            self._wake(at_once=self._broken is not None)

    async def _end_of(self, call: Call) -> Call:
        try:
            return await self._completed(call)
        except asyncio.CancelledError:
            if self._is_closing or call.position not in self._tasks:
                raise
            # Nobody cancels these tasks before the turn is closing: a tool has cancelled the task it runs in.
            return ended_as(call, FailureKind.CANCELLED, _CANCELLED_ITSELF)

    def _rest(self) -> None:
        """Leave nothing behind that would happen later."""
        self._turn.alarm.put_away()
        if self._patience is not None:
            self._patience.cancel()

    def _has_ended(self, call: Call) -> None:
        if call.position in self._tasks:  # else it was answered before
            del self._tasks[call.position]
            self._answer(call)

    def _answer(self, call: Call) -> None:
        self._ended[call.position] = call
        if call.is_fatal and not self._is_closing:
            self._close()
        self._wake()

    def _lose(self, call: Call) -> None:
        """Answer a call whose body goes on though it was cancelled; its task is waited for no longer."""
        if call.position in self._tasks:
            self._leave(call.position)
            self._answer(ended_late(call))

    def _leave(self, position: int) -> None:
        """Leave a call behind that does not end, without what it keeps from others."""
        task = self._tasks.pop(position)
        if task is not None:
            _lost.add(task)
            task.add_done_callback(_lost.discard)
        self._turn.lost.add(position)
        self._turn.let_go(position)

    def _must_wait(self, call: Call) -> bool:
        """Whether no further call is begun before an answer is there, in a turn that runs one after another."""
        return self._turn.host.is_sequential and self._ended[call.position].asks is not None

    def _must_stop(self, call: Call) -> bool:
        """Whether no further call is run, in a turn that runs one after another."""
        ended = self._ended[call.position]
        if self._turn.host.is_sequential and ended.message is not None:
            self._turn.show(ended.message)
        failed = ended.message is not None and ended.message.status == "error"
        return failed and self._turn.host.is_sequential and self._turn.host.stops_on_failure

    async def _skip_the_rest(self) -> None:
        failed = next(c for c in self._ended.values() if c.message is not None and c.message.status == "error")
        text = f"{NOT_REACHED}the call of {failed.name!r} before it failed."
        for call in self._calls:
            if call.position not in self._ended:
                self._ended[call.position] = await skip(call, text)

    async def _until(self, left: int) -> None:
        """Wait until at most so many calls are running."""
        while len(self._tasks) > left and self._broken is None:
            await self._woken(at=left)
        if self._broken is not None:
            raise self._broken

    async def _woken(self, *, at: int) -> None:
        """Wait until so few calls are running, or something else is to be looked at."""
        self._wake_at = at
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    def _wake(self, *, at_once: bool = False) -> None:
        is_due = at_once or len(self._tasks) <= self._wake_at
        if is_due and self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _close(self) -> None:
        """Cancel what is running; a body that swallows it is waited for a little, and not longer."""
        if self._is_closing:
            return
        self._is_closing = True
        for task in self._tasks.values():
            if task is not None:
                task.cancel()
        if self._tasks:
            self._patience = self._turn.host.clock.call_later(CLEANUP_SECONDS, self._give_up)

    def _give_up(self) -> None:
        for position in list(self._tasks):
            self._leave(position)
        self._wake()

    async def _cancel_all(self) -> None:
        """Cancel what is running and wait for its end: the wait is short, also for those who cancel again and again."""
        self._close()
        while self._tasks:
            with suppress(asyncio.CancelledError):
                await self._woken(at=0)

    def _closed(self, call: Call) -> Call:
        """The call with an answer, whatever happened to it."""
        done = self._ended.get(call.position)
        if done is None:  # it was never taken up
            named: ToolCall = {"id": call.id, "name": call.name, "args": call.raw, "type": "tool_call"}
            return call._replace(message=close_call(named, kind=FailureKind.CANCELLED, text=_NOT_BEGUN))
        if done.message is None:
            text = _ASKED if done.asks is not None else _CANCELLED if self._may_have_begun(done) else _NOT_BEGUN
            done = self._ended[call.position] = ended_as(done, FailureKind.CANCELLED, text)
        return done

    def _may_have_begun(self, call: Call) -> bool:
        """Whether the call's body was started, or nobody here knows: by an earlier run, or what a middleware did."""
        if call.tool is None and self._turn.surroundings is None:
            return False
        if self._turn.journal is not None:
            return True
        so_far = self._turn.under_way.get(call.position)
        if so_far is None:
            return bool(self._turn.host.middleware) or self._turn.surroundings is not None
        return so_far().attempts > 0


_lost: set[asyncio.Task[None]] = set()
"""Tasks that nobody waits for; a loop itself holds its tasks only weakly."""


def _groups(calls: Sequence[Call]) -> Iterator[list[Call]]:
    """The calls in runs of those that may go side by side; an exclusive one is a run of its own."""
    group: list[Call] = []
    for call in calls:
        if _is_alone(call):
            if group:
                yield group
            yield [call]
            group = []
        else:
            group.append(call)
    if group:
        yield group


def _is_alone(call: Call) -> bool:
    host = call.turn.host
    tool = None if host.is_sequential else host.table.find(call.name)
    return host.is_sequential or (tool is not None and tool.options.exclusive is True)


def _raise_first(calls: Iterable[Call]) -> None:
    calls = list(calls)
    raising = [call for call in calls if call.raises is not None]
    fatal = [call for call in raising if call.is_fatal]
    for call in (fatal or raising)[:1]:
        error = call.raises
        if error is not None:
            attach(error, tool_messages=[c.message for c in calls])
            let_out(error, call, may_run_again=all(map(_may_run_again, calls)))
            raise error


def _may_run_again(call: Call) -> bool:
    """Whether a second run of the turn cannot repeat an effect of this call, and would not only end in the journal."""
    is_known = call.turn.journal is not None and call.raises is None
    return is_known or may_run_again(call)
