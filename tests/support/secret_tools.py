"""Tools that fail with a secret in a process of their own."""

from __future__ import annotations

from typing import Annotated, NoReturn

from surehand import InjectedToolArg, tool

__all__ = ["PROCESS_SECRET", "failing_apart"]

PROCESS_SECRET = "pw-in-another-process"


@tool(isolation="process")
def failing_apart(who: Annotated[str, InjectedToolArg]) -> NoReturn:
    """Fail, because of something else that failed."""
    try:
        raise OSError(f"cause {PROCESS_SECRET}")
    except OSError as cause:
        error = ValueError(f"redis://:{PROCESS_SECRET}@cache refused {who}")
        error.add_note(f"note {PROCESS_SECRET}")
        raise error from cause
