"""Whatever a host has as a conversation, as messages.

One reader for all spellings, because hosts mix them: a list may hold messages of ours beside a provider's dicts. It
keeps track of the calls it has seen: where a provider sent no id, or one id twice, the answers follow their calls to
the ids these were given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from surehand.errors import InputError
from surehand.foreign import with_dumped_items
from surehand.messages.ai import AIMessage
from surehand.messages.base import (
    HumanMessage,
    Message,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    are_messages,
    is_empty,
)
from surehand.messages.calls import new_call_id
from surehand.messages.provider_items import dialect_of_item, read_items
from surehand.messages.stored import is_stored, message_from_dict
from surehand.shapes import is_array, items_of, mapping_of

__all__ = ["as_items", "convert_to_messages", "plain_messages", "plain_reply"]

_ROLES: Final[dict[str, str]] = {
    "user": "human",
    "human": "human",
    "HumanMessage": "human",
    "HumanMessageChunk": "human",
    "assistant": "ai",
    "ai": "ai",
    "model": "ai",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "system": "system",
    "developer": "system",
    "SystemMessage": "system",
    "SystemMessageChunk": "system",
    "tool": "tool",
    "function": "tool",
    "ToolMessage": "tool",
    "ToolMessageChunk": "tool",
    "FunctionMessage": "tool",
    "remove": "remove",
    "RemoveMessage": "remove",
}
_FORMS: Final = (
    "Pass a text, a (role, text) pair, a message, a mapping with 'role' or 'type' and 'content' "
    "(OpenAI-, Anthropic- or LangChain-shaped), or a list of these. "
    f"Roles: {', '.join(role for role in _ROLES if role.islower())}."
)
_KNOWN: Final = frozenset(
    {
        "role", "type", "content", "name", "id", "additional_kwargs", "response_metadata", "tool_calls",
        "invalid_tool_calls", "function_call", "usage_metadata", "tool_call_id", "status", "artifact", "is_error",
        "example", "tool_call_chunks", "chunk_position",
    }
)  # fmt: skip


def convert_to_messages(value: object) -> list[Message]:
    """The value as messages.

    Takes a text (one user message), a ``(role, text)`` tuple, a message, a mapping with ``role`` or ``type``
    (OpenAI-, Anthropic- and LangChain-shaped, and our own stored form), a LangChain message, what a provider spells
    otherwise (Bedrock's messages, Gemini's contents, items of OpenAI's Responses, whole replies), or a sequence of any
    of these. Broken tool calls inside are kept as calls, as ``AIMessage`` keeps them.

    Raises:
        InputError: The value, or an element of it, is none of these; the message lists the accepted forms.
    """
    if is_array(value) and are_messages(value):
        return value.copy()  # messages of ours carry ids that fit already: nothing to follow, whatever the length
    items = as_items(value)
    names = [dialect_of_item(item) for item in items]
    return read_items(items, names) if any(names) else plain_messages(items)


def as_items(value: object) -> list[Any]:
    """The value's elements where it is a sequence of messages, else the value as the only one."""
    kind: type = type(value)
    items = items_of(value)
    is_sequence = issubclass(kind, list | tuple) and not (issubclass(kind, tuple) and _is_pair(items))
    return items if is_sequence else [value]


def plain_messages(items: Iterable[object]) -> list[Message]:
    """The items as messages, those in a provider's own spelling left out; for the dialects that read these.

    Raises:
        InputError: One is none of the forms that ``convert_to_messages`` lists.
    """
    reader = _Reader()
    for item in items:
        reader.read(item)
    return reader.messages


def plain_reply(fields: Mapping[str, Any]) -> AIMessage:
    """What a model said, from the fields of an assistant's message in the usual spelling."""
    return cast("AIMessage", plain_messages([fields])[0])


def _is_pair(value: Sequence[object]) -> bool:
    """Whether it is ``(role, content)`` and not a sequence of messages."""
    return len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], str | list)  # noqa: PLR2004 - a pair


def _unreadable(problem: str, value: object) -> InputError:
    return InputError(problem=problem, value=value, remedy=_FORMS)


@dataclass(slots=True)
class _OpenCall:
    """A call that was read, and the id that its message gave before ids were made unique."""

    sent_id: object
    id: str
    name: str


@dataclass(slots=True)
class _Reader:
    """Reads one conversation from its start."""

    messages: list[Message] = field(default_factory=list[Message])
    open: list[_OpenCall] = field(default_factory=list[_OpenCall])
    """The calls of the newest AI message that have no answer yet."""

    def read(self, item: Any) -> None:
        """Add the messages that the item stands for."""
        if isinstance(item, Message):
            self._add(item)
        elif isinstance(item, str):
            self._add(HumanMessage(item))
        elif isinstance(item, Mapping):
            self._read_mapping(cast("Mapping[str, Any]", item))
        elif _is_pair(pair := items_of(item)):
            self._read_pair(*pair)
        elif (fields := _object_fields(item)) is not None:
            self._read_mapping(fields)
        else:
            raise _unreadable("This is no message", item)

    def _add(self, message: Message, sent_ids: Sequence[object] | None = None) -> None:
        self.messages.append(message)
        if isinstance(message, AIMessage):
            ids = sent_ids if sent_ids is not None else [call["id"] for call in message.tool_calls]
            self.open = [
                _OpenCall(sent_id, call["id"], call["name"])
                for sent_id, call in zip(ids, message.tool_calls, strict=True)
            ]
        elif isinstance(message, ToolMessage):
            self.open = [call for call in self.open if call.id != message.tool_call_id]

    def _read_pair(self, role: str, content: Any) -> None:
        if _ROLES.get(role) == "human" and isinstance(content, str):
            self._add(HumanMessage(content))
        else:
            self._read_mapping({"role": role, "content": content})

    def _read_mapping(self, item: Mapping[str, Any]) -> None:
        if is_stored(item):
            self._add(message_from_dict(item))
            return
        fields = with_dumped_items(_flat(item))
        role = fields.get("role") or fields.get("type")
        if role is None:
            raise _unreadable("A message has a 'role' or a 'type'", item)
        kind = _ROLES.get(role) if isinstance(role, str) else None
        if kind == "ai":
            self._read_ai(fields)
        elif kind == "tool":
            self._read_answer(fields)
        elif kind == "system":
            extra: dict[str, Any] = {"role": "developer"} if role == "developer" else {}
            self._add(SystemMessage(_content(fields), **_common(fields, extra)))
        elif kind == "human":
            self._read_human(fields)
        elif kind == "remove":
            self._add(RemoveMessage(id=fields.get("id", "")))
        else:
            raise _unreadable(f"There is no message of the role {role!r}", item)

    def _read_ai(self, fields: Mapping[str, Any]) -> None:
        content = _content(fields)
        entries = _call_entries(fields, content)
        message = AIMessage(
            content,
            tool_calls=entries,
            usage_metadata=mapping_of(fields.get("usage_metadata")) or None,
            **_common(fields),
        )
        beside = _beside_calls(message, entries)
        if beside:
            message = message.replace(additional_kwargs={**message.additional_kwargs, **beside})
        self._add(message, [_sent_id(entry) for entry in entries])

    def _read_human(self, fields: Mapping[str, Any]) -> None:
        """A user's message; Anthropic's also carries the answers to calls, which come first."""
        content = _content(fields)
        blocks = items_of(content)
        if not any(_is_block(block, "tool_result") for block in blocks):
            self._add(HumanMessage(content, **_common(fields)))
            return
        rest: list[str | dict[str, Any]] = []
        for block in blocks:
            if _is_block(block, "tool_result"):
                self._read_result(block)
            else:
                rest.append(block)
        if rest:
            self._add(HumanMessage(rest, **_common(fields)))

    def _read_result(self, block: Mapping[str, Any]) -> None:
        answer = {
            "content": block.get("content"),
            "tool_call_id": block.get("tool_use_id"),
            "status": "error" if block.get("is_error") else "success",
        }
        extra = {key: block[key] for key in block.keys() - {"type", "content", "tool_use_id", "is_error"}}
        self._read_answer({**answer, "additional_kwargs": extra})

    def _read_answer(self, fields: Mapping[str, Any]) -> None:
        # Answers are matched to calls as they come: an id that was sent twice means the first open call, then the next.
        name = fields.get("name")
        sent_id = _text_id(fields.get("tool_call_id"))
        call = self._answered_call(sent_id, name)
        if call is not None:
            self.open.remove(call)
        call_id = call.id if call is not None else sent_id if isinstance(sent_id, str) and sent_id else new_call_id()
        common = _common(fields)
        common["name"] = common["name"] or (call.name or None if call is not None else None)
        is_error = fields.get("status") == "error" or fields.get("is_error") is True
        self.messages.append(
            ToolMessage(
                _content(fields),
                tool_call_id=call_id,
                status="error" if is_error else "success",
                artifact=fields.get("artifact"),
                **common,
            )
        )

    def _answered_call(self, sent_id: object, name: object) -> _OpenCall | None:
        """The call that an answer is for: by the id as sent; without an id the next one, of its name if it has one."""
        candidates = self.open
        if isinstance(sent_id, str) and sent_id:
            for call in self.open:
                if sent_id in (call.sent_id, call.id):
                    return call
            # The host was told an id for a call that has none in its own copy of the message.
            candidates = [call for call in self.open if not call.sent_id]
        nameless = name is None or name == ""
        return next((call for call in candidates if nameless or call.name == name), None)


def _flat(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """LangChain's two nested forms, ``{"type", "data"}`` and ``{"lc", "id", "kwargs"}``, as one level."""
    if "lc" in item:
        return {**mapping_of(item.get("kwargs")), "type": next(reversed(items_of(item.get("id"))), None)}
    data = mapping_of(item.get("data"))
    return {**data, "type": item.get("type")} if data and "content" not in item else item


def _object_fields(item: object) -> Mapping[str, Any] | None:
    """A LangChain message, or a provider SDK's message with ``role``, as a mapping; None for anything else."""
    # By the name of the module, so that LangChain is never imported, and by all bases, for the subclasses of partners.
    if type(item).__module__.startswith("langchain_core.messages") and (held := getattr(item, "__dict__", None)):
        fields: dict[str, Any] = {**(getattr(item, "__pydantic_extra__", None) or {}), **held}
        return {name: value for name, value in fields.items() if name in _KNOWN}
    if any(kind.__module__.startswith("langchain_core.messages") for kind in type(item).__mro__):
        return {name: getattr(item, name) for name in _KNOWN if hasattr(item, name)}
    dump = getattr(item, "model_dump", None)
    if callable(dump) and isinstance(getattr(item, "role", None), str):
        return cast("Mapping[str, Any]", dump(exclude_none=True, warnings=False))
    return None


def _content(fields: Mapping[str, Any]) -> Any:
    content = fields.get("content")
    if content is None:
        return ""
    return items_of(cast("object", content)) if isinstance(content, tuple) else content


def _common(fields: Mapping[str, Any], extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The fields that every message has; what nobody knows is kept beside the content."""
    unknown = {key: value for key, value in fields.items() if key not in _KNOWN and not is_empty(value)}
    kwargs = {**mapping_of(fields.get("additional_kwargs")), **unknown, **(extra or {})}
    return {
        "name": fields.get("name"),
        "id": fields.get("id"),
        "additional_kwargs": kwargs,
        "response_metadata": mapping_of(fields.get("response_metadata")),
    }


def _beside_calls(message: AIMessage, entries: Sequence[object]) -> dict[str, Any]:
    """What has to be known of calls to write them back: whose text is free-form, and what a provider wants again."""
    placed = list(zip(message.tool_calls, entries, strict=True))
    custom = [call["id"] for call, entry in placed if _is_custom(entry)]
    extra = [
        {"id": call["id"], "extra_content": content}
        for call, entry in placed
        if (content := mapping_of(entry).get("extra_content"))
    ]
    return {key: value for key, value in {"custom_calls": custom, "call_extras": extra}.items() if value}


def _call_entries(fields: Mapping[str, Any], content: object) -> list[Any]:
    """The calls of an assistant's message, in any provider's place and shape, in the order they were made."""
    entries = [entry for entry in _list(fields.get("tool_calls")) if not _is_placeholder(entry)]
    entries += [{**mapping_of(entry), "type": "invalid_tool_call"} for entry in _list(fields.get("invalid_tool_calls"))]
    # LangChain keeps Anthropic's blocks in the content beside `tool_calls`; to read both would double every call.
    entries = entries or [block for block in items_of(content) if _is_block(block, "tool_use")]
    legacy = mapping_of(fields.get("function_call"))
    if not entries and legacy and not _is_placeholder(legacy):
        entries = [legacy]
    return _in_sent_order(entries, fields)


def _in_sent_order(entries: list[Any], fields: Mapping[str, Any]) -> list[Any]:
    """LangChain parts valid from invalid calls; the order they were sent in is in what it keeps of the reply."""
    raw = _list(mapping_of(fields.get("additional_kwargs")).get("tool_calls"))
    order = {_sent_id(entry): place for place, entry in enumerate(raw)}
    if not fields.get("invalid_tool_calls") or not order:
        return entries
    return sorted(entries, key=lambda entry: order.get(_sent_id(entry), len(order)))


def _list(value: object) -> list[Any]:
    return items_of(value) or ([value] if value else [])


def _is_placeholder(entry: object) -> bool:
    """Whether it says nothing at all: Snowflake sends an empty function call with every reply."""
    if not isinstance(entry, Mapping):
        return False
    outer = mapping_of(cast("object", entry))
    fields = mapping_of(outer.get("function")) or outer
    said = (fields.get("name"), fields.get("arguments"), fields.get("args"), fields.get("input"), outer.get("id"))
    return not _is_custom(outer) and all(value is None or value == "" for value in said)


def _is_custom(entry: object) -> bool:
    fields = mapping_of(entry)
    return isinstance(fields.get("custom"), Mapping) and not fields.get("function")


def _is_block(block: object, kind: str) -> bool:
    return mapping_of(block).get("type") == kind


def _sent_id(entry: object) -> object:
    return _text_id(mapping_of(entry).get("id"))


def _text_id(call_id: object) -> object:
    """Numbers and UUIDs as text, so that a call and its answer agree however each spells the id."""
    return call_id if isinstance(call_id, str) or call_id is None else str(call_id)
