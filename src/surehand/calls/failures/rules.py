"""What becomes of a failure that the host may decide about: told to the model, or raised.

Of an exception group each cause meets the rule of its own class: one that may be told must not carry along another
that may not. Where one of them is to be raised, the group is, as the tool raised it.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from surehand.callables import name_of
from surehand.calls.announce import log_fault
from surehand.calls.call import Call
from surehand.calls.failures.causes import causes_of, has_author_words, own_words, words_of
from surehand.calls.results import listed, render_value, shorten
from surehand.errors import ToolCallError, ToolTimedOut
from surehand.interrupts import is_signal
from surehand.outcomes import FailureKind, Outcome
from surehand.policy import DEFAULT_MAX_OUTPUT, ErrorRules, OneRule, Tell, are_exceptions
from surehand.wording import one_line

__all__ = ["GOVERNED", "as_exception", "attempt_words", "told"]

GOVERNED = frozenset({FailureKind.TOOL_ERROR, FailureKind.EXCEPTION, FailureKind.TIMEOUT, FailureKind.INTERNAL})
"""The failures that ``handle_tool_errors`` decides about. What the model did wrong is always answered."""

_RAISED: Final = GOVERNED - {FailureKind.INTERNAL}
"""The failures with a text that came from the body; the words of the others are ours, and hold nothing to hide."""


def told(call: Call, outcome: Outcome, rules: ErrorRules) -> str | None:
    """What the model is told of a failure; None where no rule has an answer, so that it is to be raised."""
    error = as_exception(call, outcome)
    causes = causes_of(error)
    deciding = [_deciding(rules.rules_for(cause), cause, error) for cause in causes]
    answering = [rule for rule in deciding if rule is not None]
    return _worded(call, outcome, causes, answering) if len(answering) == len(causes) else None


def attempt_words(call: Call, outcome: Outcome) -> str:
    """What is kept of an attempt that was followed by another: no more than the host lets the model be told."""
    error = as_exception(call, outcome)
    causes = causes_of(error)
    rules = ErrorRules() if call.tool is None else call.tool.rules
    deciding = [_deciding(rules.rules_for(cause), cause, error) for cause in causes]
    return _worded(call, outcome, causes, [rule if isinstance(rule, Tell) else True for rule in deciding])


def _worded(call: Call, outcome: Outcome, causes: Sequence[BaseException], rules: Sequence[OneRule]) -> str:
    """The failure in the words of the rules, one for each of its causes."""
    if all(map(_is_default, rules)):
        return outcome.text or str(outcome.kind)
    if len(causes) == 1:
        return _told_by(rules[0], causes[0], call, outcome)
    parts = [replace(outcome, text=_default_text(call, outcome, cause)) for cause in causes]
    texts = [_told_by(rule, cause, call, part) for rule, cause, part in zip(rules, causes, parts, strict=True)]
    distinct = list(dict.fromkeys(texts))
    return listed(distinct, total=len(distinct))


def as_exception(call: Call, outcome: Outcome) -> BaseException:
    """The failure's own exception, or one made for it."""
    if outcome.error is not None:
        return outcome.error
    cls = ToolTimedOut if outcome.kind is FailureKind.TIMEOUT else ToolCallError
    return cls(call_id=call.id, tool=call.name, kind=str(outcome.kind), text=outcome.text or "")


def _deciding(rules: Sequence[OneRule], cause: BaseException, whole: BaseException) -> OneRule | None:
    """The first rule that has an answer."""
    return next((rule for rule in rules if _has_answer(rule, cause, whole)), None)


def _has_answer(rule: OneRule, cause: BaseException, whole: BaseException) -> bool:
    """Whether the rule tells the cause; types tell what is of them, also where a group as a whole is."""
    if are_exceptions(rule):
        return isinstance(cause, rule) or isinstance(whole, rule)
    return rule is not False


def _is_default(rule: OneRule) -> bool:
    return rule is True or are_exceptions(rule)


def _default_text(call: Call, outcome: Outcome, cause: BaseException) -> str:
    """What the model is told of one cause of several, where no rule says otherwise."""
    words = words_of(cause, call.turn.redactor(call))
    return words if has_author_words(cause) else f"{words} [error {outcome.error_id}]"


def _told_by(rule: OneRule, cause: BaseException, call: Call, outcome: Outcome) -> str:
    """What one rule tells of one cause; where it has nothing to say, the outcome's own text."""
    match rule:
        case str():
            return rule
        case Tell():
            text = _told_so_much(rule, cause, call, outcome)
        case bool() | type() | tuple():
            text = None
        case _:
            text = _asked(rule, cause, call, outcome)
    return text or outcome.text or str(outcome.kind)


def _told_so_much(tell: Tell, cause: BaseException, call: Call, outcome: Outcome) -> str | None:
    """The cause, told as far as the host wants; None for the usual words."""
    if outcome.kind not in _RAISED or outcome.error is None:
        return None
    match tell:
        case Tell.VERBATIM:
            return own_words(cause)
        case Tell.CLASS_ONLY:
            return f"{one_line(type(cause).__name__)}: its text is not shown. [error {outcome.error_id}]"
        case Tell.REDACTED:
            return call.turn.redactor(call).text(own_words(cause)) if has_author_words(cause) else None


def _asked(rule: Any, cause: BaseException, call: Call, outcome: Outcome) -> str | None:
    """What the host's function answers; None where it has no answer."""
    try:
        answer = rule(cause)
        if isinstance(answer, Tell):
            return _told_so_much(answer, cause, call, outcome)
        text = _as_text(answer).strip()
    except BaseException as failure:  # the host's own handler: its failure must not lose the call's answer
        if is_signal(failure):
            raise
        log_fault(f"handle_tool_errors={name_of(rule)} failed; the model is told the default text", failure)
        return None
    return text or None


def _as_text(answer: Any) -> str:
    """What a handler returned, as a tool's result would be written; blank where it returned nothing."""
    if isinstance(answer, str):
        return shorten(str.__str__(answer), DEFAULT_MAX_OUTPUT, advice="")
    if inspect.iscoroutine(answer):
        answer.close()
        raise TypeError("it returned a coroutine, which nobody awaits")
    content = "" if answer is None else render_value(answer, max_output=DEFAULT_MAX_OUTPUT).content
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
