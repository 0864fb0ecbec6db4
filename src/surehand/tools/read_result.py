"""The built-in tool by which a model reads what it was not shown of a long result."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from surehand.calls import DEFAULT_READ, READER_NAME, Passage, Reading, ResultShelf, reader_call
from surehand.errors import ModelRetry, shown
from surehand.spec import ToolContext
from surehand.tools.function import Tool

__all__ = ["MAX_READ", "result_reader"]

MAX_READ: Final = 20_000
"""The most characters that are read at a time, whatever the model asks for."""
_LISTED: Final = 5
"""The most places of a passage, or handles, that are listed."""


def result_reader(shelf: ResultShelf) -> Tool:
    """The tool ``read_tool_result(handle, offset, limit, contains)`` for the results on a shelf.

    A node that has the shelf has the tool already. It changes nothing, needs no approval and keeps to its own size, and
    what it reads is never put on the shelf again.
    """

    def read_tool_result(
        ctx: ToolContext,
        handle: str,
        offset: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=1)] = DEFAULT_READ,
        contains: str | None = None,
    ) -> str:
        """Read more of an earlier tool result that was too long to be shown whole. Its notice names the handle.

        Args:
            ctx: The call.
            handle: The handle, exactly as the notice gives it.
            offset: The first character to read, counted from 0.
            limit: How many characters to read, at most 20000.
            contains: Literal text to search for, from the offset on. Shows the places where it stands instead of
                reading on.
        """
        reading = shelf.read(ctx.thread_id, handle, offset, min(limit, MAX_READ), contains)
        if reading is None:
            raise ModelRetry(_unknown(handle, shelf.handles(ctx.thread_id) if ctx.thread_id else []))
        return _found(reading, offset, contains) if contains else _read(reading, handle, offset)

    return Tool.from_function(
        read_tool_result,
        name=READER_NAME,
        # Said outright, so that no default of a node for its own tools gets hold of it.
        read_only=True,
        idempotent=True,
        destructive=False,
        requires_approval=False,
        isolation="thread",
        max_output=None,
        retry=None,
        exclusive=False,
        concurrency=None,
        group=None,
        rate_limit=None,
        circuit_breaker=None,
    )


def _unknown(handle: str, known: list[str]) -> str:
    what = f"There is no result under the handle {shown(handle)} in this conversation: it is misspelt, or was dropped."
    if not known:
        return f"{what} Call the tool again whose result you need."
    return f"{what} Readable are: {', '.join(known[:_LISTED])}. Or call the tool again whose result you need."


def _read(reading: Reading, handle: str, offset: int) -> str:
    if not reading.passages:
        return f"The result ends at character {reading.size:,}: there is nothing from offset {offset:,} on."
    [passage] = reading.passages
    where = f"characters {passage.offset:,} to {passage.end:,} of {reading.size:,}"
    if reading.next_offset is None:
        return f"{passage.text}\n\n[{where}, the end]"
    return f"{passage.text}\n\n[{where}; to read on: {reader_call(handle, reading.next_offset)}]"


def _found(reading: Reading, offset: int, contains: str) -> str:
    what = shown(contains)
    if not reading.passages:
        return (
            f"{what} does not stand in the result from character {offset:,} on (it has {reading.size:,}). "
            "The search is literal: capitals, spaces and quotes count."
        )
    listed = sum(len(passage.places) for passage in reading.passages)
    count = f"{listed:,}" if listed == reading.found else f"The first {listed:,} of {reading.found:,}"
    parts = [f"{count} {'place' if reading.found == 1 else 'places'} with {what}:", *map(_shown, reading.passages)]
    if reading.next_offset is not None:
        parts.append(f"[to see the next ones: the same call with offset={reading.next_offset}]")
    return "\n\n".join(parts)


def _shown(passage: Passage) -> str:
    places = ", ".join(f"{place:,}" for place in passage.places[:_LISTED])
    more = len(passage.places) - _LISTED
    at = f"{places} and {more:,} more" if more > 0 else places
    return f"[found at {at}; characters {passage.offset:,} to {passage.end:,}]\n{passage.text}"
