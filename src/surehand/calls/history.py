"""What was called before in a run, read from nothing but the conversation.

Limits and guards have to hold across checkpoints, processes and programs, and for conversations that were kept as a
provider's own payload. So nothing is counted on the side: what a run did is what its messages say. Answers of ours
carry an outcome. Others are a text and perhaps an error flag, and for those the beginnings of our own sentences tell a
call that was refused from one that ran. A call of which nothing is known counts as executed: a limit may then end a run
too early, and never too late.

A run goes from one human message to the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from surehand.calls.journal import digest_of
from surehand.messages import NOT_RECORDED, AIMessage, HumanMessage, Message, ToolCall, ToolMessage
from surehand.outcomes import FailureKind
from surehand.shapes import is_array, is_object, mapping_of

__all__ = [
    "CANCELLED",
    "INTERRUPTED",
    "NOTE",
    "NOT_EXECUTED",
    "NOT_REACHED",
    "NOT_STARTED",
    "REPEATED",
    "REPEATED_IN_DOUBT",
    "SELF_CANCELLED",
    "STUCK",
    "History",
    "PastCall",
    "likeness_of",
    "past_calls",
    "result_of",
]

NOT_EXECUTED: Final = "The call was not executed: "
"""How the answer to a call begins that a limit, a circuit breaker or the end of its turn kept from running."""
NOT_REACHED: Final = "The call was not executed, because "
"""How the answer to a call begins that another one, which failed before it, kept from running."""
NOT_STARTED: Final = "Too many earlier calls that timed out are still running, so this one was not started."
"""The answer to a call that found no thread to run in."""
STUCK: Final = "The call was refused: "
"""How the answer to a call begins that would only have brought the same result once more."""
REPEATED: Final = "This was done already, in an earlier step, and was not done again"
"""How the answer to a call begins that was made before, word for word."""
REPEATED_IN_DOUBT: Final = "This may have been done already, in an earlier step, and was not done again"
"""The same for a call of which nobody knows whether it came to its effect."""
CANCELLED: Final = "The call was cancelled before it ended."
"""How the answer to a call begins that was stopped with its turn."""
SELF_CANCELLED: Final = "The tool cancelled itself."
"""How the answer to a call begins whose body came by a cancellation that nobody outside asked for."""
INTERRUPTED: Final = "This call was interrupted while it ran."
"""How the answer to a call begins of which a run that is gone left no end."""
NOTE: Final = "[The same result as before: "
"""How the note begins that stands below a result which the model was given before."""

_OPENINGS: Final[tuple[tuple[str, FailureKind], ...]] = (
    (NOT_EXECUTED, FailureKind.LIMIT),
    (NOT_STARTED, FailureKind.LIMIT),
    (NOT_REACHED, FailureKind.SKIPPED),
    (STUCK, FailureKind.LIMIT),
    (REPEATED, FailureKind.SKIPPED),
    (REPEATED_IN_DOUBT, FailureKind.SKIPPED),
    ("The call was not executed. ", FailureKind.DENIED),
    ("Your reply was cut off by ", FailureKind.TRUNCATED),
    ("There is no tool named ", FailureKind.UNKNOWN_TOOL),
    ("The arguments are not one JSON object: ", FailureKind.MALFORMED),
    ("Invalid arguments for tool ", FailureKind.INVALID_ARGUMENTS),
    (NOT_RECORDED, FailureKind.UNKNOWN_OUTCOME),
    (f"{INTERRUPTED} ", FailureKind.UNKNOWN_OUTCOME),
    (f"{CANCELLED} ", FailureKind.CANCELLED),
    (f"{SELF_CANCELLED} ", FailureKind.CANCELLED),
)
"""What our answers begin with; a payload keeps nothing of them but the text."""
_MAX_DEPTH: Final = 50
"""How deep the spelling of numbers is looked at."""
_ERROR_ID: Final = re.compile(r" ?\[error [0-9a-f]{8}\]")
_FAILED: Final = re.compile(_ERROR_ID.pattern + r"(?:\Z|\n- | Its output until then: )")
"""Where the id of an error stands in our words. Anywhere else a result may quote one, and is no failure for that: taken
for one, a call that had its effect could have it again unasked."""

_NEVER_RAN: Final = frozenset(
    {
        FailureKind.TRUNCATED,
        FailureKind.MALFORMED,
        FailureKind.UNKNOWN_TOOL,
        FailureKind.DENIED,
        FailureKind.EXPIRED,
        FailureKind.LIMIT,
        FailureKind.SKIPPED,
    }
)
_MAY_HAVE_RUN: Final = frozenset({FailureKind.TIMEOUT, FailureKind.CANCELLED, FailureKind.UNKNOWN_OUTCOME})
_DOUBTS: Final = ("so it may have happened: ", "may have happened in part", "may still have an effect")
"""What stands in our words of a failure after which nobody knows whether the call came to its effect; no shorter, as a
tool's own words may say that something else may have happened."""
_TO_CORRECT: Final = frozenset(
    {FailureKind.TRUNCATED, FailureKind.MALFORMED, FailureKind.UNKNOWN_TOOL, FailureKind.INVALID_ARGUMENTS}
)


@dataclass(frozen=True, kw_only=True)
class PastCall:
    """A call of the run that has an answer."""

    name: str
    """As the model spelled it."""
    arguments: Any
    """The object they are; as they came where they are none."""
    turn: int
    """The turn that it was made in, from 1 within the run."""
    kind: FailureKind | None
    """Why it failed; None for a success, and where nothing says that it was none."""
    is_executed: bool
    """Whether its body was started, or may have been."""
    answer: ToolMessage

    @cached_property
    def digest(self) -> str:
        """The same for the same arguments; see ``likeness_of``."""
        return likeness_of(self.arguments)

    @cached_property
    def result(self) -> str:
        """The answer as it can be compared with another."""
        return result_of(self.answer.content)

    @property
    def is_stuck(self) -> bool:
        """Whether it was refused because it had brought the same result again and again."""
        return self.kind is FailureKind.LIMIT and self.answer.text.startswith(STUCK)

    @property
    def is_done(self) -> bool:
        """Whether it came to its effect, as far as is known.

        So did a call that a middleware ran twice: the second run was skipped because of the first.
        """
        return self.kind is None or (self.kind is FailureKind.SKIPPED and self.is_executed)

    @property
    def is_in_doubt(self) -> bool:
        """Whether it failed in a way after which nobody knows whether it came to its effect."""
        if not self.is_executed or self.kind is None:
            return False
        return self.kind in _MAY_HAVE_RUN or any(words in self.answer.text for words in _DOUBTS)

    @property
    def is_repeat(self) -> bool:
        """Whether it was not run because an earlier call had done the same, or may have."""
        return self.kind is FailureKind.SKIPPED and self.answer.text.startswith((REPEATED, REPEATED_IN_DOUBT))


@dataclass(frozen=True)
class History:
    """The answered calls of a run up to now."""

    calls: tuple[PastCall, ...] = ()
    """In the order of their answers."""
    turn: int = 0
    """The number of the newest turn, from 1; its calls may be answered in part, or not at all."""

    @property
    def executed(self) -> Iterator[PastCall]:
        """The calls that were executed, or may have been."""
        return (call for call in self.calls if call.is_executed)

    @cached_property
    def output_chars(self) -> int:
        """How many characters of answers the model was given."""
        return sum(len(call.answer.text) for call in self.calls)

    @property
    def corrections(self) -> int:
        """How many turns in a row, up to the newest, held nothing but calls that the model has to correct."""
        is_wrong: dict[int, bool] = {}
        for call in self.calls:
            is_wrong[call.turn] = is_wrong.get(call.turn, True) and call.kind in _TO_CORRECT
        turn = self.turn
        while is_wrong.get(turn, False):
            turn -= 1
        return self.turn - turn

    @property
    def stuck_turns(self) -> int:
        """In how many turns a call was refused for bringing nothing new, and no other call succeeded."""
        got_on = {call.turn for call in self.calls if call.kind is None}
        return len({call.turn for call in self.calls if call.is_stuck} - got_on)

    @property
    def is_stuck_failing(self) -> bool:
        """Whether the newest call that was refused for bringing nothing new had failed before."""
        stuck = next((call for call in reversed(self.calls) if call.is_stuck), None)
        return stuck is not None and any(
            call.is_executed and call.kind is not None and call.name == stuck.name and call.digest == stuck.digest
            for call in self.calls
        )


def past_calls(messages: Sequence[Message]) -> History:
    """The calls of the current run that are answered, those of the newest AI message included.

    Args:
        messages: The conversation, oldest first.
    """
    turn = 0
    open_calls: dict[str, tuple[ToolCall, int]] = {}
    calls: list[PastCall] = []
    for message in _of_run(messages):
        if isinstance(message, AIMessage):
            turn += 1
            # Providers use an id again in a later turn: an answer belongs to the newest call of its id.
            for call in message.tool_calls:
                open_calls[call["id"]] = (call, turn)
        elif isinstance(message, ToolMessage) and message.tool_call_id in open_calls:
            call, made = open_calls.pop(message.tool_call_id)
            calls.append(_past(call, made, message))
    return History(tuple(calls), turn)


def _of_run(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages after the newest human one."""
    start = len(messages)
    while start and not isinstance(messages[start - 1], HumanMessage):
        start -= 1
    return iter(messages[start:])


def _past(call: ToolCall, turn: int, answer: ToolMessage) -> PastCall:
    kind = _kind_told(answer) if answer.outcome is None else answer.outcome.kind
    return PastCall(
        name=call["name"],
        arguments=call["args"],
        turn=turn,
        kind=kind,
        is_executed=_is_executed(answer, kind),
        answer=answer,
    )


def _is_executed(answer: ToolMessage, kind: FailureKind | None) -> bool:
    if answer.outcome is None:
        return kind not in _NEVER_RAN and kind is not FailureKind.INVALID_ARGUMENTS
    has_run = answer.outcome.attempts > 0
    if kind is FailureKind.SKIPPED:  # a second run may have been, after a first one
        return has_run
    may_have_run = kind in _MAY_HAVE_RUN and not answer.text.startswith(NOT_EXECUTED)
    return kind not in _NEVER_RAN and (has_run or may_have_run)


def likeness_of(arguments: Any) -> str:
    """A digest that is the same for the same arguments, whatever the order of their keys and the spelling of numbers.

    A model that says a thing twice may write ``20`` and then ``20.0``: to JSON that is one number.
    """
    return digest_of(_plain_numbers(arguments))


def _plain_numbers(value: Any, depth: int = 0) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if depth < _MAX_DEPTH and is_object(value):
        return {key: _plain_numbers(item, depth + 1) for key, item in value.items()}
    if depth < _MAX_DEPTH and is_array(value):
        return [_plain_numbers(item, depth + 1) for item in value]
    return value


def _kind_told(answer: ToolMessage) -> FailureKind | None:
    """What the text of an answer says of how the call ended."""
    text = answer.text
    for opening, kind in _OPENINGS:
        if text.startswith(opening):
            return kind
    return FailureKind.EXCEPTION if answer.status == "error" or _FAILED.search(_without_note(text)) else None


def result_of(content: str | Sequence[str | dict[str, Any]]) -> str:
    """A result as it can be compared with another: without a note of ours, and without what differs in each error."""
    if isinstance(content, str):
        return _plain(content)
    blocks = [block for block in content if not _is_note(block)]
    if all(isinstance(block, str) or block.get("type") == "text" for block in blocks):
        return _plain("".join(block if isinstance(block, str) else str(block.get("text")) for block in blocks))
    return digest_of(blocks)


def _plain(text: str) -> str:
    return _ERROR_ID.sub("", _without_note(text)).rstrip()


def _without_note(text: str) -> str:
    own, mark, _ = text.rpartition(NOTE)
    return (own if mark else text).rstrip()


def _is_note(block: str | dict[str, Any]) -> bool:
    text = mapping_of(block).get("text")
    return isinstance(text, str) and text.startswith(NOTE)
