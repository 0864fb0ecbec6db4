"""Anthropic's Messages.

Two things set them apart from Chat Completions. The content is a list of blocks whose order means something: thoughts
are signed and have to come back unchanged, before the calls they led to. So blocks stay as they came, and only calls
are written anew in their places. And there are two roles, which take turns: the answers to calls are blocks of the
user's next message, before anything that the user says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from surehand.dialects.anthropic_stream import MessageStream, about_reply, usage_of
from surehand.dialects.blocks import answer_text, anthropic_answer_block, anthropic_block, anthropic_said_block, simple
from surehand.dialects.responses_items import without_items
from surehand.dialects.turns import in_turns
from surehand.dialects.wire import (
    answer_ids,
    calls_in_order,
    clean_text,
    content_blocks,
    no_reply,
    payload_of,
    sendable_arguments,
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
from surehand.shapes import items_of, mapping_of
from surehand.wording import NO_OUTPUT

__all__ = [
    "NAME",
    "MessageStream",
    "knows",
    "owns",
    "read_messages",
    "read_reply",
    "usage_of",
    "write_answers",
    "write_messages",
]

NAME: Final = "anthropic_messages"

_SERVER_USES: Final = frozenset({"server_tool_use", "mcp_tool_use"})
"""What the provider runs itself."""


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
        raise no_reply("a message with a list of content blocks", payload)
    return plain_reply(_reply_fields(reply))


def _reply_fields(reply: Mapping[str, Any]) -> dict[str, Any]:
    """The reply as a message of the dialect, and what only a reply has."""
    return {
        "role": "assistant",
        "content": simple([dict(fields) for block in items_of(reply.get("content")) if (fields := mapping_of(block))]),
        "response_metadata": about_reply(reply),
        "usage_metadata": usage_of(reply.get("usage")) or {},
    }


def knows(item: object, fields: Mapping[str, Any]) -> bool:
    """Whether it is an assistant's message with calls as blocks, or a whole reply."""
    del item
    blocks = [] if fields.get("tool_calls") else items_of(fields.get("content"))
    return fields.get("role") == "assistant" and (
        owns(fields) or any(mapping_of(block).get("type") == "tool_use" for block in blocks)
    )


def owns(fields: Mapping[str, Any]) -> bool:
    """Whether it is a whole reply: Anthropic's messages have the usual spelling."""
    return fields.get("type") == "message" and "stop_reason" in fields


def read_messages(given: Sequence[object], /) -> list[Message]:
    """The messages of a request, replies among them.

    Raises:
        InputError: One has no role that Anthropic knows.
    """
    return plain_messages([_as_message(item) for item in given])


def _as_message(item: object) -> object:
    """A reply as the message it is; anything else as it came."""
    fields = payload_of(item)
    is_reply = owns(fields) and isinstance(fields.get("content"), list)
    return _reply_fields(fields) if is_reply else item


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
    return _written_system(system), in_turns(_without_open_uses(entries), _text)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _without_open_uses(entries: list[tuple[str, list[dict[str, Any]]]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """The entries without what the provider began to run and never answered.

    It goes on where its turn goes on, also past the answers to our calls. Anything else that the user says ends the
    turn, and what is open by then is refused.
    """
    answered = {block.get("tool_use_id") for role, blocks in entries if role == "assistant" for block in blocks}
    saying = [place for place, (role, blocks) in enumerate(entries) if role == "user" and _says(blocks)]
    ended = max(saying, default=-1)

    def is_open(block: Mapping[str, Any]) -> bool:
        return block.get("type") in _SERVER_USES and block.get("id") not in answered

    return [
        (role, [block for block in blocks if place > ended or not is_open(block)])
        for place, (role, blocks) in enumerate(entries)
    ]


def _says(blocks: list[dict[str, Any]]) -> bool:
    """Whether it is anything beside answers to calls."""
    return any(block.get("type") != "tool_result" for block in blocks)


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
    raise unwritable(message, "Anthropic's Messages have")


def _written_reply(message: AIMessage, names: Mapping[str, str]) -> list[dict[str, Any]]:
    blocks = [
        block for block in without_items(content_blocks(message.content)) if "type" in block
    ]  # Gemini's have none
    # Calls keep their places among texts and thoughts, as the API wants a signed thought before what it led to. Those
    # without a block, because they came from another provider or were read from text, go to the end.
    placed = calls_in_order(message, blocks)
    said = {
        position: own
        for position, block in enumerate(blocks)
        if (position in placed or block.get("type") != "tool_use") and (own := anthropic_said_block(block)) is not None
    }
    written = [
        {**own, **_written_call(placed[position], names)} if position in placed else own
        for position, own in said.items()
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
    blocks = content_blocks(message.content)
    if isinstance(message.content, str):
        content = clean_text(message.content) if message.content.strip() else NO_OUTPUT
    elif message.status == "error":  # the API takes texts only in an error
        content = [_text(text) for block in blocks if (text := answer_text(block)).strip()] or NO_OUTPUT
    else:
        content = [anthropic_answer_block(block) for block in blocks] or NO_OUTPUT
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
    answers = list(answers)
    ids = answer_ids(answers, _sent_ids(given))
    blocks = [{**_written_answer(answer), "tool_use_id": call_id} for answer, call_id in zip(answers, ids, strict=True)]
    return [{"role": "user", "content": blocks}] if blocks else []


def _sent_ids(given: Sequence[object]) -> list[Any]:
    """The ids of the calls in the newest message of a model's among the host's."""
    for fields in map(payload_of, reversed(given)):
        if fields.get("role") == "assistant":
            blocks = [mapping_of(block) for block in items_of(fields.get("content"))]
            return [block.get("id") for block in blocks if block.get("type") == "tool_use"]
    return []
