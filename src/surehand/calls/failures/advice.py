"""What there is to know about calling again after a failure, in words for the model."""

from __future__ import annotations

import json
import math
from typing import Final

from pydantic import ValidationError

from surehand.calls.call import Call
from surehand.calls.failures.meant import complained_of, what_was_meant
from surehand.errors import ProcessDied
from surehand.policy import RetryPolicy, is_ambiguous, retry_after_of

__all__ = ["BROKEN_OFF", "IN_DOUBT", "advice_on"]

IN_DOUBT: Final = "The request may have been sent before that, so it may have happened: find out before you call again."
BROKEN_OFF: Final = "It may have happened in part: find out before you call again."
_MAX_READ: Final = 4_000
"""The most characters of an exception in which a value is looked for."""
_MOST: Final = 10
"""The most arguments of which it is looked for what was meant by them."""
_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def advice_on(call: Call, error: BaseException, *, is_authors: bool = False) -> str:
    """The sentences to put after what went wrong; empty where there is nothing to say.

    Args:
        call: The call that failed.
        error: What it failed with.
        is_authors: Whether the failure is told in the words of the tool's author. Those stand alone, except where he
            asks for a wait that the retry policy does not grant.
    """
    doubt = "" if is_authors or call.tool is None or call.tool.may_run_twice else _doubt(error)
    correction = "" if is_authors else _correction(call, error)
    return " ".join(filter(None, (doubt, _wish(call, error, is_authors=is_authors), correction)))


def _correction(call: Call, error: BaseException) -> str:
    """That other arguments may help, where the exception is of the kind that complains of a value.

    Weak models read an exception as the last word, or change the argument that was right; with these sentences they
    call again.
    """
    if not call.values or not isinstance(error, ValueError | LookupError) or _is_about_data(error):
        return ""
    text = _told(call, error)
    texts = frozenset(value for value in call.values.values() if isinstance(value, str))
    wrong = complained_of(call.values, text)
    of_these = [call.values[name] for name in wrong] or list(call.values.values())
    meant = (what_was_meant(value, text, sent=texts) for value in of_these[:_MOST] if isinstance(value, str))
    may_hint = call.tool is None or not call.tool.options.destructive  # what to destroy is for the model to say
    near = next((f"Did you mean {found!r}? " for found in meant if found), "") if may_hint else ""
    others = [name for name in call.turn.host.table.named_in(text) if name != call.name]
    first = f"Call {' or '.join(others)} first, then {call.name}" if others else f"Call {call.name}"
    return f"{near}{first} again, with {' or '.join(wrong) or 'the arguments'} corrected as the error says."


def _is_about_data(error: BaseException) -> bool:
    """Whether the exception complains of what was read or made on the way, and not of an argument."""
    return isinstance(error, UnicodeError | json.JSONDecodeError | ValidationError)


def _told(call: Call, error: BaseException) -> str:
    """What the exception says, as far as it is read and without secrets; empty where it says nothing."""
    try:
        return call.turn.redactor(call).text(str(error)[:_MAX_READ])
    except Exception:  # noqa: BLE001 - the exception's own code
        return ""


def _doubt(error: BaseException) -> str:
    """That the call may have had an effect, which a second one would have again."""
    if isinstance(error, ProcessDied):
        return BROKEN_OFF
    return IN_DOUBT if is_ambiguous(error) else ""


def _wish(call: Call, error: BaseException, *, is_authors: bool) -> str:
    wish = retry_after_of(error)
    is_refused = _policy(call).refused_wait(error) is not None
    if wish is None or (is_authors and not is_refused):
        return ""
    if math.isinf(wish):
        return "The service asks not to be called again."
    asked = f"The service asks to wait {_spoken(wish)} before the next call."
    return f"{asked} Go on without it for now, or say that it has to wait." if is_refused else asked


def _policy(call: Call) -> RetryPolicy:
    policy = call.tool.options.retry if call.tool is not None else None
    return policy if isinstance(policy, RetryPolicy) else RetryPolicy()


def _spoken(seconds: float) -> str:
    """A duration in the largest unit of which there are two, rounded up: ``90 seconds``, ``15 minutes``."""
    size, unit = next((entry for entry in _UNITS if seconds >= 2 * entry[0]), _UNITS[-1])
    number = max(1, math.ceil(seconds / size))
    return f"{number} {unit}" + ("" if number == 1 else "s")
