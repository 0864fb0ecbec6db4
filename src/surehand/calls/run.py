"""A whole turn: every call of one AI message, side by side, answered in call order.

What a provider refuses above all is a turn with an answer too few, too many or under another id. So the calls are
counted once, at the start; each ends in its own place of ``ended``, whatever ends it; and the answers are read from
there in the order of the calls, never in the order of time. Calls share nothing but what the turn hands them.

A call that raises under the host's rule does not cut its siblings short: their effects are under way, and a lost answer
to a finished effect is what makes the next run repeat it. The exception goes up when all have ended, with all answers
on it. Cancelling siblings instead would suit a host that wants to fail fast; that is a policy to add, not the default.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from surehand.calls.call import Call, Turn
from surehand.calls.pipeline import cancelled, run_call
from surehand.concurrency import has_running_loop, run_sync, run_without_loop
from surehand.control import Command
from surehand.messages import ToolCall, ToolMessage, close_call
from surehand.outcomes import FailureKind

__all__ = ["Answers", "calls_of", "run_alone_sync", "run_turn", "run_turn_sync"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What a turn came to."""

    messages: list[ToolMessage]
    """One per call, in call order."""
    commands: tuple[Command, ...] = ()
    """What tools ask of the graph, in call order."""


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
    return run_sync(lambda: run_call(call))


def _needs_no_loop(call: Call) -> bool:
    host = call.turn.host
    if has_running_loop() or host.approve is not None or host.journal is not None:
        return False
    tool = host.table.find(call.name)
    return tool is None or not tool.spec.body.is_async


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


async def run_turn(calls: Sequence[Call]) -> Answers:
    """Run the calls of one turn; each is answered whatever happens to the others.

    Calls run side by side. An ``exclusive`` one waits for those before it, and those after it wait for it.

    Raises:
        BaseException: What a tool raised and the host's rule lets out, the first in call order, when all calls have
            ended. ``tool_messages`` on it holds the answers of the whole turn; ``may_run_again`` on it says whether
            running the turn once more would repeat no effect.
        asyncio.CancelledError: The caller was cancelled. ``tool_messages`` on it holds the answers so far; every call
            without one is closed as cancelled.
    """
    ended: dict[int, Call] = {}
    try:
        for group in _groups(calls):
            await _run_group(group, ended)
    except asyncio.CancelledError as error:
        error.tool_messages = _closed(calls, ended)  # type: ignore[attr-defined]  # evidence for whoever goes on
        raise
    answered = [ended[call.position] for call in calls]
    _raise_first(answered)
    return Answers(
        messages=[call.message for call in answered if call.message is not None],
        commands=tuple(call.command for call in answered if call.command is not None),
    )


async def _run_group(group: Sequence[Call], ended: dict[int, Call]) -> None:
    if group[0].turn.is_inline:
        await _run_into(group[0], ended)
        return
    async with asyncio.TaskGroup() as tasks:
        for call in group:
            tasks.create_task(_run_into(call, ended))
    for call in group:
        if not _is_answered(call, ended):  # a tool cancelled the task it ran in, which no task group reports
            ended[call.position] = cancelled(call, "The tool cancelled itself. It may have happened in part.")


async def _run_into(call: Call, ended: dict[int, Call]) -> None:
    ended[call.position] = call
    ended[call.position] = await run_call(call)


def _is_answered(call: Call, ended: Mapping[int, Call]) -> bool:
    return call.position in ended and ended[call.position].message is not None


def _groups(calls: Sequence[Call]) -> Iterator[list[Call]]:
    """The calls in runs of those that may go side by side; an exclusive one is a run of its own."""
    group: list[Call] = []
    for call in calls:
        if _is_exclusive(call):
            if group:
                yield group
            yield [call]
            group = []
        else:
            group.append(call)
    if group:
        yield group


def _is_exclusive(call: Call) -> bool:
    tool = call.turn.host.table.find(call.name)
    return tool is not None and bool(tool.options.exclusive)


def _raise_first(calls: Iterable[Call]) -> None:
    calls = list(calls)
    for call in calls:
        if call.raises is not None:
            with suppress(Exception):  # an exception may refuse to carry anything
                call.raises.tool_messages = [c.message for c in calls]  # type: ignore[attr-defined]  # evidence
                call.raises.may_run_again = all(map(_may_run_again, calls))  # type: ignore[attr-defined]  # evidence
            raise call.raises


def _may_run_again(call: Call) -> bool:
    """Whether a second run of the turn cannot repeat an effect of this call."""
    tool, outcome = call.tool, call.outcome
    if tool is None or outcome is None or call.turn.host.journal is not None:
        return True
    return outcome.attempts == 0 or outcome.retryable or tool.may_run_twice


def _closed(calls: Sequence[Call], ended: Mapping[int, Call]) -> list[ToolMessage]:
    text = "The call was cancelled before it ended. It may have happened in part."
    messages: list[ToolMessage] = []
    for call in calls:
        done = ended.get(call.position)
        if done is None:  # it never started
            named: ToolCall = {"id": call.id, "name": call.name, "args": call.raw, "type": "tool_call"}
            messages.append(close_call(named, kind=FailureKind.CANCELLED, text=text))
            continue
        closed = done if done.message is not None else cancelled(done, text)
        messages += [closed.message] if closed.message is not None else []
    return messages
