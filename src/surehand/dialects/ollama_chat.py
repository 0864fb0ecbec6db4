"""Ollama's own chat API; its servers also speak Chat Completions, which lose a model's thoughts and the timings.

Calls come whole, also in a stream, with their arguments as an object. Not every version gives them ids, and the Python
client drops those that it gets: an answer names its tool, and where the call has an id, that too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from surehand.dialects.blocks import answer_text, anthropic_block
from surehand.dialects.streams import ReplyStream
from surehand.dialects.wire import (
    clean_text,
    content_blocks,
    is_from,
    no_reply,
    payload_of,
    sendable_arguments,
    sendable_name,
    tokens,
    unwritable,
)
from surehand.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    Message,
    SystemMessage,
    ToolCallChunk,
    ToolMessage,
    new_call_id,
    plain_messages,
    plain_reply,
    repair_transcript,
)
from surehand.shapes import items_of, mapping_of
from surehand.wording import NO_OUTPUT

__all__ = [
    "NAME",
    "OllamaStream",
    "knows",
    "owns",
    "read_messages",
    "read_reply",
    "usage_of",
    "write_answers",
    "write_messages",
]

NAME: Final = "ollama_chat"

_IMAGE_STARTS: Final = ("iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR")
"""How PNG, JPEG, GIF and WebP begin in base64."""
_MADE_ID: Final = re.compile("call_[0-9a-f]{24}")
"""What ``new_call_id`` makes for a call without an id."""
_ABOUT_REPLY: Final = ("model", "created_at", "done_reason", "total_duration", "load_duration", "eval_duration")


def read_reply(payload: object) -> AIMessage:
    """The message of a reply, with all calls, the reason it ended and usage; its thoughts are in ``additional_kwargs``.

    Raises:
        InputError: The payload has no message.
    """
    reply = payload_of(payload)
    message = mapping_of(reply.get("message"))
    if not message:
        raise no_reply("a reply of Ollama's chat with a message", payload)
    return plain_reply(_reply_fields(reply))


def _reply_fields(reply: Mapping[str, Any]) -> dict[str, Any]:
    """The reply as a message of the dialect, and what only a reply has."""
    beside = {"response_metadata": _about(reply), "usage_metadata": usage_of(reply) or {}}
    return {**mapping_of(reply.get("message")), "role": "assistant", **beside}


def _about(reply: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {key: reply[key] for key in _ABOUT_REPLY if reply.get(key) is not None}
    if reply.get("done") is True:
        metadata.setdefault("done_reason", "stop")  # older servers say no more than that it is done
    return metadata


def usage_of(usage: object) -> dict[str, Any] | None:
    """The tokens in the spelling of ``usage_metadata``; None where the provider sent none.

    Args:
        usage: The reply, or the last part of a streamed one: the counts stand in it.
    """
    fields = mapping_of(usage)
    return tokens(fields.get("prompt_eval_count"), fields.get("eval_count"))


def knows(item: object, fields: Mapping[str, Any]) -> bool:
    """Whether it is an assistant's message of Ollama's, or a whole reply."""
    if _is_reply(fields):
        return True
    if fields.get("role") != "assistant":
        return False
    return is_from(item, "ollama") or any(_is_call(entry) for entry in items_of(fields.get("tool_calls")))


def owns(fields: Mapping[str, Any]) -> bool:
    """Whether it is a whole reply: Ollama's messages have the usual spelling."""
    return _is_reply(fields)


def _is_reply(fields: Mapping[str, Any]) -> bool:
    return bool(mapping_of(fields.get("message"))) and isinstance(fields.get("done"), bool)


def _is_call(entry: object) -> bool:
    """Whether it is a call as Ollama writes them; Chat Completions' have an id and a type, and a text of arguments.

    A few servers of those send an object too, and Ollama's newer histories have a type.
    """
    fields, function = mapping_of(entry), mapping_of(mapping_of(entry).get("function"))
    is_other = "type" in fields and "id" in fields and "index" not in function
    return not is_other and isinstance(function.get("arguments"), Mapping)


def read_messages(given: Sequence[object], /) -> list[Message]:
    """The messages of a request, replies among them.

    Raises:
        InputError: One has no role that Ollama knows.
    """
    return plain_messages([_as_message(item) for item in given])


def _as_message(item: object) -> object:
    """What our reader of messages knows; a reply as the message it is."""
    fields = payload_of(item)
    if _is_reply(fields):
        return _reply_fields(fields)
    if fields.get("role") != "tool":
        return fields or item
    rest = {key: value for key, value in fields.items() if key != "tool_name"}
    return {**rest, "name": fields.get("tool_name") or fields.get("name")}


def write_messages(messages: Sequence[Message], *, names: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """The conversation as the server accepts it, whatever broken call it holds.

    Arguments are objects, every call is answered once and right after it, contents are texts, images stand beside them.
    A call that came without an id is written without one.

    Args:
        messages: The conversation; it is repaired first, as ``repair_transcript`` does.
        names: Tool name -> the name the tool was offered by, where the two differ.
    """
    written: list[dict[str, Any]] = []
    called: dict[str, str] = {}
    for message in repair_transcript(messages):
        if isinstance(message, AIMessage):
            called = {call["id"]: sendable_name(call["name"], names or {}) for call in message.tool_calls}
            written.append(_written_reply(message, called))
        elif isinstance(message, ToolMessage):
            answer = _written_answer(message, called[message.tool_call_id])
            written.append({**answer, **_sent_id("tool_call_id", message.tool_call_id)})
        else:
            written.append(_written(message))
    return written


def _written(message: Message) -> dict[str, Any]:
    if isinstance(message, SystemMessage):
        return {"role": "system", **_written_content(message)}
    if isinstance(message, HumanMessage):
        return {"role": "user", **_written_content(message)}
    raise unwritable(message, "Ollama's chat has")


def _written_content(message: Message) -> dict[str, Any]:
    """The text of a message and its images; what is neither is told as text."""
    texts: list[str] = []
    images = items_of(message.additional_kwargs.get("images"))
    for block in content_blocks(message.content):
        image = _image(block)
        if image is None:
            texts.append(answer_text(block))
        else:
            images.append(image)
    text = "\n".join(text for text in texts if text)
    return {"content": text or ("" if images else NO_OUTPUT), **({"images": images} if images else {})}


def _image(block: Mapping[str, Any]) -> str | None:
    """An image in base64; None where the block is none, or tells only where it is.

    It has to begin as images do. The Python client reads the file where a text is the path of one, and a tool that
    hands on what it was told could be made to send it.
    """
    source = mapping_of(anthropic_block(block).get("source"))
    data: object = source.get("data") if source.get("type") == "base64" else None
    return data if isinstance(data, str) and data.startswith(_IMAGE_STARTS) else None


def _written_reply(message: AIMessage, called: Mapping[str, str]) -> dict[str, Any]:
    text = clean_text(message.text)
    written: dict[str, Any] = {"role": "assistant", "content": text or ("" if called else NO_OUTPUT)}
    thoughts = message.additional_kwargs.get("thinking")
    if isinstance(thoughts, str) and thoughts:
        written["thinking"] = clean_text(thoughts)
    if called:
        written["tool_calls"] = [
            {
                **_sent_id("id", call["id"]),
                "function": {"name": called[call["id"]], "arguments": sendable_arguments(call)},
            }
            for call in message.tool_calls
        ]
    return written


def _sent_id(key: str, call_id: str) -> dict[str, str]:
    """The id under its key; nothing for one that was made here, as it would say nothing to the server."""
    return {} if _MADE_ID.fullmatch(call_id) else {key: clean_text(call_id)}


def _written_answer(message: ToolMessage, name: str | None) -> dict[str, Any]:
    return {"role": "tool", **_written_content(message), **({"tool_name": name} if name else {})}


def write_answers(answers: Iterable[ToolMessage], /, given: Sequence[object] = ()) -> list[dict[str, Any]]:
    """Tool messages as Ollama's ``tool`` messages, with the ids of those calls that have one in ``given``."""
    sent = {call_id for item in given for call_id in _sent_ids(payload_of(item))}
    return [
        {
            **_written_answer(answer, answer.name),
            **({"tool_call_id": answer.tool_call_id} if answer.tool_call_id in sent else {}),
        }
        for answer in answers
    ]


def _sent_ids(fields: Mapping[str, Any]) -> list[str]:
    message = mapping_of(fields.get("message")) or fields
    ids = [mapping_of(entry).get("id") for entry in items_of(message.get("tool_calls"))]
    return [call_id for call_id in ids if isinstance(call_id, str)]


class OllamaStream(ReplyStream):
    """Puts the parts of a streamed reply together; see ``ReplyStream``.

    Calls come whole. What servers that imitate Ollama tell once more at the end is told once.
    """

    def __init__(self) -> None:
        super().__init__()
        self._told: list[Mapping[str, Any]] = []
        """The calls that came."""

    def _take(self, fields: Mapping[str, Any]) -> AIMessageChunk | None:
        message = mapping_of(fields.get("message"))
        text, thoughts = message.get("content"), message.get("thinking")
        metadata = _about(fields) if fields.get("done") is True else {}
        if fields.get("error"):  # inside a stream that began with HTTP 200: it ends here, without a reason
            metadata["error"] = fields["error"]
        return self._reply.add(
            text=text if isinstance(text, str) else "",
            extras={"thinking": thoughts} if isinstance(thoughts, str) and thoughts else None,
            pieces=[self._piece(entry) for entry in self._new_calls(fields, message)],
            metadata=metadata,
            usage=usage_of(fields),
        )

    def _new_calls(self, part: Mapping[str, Any], message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """The calls in a part, those left out that its end repeats."""
        entries = [mapping_of(entry) for entry in items_of(message.get("tool_calls"))]
        known = self._told.copy() if part.get("done") is True else []
        new: list[Mapping[str, Any]] = []
        for entry in entries:
            if entry in known:
                known.remove(entry)
            else:
                new.append(entry)
        return new

    def _piece(self, entry: Mapping[str, Any]) -> ToolCallChunk:
        """A whole call. It is numbered here: what came without an id would count as the same call sent again."""
        fields = mapping_of(entry.get("function"))
        name, args, call_id = fields.get("name"), fields.get("arguments"), entry.get("id")
        self._told.append(entry)
        return {
            "id": call_id if isinstance(call_id, str) and call_id else new_call_id(),
            "name": name if isinstance(name, str) else None,
            "args": args if isinstance(args, str) else json.dumps({} if args is None else args, default=str),
            "index": len(self._told) - 1,
            "type": "tool_call_chunk",
        }
