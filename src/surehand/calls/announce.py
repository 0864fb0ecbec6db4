"""Telling the host what happens to its calls: events for programs, log lines for people."""

from __future__ import annotations

import logging
import traceback
from typing import Any, TypeVar

from surehand.calls.call import Call
from surehand.errors import shown
from surehand.events import Event
from surehand.outcomes import Outcome

__all__ = ["announce", "log_attempt", "log_fault", "log_outcome"]

logger = logging.getLogger("surehand.calls")

E = TypeVar("E", bound=Event)


def announce(call: Call, kind: type[E], **fields: Any) -> None:
    """Give an event to the host's listener, if there is one; what it raises is logged."""
    listener = call.turn.host.listener
    if listener is None:
        return
    try:
        listener(kind(call_id=call.id, tool_name=call.name, **fields))
    except Exception as error:  # noqa: BLE001 - the host's listener must not cost the call its answer
        log_fault(f"the listener {shown(listener)} failed on {kind.__name__}", error)


def log_attempt(call: Call, number: int) -> None:
    """Say that a body is about to start; at DEBUG."""
    if logger.isEnabledFor(logging.DEBUG):
        logger.debug("%s: attempt %d of tool %s", call.id, number, call.name, extra=_extra(call))


def log_outcome(call: Call, outcome: Outcome) -> None:
    """Say how a call ended.

    A success is a DEBUG line. A failure is a WARNING with the exception's class and place and the error id, but not its
    text, which may hold secrets. What tools and hosts raised is there in full at DEBUG; what the model did wrong has no
    stack worth reading.
    """
    if outcome.kind is None:
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug("%s: tool %s succeeded", call.id, call.name, extra=_extra(call))
        return
    logger.warning(
        "%s: tool %s ended as %s%s%s",
        call.id,
        call.name,
        outcome.kind,
        "" if outcome.error_id is None else f" (error {outcome.error_id})",
        "" if outcome.error is None else f": {_class_and_place(outcome.error)}",
        extra=_extra(call),
    )
    if outcome.error is not None and outcome.error_id is not None and logger.isEnabledFor(logging.DEBUG):
        logger.debug("%s: error %s in full", call.id, outcome.error_id, exc_info=outcome.error, extra=_extra(call))


def log_fault(what: str, error: BaseException) -> None:
    """Say that the host's own code failed: an ERROR line, as silent about the exception's text as that of a call.

    Such code is handed what tools raise, and may well raise it again.
    """
    logger.error("%s: %s", what, _class_and_place(error))
    logger.debug("%s, in full", what, exc_info=error)


def _extra(call: Call) -> dict[str, Any]:
    return {"tool_call_id": call.id, "tool": call.name, "node_tags": call.turn.host.tags}


def _class_and_place(error: BaseException) -> str:
    name = type(error).__qualname__
    if error.__traceback__ is None:
        return name
    frame = traceback.extract_tb(error.__traceback__, limit=-1)[0]
    return f"{name} at {frame.filename}:{frame.lineno} in {frame.name}"
