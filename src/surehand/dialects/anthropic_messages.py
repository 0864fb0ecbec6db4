"""Anthropic's Messages.

Two things set them apart from Chat Completions. The content is a list of blocks whose order means something: thoughts
are signed and have to come back unchanged, before the calls they led to. So blocks stay as they came, and only calls
are written anew in their places. And there are two roles, which take turns: the answers to calls are blocks of the
user's next message, before anything that the user says.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from surehand.dialects.blocks import anthropic_answer_block, anthropic_block
from surehand.dialects.responses_items import without_items
from surehand.dialects.streams import Reply
from surehand.dialects.turns import in_turns
from surehand.dialects.wire import (
    calls_in_order,
    clean_text,
    content_blocks,
    payload_of,
    sendable_arguments,
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
    repair_transcript,
)
from surehand.shapes import items_of, mapping_of
from surehand.wording import NO_OUTPUT

__all__ = [
    "NAME",
    "MessageStream",
    "knows",
    "read_messages",
    "read_reply",
    "usage_of",
    "write_answers",
    "write_messages",
]

NAME: Final = "anthropic_messages"

_ABOUT_REPLY: Final = ("id", "model", "stop_reason", "stop_sequence", "container", "stop_details")


def read_reply(payload: object) -> AIMessage:
    """The message of a reply, with our calls, finish reason and usage.

    The reply may be the provider's JSON or the object that its SDK makes of it.

    The content keeps the provider's blocks, its thinking and the tools it ran itself among them; a reply of one plain
    text has that text as its content.

    Raises:
        InputError: The payload has no content.
    """
    reply = payload_of(payload)
    content: object = reply.get("content")
    if not isinstance(content, list):
        raise InputError(
            problem="Expected a message with a list of content blocks",
            value=payload,
            remedy="Pass the provider's JSON as it came; an error reply holds no message.",
        )
    read = convert_to_messages([{"role": "assistant", "content": _simple(cast("list[dict[str, Any]]", content))}])[0]
    metadata = {key: reply[key] for key in _ABOUT_REPLY if reply.get(key) is not None}
    return cast("AIMessage", read).replace(response_metadata=metadata, usage_metadata=usage_of(reply.get("usage")))


def _simple(blocks: list[dict[str, Any]]) -> Content:
    """One plain text as a text, anything else as blocks."""
    if not blocks:
        return ""
    if len(blocks) == 1 and blocks[0].get("type") == "text" and not blocks[0].get("citations"):
        text: object = blocks[0].get("text")
        return text if isinstance(text, str) else ""
    return cast("Content", blocks)


def usage_of(usage: object) -> dict[str, Any] | None:
    """The tokens in the spelling of ``usage_metadata``, cached input included; only what the provider sent."""
    fields = mapping_of(usage)
    if not fields:
        return None
    read: dict[str, Any] = {}
    sent = [fields.get(key) for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")]
    if isinstance(sent[0], int):
        read["input_tokens"] = sum(count for count in sent if isinstance(count, int))
    if isinstance(fields.get("output_tokens"), int):
        read["output_tokens"] = fields["output_tokens"]
    if len(read) == 2:  # noqa: PLR2004 - both are known
        read["total_tokens"] = sum(read.values())
    return read


def knows(item: object, fields: Mapping[str, Any]) -> bool:
    """Whether it is an assistant's message with calls as blocks, or a whole reply."""
    del item
    blocks = [] if fields.get("tool_calls") else items_of(fields.get("content"))
    is_reply = fields.get("type") == "message" and "stop_reason" in fields
    return fields.get("role") == "assistant" and (
        is_reply or any(mapping_of(block).get("type") == "tool_use" for block in blocks)
    )


def read_messages(given: Sequence[object], /) -> list[Message]:
    """The messages of a request, replies among them.

    Raises:
        InputError: One has no role that Anthropic knows.
    """
    return convert_to_messages([_as_message(item) for item in given])


def _as_message(item: object) -> object:
    """A reply as the message it is; anything else as it came."""
    fields = payload_of(item)
    return read_reply(fields) if fields.get("type") == "message" and "stop_reason" in fields else item


def write_messages(
    messages: Sequence[Message], *, names: Mapping[str, str] | None = None
) -> tuple[str | list[dict[str, Any]] | None, list[dict[str, Any]]]:
    """The system prompt (None without one) and the messages, as the provider accepts them whatever they hold.

    User and assistant alternate, answers come first in the user's message, every call is answered, no text is empty.

    Args:
        messages: The conversation; it is repaired first, as ``repair_transcript`` does.
        names: Tool name -> the name the tool was offered by, where the two differ.
    """
    system: list[Content] = []
    entries: list[tuple[str, list[dict[str, Any]]]] = []
    for message in repair_transcript(messages):
        if isinstance(message, SystemMessage):
            system.append(message.content)  # there is one place for it, above the conversation, wherever it stood
        else:
            entries.append(_written(message, names or {}))
    return _written_system(system), in_turns(entries, _text)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _written_system(system: list[Content]) -> str | list[dict[str, Any]] | None:
    if all(isinstance(content, str) for content in system):
        texts = [clean_text(content) for content in cast("list[str]", system) if content.strip()]
        return "\n\n".join(texts) or None
    return [block for content in system for block in content_blocks(content)] or None


def _written(message: Message, names: Mapping[str, str]) -> tuple[str, list[dict[str, Any]]]:
    if isinstance(message, AIMessage):
        return "assistant", _written_reply(message, names)
    if isinstance(message, ToolMessage):
        return "user", [_written_answer(message)]
    if isinstance(message, HumanMessage):
        return "user", [anthropic_block(block) for block in content_blocks(message.content)]
    raise InputError(
        problem="Anthropic's Messages have no such message",
        value=message,
        remedy="Apply RemoveMessage with add_messages before the model is asked.",
    )


def _written_reply(message: AIMessage, names: Mapping[str, str]) -> list[dict[str, Any]]:
    blocks = [
        block for block in without_items(content_blocks(message.content)) if "type" in block
    ]  # Gemini's have none
    # Calls keep their places among texts and thoughts, as the API wants a signed thought before what it led to. Those
    # without a block, because they came from another provider or were read from text, go to the end.
    placed = calls_in_order(message, blocks)
    written = [
        {**block, **_written_call(placed[position], names)} if position in placed else anthropic_block(block)
        for position, block in enumerate(blocks)
        if position in placed or block.get("type") != "tool_use"
    ]
    done = {call["id"] for call in placed.values()}
    return [*written, *(_written_call(call, names) for call in message.tool_calls if call["id"] not in done)]


def _written_call(call: ToolCall, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": sendable_id(call["id"]),
        "name": sendable_name(call["name"], names),
        "input": sendable_arguments(call),
    }


def _written_answer(message: ToolMessage) -> dict[str, Any]:
    content: str | list[dict[str, Any]]
    if isinstance(message.content, str):
        content = clean_text(message.content) if message.content.strip() else NO_OUTPUT
    else:
        content = [anthropic_answer_block(block) for block in content_blocks(message.content)] or NO_OUTPUT
    written: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": sendable_id(message.tool_call_id),
        "content": content,
    }
    if message.status == "error":
        written["is_error"] = True
    return written


def write_answers(answers: Iterable[ToolMessage], /, given: Sequence[object] = ()) -> list[dict[str, Any]]:
    """Tool messages as one user message of ``tool_result`` blocks, with the ids that they came with."""
    del given
    blocks = [{**_written_answer(answer), "tool_use_id": answer.tool_call_id} for answer in answers]
    return [{"role": "user", "content": blocks}] if blocks else []


class MessageStream:
    """Puts the events of a streamed message together.

    Feed every event; ``finish`` gives the whole message, as often as it is asked. A message that broke off has no
    ``finish_reason``, and those of its calls that are not complete are invalid.
    """

    def __init__(self) -> None:
        self._reply = Reply()
        self._blocks: dict[int, _Block] = {}
        self._first = 0
        self._is_stopped = False

    def feed(self, event: Mapping[str, Any]) -> AIMessageChunk | None:
        """Take in one event; what it adds to the message, or None if that is nothing."""
        kind = event.get("type")
        if kind == "message_start":
            is_restart = self._begin()
            chunk = self._about(mapping_of(event.get("message")))
            return (chunk or AIMessageChunk()).replace(is_restart=True) if is_restart else chunk
        if kind == "message_delta":
            return self._about({**mapping_of(event.get("delta")), "usage": event.get("usage")})
        if kind == "error":  # inside a stream that began with HTTP 200: it ends here, without a stop reason
            return self._reply.add(metadata={"error": event.get("error")})
        if kind == "message_stop":
            self._is_stopped = True
            return self._reply.add(whole_content=self._unsaid())
        index: object = event.get("index")
        return self._feed_block(index + self._first, kind, event) if isinstance(index, int) else None

    def finish(self) -> AIMessage:
        """The message as far as it came."""
        return self._reply.message(self._content())

    def _content(self) -> Content:
        return _simple([block.whole() for _, block in sorted(self._blocks.items())])

    def _unsaid(self) -> Content | None:
        """The content, where the texts that were told are not all of it."""
        content = self._content()
        return None if isinstance(content, str) else content

    def _begin(self) -> bool:
        """Take in a start; whether it voids what came before.

        A start after a stop goes on: where the provider runs tools itself, one stream can hold several messages. A
        start without a stop is a retry spliced into the stream.
        """
        is_restart = not self._is_stopped and bool(self._blocks)
        if self._is_stopped:
            self._first = len(self._blocks)
        else:
            self._reply, self._blocks = Reply(), {}
        self._is_stopped = False
        return is_restart

    def _feed_block(self, index: int, kind: object, event: Mapping[str, Any]) -> AIMessageChunk | None:
        if kind == "content_block_start":
            return self._start(index, mapping_of(event.get("content_block")))
        if kind == "content_block_delta" and index in self._blocks:
            return self._extend(index, mapping_of(event.get("delta")))
        return None

    def _about(self, fields: Mapping[str, Any]) -> AIMessageChunk | None:
        metadata = {key: fields[key] for key in _ABOUT_REPLY if fields.get(key) is not None}
        return self._reply.add(metadata=metadata, usage=usage_of(fields.get("usage")))

    def _start(self, index: int, fields: Mapping[str, Any]) -> AIMessageChunk | None:
        block = self._blocks[index] = _Block(fields)
        if block.kind == "tool_use":
            given: object = fields.get("input")
            return self._reply.add(pieces=[_piece(index, fields, json.dumps(given, default=str) if given else "")])
        text: object = fields.get("text")
        return self._reply.add(text=text) if block.kind == "text" and isinstance(text, str) else None

    def _extend(self, index: int, delta: Mapping[str, Any]) -> AIMessageChunk | None:
        block = self._blocks[index]
        field, value = block.extend(delta)
        if not isinstance(value, str) or not value:
            return None
        if field == "input" and block.kind == "tool_use":
            return self._reply.add(pieces=[_piece(index, {}, value)])
        if field == "text":
            return self._reply.add(text=value)
        return self._reply.add(extras={"thinking": value}) if field == "thinking" else None


_DELTAS: Final = {
    "text_delta": ("text", "text"),
    "input_json_delta": ("partial_json", "input"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "citations_delta": ("citation", "citations"),
}
"""Kind of delta -> its key, and the field of the block that it extends."""


class _Block:
    """A content block in the making."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        self._start = start
        self._parts: dict[str, list[Any]] = {}

    @property
    def kind(self) -> object:
        return self._start.get("type")

    def extend(self, delta: Mapping[str, Any]) -> tuple[str, object]:
        """Add the delta; the field that it extends, and by what. A kind that nobody knows adds nothing."""
        key, field = _DELTAS.get(cast("str", delta.get("type")), ("", ""))
        value: object = delta.get(key)
        if value is not None:
            self._parts.setdefault(field, []).append(value)
        return field, value

    def whole(self) -> dict[str, Any]:
        block = dict(self._start)
        for field, parts in self._parts.items():
            if field == "citations":
                block[field] = [*(block.get(field) or ()), *parts]
            elif field == "input":
                block[field] = _input("".join(parts), block.get(field))
            else:
                block[field] = (block.get(field) or "") + "".join(parts)
        return block


def _input(text: str, start: object) -> object:
    """A block's input for the record; what is to be run is read by the message's own rules."""
    if not text.strip():
        return start or {}
    try:
        return json.loads(text)
    except ValueError:
        return text


def _piece(index: int, block: Mapping[str, Any], args: str) -> ToolCallChunk:
    call_id, name = block.get("id"), block.get("name")
    return {
        "id": call_id if isinstance(call_id, str) else None,
        "name": name if isinstance(name, str) else None,
        "args": args,
        "index": index,
        "type": "tool_call_chunk",
    }
