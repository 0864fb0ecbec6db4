"""How a call can end: one vocabulary for messages, events, logs and the journal."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

__all__ = ["FailureKind", "Outcome"]


class FailureKind(StrEnum):
    """Why a call was not answered with a result."""

    TRUNCATED = "truncated"
    """The model's reply was cut off (output limit, content filter); nothing of it was run."""
    MALFORMED = "malformed"
    """The arguments are not one JSON object."""
    UNKNOWN_TOOL = "unknown_tool"
    """No tool has that name."""
    INVALID_ARGUMENTS = "invalid_arguments"
    """The arguments break the tool's schema."""
    DENIED = "denied"
    """The call needs an approval that it did not get."""
    EXPIRED = "expired"
    """An approval, or an answer that the body waited for, did not come in time."""
    LIMIT = "limit"
    """A limit of the run, the node or the process was reached."""
    TIMEOUT = "timeout"
    """The body did not end in time, or raised a TimeoutError; one that was given up may still be running."""
    CANCELLED = "cancelled"
    """The call was cancelled."""
    SKIPPED = "skipped"
    """The call was not run because of what happened to another."""
    TOOL_ERROR = "tool_error"
    """The tool's author raised a ToolException."""
    EXCEPTION = "exception"
    """The body raised any other exception."""
    INTERNAL = "internal"
    """Our wiring or the host's: an injection that cannot be filled, a missing dependency."""
    UNKNOWN_OUTCOME = "unknown_outcome"
    """The call began before a crash and may have happened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one call ended, as data."""

    kind: FailureKind | None = None
    """Why it failed; None for a success."""
    text: str | None = None
    """For a failure: what is wrong, in words for the model."""
    error: BaseException | None = field(default=None, repr=False)
    """The exception behind a failure; None where there is none, and on a message."""
    error_id: str | None = None
    """Joins the model's text and the developer's log; None for a success."""
    attempts: int = 0
    """How often the body was started."""
    attempt_errors: tuple[str, ...] = ()
    """What each attempt that failed and was followed by another failed with: class and message, without secrets."""
    duration_s: float = 0.0
    """Seconds from the first start of the body to its end, waits between attempts included."""
    queued_s: float = 0.0
    """Seconds the call waited for its turn."""
    repairs: tuple[str, ...] = ()
    """What was relaxed or coerced, in order, so that the call could be understood."""
    notes: tuple[str, ...] = ()
    """What was lost or changed when the result was rendered."""
    retryable: bool = False
    """Whether the failure's author said that nothing happened."""

    @property
    def status(self) -> Literal["success", "error"]:
        """The two words that providers know."""
        return "success" if self.kind is None else "error"

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: everything but ``error``."""
        return {
            "status": self.status,
            "kind": None if self.kind is None else str(self.kind),
            "text": self.text,
            "error_id": self.error_id,
            "attempts": self.attempts,
            "attempt_errors": list(self.attempt_errors),
            "duration_s": self.duration_s,
            "queued_s": self.queued_s,
            "repairs": list(self.repairs),
            "notes": list(self.notes),
            "retryable": self.retryable,
        }
