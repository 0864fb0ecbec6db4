"""What a model says, and the calls it makes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

from surehand.messages.assembly import assemble, fold
from surehand.messages.base import Message, _set  # pyright: ignore[reportPrivateUsage] - one family of classes
from surehand.messages.calls import Calls, InvalidToolCall, ToolCall, ToolCallChunk, read_calls
from surehand.messages.content import Content
from surehand.messages.finish import FinishReason, finish_reason_of, is_cut_off, is_ended
from surehand.messages.printing import call_lines

__all__ = ["AIMessage", "AIMessageChunk"]


class AIMessage(Message):
    """What a model says, with its calls in the order it sent them.

    The calls are taken as they come, in any provider's shape, and never refused here: arguments are read, missing and
    repeated ids replaced. What cannot be read is also listed in ``invalid_tool_calls``.
    """

    __slots__ = ("_calls", "usage_metadata")
    type = "ai"
    _fields = (*Message._fields, "tool_calls", "usage_metadata")

    usage_metadata: dict[str, Any] | None
    """Tokens: ``input_tokens``, ``output_tokens``, ``total_tokens``; None where the provider does not tell."""
    _calls: Calls

    def __init__(
        self,
        content: Content = "",
        *,
        tool_calls: Sequence[Any] = (),
        usage_metadata: Mapping[str, Any] | None = None,
        name: str | None = None,
        id: str | None = None,
        additional_kwargs: Mapping[str, Any] | None = None,
        response_metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            content, name=name, id=id, additional_kwargs=additional_kwargs, response_metadata=response_metadata
        )
        _set(self, "usage_metadata", None if usage_metadata is None else dict(usage_metadata))
        _set(self, "_calls", read_calls(tool_calls))

    @property
    def tool_calls(self) -> list[ToolCall]:
        """Every call, each with an id of its own; ``args`` is the object, or the value that is none as it came."""
        return self._calls.calls

    @property
    def invalid_tool_calls(self) -> list[InvalidToolCall]:
        """Those of the calls whose arguments cannot be read, with the reason."""
        return self._calls.invalid

    @property
    def repairs(self) -> Mapping[str, tuple[str, ...]]:
        """Call id -> what was relaxed, without loss, to read its arguments; calls read as they stand are absent."""
        return self._calls.repairs

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the reply ended, whatever the provider's word for it; None where it does not say."""
        return finish_reason_of(self.response_metadata)

    @property
    def is_cut_off(self) -> bool:
        """Whether it is known that something of the reply is missing; no node runs a call of it then.

        The output limit or a content filter ended it, the server failed, or its stream ended before it did.
        """
        return is_cut_off(self.response_metadata)

    def _call_lines(self) -> list[str]:
        errors = {call["id"]: call["error"] for call in self.invalid_tool_calls}
        lines = [
            line
            for call in self.tool_calls
            for line in call_lines(call["name"], call["id"], call["args"], errors.get(call["id"]))
        ]
        return ["Tool Calls:", *lines] if lines else []

    def replace(self, **changes: Any) -> Self:
        """A copy with these fields changed."""
        copy = super().replace(**changes)
        if "tool_calls" not in changes:
            # Reading the calls again would lose what is known of their first reading.
            _set(copy, "_calls", self._calls)
        return copy


class AIMessageChunk(AIMessage):
    """A piece of a streamed reply; ``a + b`` is both pieces, and the sum of all is the whole reply.

    ``tool_calls`` holds the calls as far as they have come: one whose text is not complete is an invalid call.
    """

    __slots__ = ("_assembled", "is_restart", "tool_call_chunks", "whole_content")
    _fields = (*Message._fields, "tool_call_chunks", "usage_metadata", "is_restart", "whole_content")

    tool_call_chunks: list[ToolCallChunk]
    """Pieces of calls, in the order they came; a sum of chunks holds one for each call."""
    is_restart: bool
    """Whether the provider began its reply anew here, so that the pieces before this one are void."""
    whole_content: Content | None
    """The reply's content with the blocks that no text shows, such as signed thoughts; on the piece that ends them."""
    _assembled: Calls | None

    def __init__(
        self,
        content: Content = "",
        *,
        tool_call_chunks: Sequence[ToolCallChunk] = (),
        is_restart: bool = False,
        whole_content: Content | None = None,
        usage_metadata: Mapping[str, Any] | None = None,
        name: str | None = None,
        id: str | None = None,
        additional_kwargs: Mapping[str, Any] | None = None,
        response_metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            content,
            usage_metadata=usage_metadata,
            name=name,
            id=id,
            additional_kwargs=additional_kwargs,
            response_metadata=response_metadata,
        )
        _set(self, "tool_call_chunks", list(tool_call_chunks))
        _set(self, "is_restart", is_restart)
        _set(self, "whole_content", whole_content)
        _set(self, "_assembled", None)

    @classmethod
    def of(cls, message: AIMessage) -> AIMessageChunk:
        """A whole message as one piece."""
        return AIMessageChunk(
            message.content,
            tool_call_chunks=[_piece_of(call, index) for index, call in enumerate(message.tool_calls)],
            usage_metadata=message.usage_metadata,
            name=message.name,
            id=message.id,
            additional_kwargs=message.additional_kwargs,
            response_metadata=message.response_metadata,
        )

    @property
    def _read(self) -> Calls:
        """The calls, read when somebody asks: a sum of a thousand chunks is built a thousand times."""
        if self._assembled is not None:
            return self._assembled
        read = read_calls(assemble(self.tool_call_chunks, is_finished=is_ended(self.response_metadata)))
        _set(self, "_assembled", read)
        return read

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The calls as far as they have come."""
        return self._read.calls

    @property
    def invalid_tool_calls(self) -> list[InvalidToolCall]:
        """Those of the calls whose arguments cannot be read, or not yet."""
        return self._read.invalid

    @property
    def repairs(self) -> Mapping[str, tuple[str, ...]]:
        """Call id -> what was relaxed, without loss, to read its arguments."""
        return self._read.repairs

    def replace(self, **changes: Any) -> Self:
        """A copy with these fields changed."""
        return type(self)(**{**self._given(), **changes})

    def __add__(self, other: AIMessageChunk) -> AIMessageChunk:
        if not isinstance(other, AIMessageChunk):  # pyright: ignore[reportUnnecessaryIsInstance] - sum() starts with 0
            return NotImplemented
        if other.is_restart:  # the sum is a restart itself: it voids whatever it is added to
            return other
        return AIMessageChunk(
            _joined(self.content, other.content),
            tool_call_chunks=fold([*self.tool_call_chunks, *other.tool_call_chunks]),
            is_restart=self.is_restart,
            whole_content=self.whole_content if other.whole_content is None else other.whole_content,
            usage_metadata=_latest(self.usage_metadata, other.usage_metadata),
            name=self.name or other.name,
            id=self.id or other.id,
            additional_kwargs=_merged(self.additional_kwargs, other.additional_kwargs),
            response_metadata=_latest(self.response_metadata, other.response_metadata),
        )

    def _shown(self) -> list[str]:
        return [part for part in super()._shown() if part != "is_restart=False"]

    def to_message(self) -> AIMessage:
        """The reply, if this is all of it."""
        message = AIMessage(
            self.content if self.whole_content is None else self.whole_content,
            usage_metadata=self.usage_metadata,
            name=self.name,
            id=self.id,
            additional_kwargs=self.additional_kwargs,
            response_metadata=self.response_metadata,
        )
        _set(message, "_calls", self._read)
        return message


def _piece_of(call: ToolCall, index: int) -> ToolCallChunk:
    args = call["args"]
    text = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False, default=str)
    return {"id": call["id"], "name": call["name"], "args": text, "index": index, "type": "tool_call_chunk"}


def _joined(left: Content, right: Content) -> Content:
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    if not left or not right:
        return left or right
    return [*([left] if isinstance(left, str) else left), *([right] if isinstance(right, str) else right)]


def _latest(left: Mapping[str, Any] | None, right: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Providers report totals, so that the later figure holds, not the sum."""
    if left is None and right is None:
        return None
    return {**(left or {}), **{key: value for key, value in (right or {}).items() if value is not None}}


def _merged(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    """Texts and lists grow; of anything else the later holds."""
    merged = dict(left)
    for key, value in right.items():
        known = merged.get(key)
        if isinstance(known, str) and isinstance(value, str):
            merged[key] = known + value
        elif isinstance(known, list) and isinstance(value, list):
            merged[key] = [*known, *value]
        else:
            merged[key] = value
    return merged
