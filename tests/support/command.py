"""Running the command line inside the test's process."""

from __future__ import annotations

import contextlib
import io
import sys
from dataclasses import dataclass

from surehand.cli import main


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a command ended."""

    code: int
    out: str
    err: str


def surehand(*arguments: str, stdin: str = "") -> Finished:
    """Run ``surehand ARGUMENTS`` as a shell would, without a terminal."""
    out, err = io.StringIO(), io.StringIO()
    argv, given = sys.argv, sys.stdin
    sys.argv, sys.stdin = ["surehand", *arguments], io.StringIO(stdin)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    else:
        code = 0
    finally:
        sys.argv, sys.stdin = argv, given
    return Finished(code=code, out=out.getvalue(), err=err.getvalue())
