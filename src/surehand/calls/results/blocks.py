"""Lists of content blocks: told from lists of data, made fit to be sent, and kept to their size."""

# Values of any type are read here, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from surehand.calls.results.cut import Cut, cut_note, cut_of
from surehand.calls.results.reader import Reader
from surehand.calls.results.rendered import Rendered
from surehand.calls.results.shelf import Keep
from surehand.calls.results.strict_json import encode, is_plain
from surehand.calls.results.text import well_formed
from surehand.shapes import is_object
from surehand.wording import NO_OUTPUT

__all__ = ["cut_blocks", "is_typed", "render_blocks", "text_to_count"]

Block: TypeAlias = dict[str, Any]
_BETWEEN: Final = "\n"
"""Stands between the texts of blocks. One character, so that no head of the text can end inside of it."""

_MEDIA_FIELDS: Final = ("source", "data", "url", "base64", "file_id", "image", "audio", "video", "file")
_BLOCK_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("text",),
    "image_url": ("image_url",),
    "image": _MEDIA_FIELDS,
    "audio": _MEDIA_FIELDS,
    "video": _MEDIA_FIELDS,
    "file": _MEDIA_FIELDS,
    "document": ("source", "content"),
    "input_text": ("text",),
    "input_image": ("image_url", "file_id"),
    "input_audio": ("input_audio",),
    "input_file": ("file_data", "file_id", "file_url"),
    "json": ("json",),
    "search_result": ("source", "content"),
    "tool_reference": ("tool_name",),
    "custom_tool_call_output": ("output",),
}
"""Block types that providers know, each with the fields of which one has to be there. The field tells a block from a
record that only happens to have a ``type``, such as ``{"type": "file", "name": "a.txt"}`` in a directory listing."""
_TYPES: Final = tuple(_BLOCK_FIELDS)
_TEXT_BLOCKS: Final = frozenset({"text", "input_text"})
_COUNTED_BLOCKS: Final = frozenset({"text", "input_text", "json", "search_result", "custom_tool_call_output"})
"""Blocks whose size counts as characters. An image or a file cannot be cut without destroying it."""


def is_typed(item: Any) -> bool:
    """Whether a list that begins with the item may be one of content blocks: a quick look before the thorough one."""
    try:
        return is_object(item) and item.get("type") in _TYPES
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - a mapping of any kind, and what it holds, may raise anything when they are asked
        return False


def _is_block(block: object) -> bool:
    if not isinstance(block, dict):
        return False
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in _BLOCK_FIELDS:
        return False
    if kind in _TEXT_BLOCKS:
        return isinstance(block.get("text"), str)
    return any(block.get(field) is not None for field in _BLOCK_FIELDS[kind])


def render_blocks(value: list[Any], reader: Reader, max_output: int | None, keep: Keep | None) -> Rendered | None:
    """The value as content blocks; None where one of its items is none.

    Args:
        value: The list.
        reader: Reads what is no plain data, with bytes as base64.
        max_output: The most characters that the texts of the blocks have together; None for no limit.
        keep: Given the whole of the texts where they are cut.
    """
    data = value if all(map(is_plain, value)) else reader.plain(value, ())
    if not isinstance(data, list) or not all(map(_is_block, data)):
        return None
    blocks = [block for block in data if not _is_blank(block)]
    if not blocks:
        return Rendered(NO_OUTPUT, value, True, reader.all_notes())
    if len(blocks) < len(data):
        reader.note((), "blank text blocks were left out, providers refuse them")
    clean = _clean_blocks(blocks, reader)
    shown = clean if max_output is None else _shortened(clean, max_output, reader, keep)
    is_whole = shown is clean and len(blocks) == len(data)
    return Rendered(shown, None if is_whole else value, not is_whole, reader.all_notes())


def _is_blank(block: Mapping[str, Any]) -> bool:
    return block["type"] in _TEXT_BLOCKS and not block["text"].strip()


def _clean_blocks(blocks: list[Block], reader: Reader) -> list[Block]:
    """The blocks as strict, well-formed JSON data."""
    try:
        text = encode(blocks)
    except (ValueError, RecursionError, RuntimeError):
        blocks = reader.plain(blocks, ())
        text = encode(blocks)
    clean = well_formed(text)
    if clean is text and "\\u0000" not in text:
        return [dict(block) for block in blocks]
    reader.note((), "lone surrogates or NUL characters were replaced by U+FFFD")
    return [_well_formed_data(block) for block in blocks]


def _well_formed_data(data: Any) -> Any:
    if isinstance(data, str):
        return well_formed(data)
    if isinstance(data, list):
        return [_well_formed_data(item) for item in data]
    if isinstance(data, dict):
        return {well_formed(key): _well_formed_data(item) for key, item in data.items()}
    return data


def _shortened(blocks: list[Block], limit: int, reader: Reader, keep: Keep | None) -> list[Block]:
    """The blocks with their texts cut to ``limit`` characters in all; the same list where nothing is cut."""
    text = text_to_count(blocks)
    cut = cut_of(text, limit, keep)
    if cut is None:
        return blocks
    reader.remark(cut_note(limit, cut.size))
    return cut_blocks(blocks, cut, limit)


def text_to_count(blocks: Iterable[Block]) -> str:
    """The text whose size counts, one block a line: all that can be cut without destroying it."""
    return _BETWEEN.join(text for block in blocks if (text := _counted(block)) is not None)


def cut_blocks(blocks: Iterable[Block], cut: Cut, limit: int) -> list[Block]:
    """The blocks with their text cut to a size: what goes beyond the head is left out, images and files are not.

    Args:
        blocks: The blocks.
        cut: What there is of their text.
        limit: The most characters of it that are left.
    """
    head, rest = cut.to(limit)
    shown: list[Block] = []
    start, is_open = 0, True
    for block in blocks:
        text = _counted(block)
        if text is None:
            shown.append(block)
            continue
        end = start + len(text)
        if is_open and end >= len(head):
            kept = block if block["type"] in _TEXT_BLOCKS else {"type": "text"}
            shown.append({**kept, "text": head[start:] + rest})
            is_open = False
        elif is_open:
            shown.append(block)
        start = end + len(_BETWEEN)
    return shown


def _counted(block: Block) -> str | None:
    """The text of a block that counts; None for an image or a file."""
    if block["type"] in _TEXT_BLOCKS:
        return str(block["text"])
    return encode(block) if block["type"] in _COUNTED_BLOCKS else None
