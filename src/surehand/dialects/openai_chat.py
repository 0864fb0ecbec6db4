"""OpenAI's Chat Completions, and the many servers that speak it more or less.

Reading is generous: servers send content as text, as blocks or as null, calls under ``tool_calls`` or the older
``function_call`` (or an empty one beside a text), arguments as text or as an object, ids and numbers that are missing
or repeated, the tokens in the last frame of a stream or not at all. Writing is strict, in the one form that all of them
take: contents that are not empty, calls with plain ids, arguments that are a JSON object, one answer to each call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from surehand.dialects.blocks import answer_text, openai_block
from surehand.dialects.chat_choices import choice_of
from surehand.dialects.streams import FREE_TEXT_END, FREE_TEXT_START, Reply, free_text
from surehand.dialects.wire import (
    answer_ids,
    clean,
    clean_text,
    content_blocks,
    payload_of,
    sendable_arguments_text,
    sendable_id,
    sendable_name,
)
from surehand.errors import InputError
from surehand.messages import (
    AIMessage,
    AIMessageChunk,
    Content,
    HumanMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolCallChunk,
    ToolMessage,
    convert_to_messages,
    new_call_id,
    repair_transcript,
    text_of,
)
from surehand.shapes import items_of, mapping_of
from surehand.wording import NO_OUTPUT

__all__ = [
    "NAME",
    "ChatStream",
    "knows",
    "read_messages",
    "read_reply",
    "usage_of",
    "write_answers",
    "write_messages",
]

NAME: Final = "openai_chat"

_ABOUT_REPLY: Final = ("id", "model", "created", "system_fingerprint", "service_tier")
_PLAIN_ID: Final = re.compile("[!-~]+")
"""Ids go back as they came: a model may have learnt their form, as Kimi's has that of ``functions.search:0``."""
_EXTRA_TEXTS: Final = ("reasoning_content", "reasoning", "refusal")


def read_reply(payload: object, *, choice: int = 0) -> AIMessage:
    """The message of a completion, with all calls, finish reason and usage.

    What the provider sends beside the content, such as its reasoning, is in ``additional_kwargs``.

    Args:
        payload: The completion as the provider sent it, or as its SDK gives it.
        choice: Which of the completions to read, where several were asked for.

    Raises:
        InputError: The payload has no such choice.
    """
    fields = _reply_fields(payload_of(payload), choice)
    if not fields:
        raise InputError(
            problem=f"Expected a chat completion with a message in choices[{choice}]",
            value=payload,
            remedy="Pass the provider's JSON as it came; an error reply holds no message.",
        )
    return cast("AIMessage", convert_to_messages([fields])[0])


def _reply_fields(reply: Mapping[str, Any], choice: int) -> dict[str, Any]:
    """The reply as a message of the dialect, and what only a reply has; empty where it has no such message."""
    found = choice_of(reply, choice)
    message = mapping_of(found.get("message"))
    if not message:
        return {}
    metadata = {key: reply[key] for key in _ABOUT_REPLY if reply.get(key) is not None}
    metadata["finish_reason"] = found.get("finish_reason")
    usage = usage_of(reply.get("usage")) or {}
    return {**message, "role": "assistant", "response_metadata": metadata, "usage_metadata": usage}


def usage_of(usage: object) -> dict[str, Any] | None:
    """The tokens in the spelling of ``usage_metadata``; None where the provider sent none."""
    fields = mapping_of(usage)
    if not fields:
        return None
    sent, received = _number(fields.get("prompt_tokens")), _number(fields.get("completion_tokens"))
    return {
        "input_tokens": sent,
        "output_tokens": received,
        "total_tokens": _number(fields.get("total_tokens")) or sent + received,
    }


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def knows(item: object, fields: Mapping[str, Any]) -> bool:
    """Whether it is an assistant's message, or a whole completion; asked when no other dialect knows it."""
    del item
    return fields.get("role") == "assistant" or bool(items_of(fields.get("choices")))


def read_messages(given: Sequence[object], /) -> list[Message]:
    """The messages of a request, replies among them.

    Raises:
        InputError: One has no role that Chat Completions know.
    """
    # Not as messages: which calls came without an id, or with that of another, says how their answers are found.
    return convert_to_messages([_as_fields(item) for item in given])


def _as_fields(item: object) -> object:
    reply = payload_of(item)
    return _reply_fields(reply, 0) if "choices" in reply else item


def write_messages(
    messages: Sequence[Message],
    *,
    names: Mapping[str, str] | None = None,
    extra_fields: Collection[str] = (),
    max_id_length: int = 64,
) -> list[dict[str, Any]]:
    """The conversation as the provider accepts it, whatever broken call it holds.

    Arguments are valid JSON objects, every call is answered once and right after it, no content is empty.

    Args:
        messages: The conversation; it is repaired first, as ``repair_transcript`` does.
        names: Tool name -> the name the tool was offered by, where the two differ.
        extra_fields: Which of an AI message's ``additional_kwargs`` are sent back, such as ``reasoning_content``.
        max_id_length: Longer call ids are replaced; OpenAI's own servers take 40 characters, others more.
    """
    form = _Form(names or {}, extra_fields, max_id_length)
    return [_written(message, form) for message in repair_transcript(messages)]


@dataclass(frozen=True, slots=True)
class _Form:
    """What differs between the servers that speak this dialect."""

    names: Mapping[str, str]
    extra_fields: Collection[str]
    max_id_length: int


def _written(message: Message, form: _Form) -> dict[str, Any]:
    if isinstance(message, AIMessage):
        return _written_reply(message, form)
    if isinstance(message, ToolMessage):
        return _written_answer(message, _sendable_id(message.tool_call_id, form))
    if isinstance(message, SystemMessage):
        role = "developer" if message.additional_kwargs.get("role") == "developer" else "system"
    elif isinstance(message, HumanMessage):
        role = "user"
    else:
        raise InputError(
            problem="Chat Completions have no such message",
            value=message,
            remedy="Apply RemoveMessage with add_messages before the model is asked.",
        )
    written: dict[str, Any] = {"role": role, "content": _parts(message.content)}
    if message.name:
        written["name"] = sendable_name(message.name, {})
    return written


def _parts(content: Content) -> str | list[Any]:
    if isinstance(content, str):
        return clean_text(content) or NO_OUTPUT
    return [openai_block(block) for block in content_blocks(content)] or NO_OUTPUT


def _written_reply(message: AIMessage, form: _Form) -> dict[str, Any]:
    text = clean_text(message.text)
    # Beside calls OpenAI itself writes null, which not every server takes; the empty text all of them do.
    written: dict[str, Any] = {"role": "assistant", "content": text or ("" if message.tool_calls else NO_OUTPUT)}
    for field in form.extra_fields:
        if field in message.additional_kwargs:
            written[field] = clean(message.additional_kwargs[field])
    if message.tool_calls:
        custom: Collection[str] = message.additional_kwargs.get("custom_calls", ())
        written["tool_calls"] = [
            _written_call(call, form, is_custom=call["id"] in custom) for call in message.tool_calls
        ]
    return written


def _written_call(call: ToolCall, form: _Form, *, is_custom: bool) -> dict[str, Any]:
    call_id, name = _sendable_id(call["id"], form), sendable_name(call["name"], form.names)
    given = mapping_of(call["args"])
    if is_custom and "input" in given:
        text = clean(given["input"])
        return {"id": call_id, "type": "custom", "custom": {"name": name, "input": text}}
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": sendable_arguments_text(call)},
    }


def _sendable_id(call_id: str, form: _Form) -> str:
    return sendable_id(call_id, form.max_id_length, pattern=_PLAIN_ID)


def _written_answer(message: ToolMessage, call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": _answer_text(message)}


def _answer_text(message: ToolMessage) -> str:
    """Answers are text only in this dialect; a block that is none is named, so that the model knows of it."""
    if isinstance(message.content, str):
        return clean_text(message.content) or NO_OUTPUT
    texts = [block if isinstance(block, str) else answer_text(block) for block in message.content]
    return clean_text("\n".join(text for text in texts if text)) or NO_OUTPUT


def write_answers(answers: Iterable[ToolMessage], /, given: Sequence[object] = ()) -> list[dict[str, Any]]:
    """Tool messages as Chat Completions' ``tool`` messages, with the ids that they came with.

    The answer to a call in the older ``function_call`` is a ``function`` message, as the API has it.
    """
    answers, message = list(answers), _newest(given)
    legacy = mapping_of(message.get("function_call")).get("name")
    if legacy and not message.get("tool_calls"):
        return [{"role": "function", "name": legacy, "content": _answer_text(answer)} for answer in answers]
    sent = [mapping_of(entry).get("id") for entry in items_of(message.get("tool_calls"))]
    return [
        _written_answer(answer, call_id) for answer, call_id in zip(answers, answer_ids(answers, sent), strict=True)
    ]


def _newest(given: Sequence[object]) -> Mapping[str, Any]:
    """The newest message of a model's among the host's."""
    for item in map(payload_of, reversed(given)):
        message = mapping_of(choice_of(item, 0).get("message")) if "choices" in item else item
        if message.get("role", "assistant") == "assistant":
            return message
    return {}


class ChatStream:
    """Puts the chunks of a streamed completion together.

    Feed every chunk; ``finish`` gives the whole reply, as often as it is asked. A reply that broke off has no
    ``finish_reason``, and those of its calls that are not complete are invalid.
    """

    def __init__(self, *, choice: int = 0) -> None:
        self._choice = choice
        self._reply = Reply()
        self._made_ids: dict[object, str] = {}
        self._customs = _Customs()

    def feed(self, chunk: Mapping[str, Any]) -> AIMessageChunk | None:
        """Take in one chunk; what it adds to the reply, or None if that is nothing."""
        reply = self._reply
        metadata = {key: chunk[key] for key in _ABOUT_REPLY if chunk.get(key) and key not in reply.metadata}
        if chunk.get("error") or chunk.get("object") == "error":  # inside a stream that began with HTTP 200
            metadata["error"] = chunk.get("error") or chunk.get("message")
        usage = usage_of(chunk.get("usage"))
        text, extras, pieces = "", dict[str, str | list[str]](), list[ToolCallChunk]()
        for entry in map(mapping_of, items_of(chunk.get("choices"))):
            if entry.get("index", 0) != self._choice:  # some servers leave the number out, and have one choice
                continue
            if entry.get("finish_reason"):
                metadata["finish_reason"] = entry["finish_reason"]
            delta = mapping_of(entry.get("delta"))
            text += text_of(delta.get("content"))
            extras |= {key: delta[key] for key in _EXTRA_TEXTS if isinstance(delta.get(key), str) and delta[key]}
            pieces += self._told_apart(self._pieces(delta))
        if "finish_reason" in metadata:
            pieces += self._customs.ends()
        if customs := self._customs.begun():
            extras["custom_calls"] = customs
        return reply.add(text=text, extras=extras, pieces=pieces, metadata=metadata, usage=usage)

    def _told_apart(self, pieces: list[ToolCallChunk]) -> list[ToolCallChunk]:
        """Ids for whole calls that are the same in one delta: those are so many calls.

        In a later delta the same ids again, as they are then the same calls sent again.
        """
        wholes = [(piece["name"], piece["args"], piece["index"]) for piece in pieces]
        for place, (piece, whole) in enumerate(zip(pieces, wholes, strict=True)):
            if piece["name"] and piece["args"] and not piece["id"] and wholes.count(whole) > 1:
                piece["id"] = self._made_ids.setdefault((whole, wholes[:place].count(whole)), new_call_id())
        return pieces

    def _pieces(self, delta: Mapping[str, Any]) -> list[ToolCallChunk]:
        entries = [mapping_of(entry) for entry in items_of(delta.get("tool_calls"))]
        legacy = mapping_of(delta.get("function_call"))
        entries += [{"function": legacy}] if legacy else []
        return [self._customs.piece(_piece(entry)) if _is_custom(entry) else _piece(entry) for entry in entries]

    def finish(self) -> AIMessage:
        """The reply as far as it came."""
        return self._reply.message()


class _Customs:
    """The custom calls of a stream: free-form texts, of which nothing but the end of the reply says that they end."""

    def __init__(self) -> None:
        self._ends: dict[object, ToolCallChunk] = {}
        self._begun: list[str] = []

    def piece(self, piece: ToolCallChunk) -> ToolCallChunk:
        """A piece of the text as a piece of arguments."""
        key = piece["id"] if piece["index"] is None else piece["index"]
        start = "" if key in self._ends else FREE_TEXT_START
        if start:
            self._ends[key] = {**piece, "name": None, "args": FREE_TEXT_END}
            self._begun += [piece["id"]] if piece["id"] else []
        return {**piece, "args": start + free_text(piece["args"] or "")}

    def begun(self) -> list[str]:
        """The ids of those that have begun since this was asked last."""
        begun, self._begun = self._begun, []
        return begun

    def ends(self) -> list[ToolCallChunk]:
        """What ends all of them."""
        ends, self._ends = list(self._ends.values()), {}
        return ends


def _is_custom(entry: Mapping[str, Any]) -> bool:
    return bool(mapping_of(entry.get("custom"))) and not mapping_of(entry.get("function"))


def _piece(entry: Mapping[str, Any]) -> ToolCallChunk:
    fields = mapping_of(entry.get("function")) or mapping_of(entry.get("custom"))
    index, call_id, name = entry.get("index"), entry.get("id"), fields.get("name")
    args: object = fields.get("arguments", fields.get("input"))
    return {
        "id": call_id if isinstance(call_id, str) else None,
        "name": name if isinstance(name, str) else None,
        "args": args if isinstance(args, str) or args is None else json.dumps(args, default=str),
        "index": index if isinstance(index, int) else None,
        "type": "tool_call_chunk",
    }
