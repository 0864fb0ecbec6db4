"""The command line: ``surehand demo``, ``run``, ``call`` and ``tools``. A face: it uses the public names only."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from io import TextIOWrapper

from surehand.errors import MissingExtraError

__all__ = ["main"]


def main() -> None:
    """Run the command line; without its optional packages, say which extra is missing and exit with 2."""
    for package in ("typer", "rich"):
        if find_spec(package) is None:
            error = MissingExtraError(feature="The command line", package=package, extra="cli")
            print(f"surehand: {error}", file=sys.stderr)
            raise SystemExit(2)
    from surehand.cli._app import app  # noqa: PLC0415 - its packages may be missing

    _tolerate_any_text()
    app(prog_name="surehand")


def _tolerate_any_text() -> None:
    """A terminal that cannot show a character shows a question mark; argument text that is no UTF-8 is still read."""
    streams: list[tuple[object, str]] = [
        (sys.stdin, "surrogateescape"),
        (sys.stdout, "replace"),
        (sys.stderr, "replace"),
    ]
    for stream, errors in streams:
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=errors)
