"""The developer's log on the command line: off, so that it does not mix with what is shown, or on standard error."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["developer_log"]


@contextmanager
def developer_log(*, is_shown: bool) -> Generator[None]:
    """Show what Surehand logs, with tracebacks, or keep it off the screen."""
    logger = logging.getLogger("surehand")
    handler: logging.Handler = logging.StreamHandler() if is_shown else logging.NullHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logger.addHandler(handler)
    level = logger.level
    if is_shown:
        logger.setLevel(logging.DEBUG)  # tracebacks, whose texts may hold secrets, are told at this level alone
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
