"""Identical questions of one turn, asked once.

Models repeat themselves within a turn: the same search three times, each with an id that wants an answer. The first of
such calls runs, and the others wait for what it comes to.

What was read before something was written need not be true after it. So a call of a tool that is not read-only, when
it starts and when it ends, makes the reads that come after it start anew.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeAlias

from surehand.calls.journal import digest_of
from surehand.calls.middleware.copies import copy_of
from surehand.calls.middleware.protocol import AsyncRun, ToolCallRequest
from surehand.messages import ToolMessage
from surehand.outcomes import Outcome
from surehand.spec import InjectionKind

__all__ = ["SingleFlight"]


@dataclass(slots=True, eq=False)
class _Flight:
    """A call that runs for others too."""

    call_id: str
    landed: asyncio.Event = field(default_factory=asyncio.Event)
    answer: ToolMessage | None = None
    """What it came to; None while it runs, and where it was cancelled."""
    error: Exception | None = None
    """What the host's rule let out instead."""


_Flights: TypeAlias = dict[tuple[str, str], _Flight]


class SingleFlight:
    """A middleware that runs identical calls of a read-only tool in one turn once, and answers them all.

    A failure is shared like a result. Where the call that runs is cancelled, the next of those that wait runs in its
    place. Calls of other tools are each run, and so are those of tools that are given their call's id or need an
    approval, which is one call's. The answers that were shared say so in a note of their outcome, and hold copies of
    their own.

    Example:
        node = ToolNode([search, save], middleware=[SingleFlight()])
    """

    never_waits: ClassVar = True
    """A lone call has nobody to wait for."""

    async def awrap_tool_call(self, request: ToolCallRequest, run: AsyncRun, /) -> ToolMessage:
        """The answer of the first of these calls."""
        flights: _Flights = request.shared.setdefault(self, {})
        if not request.options.read_only:
            return await _written(flights, request, run)
        is_its_own = any(injection.kind is InjectionKind.CALL_ID for injection in request.tool.injections)
        if is_its_own or request.options.requires_approval:
            return await run(request)
        key = (request.tool.name, digest_of(request.tool_call["args"]))
        while (flight := flights.get(key)) is not None:
            await flight.landed.wait()
            if flight.error is not None:
                raise flight.error
            if flight.answer is not None:
                return _shared(flight.answer, flight.call_id, request) or await run(request)
            if flights.get(key) is flight:  # it is answered, and its body goes on: nobody knows for how long
                return await run(request)
        return await _flown(flights, key, request, run)

    def __repr__(self) -> str:
        return "SingleFlight()"


async def _written(flights: _Flights, request: ToolCallRequest, run: AsyncRun) -> ToolMessage:
    flights.clear()
    try:
        return await run(request)
    finally:
        flights.clear()


async def _flown(flights: _Flights, key: tuple[str, str], request: ToolCallRequest, run: AsyncRun) -> ToolMessage:
    flight = flights[key] = _Flight(request.tool_call["id"])
    with request.holding(flight.landed.set):
        try:
            answer = flight.answer = await run(request)
        except Exception as error:
            flight.error = error
            raise
        finally:
            if flight.answer is None and flight.error is None and flights.get(key) is flight:
                del flights[key]
    return answer


def _shared(answer: ToolMessage, call_id: str, request: ToolCallRequest) -> ToolMessage | None:
    """The answer as one to another call; None where it cannot be shared."""
    own = copy_of(answer)
    if own is None:
        return None
    outcome = answer.outcome or Outcome()
    notes = (*outcome.notes, f"shares the run of call {call_id}")
    return own.replace(
        tool_call_id=request.tool_call["id"],
        outcome=replace(outcome, notes=notes, attempts=0, attempt_errors=(), duration_s=0.0, queued_s=0.0),
    )
