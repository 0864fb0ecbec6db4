"""The calls of one AI message: whatever a model sent becomes one uniform call with an id of its own.

A model's reply is not ours to reject. Each entry, however broken, becomes a call that a node can answer: what cannot be
read stays as it came and is listed as invalid, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypedDict, cast
from uuid import uuid4

from surehand.errors import MalformedArguments
from surehand.grammar import parse_arguments
from surehand.shapes import mapping_of

__all__ = ["Calls", "InvalidToolCall", "ToolCall", "ToolCallChunk", "new_call_id", "read_calls"]


class ToolCall(TypedDict):
    """One call of a tool, as a model asked for it."""

    id: str
    """Unique within its message."""
    name: str
    """As the model spelled it; empty where it sent none."""
    args: Any
    """The parsed object; the value as it came where it cannot be parsed."""
    type: Literal["tool_call"]


class InvalidToolCall(TypedDict):
    """A call whose arguments cannot be read; the call itself stands in ``tool_calls`` too."""

    id: str
    name: str
    args: Any
    """As they came."""
    error: str
    """Why they are no JSON object, and where."""
    type: Literal["invalid_tool_call"]


class ToolCallChunk(TypedDict):
    """A piece of a call, as a stream delivers it."""

    id: str | None
    name: str | None
    args: str | None
    """A fragment of the arguments' text."""
    index: int | None
    """Which call of the message the piece belongs to; None where the provider does not say."""
    type: Literal["tool_call_chunk"]


class Calls:
    """The calls of one message, read; no dataclass, whose default factories would double the cost of a message."""

    __slots__ = ("calls", "invalid", "repairs")

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self.invalid: list[InvalidToolCall] = []
        self.repairs: dict[str, tuple[str, ...]] = {}


_ABSENT: Final = object()
_ARGUMENT_KEYS: Final = ("args", "arguments", "input")


def new_call_id() -> str:
    """An id that no other call has."""
    return f"call_{uuid4().hex[:24]}"


def read_calls(raw: object) -> Calls:
    """Every entry as a call with a unique id; the first bearer of an id keeps it. Never raises."""
    read = Calls()
    if not raw:
        return read
    taken: set[str] = set()
    for entry in _entries(raw):
        call_id, name, args = _fields(entry)
        # A blank id is text, but no provider takes it back.
        if not isinstance(call_id, str) or call_id in taken or not call_id.strip():
            call_id = new_call_id()
        taken.add(call_id)
        _add(read, call_id, name, args)
    return read


def _entries(raw: object) -> Iterable[object]:
    return cast("Iterable[object]", raw) if isinstance(raw, list | tuple) else (raw,)


def _fields(entry: object) -> tuple[object, str, object]:
    """The id, the name and the arguments of an entry in any of the usual shapes."""
    # A dict is nearly always what comes; asking whether something is a Mapping costs as much as all the rest here.
    fields = cast("Mapping[str, Any]", entry) if type(entry) is dict else mapping_of(entry)
    if not fields and not isinstance(entry, Mapping):
        problem = f"The call is no object: expected id, name and arguments, got {type(entry).__name__}."
        return None, "", _Unreadable(entry, problem)
    if fields.get("type") == "invalid_tool_call":
        error = fields.get("error")
        unreadable = _Unreadable(_arguments(fields), error if isinstance(error, str) else "The arguments are invalid.")
        return fields.get("id"), _name(fields.get("name")), unreadable
    function = fields.get("function")
    custom = mapping_of(fields["custom"]) if "custom" in fields and not function else None
    if custom:
        # OpenAI's custom tools take free-form text: it is an argument as it stands and never read as JSON.
        return fields.get("id"), _name(custom.get("name")), {"input": custom.get("input")}
    # OpenAI nests name and arguments under `function`, beside the id; LangChain and Anthropic have one level.
    inner = fields if function is None else mapping_of(function)
    return fields.get("id"), _name(inner.get("name")), _arguments(inner)


def _arguments(fields: Mapping[str, object]) -> object:
    for key in _ARGUMENT_KEYS:
        if key in fields:
            return fields[key]
    return None


def _name(name: object) -> str:
    if isinstance(name, str):
        return name
    return str(name) if isinstance(name, int | float) else ""


@dataclass(slots=True)
class _Unreadable:
    """Arguments that must not be read, as they came: no call at all, or one already found invalid."""

    args: object
    error: str


def _add(read: Calls, call_id: str, name: str, args: Any) -> None:
    if isinstance(args, _Unreadable):
        _add_invalid(read, call_id, name, args)
        return
    try:
        parsed = parse_arguments(args)
    except MalformedArguments as problem:
        _add_invalid(read, call_id, name, _Unreadable(args, str(problem)))
        return
    read.calls.append({"id": call_id, "name": name, "args": parsed.value, "type": "tool_call"})
    if parsed.repairs:
        read.repairs[call_id] = parsed.repairs


def _add_invalid(read: Calls, call_id: str, name: str, found: _Unreadable) -> None:
    read.calls.append({"id": call_id, "name": name, "args": found.args, "type": "tool_call"})
    read.invalid.append(
        {"id": call_id, "name": name, "args": found.args, "error": found.error, "type": "invalid_tool_call"}
    )
