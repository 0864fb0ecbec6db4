"""Telling the host what happens to its calls: events for programs, log lines for people."""

from __future__ import annotations

import logging
import traceback
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, TypeVar

from surehand.callables import name_of
from surehand.calls.call import Call
from surehand.events import Event, Listener
from surehand.interrupts import gets_through
from surehand.outcomes import Outcome
from surehand.shapes import leaf_errors
from surehand.wording import one_line

__all__ = ["announce", "log_attempt", "log_fault", "log_outcome", "log_pause"]

logger = logging.getLogger("surehand.calls")

E = TypeVar("E", bound=Event)

_MAX_WHAT: Final = 400
_MOST_LEAVES: Final = 20


def announce(call: Call, kind: type[E], **fields: Any) -> None:
    """Give an event to the host's listener and to the stream of the graph around, where there are such.

    What the listener raises is logged.
    """
    listener, stream = call.turn.host.listener, call.turn.stream
    if listener is None and stream is None:
        return
    event = kind(call_id=call.id, tool_name=call.name, shared=call.turn.shared, **fields)
    if stream is not None:
        stream("calls", event)
    if listener is not None:
        _tell(listener, event)


def _tell(listener: Listener, event: Event) -> None:
    try:
        listener(event)
    except BaseException as error:  # the host's listener may raise anything, and must not cost the call its answer
        if gets_through(error):
            raise
        log_fault(f"the listener {name_of(listener)} failed on {type(event).__name__}", error)


def _write(level: int, message: str, *values: Any, **options: Any) -> None:
    """Write a line into the log; a handler or filter of the host's that fails is told of where the log cannot be."""
    try:
        logger.log(level, message, *values, **options)
    except BaseException as error:  # it must not cost the call its answer
        if gets_through(error):
            raise
        if logging.raiseExceptions:  # as the handlers of the standard library do it; what else failed may hold secrets
            with suppress(Exception):
                traceback.print_exception(error, chain=False)


def log_attempt(call: Call, number: int) -> None:
    """Say that a body is about to start; at DEBUG."""
    if logger.isEnabledFor(logging.DEBUG):
        _write(logging.DEBUG, "%s: attempt %d of tool %s", one_line(call.id), number, call.name, extra=_extra(call))


def log_outcome(call: Call, outcome: Outcome) -> None:
    """Say how a call ended.

    A success is a DEBUG line. A failure is a WARNING with the exception's class and place and the error id, but not its
    text, which may hold secrets. What tools and hosts raised is there in full at DEBUG; what the model did wrong has no
    stack worth reading.
    """
    if outcome.kind is None:
        if logger.isEnabledFor(logging.DEBUG):
            _write(logging.DEBUG, "%s: tool %s succeeded", one_line(call.id), call.name, extra=_extra(call))
        return
    _write(
        logging.WARNING,
        "%s: tool %s ended as %s%s%s",
        one_line(call.id),  # it and the name are the model's, which could write lines of its own into the log
        one_line(call.name),
        outcome.kind,
        "" if outcome.error_id is None else f" (error {outcome.error_id})",
        "" if outcome.error is None else f": {_class_and_place(outcome.error)}",
        extra=_extra(call),
    )
    error, error_id = outcome.error, outcome.error_id
    if error is not None and error_id is not None and logger.isEnabledFor(logging.DEBUG):
        _write(logging.DEBUG, "%s: error %s in full", one_line(call.id), error_id, exc_info=error, extra=_extra(call))


def log_pause(call: Call, questions: int) -> None:
    """Say that a call waits for answers; at DEBUG."""
    if logger.isEnabledFor(logging.DEBUG):
        _write(
            logging.DEBUG,
            "%s: tool %s waits for %d answers",
            one_line(call.id),
            call.name,
            questions,
            extra=_extra(call),
        )


def log_fault(what: str, error: BaseException) -> None:
    """Say that the host's own code failed: an ERROR line, as silent about the exception's text as that of a call.

    Such code is handed what tools raise, and may well raise it again.
    """
    what = one_line(what, _MAX_WHAT)
    _write(logging.ERROR, "%s: %s", what, _class_and_place(error))
    _write(logging.DEBUG, "%s, in full", what, exc_info=error)


def _extra(call: Call) -> dict[str, Any]:
    return {"tool_call_id": call.id, "tool": call.name, "node_tags": call.turn.host.tags}


def _class_and_place(error: BaseException) -> str:
    name = _class_of(error)
    leaves = leaf_errors(error, limit=_MOST_LEAVES)
    if leaves[0] is not error:  # a group's own class and place say nothing
        name += f"({', '.join(_class_of(leaf) for leaf in leaves)})"
    trace = _trace_of(leaves[0]) or _trace_of(error)
    if trace is None:
        return name
    while trace.tb_next is not None:  # by hand: what the standard library extracts, it reads the source file for
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    return f"{name} at {code.co_filename}:{trace.tb_lineno} in {code.co_name}"


def _class_of(error: BaseException) -> str:
    """The class's name: one that is made while the program runs may be any text."""
    return one_line(type(error).__qualname__)


def _trace_of(error: BaseException) -> TracebackType | None:
    # By way of the base class, whatever a subclass does to the attribute.
    trace: TracebackType | None = vars(BaseException)["__traceback__"].__get__(error)
    return trace
