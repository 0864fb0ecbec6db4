"""Calls that no mark announces, because they are the whole message: JSON, code blocks, Python, a name and JSON.

Without a mark every word counts: JSON with a sentence around it is an answer about JSON.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from surehand.dialects.text_calls import headed, json_calls, pythonic
from surehand.dialects.text_calls.offered import END_TOKENS, Block, Offered, without_end_tokens
from surehand.dialects.text_calls.places import FENCE, Place
from surehand.messages import ToolCall

__all__ = ["inside_of_blocks", "may_be_calls", "read_whole"]

_TAG: Final = "<tool_call>"
_PYTHON: Final = frozenset({"python", "py"})
_TOOL_CODE: Final = "tool_code"
_MAX_BLOCKS: Final = 500
_LINE: Final = re.compile(r"[^\n]*+\n|[^\n]++")


@dataclass(slots=True)
class _CodeBlock:
    """A fenced block of code; one whose closing fence is missing goes on to the end."""

    info: str
    lines: list[str]

    @property
    def inside(self) -> str:
        return "".join(self.lines).strip()


def may_be_calls(text: str, offered: Offered, forms: Collection[str]) -> bool:
    """Whether the text, which begins with no blank, is nothing but calls, or may once more of it has come."""
    if text.startswith(FENCE) or FENCE.startswith(text):
        blocks = _only_blocks(without_end_tokens(text))
        return blocks is not None and all(_block_may_be_calls(block, offered, forms) for block in blocks)
    return _bare_may_be_calls(text, offered, forms)


def read_whole(text: str, offered: Offered, forms: Collection[str]) -> list[ToolCall] | None:
    """The calls that the text is; None where it is anything else."""
    body = without_end_tokens(text)
    if not body.startswith(FENCE):
        return _read_bare(body, offered, forms)
    calls: list[ToolCall] = []
    for block in _only_blocks(body) or []:
        found = _read_block(block, offered, forms)
        if not found:
            return None
        calls += found
    return calls or None


def inside_of_blocks(text: str) -> str | None:
    """What stands in the code blocks that the text consists of, where there are tags in it."""
    body = without_end_tokens(text)
    blocks = _only_blocks(body) if body.startswith(FENCE) else None
    inside = "\n".join(block.inside for block in blocks or [])
    return inside if inside.startswith(_TAG) else None


def _only_blocks(text: str) -> list[_CodeBlock] | None:
    """The code blocks that the text consists of; None where it holds anything else."""
    place, blocks = Place(), list[_CodeBlock]()
    for line in _LINE.findall(text):
        is_code = place.is_in_code
        is_last = not line.endswith("\n")
        if len(blocks) > _MAX_BLOCKS:
            return None
        if line.lstrip().startswith(FENCE) and place.is_fence(line.strip()):
            place.read_fence(line)
            if not is_code:
                blocks.append(_CodeBlock(line.strip().removeprefix(FENCE).strip(), []))
        elif is_code:
            blocks[-1].lines.append(line)
        elif line.strip() and not (is_last and any(sign.startswith(line.strip()) for sign in (FENCE, *END_TOKENS))):
            return None
    return blocks


def _block_may_be_calls(block: _CodeBlock, offered: Offered, forms: Collection[str]) -> bool:
    inside = block.inside
    if not inside:
        return True
    if inside.startswith(_TAG) or _TAG.startswith(inside):
        return True
    if block.info == _TOOL_CODE:
        return "gemma" in forms and pythonic.calls_may_begin(inside, offered)
    if block.info in _PYTHON:
        return "gemma" in forms and pythonic.list_may_begin(inside, offered)
    return "json" in forms and inside[0] in "{[" and not json_calls.is_settled_text(inside, offered)


def _read_block(block: _CodeBlock, offered: Offered, forms: Collection[str]) -> list[ToolCall] | None:
    inside = block.inside
    if not _block_may_be_calls(block, offered, forms):
        return None
    # ``tool_code`` is what Gemma is trained on for calls. Python's own blocks are how one shows a user some Python, and
    # only a list of calls, which nobody would show, is certain.
    is_python = block.info in _PYTHON or block.info == _TOOL_CODE
    return pythonic.read_only_calls(inside, offered) if is_python else json_calls.read_only_json(inside, offered)


def _bare_may_be_calls(text: str, offered: Offered, forms: Collection[str]) -> bool:
    if "json" in forms and text[0] in "{[" and not json_calls.is_settled_text(text, offered):
        return True
    if "pythonic" in forms and text[0] == "[" and pythonic.list_may_begin(text, offered):
        return True
    return "glm" in forms and headed.name_line_may_begin(text, offered)


def _read_bare(text: str, offered: Offered, forms: Collection[str]) -> list[ToolCall] | None:
    if "json" in forms and (calls := json_calls.read_only_json(text, offered)):
        return calls
    if "pythonic" in forms and text.startswith("[") and (calls := pythonic.read_only_calls(text, offered)):
        return calls
    if "glm" in forms and headed.name_line_may_begin(text, offered):
        return headed.NAME_LINE.read(Block(text, is_closed=False), offered)
    return None
