"""How a call that fails comes to its outcome, and what the model is told of it."""

from surehand.calls.failures.causes import author_error
from surehand.calls.failures.endings import (
    classify,
    failed,
    governed,
    internal,
    misfit,
    timed_out,
    unusable,
    with_partial_output,
)
from surehand.calls.failures.let_out import let_out, may_run_again
from surehand.calls.failures.rules import GOVERNED, attempt_words

__all__ = [
    "GOVERNED",
    "attempt_words",
    "author_error",
    "classify",
    "failed",
    "governed",
    "internal",
    "let_out",
    "may_run_again",
    "misfit",
    "timed_out",
    "unusable",
    "with_partial_output",
]
