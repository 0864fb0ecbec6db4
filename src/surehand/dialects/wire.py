"""What every provider asks of a request: valid JSON, valid names and ids, texts that are Unicode and not empty.

A request is refused as a whole for one bad spot in a history of a hundred messages, so that one garbled call ends a
conversation. What is written here is acceptable whatever a model has sent.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeGuard

from surehand.dialects.blocks import typed_block
from surehand.errors import InputError, shown
from surehand.foreign import with_dumped_items
from surehand.messages import AIMessage, Content, Message, ToolCall, ToolMessage, is_empty, json_form
from surehand.shapes import items_of, mapping_of
from surehand.wording import clipped

__all__ = [
    "answer_ids",
    "clean",
    "clean_text",
    "content_blocks",
    "is_from",
    "no_reply",
    "payload_of",
    "sendable_arguments",
    "sendable_arguments_text",
    "sendable_id",
    "sendable_name",
    "tokens",
    "unwritable",
]


_PREVIEW: Final = 200
_BAD_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]")
_GOOD_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
_MAX_NAME: Final = 64
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def payload_of(value: object) -> Mapping[str, Any]:
    """The value as JSON: what a provider's SDK made of it, or in it, as that dumps; else an empty mapping."""
    dump = getattr(value, "model_dump", None)
    if not callable(dump) or isinstance(value, type):
        return with_dumped_items(mapping_of(value))
    return mapping_of(dump(exclude_none=True, warnings=False))  # of parts that are newer than the SDK


def is_from(value: object, package: str) -> bool:
    """Whether the value's class, or one it comes from, is the package's; found without importing it."""
    return any(f"{kind.__module__}.".startswith(f"{package}.") for kind in type(value).__mro__)


def clean_text(text: str) -> str:
    """The text as Unicode: surrogate pairs joined, lone surrogates replaced by U+FFFD."""
    if not _SURROGATE.search(text):
        return text
    # UTF-16 is what surrogates are of: written out and read back, two halves of a character become it again.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def clean(value: Any) -> Any:
    """The value as strict JSON: texts cleaned, numbers that JSON lacks and anything foreign as what is nearest."""
    return _cleaned(json_form(value))


def _cleaned(value: object) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    fields, items = mapping_of(value), items_of(value)
    if fields:
        return {clean_text(key): _cleaned(item) for key, item in fields.items()}
    return [_cleaned(item) for item in items] if items else value


def sendable_arguments(call: ToolCall) -> dict[str, Any]:
    """The call's arguments as an object; those that are none are shown under ``_raw``, cut short.

    The broken text itself must not be replayed as arguments: providers refuse it, and models imitate it.
    """
    args = call["args"]
    fields = mapping_of(clean(args))
    if fields or is_empty(args):
        return dict(fields)
    text = args if isinstance(args, str) else shown(args, _PREVIEW)
    return {"_raw": clean_text(clipped(text, _PREVIEW))}


def sendable_arguments_text(call: ToolCall) -> str:
    """The same as JSON text."""
    return json.dumps(sendable_arguments(call), ensure_ascii=False, allow_nan=False)


def sendable_name(name: str, names: Mapping[str, str]) -> str:
    """The name that the provider knows the tool by; one no provider would take is made acceptable."""
    if name in names:
        return names[name]
    return _BAD_NAME.sub("_", name)[:_MAX_NAME] or "unknown"


def sendable_id(call_id: str, max_length: int = 64, *, pattern: re.Pattern[str] = _GOOD_ID) -> str:
    """The id, or where providers would refuse it another that is the same each time."""
    if len(call_id) <= max_length and pattern.fullmatch(call_id):
        return call_id
    return f"call_{hashlib.sha256(call_id.encode('utf-8', 'replace')).hexdigest()[:24]}"


def answer_ids(answers: Sequence[ToolMessage], sent: Sequence[object]) -> list[str]:
    """The ids that answers bear among a host's own messages.

    They are the calls' own; where a provider gave one id to several calls, which were told apart here by other ids, the
    answers have that one too, since the host's message has no other.

    Args:
        answers: In the order of the calls.
        sent: The ids of the calls, as they came.
    """
    ids = [call_id if isinstance(call_id, str) and call_id.strip() else None for call_id in sent]
    made = iter([call_id for place, call_id in enumerate(ids) if call_id is None or call_id in ids[:place]])
    own = [answer.tool_call_id for answer in answers]
    return [call_id if call_id in ids else next(made, None) or call_id for call_id in own]


def content_blocks(content: Content, *, with_parts: bool = False) -> list[dict[str, Any]]:
    """The content as blocks, without texts that say nothing.

    Args:
        content: A message's.
        with_parts: Whether the parts of Gemini's, which have no type, stay as they are.
    """
    blocks: Iterable[str | dict[str, Any]] = [content] if isinstance(content, str) else content
    read = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    if not with_parts:
        read = [block if "type" in block else typed_block(block) for block in read]
    return [clean(block) for block in read if block.get("type") != "text" or _says_something(block.get("text"))]


def _says_something(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip())


def calls_in_order(
    message: AIMessage,
    blocks: Sequence[Mapping[str, Any]],
    *,
    kinds: Collection[str] = ("tool_use",),
    id_key: str = "id",
) -> dict[int, ToolCall]:
    """Which call each block of these kinds stands for, by the block's position in the content."""
    # By order where the numbers agree, because ids that a provider repeated were replaced in the calls only.
    positions = [position for position, block in enumerate(blocks) if block.get("type") in kinds]
    if len(positions) == len(message.tool_calls):
        return dict(zip(positions, message.tool_calls, strict=True))
    by_id = {call["id"]: call for call in message.tool_calls}
    placed: dict[int, ToolCall] = {}
    for position in positions:
        call_id: object = blocks[position].get(id_key)
        if isinstance(call_id, str) and call_id in by_id:
            placed[position] = by_id.pop(call_id)  # a block that has the id of another stands for none
    return placed


def no_reply(expected: str, payload: object, holds: str = "message") -> InputError:
    """What to raise for a payload that a reply cannot be read from.

    Args:
        expected: What was expected.
        payload: What came.
        holds: What a reply holds and an error does not.
    """
    return InputError(
        problem=f"Expected {expected}",
        value=payload,
        remedy=f"Pass the provider's reply as it came; an error reply holds no {holds}.",
    )


def tokens(sent: object, received: object) -> dict[str, Any] | None:
    """Numbers of tokens in the spelling of ``usage_metadata``, with their sum; None where neither is a number."""
    counts = {"input_tokens": sent, "output_tokens": received}
    read = {key: int(count) for key, count in counts.items() if _is_number(count)}
    return {**read, "total_tokens": sum(read.values())} if len(read) == len(counts) else read or None


def _is_number(count: object) -> TypeGuard[int | float]:
    return isinstance(count, int) or (isinstance(count, float) and count.is_integer())


def unwritable(message: Message, who: str) -> InputError:
    """What to raise for a message that a provider has none like.

    Args:
        message: The message.
        who: Whose messages they are, and the verb: ``Chat Completions have``.
    """
    return InputError(
        problem=f"{who} no such message",
        value=message,
        remedy="Apply RemoveMessage with add_messages before the model is asked.",
    )
