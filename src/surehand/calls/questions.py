"""Where the code of a call asks: each call has a place of its own among the questions of its run.

The place is made of what the call is, not of when it runs. So of calls that run side by side each gets its own answers,
whichever asks first; and a body that is run again, in a retry or after a resume, asks the same questions again.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

from surehand.calls.call import Call
from surehand.calls.claims import WorkingOn
from surehand.calls.journal import digest_of
from surehand.control import current_runtime
from surehand.interrupts import InterruptScope, current_scope, use_scope

__all__ = ["in_body", "in_call"]

_HERE: Final = nullcontext()


def in_call(call: Call) -> AbstractContextManager[object]:
    """Entered while a call runs, its middlewares included: what asks meanwhile asks for this call."""
    scope = current_scope()
    if scope is None:
        return _HERE
    return use_scope(_scope_of(call, scope) if _can_be_found_again(call) else None)


def _can_be_found_again(call: Call) -> bool:
    """Whether an answer would find the call: not in a graph that a node's own code runs and that nobody keeps.

    The run around it would begin that graph anew, and its model would make another call, which asks again.
    """
    runtime = current_runtime()
    return call.turn.is_direct or call.turn.journal is not None or runtime is None or runtime.keeping is not None


def _scope_of(call: Call, around: InterruptScope) -> InterruptScope:
    if call.turn.is_direct:  # its id was made up a moment ago, and will be another one the next time
        return around.within_next("tool", call.name, digest_of(call.arguments), tool=call.name)
    return around.within("call", call.key.idempotency_key, call_id=call.id, tool=call.name)


def in_body(call: Call) -> AbstractContextManager[object]:
    """Entered for each attempt: its questions are counted anew, and belong to the arguments that it runs with."""
    scope = current_scope()
    own = _HERE if call.entry is None else WorkingOn(call.entry.name)
    return own if scope is None else _in_body(call, scope, own)


@contextmanager
def _in_body(call: Call, scope: InterruptScope, own: AbstractContextManager[object]) -> Generator[None]:
    with own, use_scope(scope.within("body", "" if call.sent is None else digest_of(call.arguments))):
        yield
