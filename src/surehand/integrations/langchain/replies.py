"""Replies that a LangChain agent would lose: with calls that cannot be read, or cut off in the middle."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from langchain_core.messages import AIMessage as ForeignReply
from langchain_core.messages import ToolMessage as ForeignAnswer
from langchain_core.tools import BaseTool as ForeignTool

from surehand.calls import Call, Host, ToolTable, Turn, calls_of, gate, parse
from surehand.dialects.langchain_messages import read_messages, write_message
from surehand.messages import AIMessage, Message, ToolMessage, close_call
from surehand.outcomes import FailureKind, Outcome

__all__ = ["read_again", "reviewed"]

_MOST_CORRECTIONS: Final = 10
"""After how many replies in a row that could not be used the agent is not asked again."""
_HOST: Final = Host(table=ToolTable([]))
_UNREADABLE: Final = "The arguments are not valid JSON, so nothing was executed. Send the call again."
_UNREAD: Final = frozenset({FailureKind.MALFORMED, FailureKind.TRUNCATED})


def read_again(response: Any, tools: Iterable[Any]) -> Any:
    """What a model has answered, with those calls among the others that LangChain could not read and we can.

    Args:
        response: A response of LangChain's agent, or a reply alone.
        tools: What the model was offered. A call of anything else stays as it is: nobody would answer a structured
            answer that was read here, after LangChain had looked for one.
    """
    names = {tool.name for tool in tools if isinstance(tool, ForeignTool)}
    if isinstance(response, ForeignReply):
        return _with_readable_calls(response, names)
    messages = [
        _with_readable_calls(item, names) if isinstance(item, ForeignReply) else item for item in response.result
    ]
    return replace(response, result=messages)


def _with_readable_calls(reply: ForeignReply, names: Collection[str]) -> ForeignReply:
    if not reply.invalid_tool_calls:
        return reply
    given = _in_our_words(reply)
    calls = calls_of(Turn(host=_HOST, message=given))
    readable = {call.position for call in calls if call.name in names and _refused(call) is None}
    if not readable:
        return reply
    entries: list[Any] = [
        {"id": call["id"], "name": call["name"], "args": call["args"]} if position in readable else call
        for position, call in enumerate(given.tool_calls)
    ]
    return _with_calls_of(reply, given.replace(tool_calls=entries))


def _with_calls_of(reply: ForeignReply, own: AIMessage) -> ForeignReply:
    written = write_message(own)
    calls = {"tool_calls": written.tool_calls, "invalid_tool_calls": written.invalid_tool_calls}
    changed: ForeignReply = reply.model_copy(update=calls)
    return changed


def reviewed(messages: Sequence[Any]) -> dict[str, Any] | None:
    """What a state becomes by its newest reply; None where all calls of the reply can be run as they stand.

    Args:
        messages: LangChain's messages, the reply last, or before answers to some of its calls.
    """
    place = next((n for n in reversed(range(len(messages))) if not isinstance(messages[n], ForeignAnswer)), None)
    newest = None if place is None else messages[place]
    if not isinstance(newest, ForeignReply) or not (newest.tool_calls or newest.invalid_tool_calls):
        return None
    reply = _in_our_words(newest)
    known = {message.tool_call_id for message in messages[(place or 0) + 1 :]}
    answers = [answer for answer in _refusals(reply) if answer.tool_call_id not in known]
    if not answers:
        return None
    changed = [_with_calls_of(newest, reply)] if newest.id is not None else []  # calls without ids have some now
    update: dict[str, Any] = {"messages": [*changed, *map(write_message, answers)]}
    known |= {answer.tool_call_id for answer in answers}
    are_all = all(call["id"] in known for call in reply.tool_calls)
    if are_all and _corrections(messages[:place]) < _MOST_CORRECTIONS:
        update["jump_to"] = "model"
    return update


def _in_our_words(reply: ForeignReply) -> AIMessage:
    (given,) = read_messages([reply])
    assert isinstance(given, AIMessage)  # noqa: S101 - narrows the type
    return given


def _refusals(reply: AIMessage) -> list[ToolMessage]:
    """The answers to those calls that are not to be run: the agent runs none that LangChain could not read."""
    answers: list[ToolMessage] = []
    unread = {call["id"] for call in reply.invalid_tool_calls}
    for call, sent in zip(calls_of(Turn(host=_HOST, message=reply)), reply.tool_calls, strict=True):
        outcome = _refused(call)
        if outcome is not None and outcome.kind is not None:
            answers.append(close_call(sent, outcome.kind, outcome.text or str(outcome.kind)))
        elif sent["id"] in unread:
            answers.append(close_call(sent, FailureKind.MALFORMED, _UNREADABLE))
    return answers


def _refused(call: Call) -> Outcome | None:
    """Why a call cannot be run: its reply was cut off, or it cannot be read."""
    step = gate(call)
    return (step if step.outcome is not None else parse(step)).outcome


def _corrections(messages: Sequence[Any]) -> int:
    """How many replies before the newest one, in a row, could not be used."""
    count = 0
    for message in reversed(read_messages(list(messages))):
        if isinstance(message, AIMessage):
            count += 1
        elif not _is_refusal(message):
            break
    return count


def _is_refusal(message: Message) -> bool:
    return isinstance(message, ToolMessage) and message.outcome is not None and message.outcome.kind in _UNREAD
