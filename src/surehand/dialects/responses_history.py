"""A conversation as the ``input`` of OpenAI's Responses.

The API knows the items it made by their ids, and wants a thought together with what it led to. So items go back as they
came; and where one of them cannot (its arguments were broken, a thought is stored nowhere), the ids of that turn are
left out and so are the thoughts, which makes it a turn that the API has never seen and takes as it stands.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from surehand.dialects.responses_blocks import input_content, output_content
from surehand.dialects.responses_items import CUSTOM, FUNCTION, OUTPUTS, is_call, is_item
from surehand.dialects.wire import (
    calls_in_order,
    clean,
    clean_text,
    content_blocks,
    sendable_arguments,
    sendable_arguments_text,
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
    text_of,
)
from surehand.shapes import items_of, mapping_of

__all__ = ["answer_item", "write_messages"]

Item = dict[str, Any]

_OUTPUT_ONLY: Final = frozenset({"created_by", "parsed", "parsed_arguments"})
"""Fields of replies, and of the SDK's objects, that a request must not have."""
_UNFINISHED: Final = frozenset({"in_progress", "searching", "interpreting", "generating", "calling"})
"""What the status of an item says of which nothing came, where the reply was cut off."""
_FROM_CALL: Final = ("namespace", "caller")
"""What a call that is written anew keeps of the one that came."""


def write_messages(
    messages: Sequence[Message], *, names: Mapping[str, str] | None = None, is_stored: bool = True
) -> tuple[str | None, list[Item]]:
    """The instructions (None without any) and the input items, as the API accepts them whatever the messages hold.

    Every call is answered, all calls of a turn come before all answers, and none has broken arguments.

    Args:
        messages: The conversation; it is repaired first, as ``repair_transcript`` does.
        names: Tool name -> the name the tool was offered by, where the two differ.
        is_stored: Whether the provider keeps its items. If not, a thought can go back only with its content.
    """
    instructions: list[str] = []
    written: list[Item] = []
    calls: dict[str, Item] = {}
    for message in repair_transcript(messages):
        if isinstance(message, AIMessage):
            turn = _turn_of(message, names or {})
            calls.update(turn.calls)
            written += turn.items(is_stored=is_stored)
        elif isinstance(message, ToolMessage):
            call = calls[message.tool_call_id]
            written.append(answer_item(message, call, call["call_id"]))
        elif isinstance(message, SystemMessage) and not written and isinstance(message.content, str):
            instructions.append(clean_text(message.content).strip())
        else:
            written.append(_said(message))
    return "\n\n".join(filter(None, instructions)) or None, written


def _said(message: Message) -> Item:
    if isinstance(message, SystemMessage):
        role = "developer" if message.additional_kwargs.get("role") == "developer" else "system"
    elif isinstance(message, HumanMessage):
        role = "user"
    else:
        raise unwritable(message, "OpenAI's Responses have")
    return {"role": role, "content": input_content(message.content)}


def answer_item(answer: ToolMessage, call: Mapping[str, Any], call_id: str) -> Item:
    """The answer to a call, in the form that its kind of call has.

    Args:
        answer: The tool message.
        call: The item of the call; an empty one stands for a function's.
        call_id: The id to name.
    """
    kind = OUTPUTS.get(call.get("type", FUNCTION), OUTPUTS[FUNCTION])
    item: Item = {"type": kind, "call_id": call_id, "output": output_content(answer.content)}
    return {**item, "caller": call["caller"]} if call.get("caller") else item


def _turn_of(message: AIMessage, names: Mapping[str, str]) -> _Turn:
    blocks = content_blocks(message.content)
    placed = calls_in_order(message, blocks, kinds=OUTPUTS, id_key="call_id")
    turn = _Turn(names, is_cut_off=message.response_metadata.get("status", "completed") != "completed")
    for position, block in enumerate(blocks):
        if position in placed:
            turn.add_call(placed[position], block)
        elif is_call(block):
            turn.is_changed = True  # a call that the host took out of the message
        else:
            turn.add(block)
    custom = items_of(message.additional_kwargs.get("custom_calls"))
    for call in message.tool_calls:
        if call["id"] not in turn.calls:
            turn.add_call(call, {"type": CUSTOM if call["id"] in custom else FUNCTION})
    return turn


class _Turn:
    """The items of one AI message in the making."""

    def __init__(self, names: Mapping[str, str], *, is_cut_off: bool) -> None:
        self._names = names
        self._is_cut_off = is_cut_off
        self._items: list[Item] = []
        self.calls: dict[str, Item] = {}
        """Call id -> its item."""
        self.is_changed = False
        """Whether something is not as the provider made it."""

    def add_call(self, call: ToolCall, block: Mapping[str, Any]) -> None:
        """Add a call in the place of the block that it came in."""
        item = _written_call(call, block, self._names)
        if "call_id" in block and all(block.get(key) == value for key, value in item.items()):
            item = _sent_back(block)
        else:
            self.is_changed = True
            item |= {key: block[key] for key in _FROM_CALL if block.get(key) is not None}
        self.calls[call["id"]] = item
        self._items.append(item)

    def add(self, block: Mapping[str, Any]) -> None:
        """Add an item, or a text; blocks of other providers are left out."""
        if block.get("type") == "message":
            self._add_message(block)
        elif is_item(block):
            if not self._is_cut_off or block.get("status") not in _UNFINISHED:
                self._items.append(_sent_back(block))
        elif text := text_of([dict(block)]):
            self._items.append({"role": "assistant", "content": text})

    def _add_message(self, block: Mapping[str, Any]) -> None:
        content: object = block.get("content")
        if isinstance(content, list):
            parts = [mapping_of(part) for part in items_of(block.get("content"))]
            content = [_sent_back(part) for part in parts if part.get("text") or part.get("refusal")]
        if not content:
            return
        if block.get("status") in (None, "completed"):
            self._items.append({"role": "assistant", **_sent_back(block), "content": content})
        else:
            self._items.append({"type": "message", "role": "assistant", "content": content})

    def items(self, *, is_stored: bool) -> list[Item]:
        """The turn as the API takes it."""
        kept = [
            item
            for item in self._items
            if item.get("type") != "reasoning" or (not self.is_changed and (is_stored or _holds_thought(item)))
        ]
        while kept and kept[-1].get("type") == "reasoning":
            kept.pop()  # it led to nothing, as where the reply was cut off
        if self.is_changed or len(kept) < len(self._items):
            kept = [_without_id(item) for item in kept]
        return _calls_last(kept)


def _written_call(call: ToolCall, block: Mapping[str, Any], names: Mapping[str, str]) -> Item:
    # The provider's own ids are those it takes, however long.
    call_id = call["id"] if call["id"] == block.get("call_id") else sendable_id(call["id"])
    head = {"type": block["type"], "call_id": call_id, "name": sendable_name(call["name"], names)}
    if block["type"] == CUSTOM:
        text: object = mapping_of(call["args"]).get("input")
        return {**head, "input": clean(text) if isinstance(text, str) else sendable_arguments_text(call)}
    sent: object = block.get("arguments")
    # The same text again where it says the same: providers find by it what they have in their cache.
    is_same = isinstance(sent, str) and _parsed(sent) == sendable_arguments(call)
    return {**head, "arguments": sent if is_same else sendable_arguments_text(call)}


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _sent_back(fields: Mapping[str, Any]) -> Item:
    return {key: value for key, value in fields.items() if key not in _OUTPUT_ONLY}


def _holds_thought(item: Mapping[str, Any]) -> bool:
    """Whether a thought is there itself, and not only the id that the provider knows it by."""
    return bool(item.get("encrypted_content") or item.get("content"))


def _without_id(item: Item) -> Item:
    is_ours = item.get("type") == "message" or item.get("type") in OUTPUTS
    return {key: value for key, value in item.items() if key != "id"} if is_ours else item


def _calls_last(items: Iterable[Item]) -> list[Item]:
    """The calls behind all else, as some servers want them together; each thought still before what it led to."""
    others: list[Item] = []
    calls: list[Item] = []
    thoughts: list[Item] = []
    for item in items:
        thoughts.append(item)
        if item.get("type") != "reasoning":
            (calls if item.get("type") in OUTPUTS and is_call(item) else others).extend(thoughts)
            thoughts = []
    return [*others, *calls]
