"""Messages taken apart and put together again, with every value in them as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

from surehand.errors import InputError
from surehand.messages.ai import AIMessage
from surehand.messages.base import HumanMessage, Message, RemoveMessage, SystemMessage, ToolMessage
from surehand.messages.base import _set as set_field  # pyright: ignore[reportPrivateUsage] - one family of modules
from surehand.messages.calls import Calls
from surehand.outcomes import Outcome
from surehand.shapes import is_array, is_object

__all__ = ["WHOLE_KINDS", "message_of", "parts_of"]

WHOLE_KINDS: Final[dict[str, type[Message]]] = {
    kind.type: kind for kind in (SystemMessage, HumanMessage, AIMessage, ToolMessage, RemoveMessage)
}
"""The classes of messages that this is done for, by the word in ``type``; a piece of a stream is no message yet."""

_EMPTY: Final[dict[str, Any]] = {
    "additional_kwargs": {},
    "response_metadata": {},
    "tool_calls": [],
    "status": "success",
}
"""What stands for a field that is left out, where that is not None."""


def parts_of(message: Message) -> dict[str, Any]:
    """The message's type and fields; those that say nothing are left out.

    Unlike ``message_to_dict`` it changes no value, JSON or not. Calls have the form of ``ToolCall``, without its type
    and with the ``error`` and the ``repairs`` that are known of them.
    """
    parts: dict[str, Any] = {"type": message.type}
    for field, value in message._given().items():  # pyright: ignore[reportPrivateUsage] # noqa: SLF001 - one family of modules
        if field == "tool_calls":
            value = _call_parts(cast("AIMessage", message))  # noqa: PLW2901 - taken apart too
        elif type(value) is Outcome and value.error is not None:
            value = replace(value, error=None)  # noqa: PLW2901 - as everywhere on messages
        is_left_out = value is None or (field in _EMPTY and value == _EMPTY[field])
        if field == "content" or not is_left_out:
            parts[field] = value
    return parts


def _call_parts(message: AIMessage) -> list[dict[str, Any]]:
    calls = message.tool_calls
    if not calls:
        return []
    errors = {call["id"]: call["error"] for call in message.invalid_tool_calls}
    repairs = message.repairs
    parts: list[dict[str, Any]] = []
    for call in calls:
        part: dict[str, Any] = {"id": call["id"], "name": call["name"], "args": call["args"]}
        if call["id"] in errors:
            part["error"] = errors[call["id"]]
        if call["id"] in repairs:
            part["repairs"] = list(repairs[call["id"]])
        parts.append(part)
    return parts


def message_of(parts: Mapping[str, Any]) -> Message:
    """The message of these parts. No argument is read anew: what was a call is one, with what was known of it.

    Raises:
        InputError: They are no message's parts.
    """
    fields = dict(parts)
    word: object = fields.pop("type", None)
    kind = WHOLE_KINDS.get(word) if isinstance(word, str) else None
    if kind is None or not fields.keys() <= set(kind._fields):  # pyright: ignore[reportPrivateUsage] - one family of modules
        raise _damaged(parts)
    try:
        calls = _calls(fields.pop("tool_calls", []))
        message = kind(**fields)
    except (TypeError, ValueError, KeyError) as error:
        raise _damaged(parts) from error
    if not isinstance(fields.get("outcome"), Outcome | None):
        raise _damaged(parts)
    if kind is AIMessage:
        set_field(message, "_calls", calls)
    return message


def _damaged(parts: object) -> InputError:
    return InputError(
        problem="These are no message's parts: its type is unknown, or a field is missing or of the wrong kind",
        value=parts,
        remedy="Restore them from a copy, or leave the message out.",
    )


def _calls(parts: object) -> Calls:
    calls = Calls()
    if not is_array(parts):
        raise TypeError("calls are a list")
    for part in cast("list[object]", parts):
        _add(calls, part)
    if len({call["id"] for call in calls.calls}) != len(calls.calls):
        raise ValueError("two calls have one id")
    return calls


def _add(calls: Calls, part: object) -> None:
    if not is_object(part):
        raise TypeError("a call is an object")
    fields = dict(part)
    call_id, name, args = fields.pop("id"), fields.pop("name"), fields.pop("args")
    error, repairs = fields.pop("error", None), fields.pop("repairs", None)
    if not isinstance(call_id, str) or not isinstance(name, str) or fields:
        raise TypeError("a call has an id, a name and arguments")
    if error is None and not isinstance(args, dict):
        raise TypeError("the arguments of a call are an object")
    calls.calls.append({"id": call_id, "name": name, "args": args, "type": "tool_call"})
    if error is not None:
        calls.invalid.append(
            {"id": call_id, "name": name, "args": args, "error": str(error), "type": "invalid_tool_call"}
        )
    if repairs is not None:
        calls.repairs[call_id] = tuple(map(str, repairs))
