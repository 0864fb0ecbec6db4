"""What becomes of a failure that the host may decide about: told to the model, or raised."""

from __future__ import annotations

import json
from typing import Any

from surehand.calls.announce import log_fault
from surehand.calls.render import render_value
from surehand.errors import ToolCallError, shown
from surehand.outcomes import FailureKind, Outcome
from surehand.policy import DEFAULT_MAX_OUTPUT, ErrorRule

__all__ = ["GOVERNED", "told"]

GOVERNED = frozenset({FailureKind.TOOL_ERROR, FailureKind.EXCEPTION, FailureKind.TIMEOUT, FailureKind.INTERNAL})
"""The failures that ``handle_tool_errors`` decides about. What the model did wrong is always answered."""


def told(outcome: Outcome, rules: tuple[ErrorRule, ...], *, call_id: str, tool: str) -> str | None:
    """What the model is told of a failure; None where no rule has an answer, so that it is to be raised."""
    error = as_exception(outcome, call_id=call_id, tool=tool)
    for rule in rules:
        text = _told_by(rule, error, outcome)
        if text is not None:
            return text
    return None


def as_exception(outcome: Outcome, *, call_id: str, tool: str) -> BaseException:
    """The failure's own exception, or one made for it."""
    if outcome.error is not None:
        return outcome.error
    return ToolCallError(call_id=call_id, tool=tool, kind=str(outcome.kind), text=outcome.text or "")


def _told_by(rule: ErrorRule, error: BaseException, outcome: Outcome) -> str | None:
    match rule:
        case bool():
            return outcome.text if rule else None
        case str():
            return rule
        case type() | tuple():
            return outcome.text if isinstance(error, rule) else None
        case _:
            return _asked(rule, error, outcome)


def _asked(rule: Any, error: BaseException, outcome: Outcome) -> str | None:
    try:
        answer = rule(error)
        told_text = answer if isinstance(answer, str) else _as_text(answer)
    except Exception as failure:  # noqa: BLE001 - the host's own handler: its failure must not lose the call's answer
        log_fault(f"handle_tool_errors={shown(rule)} failed; the model is told the default text", failure)
        return outcome.text
    return told_text if told_text.strip() else outcome.text


def _as_text(answer: Any) -> str:
    """What a handler returned, as a tool's result would be written; blank where it returned nothing."""
    content = "" if answer is None else render_value(answer, max_output=DEFAULT_MAX_OUTPUT).content
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
