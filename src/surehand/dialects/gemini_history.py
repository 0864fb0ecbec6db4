"""The contents of a conversation with Gemini, as messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from surehand.dialects.gemini_calls import call_in, field_of, has_call, is_models
from surehand.dialects.gemini_parts import JoinedParts
from surehand.dialects.gemini_stream import ContentStream, is_reply, json_of
from surehand.errors import InputError
from surehand.messages import (
    AIMessage,
    Content,
    HumanMessage,
    Message,
    SystemMessage,
    ToolMessage,
    new_call_id,
    plain_messages,
)
from surehand.shapes import items_of, mapping_of

__all__ = ["HistoryReader", "response_content"]

_USER: Final = frozenset({None, "", "user", "function", "tool"})


@dataclass(frozen=True, slots=True)
class _OpenCall:
    """A call that was read, and the id that its part has."""

    sent_id: object
    id: str
    name: str


class HistoryReader:
    """Reads one conversation from its start; ``finish`` gives its messages."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._saying: ContentStream | None = None
        """What the model is saying, as long as nobody else says something."""
        self._open: list[_OpenCall] = []
        """The calls of what the model said last that have no answer yet."""
        self._known: dict[object, _OpenCall] = {}
        """All calls by the ids that came with them: with an id, an answer finds its call wherever it stands."""

    def read(self, item: object) -> None:
        """Take in a content, a reply, a chunk of a reply or a message of Surehand's.

        Raises:
            InputError: It is none of these.
        """
        fields = json_of(item)
        if is_reply(fields):
            self._said(fields)
        elif not isinstance(item, Message) and "parts" in fields:
            self._read_content(fields)
        else:
            self._end_reply()
            self._add(plain_messages([item]))

    def finish(self) -> list[Message]:
        """The messages of all that was read."""
        self._end_reply()
        return self._messages

    def _read_content(self, fields: Mapping[str, Any]) -> None:
        role, parts = fields.get("role"), [json_of(part) for part in items_of(fields.get("parts"))]
        if is_models(fields):
            self._said({"candidates": [{"content": fields}]})
            return
        self._end_reply()
        if role == "system":
            self._messages.append(SystemMessage(_content(parts)))
        elif role in _USER:
            self._read_user(parts)
        else:
            raise InputError(
                problem=f"There is no content of the role {role!r}",
                value=fields,
                remedy="Contents have the role 'user', 'model' or 'function'.",
            )

    def _said(self, reply: Mapping[str, Any]) -> None:
        if self._saying is None or self._saying.is_finished or self._saying.is_of_another(reply):
            self._end_reply()
            self._saying = ContentStream()
        self._saying.feed(reply)

    def _end_reply(self) -> None:
        if self._saying is not None:
            self._add([self._saying.whole()])
            self._saying = None

    def _add(self, messages: Sequence[Message]) -> None:
        for message in messages:
            self._messages.append(message)
            if isinstance(message, AIMessage):
                self._open = _open_calls(message)
                self._known |= {call_id: call for call in self._open for call_id in (call.id, call.sent_id) if call_id}

    def _read_user(self, parts: Sequence[Mapping[str, Any]]) -> None:
        """What a user says; the answers to calls stand among it and come first."""
        rest: list[Mapping[str, Any]] = []
        for part in parts:
            response = mapping_of(field_of(part, "functionResponse"))
            if response:
                self._read_answer(response)
            else:
                rest.append(part)
        if rest or not parts:
            self._messages.append(HumanMessage(_content(rest)))

    def _read_answer(self, response: Mapping[str, Any]) -> None:
        call = self._answered(response.get("id"), response.get("name"))
        if call in self._open:
            self._open.remove(call)
        given: object = response.get("response")
        media = [dict(json_of(part)) for part in items_of(response.get("parts"))]
        sent_id, name = response.get("id"), response.get("name")
        call_id = call.id if call is not None else sent_id if isinstance(sent_id, str) and sent_id else new_call_id()
        kept = {key: value for key, value in response.items() if key not in ("id", "name", "parts")}
        self._messages.append(
            ToolMessage(
                response_content(response, media),
                tool_call_id=call_id,
                name=name if isinstance(name, str) and name else (call.name if call is not None else None),
                status="error" if list(mapping_of(given)) == ["error"] else "success",
                additional_kwargs={"function_response": kept},
            )
        )

    def _answered(self, sent_id: object, name: object) -> _OpenCall | None:
        """The call that an answer is for: by the id as sent; without one the next of its name that came without."""
        if sent_id and (known := self._known.get(sent_id)) is not None:
            return next((call for call in self._open if sent_id in (call.sent_id, call.id)), known)
        # The host was told an id for a call that has none in its own copy; or it leaves out the ids of all answers.
        candidates = [call for call in self._open if not call.sent_id] if sent_id else self._open
        return next((call for call in candidates if not name or call.name == name), None)


def _open_calls(message: AIMessage) -> list[_OpenCall]:
    parts = [mapping_of(block) for block in items_of(message.content)]
    sent = [call_in(part).get("id") for part in parts if has_call(part)]
    if len(sent) != len(message.tool_calls):  # a message that is none of Gemini's: its calls have ids
        sent = [call["id"] for call in message.tool_calls]
    return [
        _OpenCall(sent_id, call["id"], call["name"]) for sent_id, call in zip(sent, message.tool_calls, strict=True)
    ]


def _content(parts: Sequence[Mapping[str, Any]]) -> Content:
    joined = JoinedParts()
    for part in parts:
        joined.add(part)
    return joined.content()


def response_content(response: Mapping[str, Any], media: Sequence[Mapping[str, Any]]) -> Content:
    """What a function's response says: the one text or value in it, or all of it as JSON; and its files."""
    given: object = response.get("response")
    fields = mapping_of(given)
    key = next(iter(fields), "")
    said: object = fields[key] if len(fields) == 1 and key in ("output", "result", "error") else given
    is_nothing = said is None or said == {}
    text = said if isinstance(said, str) else "" if is_nothing else json.dumps(said, ensure_ascii=False, default=str)
    if not media:
        return text
    blocks: list[str | dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    return [*blocks, *map(dict, media)]
