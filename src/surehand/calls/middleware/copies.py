"""Answers that are given to more than one call, each to be its own."""

from __future__ import annotations

import copy
import logging

from surehand.interrupts import is_signal
from surehand.messages import ToolMessage

__all__ = ["copy_of"]

logger = logging.getLogger("surehand.calls")


def copy_of(answer: ToolMessage) -> ToolMessage | None:
    """The answer with a content and an artifact that it shares with nobody; None where the artifact cannot be copied.

    A frame, a list, an image that two calls held in common could be changed by whoever works with one of them.
    """
    try:
        content, artifact = copy.deepcopy((answer.content, answer.artifact))
    except BaseException as error:  # the artifact's own code, and some things are not to be copied at all
        if is_signal(error):
            raise
        logger.debug("%s: its artifact cannot be copied: %s", answer.tool_call_id, type(error).__name__)
        return None
    return answer.replace(content=content, artifact=artifact)
