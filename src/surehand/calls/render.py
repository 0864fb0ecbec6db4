"""Turns whatever a tool returned into what a model can read, and never fails at it.

Text stays text. A list of content blocks stays one. Everything else becomes strict JSON, with Unicode as it is and
every lossy step noted. Plain JSON data takes a short way: one walk that looks at the types, then the C encoder. All
else is first brought to plain data by a ``Reader``, which asks a value for its own form at any depth and treats every
answer as hostile: a value may raise, lie, be endless, or contain itself.
"""

# Values of any type are read here, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from surehand.calls.blocks import is_typed, render_blocks
from surehand.calls.forms import FORMS
from surehand.calls.reader import Reader, type_name
from surehand.calls.rendered import Rendered
from surehand.calls.strict_json import encode, encode_plain
from surehand.calls.text import shorten, well_formed
from surehand.messages import Message
from surehand.wording import NO_OUTPUT

__all__ = ["Rendered", "render_value"]


def render_value(value: Any, *, max_output: int | None) -> Rendered:
    """The value as text or content blocks; whatever the value does, this returns.

    Args:
        value: What a tool returned.
        max_output: The most characters the model is given; None for no limit. Over it the content is the head and the
            tail with a notice of the sizes between them, and the whole value is the artifact.
    """
    try:
        return _rendered(value, max_output)
    except Exception as error:  # noqa: BLE001 - the value's own code: even asking for its type may fail
        kind = type_name(type(value))
        note = f"$: reading it raised {type(error).__name__}, only its type is shown"
        return Rendered(encode({"type": kind}), value, True, (note,))


def _rendered(value: Any, max_output: int | None) -> Rendered:
    if type(value) is str:
        return _text(value, value, (), max_output)
    if value is None:
        return _NOTHING
    if type(value) is list and value and is_typed(value[0]):
        blocks = render_blocks(value, max_output)
        if blocks is not None:
            return blocks
    encoded = encode_plain(value)
    if encoded is not None:
        return _text(encoded, value, (), max_output)
    if isinstance(value, Message):  # such as the last words of an agent that is used as a tool
        return _rendered(value.content, max_output)
    reader = Reader(FORMS)
    data = reader.plain(value, ())
    text = data if isinstance(data, str) else encode(data)
    # What came out of an iterator cannot be read a second time: the list stands for it.
    whole = data if isinstance(value, Iterator) else value
    rendered = _text(text, whole, reader.all_notes(), max_output)
    return rendered._replace(artifact=whole, has_artifact=True) if reader.is_cut else rendered


_NOTHING: Final = Rendered(NO_OUTPUT)


def _text(text: str, value: Any, notes: tuple[str, ...], max_output: int | None) -> Rendered:
    """The text as content, made fit to be sent."""
    clean = well_formed(text)
    if clean is not text:
        notes = (*notes, "lone surrogates or NUL characters were replaced by U+FFFD")
    if not clean or clean.isspace():
        return Rendered(NO_OUTPUT, value, True, notes)
    if max_output is None or len(clean) <= max_output:
        return Rendered(clean, None, False, notes)
    note = f"cut to {max_output:,} of {len(clean):,} characters"
    return Rendered(shorten(clean, max_output), value, True, (*notes, note))
