"""What a body raised, cause by cause: what kind of failure each is, and the words for it.

An exception group says that several things went wrong, and its own text says nothing: what counts are the exceptions
in it. The ``__cause__`` and ``__context__`` of an exception are another matter: they tell how the tool works inside,
and are the developer's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from surehand.calls.failures.descriptions import describe_exception
from surehand.calls.history import NOT_STARTED, SELF_CANCELLED
from surehand.calls.redaction import Redactor
from surehand.calls.results import shorten
from surehand.concurrency import WorkersExhausted
from surehand.errors import ApprovalRequired, InterruptExpired, ModelRetry, ToolException
from surehand.interrupts import Interrupted
from surehand.outcomes import FailureKind
from surehand.policy import DEFAULT_MAX_OUTPUT
from surehand.shapes import leaf_errors

__all__ = ["author_error", "causes_of", "has_author_words", "kind_of", "own_words", "words_of"]

_SILENT: Final = "The tool failed without saying why."
_EXPIRED: Final = "The tool asked a human a question, and nobody answered in time. Ask again if it still matters."
_AUTHORED: Final = frozenset({FailureKind.TOOL_ERROR, FailureKind.INVALID_ARGUMENTS})
_KINDS: Final[tuple[tuple[type[BaseException], FailureKind], ...]] = (
    (ModelRetry, FailureKind.INVALID_ARGUMENTS),
    (ToolException, FailureKind.TOOL_ERROR),
    (ApprovalRequired, FailureKind.DENIED),
    (WorkersExhausted, FailureKind.LIMIT),
    (InterruptExpired, FailureKind.EXPIRED),
    (asyncio.CancelledError, FailureKind.CANCELLED),
    (TimeoutError, FailureKind.TIMEOUT),
)
"""The first class that fits decides."""


_foreign: set[type[BaseException]] = set()
"""Other packages' exceptions that a tool's author words for the model, as ours is."""


def author_error(kind: type[BaseException]) -> None:
    """Have exceptions of another package's class told word for word, as a ``ToolException`` is."""
    _foreign.add(kind)


def causes_of(error: BaseException) -> list[BaseException]:
    """The exceptions in a group, or the exception itself; cancellations count only where there is nothing else.

    What a part of the body asked does not count where another part failed.
    """
    leaves = leaf_errors(error)
    causes = [leaf for leaf in leaves if not isinstance(leaf, asyncio.CancelledError | Interrupted)]
    return causes or leaves[:1]


def kind_of(causes: Sequence[BaseException]) -> FailureKind:
    """The kind of a failure with these causes."""
    kinds = {_kind_of_one(cause) for cause in causes}
    if len(kinds) == 1:
        return kinds.pop()
    return FailureKind.TOOL_ERROR if kinds <= _AUTHORED else FailureKind.EXCEPTION


def _kind_of_one(error: BaseException) -> FailureKind:
    if _is_foreign(error):
        return FailureKind.TOOL_ERROR
    return next((kind for cls, kind in _KINDS if isinstance(error, cls)), FailureKind.EXCEPTION)


def _is_foreign(error: BaseException) -> bool:
    return bool(_foreign) and isinstance(error, tuple(_foreign))


def has_author_words(error: BaseException) -> bool:
    """Whether the exception's text was written for the model."""
    return isinstance(error, ToolException | ApprovalRequired) or _is_foreign(error)


def words_of(error: BaseException, redactor: Redactor) -> str:
    """What a model is told of one cause: the author's text word for word, anything else redacted; never blank."""
    if has_author_words(error):
        return own_words(error) or _SILENT
    if isinstance(error, WorkersExhausted):
        return NOT_STARTED
    if isinstance(error, InterruptExpired):
        return _EXPIRED
    if isinstance(error, asyncio.CancelledError):
        return SELF_CANCELLED
    return describe_exception(error, redactor)


def own_words(error: BaseException) -> str:
    """The exception's own text, whatever stands in it, of bounded length; empty where it has none."""
    try:
        return shorten(str.__str__(str(error)).strip(), DEFAULT_MAX_OUTPUT, advice="")
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - the exception's own code, which may also want to end the program
        return ""
