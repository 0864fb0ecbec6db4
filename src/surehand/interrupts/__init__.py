"""Questions that stop a run until somebody answers, however late and from whichever process."""

from surehand.interrupts.approvals import (
    APPROVAL_DECISIONS,
    DOUBT_DECISIONS,
    EDITED,
    RESPONDED,
    Decision,
    EditCheck,
    check_answer,
    know,
    read_decision,
)
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
    "APPROVAL_DECISIONS",
    "DOUBT_DECISIONS",
    "EDITED",
    "RESPONDED",
    "Answer",
    "Decision",
    "EditCheck",
    "Interrupt",
    "InterruptScope",
    "Interrupted",
    "Questions",
    "check_answer",
    "current_scope",
    "interrupt",
    "interrupted_in",
    "know",
    "read_decision",
    "set_scope",
    "use_scope",
]
