"""One sentence after a tool's result that says what to do next; small models need it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from surehand.errors import OptionError
from surehand.messages import Message, ToolMessage
from surehand.outcomes import FailureKind

__all__ = ["Nudge", "as_nudge"]


_TO_CORRECT: Final = frozenset(
    {
        FailureKind.INVALID_ARGUMENTS,
        FailureKind.MALFORMED,
        FailureKind.TOOL_ERROR,
        FailureKind.TRUNCATED,
        FailureKind.UNKNOWN_TOOL,
    }
)
"""The failures that another call may mend. What a body raised says for itself whether it is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nudge:
    """Sentences put below the last tool message of a request; the stored message never has them.

    Models of a few billion parameters tend to repeat a call whose result stands right before them, and to talk about
    an error instead of correcting it. Large models need no such help.
    """

    after_result: str = (
        "When this is all that was asked for, tell it to the user in plain text. "
        "When a part of the request is still open, call the function for that part."
    )
    """Follows a result; empty text adds nothing."""
    after_error: str = "Call the function again, with the arguments corrected as the error says."
    """Follows an error that other arguments may mend; empty text adds nothing."""

    def apply(self, messages: Sequence[Message]) -> list[Message]:
        """The messages to send: the last one is extended if it answers a call."""
        sent = list(messages)
        if sent and isinstance(last := sent[-1], ToolMessage):
            sentence = self._after(last)
            if sentence:
                sent[-1] = _extended(last, sentence)
        return sent

    def _after(self, answer: ToolMessage) -> str:
        if answer.status != "error":
            return self.after_result
        is_mendable = answer.outcome is None or answer.outcome.kind in _TO_CORRECT
        return self.after_error if is_mendable else ""


def as_nudge(option: bool | Nudge | None) -> Nudge | None:  # noqa: FBT001 - the option's own form
    """The nudge that an option asks for: True is the default one, None and False are none.

    Raises:
        OptionError: The option is something else.
    """
    if option is True:
        return Nudge()
    if option is None or option is False:
        return None
    if not isinstance(option, Nudge):  # pyright: ignore[reportUnnecessaryIsInstance] - hosts may not type-check
        raise OptionError(option="nudge", value=option, expected="a Nudge, True or None")
    return option


def _extended(message: ToolMessage, sentence: str) -> ToolMessage:
    content = message.content
    if isinstance(content, str):
        return message.replace(content=f"{content}\n{sentence}")
    return message.replace(content=[*content, {"type": "text", "text": sentence}])
