"""Replies that a LangChain agent would lose: with calls that cannot be read, or cut off in the middle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage as ForeignReply

from surehand.calls import Host, ToolTable, Turn, calls_of, gate, parse
from surehand.dialects.langchain_messages import read_messages, write_message
from surehand.messages import AIMessage, Message, ToolMessage, close_call
from surehand.outcomes import FailureKind

__all__ = ["reviewed"]

_MOST_CORRECTIONS: Final = 10
"""After how many replies in a row that could not be used the agent is not asked again."""
_HOST: Final = Host(table=ToolTable([]))
_UNREAD: Final = frozenset({FailureKind.MALFORMED, FailureKind.TRUNCATED})


def reviewed(messages: Sequence[Any]) -> dict[str, Any] | None:
    """What a state becomes by its newest reply; None where all calls of the reply can be run as they stand.

    Calls that LangChain could not read and we can, without loss, take their place among the others.

    Args:
        messages: LangChain's messages, the reply last.
    """
    newest = messages[-1] if messages else None
    if not isinstance(newest, ForeignReply) or not (newest.tool_calls or newest.invalid_tool_calls):
        return None
    (given,) = read_messages([newest])
    reply, answers = _read_again(given)
    if not newest.invalid_tool_calls and not answers:
        return None
    changed: list[Message] = [reply, *answers] if newest.id is not None else [*answers]
    update: dict[str, Any] = {"messages": [write_message(message) for message in changed]}
    if len(answers) == len(reply.tool_calls) and _corrections(messages) < _MOST_CORRECTIONS:
        update["jump_to"] = "model"
    return update


def _read_again(given: Message) -> tuple[AIMessage, list[ToolMessage]]:
    """The reply with its calls as we read them, and the answers to those that are not to be run."""
    assert isinstance(given, AIMessage)  # noqa: S101 - narrows the type
    reply = given.replace(
        tool_calls=[{"id": call["id"], "name": call["name"], "args": call["args"]} for call in given.tool_calls]
    )
    answers: list[ToolMessage] = []
    for call, sent in zip(calls_of(Turn(host=_HOST, message=reply)), reply.tool_calls, strict=True):
        step = gate(call)
        outcome = (step if step.outcome is not None else parse(step)).outcome
        if outcome is not None and outcome.kind is not None:
            answers.append(close_call(sent, outcome.kind, outcome.text or str(outcome.kind)))
    return reply, answers


def _corrections(messages: Sequence[Any]) -> int:
    """How many replies before the newest one, in a row, could not be used."""
    count = 0
    for message in reversed(read_messages(list(messages[:-1]))):
        if isinstance(message, AIMessage):
            count += 1
        elif not _is_refusal(message):
            break
    return count


def _is_refusal(message: Message) -> bool:
    return isinstance(message, ToolMessage) and message.outcome is not None and message.outcome.kind in _UNREAD
