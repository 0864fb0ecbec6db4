"""Gemini's generateContent.

A conversation is a list of contents, each with a role and parts. Three things set it apart. Calls may come without ids:
answers then belong to calls by their names and their order, and none is sent back that the provider did not give.
Parts may be signed, and have to come back unchanged, each with its signature: calls keep their places. And what a model
says may be spread over several contents, as a stream's chunks are in the histories that Google's SDK keeps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from surehand.dialects.gemini_calls import call_in, has_call, is_models
from surehand.dialects.gemini_history import HistoryReader, response_content
from surehand.dialects.gemini_parts import answer_parts, model_part, user_parts
from surehand.dialects.gemini_stream import ContentStream, is_reply, json_of, usage_of
from surehand.dialects.turns import in_turns
from surehand.dialects.wire import (
    clean,
    content_blocks,
    no_reply,
    sendable_arguments,
    sendable_id,
    sendable_name,
    unwritable,
)
from surehand.messages import (
    AIMessage,
    HumanMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    repair_transcript,
)
from surehand.shapes import is_array, items_of, mapping_of
from surehand.wording import NO_OUTPUT

__all__ = [
    "NAME",
    "ContentStream",
    "knows",
    "owns",
    "read_messages",
    "read_reply",
    "usage_of",
    "write_answers",
    "write_messages",
]

NAME: Final = "gemini"

UNSIGNED: Final = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
"""Stands for the signature of a call that another model made: ``skip_thought_signature_validator`` in base64, as
ai.google.dev/gemini-api/docs/thought-signatures gives it for conversations that come from elsewhere."""


def read_reply(payload: object, *, candidate: int = 0) -> AIMessage:
    """The message of a reply, with our calls, finish reason and usage.

    The content keeps the provider's parts, its thoughts and the tools it ran itself among them; a reply of one plain
    text has that text as its content. A call that the API refused, which it tells in words, is an invalid call. A
    prompt that was refused is a message without content and with ``content_filter`` as its finish reason.

    Args:
        payload: The reply as the provider sent it, or as its SDK gives it.
        candidate: Which of the candidates to read, where several were asked for.

    Raises:
        InputError: The payload has no such candidate.
    """
    reply = json_of(payload)
    numbers = [mapping_of(each).get("index") or 0 for each in items_of(reply.get("candidates"))]
    if not is_reply(reply) or (numbers and candidate not in numbers):
        raise no_reply(f"a reply with the candidate {candidate}", payload, "candidate")
    stream = ContentStream(candidate=candidate)
    stream.feed(reply)
    return stream.whole()


def knows(item: object, fields: Mapping[str, Any]) -> bool:
    """Whether it is a model's content, or a whole reply."""
    del item
    is_content = isinstance(fields.get("parts"), list | tuple) and fields.get("role") != "assistant"
    return is_reply(fields) or (is_content and is_models(fields))


def owns(fields: Mapping[str, Any]) -> bool:
    """Whether it is a content, or a whole reply."""
    is_usual = "content" in fields or "type" in fields
    return not is_usual and (is_array(fields.get("parts")) or is_reply(fields))


def read_messages(given: Sequence[object], /) -> list[Message]:
    """The messages of a request's contents, replies and chunks of replies among them.

    Raises:
        InputError: One has no role that Gemini knows.
    """
    reader = HistoryReader()
    for item in given:
        reader.read(item)
    return reader.finish()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """What differs between models and hosts."""

    names: Mapping[str, str]
    sign_calls: bool
    with_media: bool


def write_messages(
    messages: Sequence[Message],
    *,
    names: Mapping[str, str] | None = None,
    sign_calls: bool = False,
    with_media: bool = True,
) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """The system instruction (None without one) and the contents, as the provider accepts them whatever they hold.

    User and model alternate, every call is answered right after it, no content is without parts.

    Args:
        messages: The conversation; it is repaired first, as ``repair_transcript`` does.
        names: Tool name -> the name the tool was offered by, where the two differ.
        sign_calls: Whether a turn's first call that has no signature gets the one that stands for none. Gemini 3 and
            later refuse a conversation without, as after a change of models; earlier ones know no such word.
        with_media: Whether the model takes files in the answers to calls, as Gemini 3 and later do.
    """
    form = _Form(names=names or {}, sign_calls=sign_calls, with_media=with_media)
    system: list[dict[str, Any]] = []
    entries: list[tuple[str, list[dict[str, Any]]]] = []
    sent: dict[str, tuple[str, object]] = {}
    for message in _in_call_order(repair_transcript(messages)):
        if isinstance(message, SystemMessage):
            system += user_parts(message.content)  # there is one place for it, wherever it stood
        elif isinstance(message, AIMessage):
            parts, sent = _written_reply(message, form)
            entries.append(("assistant", parts))
        elif isinstance(message, ToolMessage):
            name, call_id = sent[message.tool_call_id]
            entries.append(("user", [_written_answer(message, name, call_id, form)]))
        elif isinstance(message, HumanMessage):
            entries.append(("user", user_parts(message.content)))
        else:
            raise unwritable(message, "Gemini's contents have")
    contents = [
        {"role": "model" if turn["role"] == "assistant" else "user", "parts": turn["content"]}
        for turn in in_turns(entries, _text)
    ]
    return {"parts": system} if system else None, contents


def _in_call_order(messages: Iterable[Message]) -> Iterator[Message]:
    """The messages, the answers of each turn in the order of its calls: without ids, that is what pairs them."""
    order: list[str] = []
    answers: list[ToolMessage] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            answers.append(message)
            continue
        yield from sorted(answers, key=lambda answer: order.index(answer.tool_call_id))
        answers, order = [], [call["id"] for call in message.tool_calls] if isinstance(message, AIMessage) else []
        yield message
    yield from sorted(answers, key=lambda answer: order.index(answer.tool_call_id))


def _text(text: str) -> dict[str, Any]:
    return {"text": text}


def _written_reply(message: AIMessage, form: _Form) -> tuple[list[dict[str, Any]], dict[str, tuple[str, object]]]:
    """The parts of what a model said; and by call, the name and the id, if any, that its answer has to bear."""
    blocks = content_blocks(message.content, with_parts=True)
    placed = _calls_by_place(message, blocks)
    parts: list[dict[str, Any]] = []
    for place, block in enumerate(blocks):
        if place in placed:
            parts.append(_written_call(placed[place], form, block))
        elif not has_call(block) and (part := model_part(block)) is not None:
            parts.append(part)
    # Calls without a part came from another provider, which gave them ids, or were read from text.
    done = {call["id"] for call in placed.values()}
    parts += [
        _written_call({**call, "id": sendable_id(call["id"])}, form, {"functionCall": {"id": call["id"]}})
        for call in message.tool_calls
        if call["id"] not in done
    ]
    calls = [part for part in parts if "functionCall" in part]
    if form.sign_calls and calls and not calls[0].get("thoughtSignature"):
        calls[0]["thoughtSignature"] = UNSIGNED
    ordered = [*placed.values(), *(call for call in message.tool_calls if call["id"] not in done)]
    sent = {
        call["id"]: (part["functionCall"]["name"], part["functionCall"].get("id"))
        for call, part in zip(ordered, calls, strict=True)
    }
    return parts, sent


def _calls_by_place(message: AIMessage, blocks: Sequence[Mapping[str, Any]]) -> dict[int, ToolCall]:
    """Which call each part that is one stands for, by the part's place."""
    places = [place for place, block in enumerate(blocks) if has_call(block)]
    if len(places) == len(message.tool_calls):
        return dict(zip(places, message.tool_calls, strict=True))
    found: dict[int, ToolCall] = {}
    left = list(message.tool_calls)
    for place in places:
        part = call_in(blocks[place])
        call_id, name = part.get("id"), part.get("name")
        call = next((call for call in left if (call["id"] == call_id if call_id else call["name"] == name)), None)
        if call is not None:
            found[place] = call
            left.remove(call)
    return found


def _written_call(call: ToolCall, form: _Form, part: Mapping[str, Any]) -> dict[str, Any]:
    """The call in its part: what is signed beside it stays, and so does its id, if it has one."""
    rest = {key: value for key, value in part.items() if key not in ("functionCall", "function_call")}
    if "thought_signature" in rest:
        rest["thoughtSignature"] = rest.pop("thought_signature")
    written = {**call_in(part), "name": _wire_name(call["name"], form), "args": sendable_arguments(call)}
    if written.get("id"):
        written["id"] = call["id"]  # another one where the provider repeated its own
    return {"functionCall": written, **rest}


def _wire_name(name: str, form: _Form) -> str:
    written = sendable_name(name, form.names)
    return written if written[0].isalpha() or written[0] == "_" else f"_{written}"[:64]


def _written_answer(message: ToolMessage, name: str, call_id: object, form: _Form) -> dict[str, Any]:
    text, media = answer_parts(message.content, with_media=form.with_media)
    is_error = message.status == "error"
    response: dict[str, Any] = {"error" if is_error else "output": text or NO_OUTPUT}
    if media and not text and not is_error:
        response = {}
    given = mapping_of(message.additional_kwargs.get("function_response"))
    if given and response_content(given, media) == message.content:
        response = clean(given.get("response", {}))  # as it came: the content is the same in other words
    written: dict[str, Any] = {"name": name, "response": response}
    if isinstance(call_id, str) and call_id:
        written["id"] = call_id
    if media:
        written["parts"] = media
    return {"functionResponse": written}


def write_answers(answers: Iterable[ToolMessage], /, given: Sequence[object] = ()) -> list[dict[str, Any]]:
    """Tool messages as one user's content; an id stands there only where the call came with it."""
    calls = [call_in(part) for part in _parts_in(given)]
    names = {call["id"]: call.get("name") for call in calls if call.get("id")}
    form = _Form(names={}, sign_calls=False, with_media=True)
    parts: list[dict[str, Any]] = []
    for answer in answers:
        call_id = answer.tool_call_id if answer.tool_call_id in names else None
        parts.append(_written_answer(answer, str(names.get(call_id) or answer.name or ""), call_id, form))
    return [{"role": "user", "parts": parts}] if parts else []


def _parts_in(given: Iterable[object]) -> list[Mapping[str, Any]]:
    """The parts of all contents, those of replies included."""
    parts: list[Mapping[str, Any]] = []
    for item in map(json_of, given):
        candidates = items_of(item.get("candidates"))
        contents = [mapping_of(mapping_of(each).get("content")) for each in candidates] or [item]
        parts += [json_of(part) for content in contents for part in items_of(content.get("parts"))]
    return parts
