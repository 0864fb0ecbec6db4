"""What became of a call that was interrupted while it ran, as far as anybody can tell.

Nobody here knows. The tool's author may: he says that a second run does no harm, or writes a function that finds out.
Then a human may, where the host wants him to be asked. What is left is told to the model as the doubt that it is.
"""

from __future__ import annotations

import asyncio
import inspect
from functools import partial
from typing import Any, Final, TypeAlias

from surehand.callables import is_async_callable, name_of
from surehand.calls.announce import log_fault
from surehand.calls.arguments_view import copied_values
from surehand.calls.call import Call
from surehand.calls.history import INTERRUPTED
from surehand.calls.journal import Recalled, digest_of
from surehand.calls.table import RegisteredTool
from surehand.calls.typed import typed
from surehand.concurrency import run_in_thread, run_sync
from surehand.errors import ToolDefinitionError, shown
from surehand.interrupts import DOUBT_DECISIONS, current_scope, is_signal, read_decision
from surehand.shapes import is_a
from surehand.spec import DidNotHappen, DoubtfulCall, Happened, Reconciled

__all__ = ["Verdict", "find_out"]

Verdict: TypeAlias = Happened | DidNotHappen | str
"""What became of it, or the words for the model where that is not known; what did not happen may run."""

_CUT_OFF: Final = f"{INTERRUPTED} It may have happened, wholly or in part"
_ADVICE: Final = "Find out before you call it again."
_SECONDS: Final = 30.0
"""How long a ``reconcile`` function may take, where the tool's own time limit is not shorter."""


async def find_out(call: Call, tool: RegisteredTool, known: Recalled) -> Verdict:
    """What became of a call that the journal has as running, though no run has it in hand.

    Raises:
        Interrupted: A human is to tell.
        InterruptError: What he told is no decision.
    """
    if tool.may_run_twice:
        return DidNotHappen()
    words = f"{_CUT_OFF}. {_ADVICE}"
    if callable(tool.options.reconcile):
        found = await _reconciled(call, tool, known)
        if found is not None:
            return found
        words = f"{_CUT_OFF}; the tool itself could not tell. {_ADVICE}"
    told = _told_by_human(call, tool, known) if tool.options.on_unknown == "ask" else None
    return words if told is None else told


async def _reconciled(call: Call, tool: RegisteredTool, known: Recalled) -> Reconciled:
    """What the tool's own function says; None where it cannot tell, fails, or takes too long."""
    ask = partial(_asked, call, tool, known)
    try:
        found = run_sync(ask) if call.turn.is_inline else await ask()
        return _read(found, tool)
    except BaseException as error:  # the author's function: its failure leaves the doubt as it is
        if is_signal(error):
            raise
        log_fault(f"{call.id}: reconcile={name_of(tool.options.reconcile)} of {tool.spec.name} failed", error)
        return None


def _read(found: Any, tool: RegisteredTool) -> Reconciled:
    if found is None or is_a(found, Happened) or is_a(found, DidNotHappen):
        return found
    if found is DidNotHappen:  # the class says as much as an instance
        return DidNotHappen()
    raise ToolDefinitionError(
        tool=tool.spec.name,
        problem=f"its reconcile returned {shown(found)}",
        remedy="Return Happened(result), DidNotHappen() or None.",
    )


async def _asked(call: Call, tool: RegisteredTool, known: Recalled) -> Any:
    reconcile: Any = tool.options.reconcile
    doubtful = DoubtfulCall(
        call_id=call.id,
        tool_name=call.name,
        arguments=copied_values(call.values),
        idempotency_key=call.key.idempotency_key,
        begun_at=known.begun_at,
        thread_id=call.turn.thread_id,
        context=call.turn.context,
    )
    limit, _ = call.limits
    async with asyncio.timeout(_SECONDS if limit is None else min(limit, _SECONDS)):
        if is_async_callable(reconcile):
            return await reconcile(doubtful)
        found = await run_in_thread(partial(reconcile, doubtful))
        return await found if inspect.isawaitable(found) else found


def _told_by_human(call: Call, tool: RegisteredTool, known: Recalled) -> Reconciled:
    """What whoever resumes the run decides; None where nobody can be asked, and where he gives up."""
    scope = current_scope()
    if scope is None:
        return None
    arguments = typed(call, tool).wire
    value = {
        "tool": call.name,
        "description": tool.spec.description,
        "arguments": arguments,
        "call_id": call.id,
        "begun_at": known.begun_at,
        "problem": f"{_CUT_OFF}.",
        "decisions": list(DOUBT_DECISIONS),
    }
    # Of this one run of the call: should it be interrupted once more, that is another doubt.
    place = scope.within("doubt", str(known.version), digest_of(arguments))
    decision = read_decision(place.ask(value, key="doubt", kind="doubt"))
    match decision.kind:
        case "run_again":
            return DidNotHappen()
        case "done":
            return Happened(decision.result)
        case _:
            return None
