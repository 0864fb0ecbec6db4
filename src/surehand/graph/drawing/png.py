"""A graph as a PNG picture: the SVG, made of pixels here, with a font that is here too."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from surehand.errors import MissingExtraError, OptionError

__all__ = ["png_of"]

_FONT: Final = ("ttf_opensans", "ttf/OpenSans-Regular.ttf", "Open Sans")
"""The package, the file in it and the family. A machine without a screen often has no fonts, and no text without them;
and where all have this one, all make the same picture. What it has no letters for is taken from the machine's fonts."""

_MOST: Final = 10
"""Pixels to a pixel."""


def png_of(svg: str, *, scale: float = 2.0) -> bytes:
    """The picture on white ground, with ``scale`` pixels to a pixel of the SVG.

    Raises:
        MissingExtraError: The ``draw`` extra is not installed.
        OptionError: The scale is none.
    """
    zoom = _zoom(scale)
    try:
        from resvg_py import svg_to_bytes  # noqa: PLC0415 - an extra, needed by this only
    except ImportError as error:
        raise MissingExtraError(feature="draw_png", package="resvg-py", extra="draw") from error
    return svg_to_bytes(
        svg_string=svg, background="white", zoom=zoom, font_files=[str(_font())], sans_serif_family=_FONT[2]
    )


def _zoom(scale: object) -> float:
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 < scale <= _MOST:
        raise OptionError(option="scale", value=scale, expected=f"a number above 0 and not above {_MOST}")
    return float(scale)


def _font() -> Path:
    spec = find_spec(_FONT[0])
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        return Path(folder, _FONT[1])
    raise MissingExtraError(feature="draw_png", package="ttf-opensans", extra="draw")
