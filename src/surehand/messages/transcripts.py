"""What a conversation has to obey so that every provider accepts it: each call is answered once, right after it.

A history breaks in few ways: a crash or a stop leaves calls *unanswered*, trimming leaves answers *orphaned*, a user's
message gets between a call and its answer (*misplaced*), an answer comes twice (*duplicated*), a provider uses an id
again (*repeated*). Providers refuse all of them, and go on refusing: one bad turn ends the conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, cast

from surehand.errors import InputError, OptionError
from surehand.messages.ai import AIMessage
from surehand.messages.base import Message, SystemMessage, ToolMessage, are_messages
from surehand.messages.calls import ToolCall
from surehand.outcomes import FailureKind, Outcome
from surehand.policy import count

__all__ = [
    "NOT_RECORDED",
    "ProblemKind",
    "TranscriptProblem",
    "check_transcript",
    "close_call",
    "left_calls",
    "repair_transcript",
    "trim_messages",
    "unanswered_calls",
]

NOT_RECORDED: Final = "No result of this call is recorded: "
"""How the answer begins that is put in for one that was never given."""
_NO_RESULT: Final = (
    f"{NOT_RECORDED}the run ended before it was answered. It may or may not have happened. Check before you repeat it."
)


class ProblemKind(StrEnum):
    """What is wrong in a transcript."""

    UNANSWERED = "unanswered"
    """A call has no answer."""
    ORPHANED = "orphaned"
    """An answer belongs to no call before it."""
    DUPLICATED = "duplicated"
    """A call is answered a second time."""
    MISPLACED = "misplaced"
    """An answer is separated from the message that made the call."""
    REPEATED = "repeated"
    """A call has an id that an earlier message's call has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptProblem:
    """One thing that a provider would refuse."""

    kind: ProblemKind
    position: int
    """The place of the message it is about in the list: the AI message's for calls, the tool message's for answers."""
    call_id: str

    def __str__(self) -> str:
        return f"{self.kind}: call {self.call_id!r}, message {self.position}"


@dataclass(slots=True)
class _Slot:
    """A call, where it was made, and the answer it got."""

    call: ToolCall
    position: int
    error: str | None
    """Why its arguments cannot be read; None where they can."""
    answer: ToolMessage | None = None
    answered_at: int = -1
    """The answer's place in the list."""


@dataclass(slots=True)
class _Pairing:
    """Which answer belongs to which call."""

    slots: dict[int, list[_Slot]] = field(default_factory=dict[int, list[_Slot]])
    """The calls of each AI message that makes some, by its position."""
    problems: list[TranscriptProblem] = field(default_factory=list[TranscriptProblem])


def check_transcript(messages: Sequence[Message]) -> list[TranscriptProblem]:
    """What a provider would refuse, in the order of the messages; empty for a usable transcript.

    Raises:
        InputError: They are not a list of messages.
    """
    _check_messages(messages)
    if _is_sound(messages):
        return []
    pairing = _pair(messages)
    unanswered = [
        TranscriptProblem(kind=ProblemKind.UNANSWERED, position=position, call_id=slot.call["id"])
        for position, slots in pairing.slots.items()
        for slot in slots
        if slot.answer is None
    ]
    return sorted([*pairing.problems, *unanswered], key=lambda problem: problem.position)


def repair_transcript(messages: Sequence[Message]) -> list[Message]:
    """The messages as every provider accepts them; a transcript without problems comes back as it is.

    Answers move right after their call's message, calls without one are closed with what is known of them, orphaned and
    second answers are left out, and of two calls with one id the later gets another. No other message is lost.

    Raises:
        InputError: They are not a list of messages.
    """
    _check_messages(messages)
    if _is_sound(messages):
        return list(messages)
    pairing = _pair(messages)
    own_ids = _Ids({slot.call["id"] for slots in pairing.slots.values() for slot in slots})
    repaired: list[Message] = []
    for position, message in enumerate(messages):
        slots = pairing.slots.get(position)
        if isinstance(message, ToolMessage):
            continue  # those that answer a call are written right after it, the others nowhere
        if slots is None:
            repaired.append(message)
            continue
        ids = {slot.call["id"]: own_ids.own(slot.call["id"]) for slot in slots}
        repaired.append(_renamed(message, slots, ids))
        repaired.extend(_answers(slots, ids))
    return repaired


def _check_messages(given: object) -> None:
    """Refuse what is no list of messages: of anything else it would be said that nothing is wrong with it."""
    is_list = type(given) is list or (isinstance(given, Sequence) and not isinstance(given, str))
    if not is_list or not are_messages(cast("Sequence[object]", given)):
        raise InputError(
            problem="A transcript is a list of messages",
            value=given,
            remedy="Turn it into messages first, with convert_to_messages.",
        )


def _is_sound(messages: Iterable[Message]) -> bool:
    """Whether there is nothing wrong; a conversation is asked this before each request, and nearly always there is not.

    It says the same as ``_pair``, and does without keeping what belongs to what.
    """
    seen: set[str] = set()
    waiting: set[str] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in waiting:
                return False
            waiting.remove(message.tool_call_id)
            continue
        if waiting:
            return False
        if isinstance(message, AIMessage) and message.tool_calls:
            waiting = {call["id"] for call in message.tool_calls}
            if not seen.isdisjoint(waiting):
                return False
            seen |= waiting
    return not waiting


def _pair(messages: Sequence[Message]) -> _Pairing:
    pairing = _Pairing()
    # Several calls may bear one id in a history: providers number anew in each turn, or repeat an id by mistake.
    by_id: dict[str, list[_Slot]] = {}
    group = -1  # the AI message whose answers may stand here; -1 after any other message
    for position, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            kind = _place(by_id.get(message.tool_call_id, ()), message, position, group)
            if kind is not None:
                pairing.problems.append(TranscriptProblem(kind=kind, position=position, call_id=message.tool_call_id))
            continue
        group = -1
        if isinstance(message, AIMessage) and message.tool_calls:
            group = position
            pairing.slots[position] = slots = _slots(message, position)
            for slot in slots:
                known = by_id.setdefault(slot.call["id"], [])
                if known:
                    pairing.problems.append(
                        TranscriptProblem(kind=ProblemKind.REPEATED, position=position, call_id=slot.call["id"])
                    )
                known.append(slot)
    return pairing


def _slots(message: AIMessage, position: int) -> list[_Slot]:
    errors = {call["id"]: call["error"] for call in message.invalid_tool_calls}
    return [_Slot(call, position, errors.get(call["id"])) for call in message.tool_calls]


def _place(slots: Sequence[_Slot], answer: ToolMessage, position: int, group: int) -> ProblemKind | None:
    """Give the answer to the newest call of its id that has none; what is wrong with it, if anything."""
    if not slots:
        return ProblemKind.ORPHANED
    slot = next((slot for slot in reversed(slots) if slot.answer is None), None)
    if slot is None:
        return ProblemKind.DUPLICATED
    slot.answer, slot.answered_at = answer, position
    return None if slot.position == group else ProblemKind.MISPLACED


@dataclass(slots=True)
class _Ids:
    """Ids of their own for calls that have another's; the same each time the same history is repaired."""

    taken: set[str]
    """Ids that calls have."""
    used: set[str] = field(default_factory=set[str])
    numbers: dict[str, int] = field(default_factory=dict[str, int])

    def own(self, call_id: str) -> str:
        """The id itself for its first bearer, a numbered one for the others."""
        free = call_id
        while free in self.used or (free != call_id and free in self.taken):
            number = self.numbers.get(call_id, 2)
            free, self.numbers[call_id] = f"{call_id}_{number}", number + 1
        self.used.add(free)
        return free


def _renamed(message: Message, slots: Iterable[_Slot], ids: dict[str, str]) -> Message:
    if all(old == new for old, new in ids.items()):
        return message  # the very same: what is known of how its arguments were read would be lost in a copy
    calls = [{**slot.call, "id": ids[slot.call["id"]]} for slot in slots]
    return message.replace(tool_calls=calls)


def _answers(slots: Sequence[_Slot], ids: dict[str, str]) -> Iterable[ToolMessage]:
    """The answers in the order they came, then the closing ones in call order."""
    for slot in sorted(slots, key=lambda slot: slot.answered_at):
        if slot.answer is not None:
            new_id = ids[slot.call["id"]]
            yield slot.answer if slot.answer.tool_call_id == new_id else slot.answer.replace(tool_call_id=new_id)
    for slot in slots:
        if slot.answer is None:
            yield _closed({**slot.call, "id": ids[slot.call["id"]]}, slot.error)


def _closed(call: ToolCall, error: str | None) -> ToolMessage:
    if error is None:
        return close_call(call, FailureKind.UNKNOWN_OUTCOME, _NO_RESULT)
    return close_call(call, FailureKind.MALFORMED, f"{error} Nothing was executed.")


def close_call(call: ToolCall, kind: FailureKind, text: str) -> ToolMessage:
    """The answer to a call that has no result: an error of this kind, with this text for the model."""
    return ToolMessage(
        text,
        tool_call_id=call["id"],
        name=call["name"] or None,
        status="error",
        outcome=Outcome(kind=kind, text=text),
    )


def left_calls(messages: Sequence[Message]) -> list[tuple[AIMessage, list[ToolCall]]]:
    """The calls that nobody answered, wherever they stand, with the messages that made them.

    Raises:
        InputError: They are not a list of messages.
    """
    _check_messages(messages)
    if _is_sound(messages):
        return []
    left: list[tuple[AIMessage, list[ToolCall]]] = []
    for position, slots in _pair(messages).slots.items():
        calls = [slot.call for slot in slots if slot.answer is None]
        if calls:
            left.append((cast("AIMessage", messages[position]), calls))
    return left


def unanswered_calls(messages: Sequence[Message]) -> tuple[AIMessage, list[ToolCall]]:
    """The newest AI message, and those of its calls that no later tool message answers, in call order.

    Raises:
        InputError: There is no AI message.
    """
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            return message, [call for call in message.tool_calls if call["id"] not in answered]
    raise InputError(
        problem="Expected an AI message, whose calls are to be answered, among the messages",
        value=list(messages),
        remedy="Pass the model's reply, as the last message of the list.",
    )


def trim_messages(
    messages: Sequence[Message],
    *,
    max_messages: int | None = None,
    max_tokens: int | None = None,
    count_tokens: Callable[[Message], int] | None = None,
    keep_system: bool = True,
) -> list[Message]:
    """The newest messages that fit; a message with calls and the answers to them stay or go together.

    The newest message is always kept, with what it belongs to, even where that alone is too long.

    Args:
        messages: The conversation, oldest first.
        max_messages: How many messages may be left; None for no limit.
        max_tokens: How many tokens the messages left may have, by ``count_tokens``; None for no limit.
        count_tokens: The tokens of one message.
        keep_system: Whether the system messages at the start are kept; they count.

    Raises:
        OptionError: No limit is given, one is no integer above 0, or ``max_tokens`` comes without ``count_tokens``.
        InputError: ``messages`` is not a list of messages.
    """
    _check_messages(messages)
    _check_limits(max_messages, max_tokens, count_tokens)
    head = _leading_system(messages) if keep_system else 0
    room = _Room(max_messages, max_tokens, count_tokens or (lambda _: 0))
    room.take(messages[:head])
    start = len(messages)
    for first, end in reversed(_units(messages, head)):
        if not room.take(messages[first:end]) and start < len(messages):  # the newest unit is kept whatever its length
            break
        start = first
    return [*messages[:head], *messages[start:]]


def _check_limits(max_messages: int | None, max_tokens: int | None, count_tokens: object) -> None:
    if max_messages is None and max_tokens is None:
        raise OptionError(option="max_messages", value=None, expected="max_messages or max_tokens to be given")
    for option, value in (("max_messages", max_messages), ("max_tokens", max_tokens)):
        if value is not None:
            count(option, value)
    if max_tokens is not None and count_tokens is None:
        raise OptionError(
            option="count_tokens", value=None, expected="a function from a message to its tokens, with max_tokens"
        )


def _leading_system(messages: Sequence[Message]) -> int:
    return next(
        (place for place, message in enumerate(messages) if not isinstance(message, SystemMessage)), len(messages)
    )


@dataclass(slots=True)
class _Room:
    """What is left of the limits."""

    messages: int | None
    tokens: int | None
    count: Callable[[Message], int]

    def take(self, unit: Sequence[Message]) -> bool:
        """Use up what the unit needs; whether there was enough."""
        if self.messages is not None:
            self.messages -= len(unit)
        if self.tokens is not None:
            self.tokens -= sum(self.count(message) for message in unit)
        return (self.messages is None or self.messages >= 0) and (self.tokens is None or self.tokens >= 0)


def _units(messages: Sequence[Message], start: int) -> list[tuple[int, int]]:
    """The parts that must not be split, as (first, end): from each message with calls to the last answer to them."""
    # From the back, so that an answer is met before the call it belongs to, and each message is looked at once. A unit
    # that begins inside another is a part of it: calls whose answers overlap stay or go together.
    ends: dict[str, int] = {}
    units: list[tuple[int, int]] = []
    for position in reversed(range(start, len(messages))):
        message, end = messages[position], position + 1
        if isinstance(message, ToolMessage):
            ends.setdefault(message.tool_call_id, end)  # the last answer, where there are several
        elif isinstance(message, AIMessage):
            end = max([end, *(ends.pop(call["id"], end) for call in message.tool_calls)])
        while units and units[-1][0] < end:
            end = max(end, units.pop()[1])
        units.append((position, end))
    return units[::-1]
