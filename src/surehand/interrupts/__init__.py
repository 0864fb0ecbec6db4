"""Questions that stop a run until somebody answers, however late and from whichever process."""

from surehand.interrupts.signals import (
    Answer,
    Interrupt,
    Interrupted,
    InterruptScope,
    Questions,
    current_scope,
    interrupt,
    interrupted_in,
    set_scope,
    use_scope,
)

__all__ = [
    "Answer",
    "Interrupt",
    "InterruptScope",
    "Interrupted",
    "Questions",
    "current_scope",
    "interrupt",
    "interrupted_in",
    "set_scope",
    "use_scope",
]
