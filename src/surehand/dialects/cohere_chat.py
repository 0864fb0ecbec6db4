"""Cohere's Chat, version 2.

Calls look as they do in Chat Completions. Beside them is a ``tool_plan``: what the model says before it calls, in place
of a text, and what it expects to be shown again. Thoughts are blocks of the content, citations stand beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from surehand.dialects.blocks import answer_text, openai_block, simple
from surehand.dialects.streams import Reply, ReplyStream, call_piece
from surehand.dialects.wire import (
    clean,
    clean_text,
    content_blocks,
    is_from,
    no_reply,
    payload_of,
    sendable_arguments_text,
    sendable_id,
    sendable_name,
    tokens,
    unwritable,
)
from surehand.messages import (
    AIMessage,
    AIMessageChunk,
    Content,
    HumanMessage,
    Message,
    SystemMessage,
    ToolCallChunk,
    ToolMessage,
    plain_messages,
    plain_reply,
    repair_transcript,
    text_of,
)
from surehand.shapes import items_of, mapping_of
from surehand.wording import NO_OUTPUT

__all__ = [
    "NAME",
    "CohereStream",
    "knows",
    "owns",
    "read_messages",
    "read_reply",
    "usage_of",
    "write_answers",
    "write_messages",
]

NAME: Final = "cohere_chat"

_ABOUT_REPLY: Final = ("id", "finish_reason", "error")
_SAID: Final = ("text", "thinking")
"""Blocks of what the model says, each with its text under its own name."""


def read_reply(payload: object) -> AIMessage:
    """The message of a reply, with all calls, finish reason and usage.

    The plan and the citations are in ``additional_kwargs``. The content keeps the model's thoughts; one plain text is
    that text.

    Raises:
        InputError: The payload has no message.
    """
    reply = payload_of(payload)
    message = mapping_of(reply.get("message"))
    if not message:
        raise no_reply("a reply of Cohere's chat with a message", payload)
    return plain_reply(_reply_fields(reply))


def _reply_fields(reply: Mapping[str, Any]) -> dict[str, Any]:
    """The reply as a message of the dialect, and what only a reply has."""
    return {
        **_said(mapping_of(reply.get("message"))),
        "role": "assistant",
        "response_metadata": {key: reply[key] for key in _ABOUT_REPLY if reply.get(key) is not None},
        "usage_metadata": usage_of(reply.get("usage")) or {},
    }


def usage_of(usage: object) -> dict[str, Any] | None:
    """The tokens in the spelling of ``usage_metadata``: those of the model, else those that are billed."""
    fields = mapping_of(usage)
    counts = mapping_of(fields.get("tokens")) or mapping_of(fields.get("billed_units"))
    return tokens(counts.get("input_tokens"), counts.get("output_tokens"))  # floats, where the SDK made them


def knows(item: object, fields: Mapping[str, Any]) -> bool:
    """Whether it is an assistant's message with a plan or of Cohere's classes, or a whole reply.

    A message without either is Chat Completions' as well, and is answered there in the same form.
    """
    if _is_reply(fields):
        return True
    return fields.get("role") == "assistant" and ("tool_plan" in fields or is_from(item, "cohere"))


def owns(fields: Mapping[str, Any]) -> bool:
    """Whether it is a whole reply: Cohere's messages have the usual spelling."""
    return _is_reply(fields)


def _is_reply(fields: Mapping[str, Any]) -> bool:
    # A choice of Chat Completions has a message and a finish reason too, in small letters.
    return bool(mapping_of(fields.get("message"))) and str(fields.get("finish_reason")).isupper()


def read_messages(given: Sequence[object], /) -> list[Message]:
    """The messages of a request, replies among them.

    Raises:
        InputError: One has no role that Cohere knows.
    """
    return plain_messages([_as_message(item) for item in given])


def _as_message(item: object) -> object:
    """What our reader of messages knows; a reply as the message it is."""
    fields = payload_of(item)
    if _is_reply(fields):
        return _reply_fields(fields)
    return _said(fields) or item


def _said(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(fields.get("content"), list):
        return fields
    return {**fields, "content": simple([dict(mapping_of(block)) for block in items_of(fields["content"])])}


def write_messages(messages: Sequence[Message], *, names: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """The conversation as the provider accepts it, whatever broken call it holds.

    Arguments are valid JSON objects, every call is answered once and right after it, no content is empty. A text beside
    calls is written as the plan that it is.

    Args:
        messages: The conversation; it is repaired first, as ``repair_transcript`` does.
        names: Tool name -> the name the tool was offered by, where the two differ.
    """
    return [_written(message, names or {}) for message in repair_transcript(messages)]


def _written(message: Message, names: Mapping[str, str]) -> dict[str, Any]:
    if isinstance(message, AIMessage):
        return _written_reply(message, names)
    if isinstance(message, ToolMessage):
        return _written_answer(message, sendable_id(message.tool_call_id))
    if isinstance(message, SystemMessage):
        return {"role": "system", "content": _written_texts(message.content)}
    if isinstance(message, HumanMessage):
        return {"role": "user", "content": _written_parts(message.content)}
    raise unwritable(message, "Cohere's chat has")


def _written_reply(message: AIMessage, names: Mapping[str, str]) -> dict[str, Any]:
    written: dict[str, Any] = {"role": "assistant"}
    said = [block for block in content_blocks(message.content) if block.get("type") in _SAID]
    blocks = [{key: block.get(key) for key in ("type", block["type"])} for block in said]
    plan: object = message.additional_kwargs.get("tool_plan")
    if message.tool_calls:
        written["tool_calls"] = [
            {
                "id": sendable_id(call["id"]),
                "type": "function",
                "function": {"name": sendable_name(call["name"], names), "arguments": sendable_arguments_text(call)},
            }
            for call in message.tool_calls
        ]
        if not plan:
            plan = text_of(blocks)
            blocks = [block for block in blocks if block["type"] != "text"]
    if isinstance(plan, str) and plan.strip():
        written["tool_plan"] = clean_text(plan)
    if blocks or not message.tool_calls:
        written["content"] = _plain(blocks)
    if citations := items_of(message.additional_kwargs.get("citations")):
        written["citations"] = clean(citations)
    return written


def _plain(blocks: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """The blocks, or the text where there is nothing else."""
    if any(block["type"] != "text" for block in blocks):
        return blocks
    return text_of(blocks) or NO_OUTPUT


def _written_texts(content: Content) -> str:
    return "\n\n".join(text for block in content_blocks(content) if (text := answer_text(block))) or NO_OUTPUT


def _written_parts(content: Content) -> str | list[dict[str, Any]]:
    """What a user says; what is neither a text nor an image is told as text."""
    if isinstance(content, str):
        return clean_text(content) if content.strip() else NO_OUTPUT
    forms = [(block, openai_block(block)) for block in content_blocks(content)]
    return [
        form if form.get("type") in ("text", "image_url") else {"type": "text", "text": answer_text(block)}
        for block, form in forms
    ] or NO_OUTPUT


def _written_answer(message: ToolMessage, call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": _answer_content(message.content)}


def _answer_content(content: Content) -> str | list[dict[str, Any]]:
    """A text, or Cohere's documents where there are any: those can be cited one by one."""
    blocks = content_blocks(content)
    if not any(_is_document(block) for block in blocks):
        return "\n".join(text for block in blocks if (text := answer_text(block))) or NO_OUTPUT
    return [block if _is_document(block) else {"type": "text", "text": answer_text(block)} for block in blocks]


def _is_document(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "document" and bool(mapping_of(block.get("document")).get("data"))


def write_answers(answers: Iterable[ToolMessage], /, given: Sequence[object] = ()) -> list[dict[str, Any]]:
    """Tool messages as Cohere's ``tool`` messages, with the ids that they came with."""
    del given
    return [_written_answer(answer, answer.tool_call_id) for answer in answers]


class CohereStream(ReplyStream):
    """Puts the events of a streamed reply together; see ``ReplyStream``."""

    def __init__(self) -> None:
        super().__init__()
        self._blocks: dict[int, list[tuple[str, str]]] = {}
        """Number of a content block -> its pieces, each with the kind of block it is of."""

    def _take(self, fields: Mapping[str, Any]) -> AIMessageChunk | None:
        delta = mapping_of(fields.get("delta"))
        message = mapping_of(delta.get("message"))
        match fields.get("type"):
            case "message-start":
                return self._begin(fields)
            case "message-end":
                return self._about({"finish_reason": "COMPLETE", **delta}, whole_content=self._unsaid())
            case "content-start" | "content-delta":
                return self._say(fields.get("index"), mapping_of(message.get("content")))
            case "tool-call-start" | "tool-call-delta":
                return self._reply.add(pieces=[_piece(fields.get("index"), message.get("tool_calls"))])
            case "citation-start":
                return self._reply.add(extras={"citations": [message.get("citations")]})
            case _:
                return self._reply.add(extras=_texts({"tool_plan": message.get("tool_plan")}))

    def _content(self) -> Content:
        return simple([_whole(pieces) for _, pieces in sorted(self._blocks.items())])

    def _begin(self, fields: Mapping[str, Any]) -> AIMessageChunk | None:
        """A start before an end is a retry spliced into the stream: it voids what came before."""
        is_restart = bool(self._reply.metadata) and not self.is_finished
        if is_restart:
            self._reply, self._blocks = Reply(), {}
        chunk = self._about(fields)
        return (chunk or AIMessageChunk()).replace(is_restart=True) if is_restart else chunk

    def _about(self, fields: Mapping[str, Any], whole_content: Content | None = None) -> AIMessageChunk | None:
        metadata = {key: fields[key] for key in _ABOUT_REPLY if fields.get(key) is not None}
        return self._reply.add(metadata=metadata, usage=usage_of(fields.get("usage")), whole_content=whole_content)

    def _say(self, index: object, content: Mapping[str, Any]) -> AIMessageChunk | None:
        texts = _texts({kind: content.get(kind) for kind in _SAID})
        for kind, said in texts.items():
            number = index if isinstance(index, int) else self._next_number(kind)
            self._blocks.setdefault(number, []).append((kind, said))
        text = texts.pop("text", "")
        return self._reply.add(text=text, extras=texts)

    def _next_number(self, kind: str) -> int:
        """The newest block's number if it is of this kind, else another: for servers that leave the numbers out."""
        newest = max(self._blocks, default=-1)
        return newest if newest >= 0 and self._blocks[newest][0][0] == kind else newest + 1


def _texts(fields: Mapping[str, object]) -> dict[str, str]:
    return {key: value for key, value in fields.items() if isinstance(value, str) and value}


def _whole(pieces: list[tuple[str, str]]) -> dict[str, Any]:
    kind = pieces[0][0]
    return {"type": kind, kind: "".join(text for _, text in pieces)}


def _piece(index: object, given: object) -> ToolCallChunk:
    entry = mapping_of(next(iter(items_of(given)), given))
    fields = mapping_of(entry.get("function"))
    texts = _texts({"call_id": entry.get("id"), "name": fields.get("name"), "args": fields.get("arguments")})
    return call_piece(texts.pop("args", None), index=index, **texts)
