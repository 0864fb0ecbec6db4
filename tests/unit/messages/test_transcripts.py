"""Transcripts are checked, repaired and trimmed so that every provider accepts them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from surehand.errors import InputError, OptionError
from surehand.messages import (
    AIMessage,
    HumanMessage,
    Message,
    SystemMessage,
    ToolMessage,
    check_transcript,
    close_call,
    repair_transcript,
    trim_messages,
    unanswered_calls,
)
from surehand.outcomes import FailureKind


def calls(*ids: str) -> AIMessage:
    return AIMessage(tool_calls=[{"id": call_id, "name": "f", "args": {}} for call_id in ids])


def answer(call_id: str, text: str = "4") -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id)


def problems(messages: list[Message]) -> list[str]:
    return [str(problem) for problem in check_transcript(messages)]


USER = HumanMessage("hi")


def test_usable_transcript_has_no_problems() -> None:
    assert (
        problems([SystemMessage("s"), USER, calls("a", "b"), answer("b"), answer("a"), AIMessage("done"), USER]) == []
    )


@pytest.mark.parametrize(
    ("messages", "found"),
    [
        ([calls("a"), USER], ["unanswered: call 'a', message 0"]),
        ([calls("a", "b"), answer("a")], ["unanswered: call 'b', message 0"]),
        ([USER, answer("a")], ["orphaned: call 'a', message 1"]),
        ([calls("a"), answer("a"), answer("a")], ["duplicated: call 'a', message 2"]),
        ([calls("a"), USER, answer("a")], ["misplaced: call 'a', message 2"]),
        ([calls("a"), calls("b"), answer("a"), answer("b")], ["misplaced: call 'a', message 2"]),
        ([calls("a"), answer("a"), calls("a"), answer("a")], ["repeated: call 'a', message 2"]),
        ([answer("a"), calls("a")], ["orphaned: call 'a', message 0", "unanswered: call 'a', message 1"]),
    ],
)
def test_every_problem_is_found(messages: list[Message], found: list[str]) -> None:
    assert problems(messages) == found


def test_problems_are_records() -> None:
    (problem,) = check_transcript([calls("a")])

    assert (problem.kind, problem.position, problem.call_id) == ("unanswered", 0, "a")


def test_repair_leaves_a_usable_transcript_alone() -> None:
    messages = [USER, calls("a", "b"), answer("b"), answer("a"), AIMessage("done")]

    repaired = repair_transcript(messages)

    assert all(new is old for new, old in zip(repaired, messages, strict=True))


def test_repair_closes_unanswered_calls_right_after_their_message() -> None:
    first, second, third, last = repair_transcript([calls("a", "b"), answer("b"), USER])

    assert (first.type, second) == ("ai", answer("b"))
    assert isinstance(third, ToolMessage)
    assert (third.tool_call_id, third.name, third.status) == ("a", "f", "error")
    assert third.text.startswith("No result of this call is recorded")
    assert third.outcome is not None
    assert third.outcome.kind is FailureKind.UNKNOWN_OUTCOME
    assert last is USER


def test_repair_says_of_an_unreadable_call_that_it_never_ran() -> None:
    broken = AIMessage(tool_calls=[{"id": "a", "name": "f", "args": '{"city": "Par'}])

    closing = repair_transcript([broken])[1]

    assert isinstance(closing, ToolMessage)
    assert closing.outcome is not None
    assert closing.outcome.kind is FailureKind.MALFORMED
    assert closing.text.startswith("The arguments are not one JSON object")
    assert closing.text.endswith("Nothing was executed.")


def test_repair_moves_late_answers_to_their_call() -> None:
    assert repair_transcript([calls("a"), USER, answer("a")]) == [calls("a"), answer("a"), USER]


def test_repair_leaves_out_orphans_and_second_answers() -> None:
    messages = [answer("z"), calls("a"), answer("a", "first"), answer("a", "second")]

    assert repair_transcript(messages) == [calls("a"), answer("a", "first")]


def test_repair_gives_a_repeated_id_another_and_its_answer_too() -> None:
    messages = [calls("a"), answer("a", "1"), calls("a"), answer("a", "2"), calls("a_2"), answer("a_2", "3")]

    repaired = repair_transcript(messages)

    assert repaired == [
        calls("a"),
        answer("a", "1"),
        calls("a_3"),
        answer("a_3", "2"),
        calls("a_2"),
        answer("a_2", "3"),
    ]
    assert repair_transcript(messages) == repaired


def test_close_call_answers_with_the_kind_and_the_text() -> None:
    call = calls("a").tool_calls[0]

    message = close_call(call, FailureKind.CANCELLED, "Stopped by the user.")

    assert (message.tool_call_id, message.name, message.status, message.content) == (
        "a",
        "f",
        "error",
        "Stopped by the user.",
    )
    assert message.outcome is not None
    assert (message.outcome.kind, message.outcome.text) == (FailureKind.CANCELLED, "Stopped by the user.")


def test_unanswered_calls_are_those_of_the_newest_ai_message() -> None:
    newest = calls("b", "c", "d")

    message, left = unanswered_calls([calls("a"), USER, newest, answer("c")])

    assert message is newest
    assert [call["id"] for call in left] == ["b", "d"]


def test_answers_to_an_earlier_message_do_not_count() -> None:
    _, left = unanswered_calls([calls("a"), answer("a"), calls("a")])

    assert [call["id"] for call in left] == ["a"]


def test_no_ai_message_is_an_error() -> None:
    with pytest.raises(InputError, match="Expected an AI message"):
        unanswered_calls([USER])


HISTORY: list[Message] = [
    SystemMessage("s"),
    HumanMessage("1"),
    calls("a", "b"),
    answer("a"),
    answer("b"),
    AIMessage("2"),
    HumanMessage("3"),
]


@pytest.mark.parametrize(
    ("most", "kept"),
    [(1, [0, 6]), (2, [0, 6]), (3, [0, 5, 6]), (5, [0, 5, 6]), (6, [0, 2, 3, 4, 5, 6]), (7, [0, 1, 2, 3, 4, 5, 6])],
)
def test_trimming_keeps_calls_and_answers_together(most: int, kept: list[int]) -> None:
    assert trim_messages(HISTORY, max_messages=most) == [HISTORY[place] for place in kept]


def test_system_messages_can_be_trimmed_too() -> None:
    assert trim_messages(HISTORY, max_messages=2, keep_system=False) == HISTORY[5:]


def test_tokens_are_counted_by_the_hosts_function() -> None:
    kept = trim_messages(HISTORY, max_tokens=3, count_tokens=lambda message: len(message.text))

    assert kept == [HISTORY[0], *HISTORY[5:]]


def test_newest_part_is_kept_even_if_it_is_too_long() -> None:
    messages = [USER, calls("a", "b"), answer("a"), answer("b")]

    assert trim_messages(messages, max_messages=1) == messages[1:]


def test_late_answers_hold_what_is_between() -> None:
    messages = [USER, calls("a"), USER, answer("a"), USER]

    assert trim_messages(messages, max_messages=2) == messages[4:]
    assert trim_messages(messages, max_messages=4) == messages[1:]


@pytest.mark.parametrize(
    "options",
    [{}, {"max_messages": 0}, {"max_messages": "5"}, {"max_tokens": 0, "count_tokens": len}, {"max_tokens": 5}],
)
def test_limits_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        trim_messages(HISTORY, **options)


@pytest.mark.parametrize("given", [3, "hello", {"messages": []}, [{"role": "user", "content": "hello"}]])
def test_what_is_no_list_of_messages_is_refused(given: Any) -> None:
    for ask in (check_transcript, repair_transcript, partial(trim_messages, max_messages=1)):
        with pytest.raises(InputError, match="convert_to_messages"):
            ask(given)
