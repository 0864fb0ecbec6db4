"""The command line: ``surehand demo``, ``run``, ``call`` and ``tools``. A face: it uses the public names only."""

from __future__ import annotations

import sys
from importlib.util import find_spec

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

    app(prog_name="surehand")
