"""LangGraph's wrappers of calls: ``wrap_tool_call(request, execute)`` and its asynchronous twin.

Unlike a middleware of ours, a wrapper sees every call: one whose tool the node does not have, for which it may bring
the tool, and one whose arguments are wrong. So it is outside of all the steps that a call goes through, and each
``execute`` is one way through all of them.
"""

# LangChain's own types are partly unknown, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, cast

from langchain_core.messages import ToolMessage as ForeignAnswer
from langgraph.prebuilt.tool_node import ToolCallRequest

from surehand.calls import Call, Through, ToolTable, amended, broken, failed
from surehand.calls.answer import answer, render
from surehand.calls.wrapping import place_in_turn, wrapped
from surehand.concurrency import is_cancelled_from_outside
from surehand.dialects.langchain_messages import read_messages
from surehand.errors import InputError, OptionError
from surehand.integrations.langchain.commands import GraphCommand, listed, received
from surehand.integrations.langchain.frames import Frame, entered
from surehand.integrations.langchain.outputs import Output
from surehand.integrations.langchain.runtimes import runtime_of
from surehand.interrupts import interrupted_in
from surehand.messages import ToolMessage
from surehand.outcomes import FailureKind
from surehand.wording import one_line

__all__ = ["Wrapped", "Wrappers", "check_wrapper"]

logger = logging.getLogger("surehand.integrations")

_PLACES: Final = "surehand.langgraph.places"


def check_wrapper(option: str, wrapper: Any) -> Any:
    """The wrapper, if it is one.

    Raises:
        OptionError: It cannot be called.
    """
    if wrapper is not None and not callable(wrapper):
        raise OptionError(option=option, value=wrapper, expected="a function of (request, execute), or None")
    return wrapper


@dataclass(frozen=True, kw_only=True)
class Wrappers:
    """The wrappers of a node."""

    wrap: Callable[..., Any] | None = None
    awrap: Callable[..., Any] | None = None

    def __bool__(self) -> bool:
        return self.wrap is not None or self.awrap is not None

    @property
    def needs_loop(self) -> bool:
        """Whether a call can only go through where there is an event loop."""
        return self.wrap is None and self.awrap is not None


class Wrapped:
    """One call on its way through a wrapper.

    Args:
        call: The call, not resolved yet.
        through: Brings it to its end.
        frame: What the node knows of it.
        tool: LangChain's tool of its name; None where the node has none.
        table_of: A table of a tool that the wrapper brings.
        output: How its end is written for the wrapper.
        is_unnamed: Whether it came without an id: ours is another one each time it is read.
    """

    def __init__(
        self,
        call: Call,
        through: Through,
        *,
        frame: Frame,
        tool: Any,
        table_of: Callable[[Any], ToolTable],
        output: Output,
        is_unnamed: bool = False,
    ) -> None:
        self._call = call
        self._through = through
        self._frame = frame
        self._tool = tool
        self._table_of = table_of
        self._output = output
        self._is_unnamed = is_unnamed
        self._state = frame.state
        self._ends: list[tuple[Any, Call]] = []
        """What the wrapper was given for each of its runs, and how that ended."""
        self._let_out: Call | None = None
        self.raw: list[Any] | None = None
        """What the wrapper returned, where that is handed on as it is; None elsewhere."""

    async def end(self, wrappers: Wrappers) -> Call:
        """The call with what the wrapper made of it.

        Raises:
            Interrupted: It asks.
        """
        try:
            result = await self._result(wrappers)
            return self._answered(result)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except asyncio.CancelledError as error:
            if is_cancelled_from_outside():
                raise
            return self._broken(error)
        except BaseException as error:  # a wrapper is the host's code and may raise anything
            if interrupted_in(error) is not None or self.is_signal(error):
                raise
            let_out = self._let_out
            return let_out if let_out is not None and let_out.raises is error else self._broken(error)

    def is_signal(self, error: BaseException) -> bool:
        """Whether LangGraph is meant by an exception."""
        return any(kind.__name__ == "GraphBubbleUp" for kind in type(error).__mro__)

    def _broken(self, error: BaseException) -> Call:
        last = self._ends[-1][1] if self._ends else self._call
        return broken(last, error, has_run=bool(self._ends), is_in_doubt=False)._replace(name=self._call.name)

    async def _result(self, wrappers: Wrappers) -> Any:
        return await wrapped(
            wrappers.wrap,
            wrappers.awrap,
            self._request(),
            self._execute,
            is_inline=self._call.turn.is_inline,
            place=partial(place_in_turn, self._call, _PLACES),
        )

    def _request(self) -> ToolCallRequest:
        call, args = self._call, self._call.raw
        named: Any = {
            "name": call.name,
            "args": dict(cast("Mapping[str, Any]", args)) if isinstance(args, Mapping) else args,
            "id": None if self._is_unnamed else self._frame.call_id,
            "type": "tool_call",
        }
        return ToolCallRequest(tool_call=named, tool=self._tool, state=self._state, runtime=runtime_of(self._frame))

    async def _execute(self, request: Any) -> Any:
        """What ``execute`` means to the wrapper."""
        if self._is_spent():
            ended = self._refused()
        else:
            ended = await self._run(request)
        if ended.asks is not None:
            raise ended.asks
        given = self._given(ended)
        self._ends.append((given, ended))
        if ended.raises is not None:
            self._let_out = ended
            raise ended.raises
        return given

    async def _run(self, request: Any) -> Call:
        wanted = self._requested(request)
        if request.state is self._state:
            return await self._through(wanted)
        state = wanted.turn.state if self._output.form != "list" else wanted.turn.state[self._output.key]
        with entered(replace(self._frame, shown=lambda: state)):
            return await self._through(wanted)

    def _given(self, ended: Call) -> Any:
        parts = self._output.of(ended)
        return parts[0] if len(parts) == 1 else parts

    def _is_spent(self) -> bool:
        """Whether a run of the call may have had its effect, which a second one might have again."""
        if not self._ends or self._frame.is_compatible:
            return False
        ended = self._ends[-1][1]
        outcome, tool = ended.outcome, ended.tool
        is_safe = tool is not None and tool.may_run_twice
        return outcome is not None and outcome.attempts > 0 and not outcome.retryable and not is_safe

    def _refused(self) -> Call:
        last = self._ends[-1][1]
        logger.warning("%s: a wrapper ran it again; it may have had its effect, so it was not run", one_line(last.id))
        before = "" if last.message is None else f" It was answered: {last.message.text}"
        text = f"The call was run once and may have had its effect, so it was not run again.{before}"
        opened = last._replace(outcome=None, message=None, rendered=None, raises=None, command=None, value=None)
        return answer(render(failed(opened, FailureKind.SKIPPED, text)))

    def _requested(self, request: Any) -> Call:
        """The call as the wrapper wants it run; whose answer it is stays as it was."""
        if not isinstance(request, ToolCallRequest):
            raise InputError(
                problem="execute takes the request",
                value=request,
                remedy="Pass the request as it is, or request.override(…).",
            )
        call, wanted = self._call, cast("Mapping[str, Any]", request.tool_call)
        changed = call._replace(name=wanted["name"], raw=wanted["args"], is_rerun=bool(self._ends))
        turn = call.turn
        if request.tool is not None and request.tool is not self._tool:
            turn = replace(turn, host=replace(turn.host, table=self._table_of(request.tool)))
            changed = changed._replace(name=next(iter(turn.host.table)).spec.name)
        if request.state is not self._state:
            key = self._output.key
            turn = replace(turn, state={key: request.state} if isinstance(request.state, list) else request.state)
            if self._frame.is_compatible:
                turn.__dict__["shown_state"] = turn.state
        return changed._replace(turn=turn)

    def _answered(self, result: Any) -> Call:
        """The call with what the wrapper returned as its answer."""
        for given, ended in self._ends:
            if result is given:
                return ended
        last = self._ends[-1][1] if self._ends else self._call
        if self._frame.is_compatible:
            self.raw = listed(result)
            return amended(last, "", has_run=bool(self._ends))
        if result is None or inspect.isawaitable(result):
            return self._unanswered(result, last)
        return self._amended(result, last)

    def _amended(self, result: Any, last: Call) -> Call:
        has_run = bool(self._ends)
        value = received(
            result, call_id=self._frame.call_id, name=last.name, key=self._output.key, form=self._output.form
        )
        if isinstance(result, ForeignAnswer):  # it may be a changed copy of ours, and says how the call ended
            own = cast("ToolMessage", read_messages([result])[0])
            return amended(last, own, has_run=has_run)._replace(command=cast("GraphCommand", value))
        return amended(last, value, has_run=has_run)

    def _unanswered(self, result: Any, last: Call) -> Call:
        """What a wrapper that forgot to return an answer leaves: that of what it ran, or a fault."""
        if inspect.iscoroutine(result):
            result.close()
        if result is None and self._ends:
            logger.error("%s: a wrapper returned no answer; what it ran is answered", one_line(self._call.id))
            return last
        what = "a coroutine" if result is not None else "nothing, and ran nothing"
        raise InputError(
            problem=f"A wrapper of calls returned {what}",
            value=result,
            remedy="Return execute(request) or an answer of its own; give an async function as awrap_tool_call.",
        )
