"""Filling the parameters of a tool that the model does not see."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from surehand.calls.announce import announce
from surehand.calls.call import Call
from surehand.calls.watch import Signs
from surehand.control import current_runtime
from surehand.errors import ToolDefinitionError
from surehand.events import CallProgressed
from surehand.interrupts import current_scope
from surehand.policy import Unset
from surehand.shapes import is_object
from surehand.spec import Injection, InjectionKind, ToolContext
from surehand.stores import watch_reads

__all__ = ["injected_values", "report_progress"]


_ABSENT: Final = object()
_WITH_STORE: Final = frozenset({InjectionKind.STORE, InjectionKind.CONTEXT})


def injected_values(call: Call, attempt: int, signs: Signs) -> dict[str, Any]:
    """The values of the injected parameters by name; those that keep their default are left out.

    Raises:
        ToolDefinitionError: There is neither a value nor a default for a parameter.
    """
    injections = call.tool.spec.body.injections if call.tool else ()
    if call.turn.store is not None and any(injection.kind in _WITH_STORE for injection in injections):
        call.turn.reads[call.position] = watch_reads(call.turn.reads.get(call.position))
    values: dict[str, Any] = {}
    for injection in injections:
        value = (
            _context(call, attempt, signs, shows_state=injection.shows_state)
            if injection.kind is InjectionKind.CONTEXT
            else _FILLERS[injection.kind](call, injection)
        )
        if value is not _ABSENT:
            values[injection.parameter] = value
        elif isinstance(injection.default, Unset):
            _check_accepts_none(call, injection)
            values[injection.parameter] = None
    return values


def _check_accepts_none(call: Call, injection: Injection) -> None:
    if not injection.accepts_none:
        what = f"{injection.kind}" + (f" {injection.key!r}" if injection.key else "")
        raise ToolDefinitionError(
            tool=call.name,
            problem=f"there is nothing to inject for its parameter {injection.parameter!r} ({what})",
            remedy="Give the node that state, store or context, or the parameter a default.",
        )


def _call_id(call: Call, injection: Injection) -> Any:  # noqa: ARG001 - one signature for all fillers
    return call.id


def _state(call: Call, injection: Injection) -> Any:
    state = call.turn.shown_state
    return state if injection.key is None else _looked_up(state, injection.key)


def _store(call: Call, injection: Injection) -> Any:  # noqa: ARG001 - as above
    return _ABSENT if call.turn.store is None else call.turn.store


def _host(call: Call, injection: Injection) -> Any:
    return _looked_up(call.turn.context, injection.key or injection.parameter)


def _looked_up(source: Any, key: str) -> Any:
    if is_object(source):
        return source.get(key, _ABSENT)
    return getattr(source, key, _ABSENT)


def _context(call: Call, attempt: int, signs: Signs, *, shows_state: bool) -> ToolContext:
    timeout, _ = call.limits
    scope = current_scope()
    return ToolContext(
        call_id=call.id,
        tool_name=call.name,
        state=call.turn.shown_state if shows_state else None,
        store=call.turn.store,
        attempt=attempt,
        deadline=None if timeout is None else time.monotonic() + timeout,
        idempotency_key=call.key.idempotency_key,
        thread_id=call.turn.thread_id,
        context=call.turn.context,
        is_approved=call.is_approved,
        on_progress=signs.progress,
        on_heartbeat=signs.beat,
        on_interrupt=None if scope is None else scope.ask,
    )


def report_progress(call: Call, progress: Any) -> None:
    """Tell whoever listens to the call how far it is."""
    announce(call, CallProgressed, progress=progress)
    runtime = current_runtime()
    if runtime is not None and runtime.emit is not None:
        runtime.emit({"call_id": call.id, "tool": call.name, "progress": progress})


_FILLERS: Final[dict[InjectionKind, Callable[[Call, Injection], Any]]] = {
    InjectionKind.CALL_ID: _call_id,
    InjectionKind.STATE: _state,
    InjectionKind.STORE: _store,
    InjectionKind.HOST: _host,
}
