"""OpenAI's Chat Completions, and the many servers that speak it more or less.

Reading is generous: servers send content as text, as blocks or as null, calls under ``tool_calls`` or the older
``function_call`` (or an empty one beside a text), arguments as text or as an object, ids and numbers that are missing
or repeated, the tokens in the last frame of a stream or not at all. Writing is strict, in the one form that all of them
take: contents that are not empty, calls with plain ids, arguments that are a JSON object, one answer to each call.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from surehand.dialects.blocks import answer_text, openai_block
from surehand.dialects.chat_choices import choice_of
from surehand.dialects.chat_stream import ChatStream, about_reply, usage_of
from surehand.dialects.wire import (
    answer_ids,
    clean,
    clean_text,
    content_blocks,
    no_reply,
    payload_of,
    sendable_arguments_text,
    sendable_id,
    sendable_name,
    unwritable,
)
from surehand.messages import (
    AIMessage,
    Content,
    HumanMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    plain_messages,
    plain_reply,
    repair_transcript,
)
from surehand.shapes import is_array, items_of, mapping_of
from surehand.wording import NO_OUTPUT

__all__ = [
    "NAME",
    "ChatStream",
    "knows",
    "owns",
    "read_messages",
    "read_reply",
    "usage_of",
    "write_answers",
    "write_messages",
]

NAME: Final = "openai_chat"

_PLAIN_ID: Final = re.compile("[!-~]+")
"""Ids go back as they came: a model may have learnt their form, as Kimi's has that of ``functions.search:0``."""
_SIGNED_ID: Final = "__thought__"
"""What stands between a call's id and the signature that LiteLLM hides in it, which Gemini wants to see again."""


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
        raise no_reply(f"a chat completion with a message in choices[{choice}]", payload)
    return plain_reply(fields)


def _reply_fields(reply: Mapping[str, Any], choice: int) -> dict[str, Any]:
    """The reply as a message of the dialect, and what only a reply has; empty where it has no such message."""
    found = choice_of(reply, choice)
    message = mapping_of(found.get("message"))
    if not message:
        return {}
    metadata = {**about_reply(reply), "finish_reason": found.get("finish_reason")}
    usage = usage_of(reply.get("usage")) or {}
    return {**message, "role": "assistant", "response_metadata": metadata, "usage_metadata": usage}


def knows(item: object, fields: Mapping[str, Any]) -> bool:
    """Whether it is an assistant's message, or a whole completion; asked when no other dialect knows it."""
    del item
    return fields.get("role") == "assistant" or bool(items_of(fields.get("choices")))


def owns(fields: Mapping[str, Any]) -> bool:
    """Whether it is a whole completion: the messages of Chat Completions are the usual spelling."""
    return not {"role", "type"} & fields.keys() and is_array(fields.get("choices"))


def read_messages(given: Sequence[object], /) -> list[Message]:
    """The messages of a request, replies among them.

    Raises:
        InputError: One has no role that Chat Completions know.
    """
    # Not as messages: which calls came without an id, or with that of another, says how their answers are found.
    return plain_messages([_as_fields(item) for item in given])


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
        extra_fields: Which of an AI message's ``additional_kwargs`` are sent back, such as ``reasoning_content``; with
            ``extra_content`` that of its calls too, in which Gemini's signatures stand.
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
        raise unwritable(message, "Chat Completions have")
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
        written["tool_calls"] = [_written_call(call, message, form) for call in message.tool_calls]
    return written


def _written_call(call: ToolCall, message: AIMessage, form: _Form) -> dict[str, Any]:
    call_id, name = _sendable_id(call["id"], form), sendable_name(call["name"], form.names)
    given = mapping_of(call["args"])
    if "input" in given and call["id"] in items_of(message.additional_kwargs.get("custom_calls")):
        return {"id": call_id, "type": "custom", "custom": {"name": name, "input": clean(given["input"])}}
    function = {"name": name, "arguments": sendable_arguments_text(call)}
    return {"id": call_id, "type": "function", "function": function, **_extra(call, message, form)}


def _extra(call: ToolCall, message: AIMessage, form: _Form) -> dict[str, Any]:
    """What the provider sent beside the call and wants again."""
    extras = map(mapping_of, items_of(message.additional_kwargs.get("call_extras")))
    own = [extra["extra_content"] for extra in extras if extra.get("id") == call["id"]]
    return {"extra_content": clean(own[0])} if own and "extra_content" in form.extra_fields else {}


def _sendable_id(call_id: str, form: _Form) -> str:
    max_length = max(len(call_id), form.max_id_length) if _SIGNED_ID in call_id else form.max_id_length
    return sendable_id(call_id, max_length, pattern=_PLAIN_ID)


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
