"""How a call that fails comes to its outcome, and what the model is told of it."""

from surehand.calls.failures.endings import classify, failed, governed, internal, misfit, timed_out, with_partial_output
from surehand.calls.failures.rules import GOVERNED, attempt_words

__all__ = [
    "GOVERNED",
    "attempt_words",
    "classify",
    "failed",
    "governed",
    "internal",
    "misfit",
    "timed_out",
    "with_partial_output",
]
