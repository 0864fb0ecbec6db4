"""Bedrock's Converse, one form for the models of many makers.

Its blocks are objects of one key, and its two roles take turns as Anthropic's do. Not all that its models do is asked
of us: a ``toolUse`` of the type ``server_tool_use`` has its ``toolResult`` beside it in the same message, and both go
back as they came. A request whose history holds ``toolUse`` or ``toolResult`` blocks needs a ``toolConfig``, also where
the model is to call nothing more; without one it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from surehand.dialects.bedrock_blocks import (
    ANSWER_BLOCKS,
    BLOCKS,
    is_block,
    kept,
    read_blocks,
    written_block,
)
from surehand.dialects.bedrock_stream import ConverseStream, usage_of
from surehand.dialects.blocks import simple
from surehand.dialects.turns import in_turns
from surehand.dialects.wire import calls_in_order, no_reply, sendable_arguments, sendable_id, sendable_name, unwritable
from surehand.messages import (
    AIMessage,
    Content,
    HumanMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    plain_messages,
    repair_transcript,
    text_of,
)
from surehand.shapes import items_of, mapping_of
from surehand.wording import NO_OUTPUT

__all__ = [
    "NAME",
    "ConverseStream",
    "knows",
    "owns",
    "read_messages",
    "read_reply",
    "usage_of",
    "write_answers",
    "write_messages",
]

NAME: Final = "bedrock_converse"

_ABOUT_REPLY: Final = (
    "stopReason",
    "additionalModelResponseFields",
    "trace",
    "performanceConfig",
    "serviceTier",
)
_ID_MARKS: Final = str.maketrans("", "", ".:")
"""Marks that an id may have here beside those that it may have everywhere: Kimi's are ``functions.weather:0``."""
_MAX_ID: Final = 64


def read_reply(payload: object) -> AIMessage:
    """The message of a reply, with our calls, stop reason and usage.

    The content keeps the provider's blocks, its reasoning and the tools it ran itself among them; a reply of one plain
    text has that text as its content.

    Raises:
        InputError: The payload has no message.
    """
    reply = mapping_of(payload)
    message = mapping_of(mapping_of(reply.get("output")).get("message"))
    if not isinstance(message.get("content"), list):
        raise no_reply("a reply of Converse with output.message.content", payload)
    read = plain_messages([_as_message({**message, "role": "assistant"})])[0]
    metadata = {key: reply[key] for key in _ABOUT_REPLY if reply.get(key) is not None}
    return cast("AIMessage", read).replace(response_metadata=metadata, usage_metadata=usage_of(reply.get("usage")))


def knows(item: object, fields: Mapping[str, Any]) -> bool:
    """Whether it is an assistant's message of Bedrock's blocks, or a whole reply."""
    del item
    return _is_reply(fields) or (
        fields.get("role") == "assistant" and any(is_block(block) for block in items_of(fields.get("content")))
    )


def owns(fields: Mapping[str, Any]) -> bool:
    """Whether it is a message of Bedrock's blocks, or a whole reply."""
    return _is_reply(fields) or ("role" in fields and any(map(is_block, items_of(fields.get("content")))))


def _is_reply(fields: Mapping[str, Any]) -> bool:
    return "message" in mapping_of(fields.get("output")) and "stopReason" in fields


def read_messages(given: Sequence[object], /) -> list[Message]:
    """The messages of a request, replies among them.

    Raises:
        InputError: One has no role that Bedrock knows.
    """
    return plain_messages([_as_message(item) for item in given])


def _as_message(item: object) -> object:
    """What our reader of messages knows; a reply as the message it is."""
    fields = mapping_of(item)
    if _is_reply(fields):
        return read_reply(fields)
    if not isinstance(fields.get("content"), list):
        return item
    return {**fields, "content": simple(read_blocks(fields["content"], fields.get("role")))}


def write_messages(
    messages: Sequence[Message], *, names: Mapping[str, str] | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The ``system`` blocks and the ``messages`` of a request, as boto3 takes them and the provider accepts them.

    User and assistant alternate, answers come first in the user's message, every call is answered, no text is empty.
    Images and files are bytes.

    Args:
        messages: The conversation; it is repaired first, as ``repair_transcript`` does.
        names: Tool name -> the name the tool was offered by, where the two differ.
    """
    system: list[dict[str, Any]] = []
    entries: list[tuple[str, list[dict[str, Any]]]] = []
    for message in repair_transcript(messages):
        if isinstance(message, SystemMessage):
            system += _blocks(message.content)  # there is one place for it, above the conversation, wherever it stood
        else:
            entries.append(_written(message, names or {}))
    return system, in_turns(entries, lambda text: {"text": text})


def _blocks(content: Content) -> list[dict[str, Any]]:
    parts = [content] if isinstance(content, str) else content
    return [written for part in parts if (written := written_block(part, BLOCKS)) is not None]


def _written(message: Message, names: Mapping[str, str]) -> tuple[str, list[dict[str, Any]]]:
    if isinstance(message, AIMessage):
        return "assistant", _written_reply(message, names)
    if isinstance(message, ToolMessage):
        return "user", [_written_answer(message, _sendable_id(message.tool_call_id))]
    if isinstance(message, HumanMessage):
        return "user", _blocks(message.content)
    raise unwritable(message, "Converse has")


def _written_reply(message: AIMessage, names: Mapping[str, str]) -> list[dict[str, Any]]:
    parts = [message.content] if isinstance(message.content, str) else message.content
    blocks: list[dict[str, Any]] = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
    # Calls keep their places among texts and thoughts; those without a block of their own go to the end.
    placed = calls_in_order(message, blocks)
    written = [
        _written_call(placed[position], names) if position in placed else _own_block(block)
        for position, block in enumerate(blocks)
    ]
    done = {call["id"] for call in placed.values()}
    rest = [_written_call(call, names) for call in message.tool_calls if call["id"] not in done]
    return [*(block for block in written if block is not None), *rest]


def _own_block(block: dict[str, Any]) -> dict[str, Any] | None:
    """What the model said or did beside its calls; another provider's reasoning and server-side calls are left out."""
    if is_block(block) and "text" not in block:
        return cast("dict[str, Any]", kept(block))
    if block.get("type") == "thinking" and block.get("signature"):
        text = {"text": block.get("thinking"), "signature": block["signature"]}
        return {"reasoningContent": {"reasoningText": kept(text)}}
    return written_block(block, BLOCKS) if text_of([block]) else None


def _written_call(call: ToolCall, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "toolUse": {
            "toolUseId": _sendable_id(call["id"]),
            "name": sendable_name(call["name"], names),
            "input": sendable_arguments(call),
        }
    }


def _sendable_id(call_id: str) -> str:
    plain = call_id.translate(_ID_MARKS)
    return call_id if plain and len(call_id) <= _MAX_ID and sendable_id(plain) == plain else sendable_id(call_id)


def _written_answer(message: ToolMessage, call_id: str) -> dict[str, Any]:
    parts = [message.content] if isinstance(message.content, str) else message.content
    blocks = [block for part in parts if (block := written_block(part, ANSWER_BLOCKS)) is not None]
    answer = {"toolUseId": call_id, "content": blocks or [{"text": NO_OUTPUT}], "status": message.status}
    return {"toolResult": answer}


def write_answers(answers: Iterable[ToolMessage], /, given: Sequence[object] = ()) -> list[dict[str, Any]]:
    """Tool messages as one user message of ``toolResult`` blocks, with the ids that they came with."""
    del given
    blocks = [_written_answer(answer, answer.tool_call_id) for answer in answers]
    return [{"role": "user", "content": blocks}] if blocks else []
