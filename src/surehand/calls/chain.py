"""A call on its way through the host's middlewares, and back.

Each middleware decides whether, when and how often the rest of the way is gone; what it returns is what the one around
it gets. So a level keeps the calls that its runs ended in, and its result is one of them, or a new one made of it.

Everything runs in the task of the call, also what a synchronous middleware asks for: its thread sends the request over,
the task does the work and sends the answer back. A task of its own would be simpler to hand a thread's context
variables to. But then a cancellation, a timeout, a body that cancels "its task" would each mean something else with a
middleware than without one. The variables are carried over instead.

A thread that waits for its answer is woken whatever becomes of the call: with ``CancelledError``, which is no
``Exception`` and so ends it, where nobody waits for it any longer.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final, cast

from surehand.calls.amended import amended, broken, shared, with_attempts_of
from surehand.calls.answer import answer, render
from surehand.calls.arguments_view import Arguments
from surehand.calls.call import Call
from surehand.calls.failures import failed
from surehand.calls.middleware import Middleware, ToolCallRequest, same_call
from surehand.calls.wrapping import place_in_turn, wrapped
from surehand.errors import InputError
from surehand.interrupts import is_signal
from surehand.messages import ToolCall, ToolMessage
from surehand.outcomes import FailureKind
from surehand.shapes import is_array, is_object
from surehand.wording import one_line

__all__ = ["Core", "Recheck", "run_through"]

logger = logging.getLogger("surehand.calls")

Core = Callable[[Call], Awaitable[Call]]
"""Brings a call that is ready to its answer."""
Recheck = Callable[[Call], Call]
"""Parses and validates a call's ``raw`` arguments anew; the outcome is set where they are refused."""

_PLACES: Final = "surehand.middleware.places"
_LET_OUT: Final = "surehand.middleware.let_out"
_CHANGED: Final = "a middleware changed the arguments"


async def run_through(call: Call, middleware: Sequence[Middleware], core: Core, *, recheck: Recheck) -> Call:
    """The call with its answer, after it went through the middlewares, the first one outermost, and ``core``.

    Args:
        call: A call that is ready to run; one that has an outcome goes straight to ``core``.
        middleware: What the host put around its calls.
        core: What is inside of all of them. It may be asked twice, or not at all, so it announces nothing.
        recheck: Applied where a middleware changed the arguments.
    """
    if not middleware or call.outcome is not None:
        return await core(call)
    chain = _Chain(middleware, core, recheck)
    return chain.counted(await chain.enter(call, 0))


class _Chain:
    """The way of one call."""

    def __init__(self, middleware: Sequence[Middleware], core: Core, recheck: Recheck) -> None:
        self._middleware = middleware
        self._core = core
        self.recheck = recheck
        self._has_place = False
        """Whether the call is inside of a synchronous middleware already."""
        self._runs = 0
        self._may_have_happened = False
        self._last: Call | None = None
        self._given: list[dict[str, Any]] = []
        """The different arguments that it was run with."""

    async def enter(self, call: Call, level: int) -> Call:
        """The call after the middlewares from this level on."""
        if level == len(self._middleware) or call.outcome is not None:
            return await self._run(call)
        return await _Level(self, call, level, self._middleware[level]).end()

    @property
    def may_have_happened(self) -> bool:
        """Whether a run of it may have had its effect, or may still have it."""
        return self._may_have_happened

    def counted(self, ended: Call) -> Call:
        """The call with the attempts that were made for it, though none of its runs may have ended in this answer."""
        outcome, message = ended.outcome, ended.message
        if not self._may_have_happened or outcome is None or message is None or outcome.attempts:
            return ended
        known = self._last.outcome if self._last is not None else None
        attempts = max(1, known.attempts if known is not None else 0)
        outcome = replace(outcome, attempts=attempts)
        return ended._replace(outcome=outcome, message=message.replace(outcome=replace(outcome, error=None)))

    def afresh(self, call: Call) -> Call:
        """The call with typed arguments that no earlier run has changed."""
        if not self._runs:
            return call
        return self.recheck(call._replace(raw=call.arguments))._replace(repairs=call.repairs)

    @asynccontextmanager
    async def place(self, call: Call) -> AsyncGenerator[None]:
        """Entered while the call is inside of a synchronous middleware; one place is enough for all of its levels."""
        if self._has_place:
            yield
            return
        async with place_in_turn(call, _PLACES):
            self._has_place = True
            try:
                yield
            finally:
                self._has_place = False

    async def _run(self, call: Call) -> Call:
        is_safe = call.tool is not None and call.tool.may_run_twice
        if self._may_have_happened and not is_safe:
            return self._refused(call)
        self._runs += 1
        call = self._numbered(call)
        before, self._may_have_happened = self._may_have_happened, True  # unless it ends and says otherwise
        ended = self._last = await self._core(call)
        self._may_have_happened = before or _may_have_happened(ended)
        return ended

    def _numbered(self, call: Call) -> Call:
        """The call, told from other runs of it: it keeps its place in the journal whatever its arguments became."""
        number = next((place for place, known in enumerate(self._given) if _are_same(known, call.arguments)), None)
        if number is None:
            number = len(self._given)
            self._given.append(call.arguments)
        return call._replace(number=number, is_rerun=_is_recorded(self._last))

    def _refused(self, call: Call) -> Call:
        """The answer to a second run of what may have happened: no exception, so that a loop of attempts ends well."""
        logger.warning(
            "%s: a middleware ran tool %s again; it may have had its effect, so it was not run",
            one_line(call.id),
            call.name,
        )
        text = "The call was run once and may have had its effect, so it was not run again."
        last = self._last
        if last is not None and last.message is not None:
            text = f"{text} It was answered: {last.message.text}"
        refused = failed(call, FailureKind.SKIPPED, text)
        return answer(render(with_attempts_of(None if last is None else last.outcome, refused)))


def _is_recorded(call: Call | None) -> bool:
    return call is not None and call.entry is not None and call.entry.is_begun


def _may_have_happened(call: Call) -> bool:
    outcome = call.outcome
    return outcome is not None and outcome.attempts > 0 and not outcome.retryable


class _Level:
    """One middleware around one call."""

    def __init__(self, chain: _Chain, call: Call, level: int, middleware: Middleware) -> None:
        self._chain = chain
        self._call = call
        self._level = level
        self._middleware = middleware
        self._ends: list[Call] = []
        """What the runs that the middleware asked for came to."""
        self._is_over = False
        """Whether the middleware has answered."""

    async def end(self) -> Call:
        """The call with the middleware's answer; whatever it raises becomes one, or is meant for the program."""
        try:
            result = await self._result()
            return self._answered(result)
        except BaseException as error:  # a middleware is the host's code and may raise anything
            if is_signal(error):
                raise
            return self._passed_on(error) or self._broken(error)
        finally:
            self._is_over = True

    def _broken(self, error: BaseException) -> Call:
        is_in_doubt = self._chain.may_have_happened
        return broken(self._last, error, has_run=bool(self._ends), is_in_doubt=is_in_doubt)

    async def run(self, request: ToolCallRequest) -> ToolMessage:
        """What ``run`` means to the middleware."""
        if self._is_over:  # the call is answered: nothing may happen for it any more
            raise InputError(
                problem=f"The middleware {self._middleware.name} ran a call that it had answered",
                value=request,
                remedy="Await run(request) before you return.",
            )
        ended = await self._chain.enter(self._requested(request), self._level + 1)
        self._ends.append(ended)
        if ended.raises is not None:
            self._let_out[id(ended.raises)] = ended
            raise ended.raises
        return cast("ToolMessage", ended.message)  # every call that ended has one

    def _passed_on(self, error: BaseException) -> Call | None:
        """The call as it ended, where the exception is what a run of it let out, or of another call of the turn."""
        ended = self._let_out.get(id(error))
        if ended is None or ended.raises is not error or ended.position == self._call.position:
            return ended
        return shared(self._last, ended)

    @property
    def _let_out(self) -> dict[int, Call]:
        """The calls of the turn that raised instead of being told, by the identity of what they raised."""
        known: dict[int, Call] = self._call.turn.shared.setdefault(_LET_OUT, {})
        return known

    async def _result(self) -> Any:
        return await wrapped(
            self._middleware.wrap,
            self._middleware.awrap,
            self._request(),
            self.run,
            is_inline=self._call.turn.is_inline,
            place=partial(self._chain.place, self._call),
        )

    def _request(self) -> ToolCallRequest:
        call, turn, tool = self._call, self._call.turn, self._call.tool
        if tool is None:
            raise InputError(problem="A call without a tool cannot run", value=call.name, remedy="Resolve it first.")
        named: ToolCall = {"id": call.id, "name": call.name, "args": _copied(call.arguments), "type": "tool_call"}
        return ToolCallRequest(
            tool_call=named,
            tool=tool.spec,
            options=tool.options,
            arguments=Arguments(call.values),
            state=turn.shown_state,
            store=turn.store,
            context=turn.context,
            thread_id=turn.thread_id,
            shared=turn.shared,
            came_with_command=lambda: bool(self._ends) and self._ends[-1].command is not None,
            holding=partial(turn.holding, call.position),
        )

    def _requested(self, request: object) -> Call:
        """The call as the middleware wants it run."""
        if not isinstance(request, ToolCallRequest):
            raise InputError(
                problem="run takes the request",
                value=request,
                remedy="Pass the request as it is, or request.override(args=…).",
            )
        call = self._call
        named: ToolCall = {"id": call.id, "name": call.name, "args": call.arguments, "type": "tool_call"}
        args = same_call(named, request.tool_call)["args"]
        if _are_same(args, call.arguments):
            return self._chain.afresh(call)
        repairs = call.repairs if _CHANGED in call.repairs else (*call.repairs, _CHANGED)
        sent = call.arguments if call.sent is None else call.sent
        return self._chain.recheck(call._replace(raw=args, arguments={}, values={}, sent=sent, repairs=repairs))

    def _answered(self, result: Any) -> Call:
        """The call with what the middleware returned as its answer."""
        for ended in self._ends:
            if result is ended.message:
                return ended
        if result is None or inspect.isawaitable(result):
            return self._unanswered(result)
        return amended(self._last, result, has_run=bool(self._ends))

    def _unanswered(self, result: Any) -> Call:
        """What a middleware that forgot to return an answer leaves: that of what it ran, or a fault."""
        name = self._middleware.name
        if inspect.iscoroutine(result):
            result.close()
        if result is None and self._ends:
            logger.error("%s: middleware %s returned no answer; what it ran is answered", one_line(self._call.id), name)
            return self._last
        what = "a coroutine" if result is not None else "nothing, and ran nothing"
        raise InputError(
            problem=f"The middleware {name} returned {what}",
            value=result,
            remedy="Return run(request) or an answer of its own; declare it with async def where it awaits.",
        )

    @property
    def _last(self) -> Call:
        return self._ends[-1] if self._ends else self._call


def _are_same(arguments: object, others: object) -> bool:
    return repr(arguments) == repr(others)  # unlike ==, it tells 1 from True


def _copied(value: Any) -> Any:
    """A copy of JSON data, so that whoever changes it changes no message."""
    if is_object(value):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if is_array(value) else value
