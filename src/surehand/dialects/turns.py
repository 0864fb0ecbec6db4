"""A conversation of two roles that take turns, as Anthropic's Messages and Bedrock's Converse want it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from surehand.wording import NO_OUTPUT

__all__ = ["in_turns"]

_THOUGHTS: Final = frozenset({"thinking", "redacted_thinking"})
_OPENING: Final = "(the start of this conversation was left out)"


def in_turns(
    entries: Iterable[tuple[str, list[dict[str, Any]]]], text_block: Callable[[str], dict[str, Any]]
) -> list[dict[str, Any]]:
    """The entries as messages of which each has another role than the one before, the user's first, none empty.

    Args:
        entries: Role and content blocks of each message.
        text_block: A text as the provider's block.
    """
    written: list[dict[str, Any]] = []
    for role, blocks in entries:
        if written and written[-1]["role"] == role:
            written[-1]["content"] += blocks
        else:
            written.append({"role": role, "content": list(blocks)})
    # The API wants the user to speak first; a trimmed conversation may begin with the model.
    if written and written[0]["role"] == "assistant":
        written.insert(0, {"role": "user", "content": [text_block(_OPENING)]})
    for entry in written:
        entry["content"] = _without_last_thoughts(entry["content"]) or [text_block(NO_OUTPUT)]
    _strip_end(written)
    return written


def _without_last_thoughts(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The blocks up to the last that is no thought: one that led to nothing, as where it was cut off, is refused."""
    end = len(blocks)
    while end and (blocks[end - 1].get("type") in _THOUGHTS or "reasoningContent" in blocks[end - 1]):
        end -= 1
    return blocks[:end]


def _strip_end(written: list[dict[str, Any]]) -> None:
    """A conversation may end with the assistant, but not with blanks of its."""
    if not written or written[-1]["role"] != "assistant":
        return
    block = written[-1]["content"][-1]
    if isinstance(block.get("text"), str):
        written[-1]["content"][-1] = {**block, "text": block["text"].rstrip()}
