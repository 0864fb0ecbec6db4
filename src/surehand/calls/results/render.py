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
from typing import Any, Final, NamedTuple

from surehand.calls.results.blocks import is_typed, render_blocks
from surehand.calls.results.cut import cut_note, cut_of
from surehand.calls.results.forms import FORMS
from surehand.calls.results.reader import Reader, renderer_failed, type_name
from surehand.calls.results.rendered import Rendered
from surehand.calls.results.renderers import RENDERERS, Renderer, Renderers
from surehand.calls.results.shelf import Keep
from surehand.calls.results.strict_json import encode, encode_plain
from surehand.calls.results.text import well_formed
from surehand.messages import Message
from surehand.wording import NO_OUTPUT

__all__ = ["Rendered", "render_value"]


def render_value(
    value: Any, *, max_output: int | None, keep: Keep | None = None, renderers: Renderers | None = None
) -> Rendered:
    """The value as text or content blocks; whatever the value does, this returns.

    Args:
        value: What a tool returned.
        max_output: The most characters the model is given; None for no limit. Over it the content is the head and the
            tail with a notice of the sizes between them, and the whole value is the artifact.
        keep: Given the whole text where it is cut; the notice then names the handle. None where nothing is kept.
        renderers: How the host's own types are written; None for those that hold everywhere.
    """
    way = _Way(max_output, keep, RENDERERS if renderers is None else renderers)
    try:
        return _rendered(value, way)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - the value's own code: even asking for its type may fail
        kind = type_name(type(value))
        note = f"$: reading it raised {type(error).__name__}, only its type is shown"
        return Rendered(encode({"type": kind}), value, True, (note,))


class _Way(NamedTuple):
    """How a value is rendered."""

    max_output: int | None
    keep: Keep | None
    renderers: Renderers


def _rendered(value: Any, way: _Way) -> Rendered:
    if type(value) is str:
        return _text(value, value, (), way)
    if value is None:
        return _NOTHING
    if type(value) is list and value and is_typed(value[0]):
        reader = Reader(FORMS, renderers=way.renderers, is_binary_kept=True)
        blocks = render_blocks(value, reader, way.max_output, way.keep)
        if blocks is not None:
            return blocks
    encoded = encode_plain(value)
    return _careful(value, way) if encoded is None else _text(encoded, value, (), way)


def _careful(value: Any, way: _Way) -> Rendered:
    """A value that is no plain JSON data."""
    own = way.renderers.find(type(value))
    if own is not None:
        return _by(own, value, way)
    if isinstance(value, Message):  # such as the last words of an agent that is used as a tool
        return _rendered(value.content, way)
    return _read(value, way)


_NOTHING: Final = Rendered(NO_OUTPUT)


def _by(render: Renderer, value: Any, way: _Way) -> Rendered:
    """What the host's own function makes of the value, which may be content blocks; the artifact stays the value."""
    try:
        shown = render(value)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - the host's own code
        rendered = _read(value, way, without=render)
        return rendered._replace(notes=(f"$: {renderer_failed(error)}", *rendered.notes))
    is_same = way.renderers.find(type(shown)) is render
    rendered = _read(shown, way, without=render) if is_same else _rendered(shown, way)
    return rendered._replace(artifact=value) if rendered.has_artifact else rendered


def _read(value: Any, way: _Way, *, without: Renderer | None = None) -> Rendered:
    reader = Reader(FORMS, renderers=way.renderers)
    data = reader.plain(value, (), without=without)
    text = data if isinstance(data, str) else encode(data)
    # What came out of an iterator cannot be read a second time: the list stands for it.
    whole = data if isinstance(value, Iterator) else value
    rendered = _text(text, whole, reader.all_notes(), way)
    return rendered._replace(artifact=whole, has_artifact=True) if reader.is_cut else rendered


def _text(text: str, value: Any, notes: tuple[str, ...], way: _Way) -> Rendered:
    """The text as content, made fit to be sent."""
    clean = well_formed(text)
    if clean is not text:
        notes = (*notes, "lone surrogates or NUL characters were replaced by U+FFFD")
    if not clean or clean.isspace():
        return Rendered(NO_OUTPUT, value, True, notes)
    cut = None if way.max_output is None else cut_of(clean, way.max_output, way.keep)
    if cut is None or way.max_output is None:
        return Rendered(clean, None, False, notes)
    note = cut_note(way.max_output, cut.size)
    return Rendered("".join(cut.to(way.max_output)), value, True, (*notes, note))
