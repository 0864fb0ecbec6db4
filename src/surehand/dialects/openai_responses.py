"""OpenAI's Responses, and the servers that speak them: xAI, DeepSeek, LM Studio, vLLM and others.

A reply is a list of items: thoughts, messages, calls, and what the provider ran itself. The content of a message keeps
them as they came. Which of them are calls, ``responses_items`` says; how they go back, ``responses_history``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from surehand.dialects.responses_history import answer_item, write_messages
from surehand.dialects.responses_items import (
    OUTPUTS,
    call_id_of,
    is_follow_up,
    is_item,
    item_of,
    message_fields,
    output_of,
)
from surehand.dialects.responses_stream import ResponseStream, about_reply, usage_of
from surehand.dialects.wire import no_reply
from surehand.messages import AIMessage, Message, ToolMessage, plain_messages, plain_reply
from surehand.shapes import items_of, mapping_of

__all__ = [
    "NAME",
    "ResponseStream",
    "knows",
    "owns",
    "read_messages",
    "read_reply",
    "usage_of",
    "write_answers",
    "write_messages",
]

NAME: Final = "openai_responses"

_SAID: Final = frozenset({"output_text", "refusal"})
"""The parts of a model's message, which no other dialect has."""


def read_reply(payload: object) -> AIMessage:
    """The message of a response, with our calls, status and usage.

    The response may be the provider's JSON or the object that its SDK makes of it. The content keeps its items, the
    calls that the provider ran itself among them; a response of one plain text has that text as its content.

    Raises:
        InputError: The payload has no output.
    """
    reply = item_of(payload)
    output = output_of(reply)
    if output is None:
        raise no_reply("a response with a list of output items", payload, "output")
    return plain_reply(_reply_fields(reply, output))


def _reply_fields(reply: Mapping[str, Any], output: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    usage = usage_of(reply.get("usage"))
    return {**message_fields(output), "response_metadata": about_reply(reply), "usage_metadata": usage or {}}


def knows(item: object, fields: Mapping[str, Any]) -> bool:
    """Whether it is an item that a model made, or a whole response."""
    del item
    if output_of(fields) is not None:
        return fields.get("object") == "response" or any(is_item(part) for part in output_of(fields) or ())
    if fields.get("role") == "assistant":
        parts = [mapping_of(part) for part in items_of(fields.get("content"))]
        return bool(parts) and all(part.get("type") in _SAID for part in parts)
    return "role" not in fields and is_item(fields) and not is_follow_up(fields)


def owns(fields: Mapping[str, Any]) -> bool:
    """Whether it is an item other than a message, or a whole response."""
    is_other = is_item(fields) and fields["type"] != "message"
    return is_other or ("role" not in fields and output_of(fields) is not None)


def read_messages(given: Sequence[object], /) -> list[Message]:
    """The messages that the items are, whole responses among them.

    Items that a model made in one go are one message. What answers calls that are none of ours stays with those.

    Raises:
        InputError: One is neither an item nor a message.
    """
    history = _History()
    for value in given:
        history.read(value)
    return plain_messages(history.entries())


class _History:
    """Items on their way to messages."""

    def __init__(self) -> None:
        self._entries: list[object] = []
        self._turn: list[Mapping[str, Any]] = []
        self._reply: Mapping[str, Any] = {}
        """The response that the turn is, where it came as one."""
        self._answers: list[dict[str, Any]] = []
        self._ours: set[str | None] = set()
        self._foreign: set[str | None] = set()
        """The ids of calls that are none of ours; a few clients answer them as if they were."""

    def entries(self) -> list[object]:
        """What was read, in the forms that ``plain_messages`` takes."""
        self._end_turn()
        return self._entries

    def read(self, value: object) -> None:
        """Take in an item, a response, or a message of ours."""
        fields = item_of(value)
        kind, role = fields.get("type"), fields.get("role")
        output = output_of(fields)
        if output is not None:
            self._end_turn()
            self._reply = fields
            for item in output:
                self._add(item)
        elif kind in OUTPUTS.values() and call_id_of(fields) not in self._foreign - self._ours:
            self._answers.append(_answer_fields(fields))
        elif role == "assistant" or (is_item(fields) and (role is None or kind != "message")):
            self._add({"type": "message", **fields})
        else:
            self._end_turn()
            self._entries.append(fields or value)

    def _add(self, item: Mapping[str, Any]) -> None:
        if self._answers and not is_follow_up(item):
            self._end_turn()
        call_id = call_id_of(item)
        if item.get("type") in OUTPUTS:
            self._ours.add(call_id)
        elif item.get("type", "").endswith("_call"):
            self._foreign.add(call_id)
        self._turn.append(item)

    def _end_turn(self) -> None:
        if self._turn or self._reply:
            self._entries.append(_reply_fields(self._reply, self._turn) if self._reply else message_fields(self._turn))
        self._entries += self._answers
        self._turn, self._reply, self._answers = [], {}, []


def _answer_fields(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "role": "tool",
        "tool_call_id": item.get("call_id"),
        "name": item.get("name"),
        "content": item.get("output"),
    }


def write_answers(answers: Iterable[ToolMessage], /, given: Sequence[object] = ()) -> list[dict[str, Any]]:
    """Tool messages as output items, with the ids that they came with, each in the form of the call it answers."""
    calls: dict[str | None, Mapping[str, Any]] = {}
    for value in given:
        fields = item_of(value)
        output = output_of(fields)
        calls.update((call_id_of(item), item) for item in ([fields] if output is None else output))
    return [answer_item(answer, calls.get(answer.tool_call_id, {}), answer.tool_call_id) for answer in answers]
