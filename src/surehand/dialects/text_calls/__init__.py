"""Calls that a model wrote into its text, because its server did not lift them out.

Read only on request, and only what can hardly be anything else: the forms that local models are trained on, with the
name of a tool that was offered. A text that talks *about* a call (a quotation, an example in a code block, a sentence
with JSON in it) is a text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from surehand.errors import MalformedArguments
from surehand.grammar import parse_arguments, parse_value
from surehand.messages import ToolCall, new_call_id
from surehand.shapes import items_of, mapping_of

__all__ = ["read_text_calls"]

_OPENER: Final = re.compile(r"^[ \t]*<tool_call>", re.MULTILINE)
_TAG: Final = re.compile(r"</?tool_call>")
_PYTHON_TAG: Final = "<|python_tag|>"
_END_TOKENS: Final = ("<|eom_id|>", "<|eot_id|>", "<|im_end|>", "<|end_of_text|>", "</s>")
_FENCE: Final = re.compile(r"[ \t]*```[^`]*")
_SEPARATOR: Final = re.compile(r"(?<=\})(?:\s*+;\s*+|[ \t]*+\n\s*+)(?=\{)")
_NAME: Final = re.compile(r"""["']name["']\s*:\s*["']([^"']{1,128})["']""")
_BROKEN: Final = re.compile(r"""\{\s*["']name["']\s*:\s*["']([^"']{1,128})["']\s*,\s*["'](?:arguments|parameters)""")
_ARGUMENT_KEYS: Final = ("arguments", "parameters", "args", "input")


def read_text_calls(text: str, tool_names: Collection[str]) -> list[ToolCall] | None:
    """The calls that the text is, or holds in tags; None where it is a text like any other.

    Read are ``<tool_call>`` blocks that start a line, outside code and quotations; and, where nothing stands beside
    them, ``<|python_tag|>`` calls, fenced blocks, one JSON object or a list of them. Each has the name of a declared
    tool. A call whose JSON is broken keeps its text as its arguments: it cannot run, and the model is told.

    Args:
        text: The whole content of the reply.
        tool_names: The names of the tools that were offered.
    """
    # A mark says that calls follow, so that what stands beside it is passed over. Without one every word counts: JSON
    # with a sentence around it is an answer about JSON.
    body = _without_end_tokens(text)
    if body.startswith(_PYTHON_TAG):
        return _calls(_split(body.removeprefix(_PYTHON_TAG)), tool_names)
    fenced = _only_fences(body)
    if fenced is not None:
        body = "\n".join(fenced) if any("<tool_call>" in block for block in fenced) else body
    if "<tool_call>" in body:
        return _calls(_tagged(body), tool_names)
    return _whole(fenced if fenced is not None else [body], tool_names)


def _without_end_tokens(text: str) -> str:
    body = text.strip()
    while body.endswith(_END_TOKENS):
        token = next(token for token in _END_TOKENS if body.endswith(token))
        body = body.removesuffix(token).rstrip()
    return body


@dataclass(slots=True)
class _CodeBlock:
    """A fenced block of code; one whose closing fence is missing goes on to the end."""

    start: int
    end: int
    lines: list[str]


def _code_blocks(body: str) -> list[_CodeBlock]:
    blocks: list[_CodeBlock] = []
    is_open, position = False, 0
    for line in body.splitlines(keepends=True):
        end = position + len(line)
        if is_open:
            blocks[-1].end = end
            is_open = line.strip() != "```"
            if is_open:
                blocks[-1].lines.append(line)
        elif _FENCE.fullmatch(line.rstrip()):
            is_open = True
            blocks.append(_CodeBlock(position, end, []))
        position = end
    return blocks


def _only_fences(body: str) -> list[str] | None:
    """The insides of the code blocks that the text consists of; None where it holds anything else."""
    blocks = _code_blocks(body) if body.startswith("```") else []
    ends = [0, *(block.end for block in blocks)]
    starts = [*(block.start for block in blocks), len(body)]
    if not blocks or any(body[end:start].strip() for end, start in zip(ends, starts, strict=True)):
        return None
    return ["".join(block.lines) for block in blocks]


def _tagged(body: str) -> Iterator[str]:
    """The insides of the tags; stray tags separate, and the last block may lack its closer."""
    start = _first_opener(body)
    if start is None:
        return
    is_open = False
    position = start
    for tag in _TAG.finditer(body, start):
        before = body[position : tag.start()]
        if is_open and before.strip():
            yield before
        starts_line = is_open or not before.rpartition("\n")[2].strip()
        is_open = tag.group() == "<tool_call>" and starts_line
        position = tag.end()
    if is_open and body[position:].strip():
        yield body[position:]


def _first_opener(body: str) -> int | None:
    """Where the first tag is that starts a line outside code."""
    blocks = iter(_code_blocks(body))
    block = next(blocks, None)
    for opener in _OPENER.finditer(body):
        while block is not None and block.end <= opener.start():
            block = next(blocks, None)
        if block is None or opener.start() < block.start:
            return opener.start()
    return None


def _split(body: str) -> list[str]:
    """Llama separates several calls by semicolons or lines; a text that is one value is not split."""
    try:
        parse_value(body)
    except MalformedArguments:
        return _SEPARATOR.split(body)
    return [body]


def _calls(blocks: Iterable[str], tool_names: Collection[str]) -> list[ToolCall] | None:
    return [call for block in blocks for call in _block_calls(block, tool_names)] or None


def _block_calls(block: str, tool_names: Collection[str]) -> list[ToolCall]:
    try:
        entries = _entries(block)
    except MalformedArguments:
        name = _NAME.search(block)
        return [_call(name.group(1), block.strip())] if name is not None and name.group(1) in tool_names else []
    return [call for entry in entries if (call := _read(entry, tool_names, is_marked=True)) is not None]


def _whole(blocks: list[str], tool_names: Collection[str]) -> list[ToolCall] | None:
    """Calls without a mark: every value of the message has to be one."""
    calls: list[ToolCall] = []
    for block in blocks:
        if not block.strip().startswith(("{", "[")):
            return None
        try:
            entries = _entries(block)
        except MalformedArguments:
            broken = _BROKEN.match(block.strip())
            if broken is None or broken.group(1) not in tool_names:
                return None
            calls.append(_call(broken.group(1), block.strip()))
            continue
        for entry in entries:
            call = _read(entry, tool_names, is_marked=False)
            if call is None:
                return None
            calls.append(call)
    return calls or None


def _entries(block: str) -> list[Any]:
    """What the block lists, or the one thing it is.

    A text that is refused here is no arguments either: one that stays a broken call's arguments can never run.
    """
    try:
        value, _ = parse_value(block.strip())
    except MalformedArguments:
        value = parse_arguments(block.strip()).value
    return items_of(value) or [value]


def _read(entry: object, tool_names: Collection[str], *, is_marked: bool) -> ToolCall | None:
    fields = mapping_of(mapping_of(entry).get("function")) or mapping_of(entry)
    name = fields.get("name")
    key = next((key for key in _ARGUMENT_KEYS if key in fields), None)
    if not isinstance(name, str) or name not in tool_names or (key is None and not is_marked):
        return None
    return _call(name, {} if key is None else fields[key])


def _call(name: str, args: object) -> ToolCall:
    return {"id": new_call_id(), "name": name, "args": args, "type": "tool_call"}
