"""What one run may use up, and when it stops going round in circles."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from surehand.errors import OptionError
from surehand.policy.checks import count, count_or_none, seconds_or_none

__all__ = ["DEFAULT_NO_PROGRESS", "Limits", "NoProgress"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one run may use up; checked before the calls of a turn start. None is no limit.

    Calls beyond a limit are answered ``limit`` and not run; none is dropped silently. A run goes from one human message
    to the next.

    Example:
        create_agent(model, tools, limits=Limits(calls=20, seconds=120))

    Raises:
        OptionError: A limit is no number above 0.
    """

    turns: int | None = None
    """How often the model may be asked; an agent's ``max_iterations`` is the same, and the smaller of the two holds."""
    calls: int | None = None
    """How many calls may be executed."""
    calls_per_tool: int | None = None
    """How many calls of any one tool may be executed; an agent offers a tool no longer that reached it."""
    seconds: float | None = None
    """Seconds from the start of the run, in this process, after which no further call starts."""
    output_chars: int | None = None
    """How many characters of answers the model may be given before no further call starts; the turn that exceeds it is
    still answered in full."""
    corrections: int | None = 10
    """After how many turns in a row that hold nothing but calls which could not be run (unreadable, unknown, invalid,
    cut off) an agent ends."""

    def __post_init__(self) -> None:
        for field in fields(self):
            check = seconds_or_none if field.name == "seconds" else count_or_none
            check(field.name, getattr(self, field.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class NoProgress:
    """What happens when the same call brings the same result again and again in one run.

    The same tool with the same arguments; a failure is a result too. Turns are counted, so that equal calls of one turn
    are one, and only since the last new call of another tool that is not ``read_only``: it may have changed something.

    Raises:
        OptionError: A number is no whole one above 0, or ``refuse_after`` is not above ``warn_after``.
    """

    warn_after: int = 2
    """From so many equal results on, a note below the result tells the model."""
    refuse_after: int = 4
    """After so many equal results, the call is answered ``limit`` and not run."""
    stop_after: int = 3
    """After so many turns with such a refusal and without a success, an agent asks for last words, and ends."""

    def __post_init__(self) -> None:
        for field in fields(self):
            count(field.name, getattr(self, field.name))
        if self.refuse_after <= self.warn_after:
            raise OptionError(
                option="refuse_after", value=self.refuse_after, expected=f"a number above warn_after={self.warn_after}"
            )


DEFAULT_NO_PROGRESS: Final = NoProgress()
"""Warn after two equal results, refuse after four."""
