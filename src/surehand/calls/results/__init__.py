"""Whatever a tool returned, as a model is given it: rendered, cut to size, the whole kept on a shelf."""

from surehand.calls.results.blocks import cut_blocks, text_to_count
from surehand.calls.results.cut import cut_note, cut_of, is_cut_note
from surehand.calls.results.forms import MAX_ITEMS
from surehand.calls.results.render import render_value
from surehand.calls.results.rendered import Rendered
from surehand.calls.results.renderers import RENDERERS, Renderer, Renderers, register_renderer
from surehand.calls.results.shelf import (
    DEFAULT_READ,
    READER_NAME,
    Keep,
    Passage,
    Reading,
    ResultShelf,
    names_handle,
    reader_call,
)
from surehand.calls.results.text import MAX_LISTED, listed, shorten, well_formed, without_links

__all__ = [
    "DEFAULT_READ",
    "MAX_ITEMS",
    "MAX_LISTED",
    "READER_NAME",
    "RENDERERS",
    "Keep",
    "Passage",
    "Reading",
    "Rendered",
    "Renderer",
    "Renderers",
    "ResultShelf",
    "cut_blocks",
    "cut_note",
    "cut_of",
    "is_cut_note",
    "listed",
    "names_handle",
    "reader_call",
    "register_renderer",
    "render_value",
    "shorten",
    "text_to_count",
    "well_formed",
    "without_links",
]
