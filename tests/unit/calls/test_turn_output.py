"""max_turn_output: what the answers of one turn have together, shared fairly."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from support.turns import turn
from surehand.calls import MemoryJournal, ResultShelf
from surehand.calls.turn_output import fair_share
from surehand.errors import OptionError
from surehand.events import CallFinished, Event
from surehand.messages import AIMessage, ToolMessage
from surehand.nodes import ToolNode
from surehand.tools import Tool

IMAGE = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
THREAD: Any = {"configurable": {"thread_id": "t"}}


def tools_returning(values: tuple[Any, ...]) -> list[Tool]:
    """Tools t0, t1, … that return the values."""

    def returning(value: Any) -> Callable[[], Any]:
        return lambda: value

    return [Tool.from_function(returning(value), name=f"t{number}") for number, value in zip(count(), values)]


def asking(values: tuple[Any, ...]) -> list[AIMessage]:
    """A turn that calls t0, t1, …"""
    return [turn(*(f"t{number}" for number in range(len(values))))]


def answered(*values: Any, **options: Any) -> list[ToolMessage]:
    """The answers of one turn in which each value is a tool's result."""
    answers: list[ToolMessage] = ToolNode(tools_returning(values), **options).invoke(asking(values), THREAD)
    return answers


def notes_of(answer: ToolMessage) -> tuple[str, ...]:
    return answer.outcome.notes if answer.outcome is not None else ()


# -- shares ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "budget", "share"),
    [
        ([100, 100], 200, 100),
        ([10, 1_000], 200, 190),
        ([10, 1_000, 1_000], 210, 100),
        ([10, 90, 1_000, 1_000], 300, 100),
        ([1_000] * 3, 100, 33),
        ([1_000] * 300, 100, 1),
        ([], 100, 1),
    ],
)
def test_the_large_share_what_the_small_leave(sizes: list[int], budget: int, share: int) -> None:
    assert fair_share(sizes, budget) == share


# -- turns -----------------------------------------------------------------------------------------------------------


def test_within_the_budget_nothing_is_touched() -> None:
    answers = answered("a" * 500, "b" * 500, max_turn_output=1_000)
    assert [answer.content for answer in answers] == ["a" * 500, "b" * 500]


def test_small_answers_stay_whole_and_the_large_ones_are_cut_alike() -> None:
    small, large, larger = answered("ok", "a" * 5_000, "b" * 9_000, max_turn_output=3_002)
    assert small.content == "ok"
    assert len(large.content) == len(larger.content)
    assert 2_900 < len(large.content) + len(larger.content) <= 3_000
    assert "of 5,000 characters are shown" in large.text
    assert "of 9,000 characters are shown" in larger.text


def test_each_cut_is_noted_and_the_value_is_the_artifact() -> None:
    rows = [{"n": number} for number in range(500)]
    small, large = answered("ok", rows, max_turn_output=1_000)
    assert (small.artifact, notes_of(small)) == (None, ())
    assert large.artifact == rows
    assert notes_of(large)[0].startswith("cut to 998 of ")
    assert notes_of(large)[0].endswith("so that the answers of the turn have at most 1,000")


def test_what_was_cut_for_itself_is_cut_again_with_the_sizes_of_the_whole() -> None:
    shelf = ResultShelf()
    text = "".join(f"{number}\n" for number in range(20_000))
    first, second = answered(text, text, max_output=5_000, max_turn_output=4_000, shelf=shelf)
    assert len(first.text) <= 2_000
    assert f"of {len(text):,} characters are shown" in first.text
    assert first.artifact == text
    [handle] = shelf.handles("t")
    assert f'handle="{handle}"' in first.text
    assert first.content == second.content


def test_what_is_cut_for_the_turn_alone_can_be_read_by_its_handle() -> None:
    shelf = ResultShelf()
    answer, _ = answered("x" * 3_000, "y" * 3_000, max_turn_output=2_000, shelf=shelf)
    texts = [shelf.read("t", handle, limit=9_999) for handle in shelf.handles("t")]
    assert len(texts) == 2
    assert any(reading is not None and reading.passages[0].text == "x" * 3_000 for reading in texts)
    assert "read_tool_result(" in answer.text


def test_failures_count_and_are_cut_too() -> None:
    def fail() -> None:
        raise ValueError("x" * 1_500)

    node = ToolNode([*tools_returning(("a" * 1_500,)), fail], max_turn_output=1_200)
    result, failure = node.invoke([turn("t0", "fail")])
    assert len(result.text) <= 600
    assert len(failure.text) <= 600
    assert failure.status == "error"


def test_texts_of_blocks_are_cut_and_images_stay() -> None:
    blocks = [{"type": "text", "text": "a" * 4_000}, IMAGE, {"type": "text", "text": "b" * 4_000}]
    answer, _ = answered(blocks, "c" * 8_000, max_turn_output=2_000)
    assert isinstance(answer.content, list)
    text, image = answer.content
    assert image == IMAGE
    assert isinstance(text, dict)
    assert "of 8,001 characters are shown" in text["text"]
    assert len(text["text"]) <= 1_000
    assert answer.artifact == blocks


def test_a_lone_answer_keeps_to_the_budget_too() -> None:
    [answer] = answered("x" * 5_000, max_turn_output=1_000)
    assert len(answer.text) <= 1_000


def test_by_default_a_turn_has_200_000_characters() -> None:
    answers = answered(*("x" * 50_000 for _ in range(6)))
    assert 190_000 < sum(len(answer.text) for answer in answers) <= 200_000


def test_without_a_budget_each_answer_has_its_own_limit_only() -> None:
    answers = answered(*("x" * 50_000 for _ in range(6)), max_turn_output=None)
    assert sum(len(answer.text) for answer in answers) == 300_000


@pytest.mark.parametrize("budget", [0, -1, 1.5, "many"])
def test_a_budget_that_cannot_be_meant_is_refused(budget: Any) -> None:
    with pytest.raises(OptionError, match="max_turn_output"):
        answered("x", max_turn_output=budget)


def test_both_doors_cut_alike() -> None:
    values = ("a" * 900, "b" * 1_700, [{"n": 1}] * 300)
    node = ToolNode(tools_returning(values), max_turn_output=1_500)
    by_loop: list[ToolMessage] = asyncio.run(node.ainvoke(asking(values)))
    assert [answer.content for answer in by_loop] == [answer.content for answer in node.invoke(asking(values))]


def test_an_exception_carries_answers_that_keep_to_the_budget() -> None:
    def fail() -> None:
        raise KeyError("k")

    node = ToolNode([*tools_returning(("a" * 5_000,)), fail], max_turn_output=1_000, handle_tool_errors=False)
    with pytest.raises(KeyError) as caught:
        node.invoke([turn("t0", "fail")])
    messages: list[ToolMessage] = getattr(caught.value, "tool_messages", [])
    assert len(messages) == 2
    assert sum(len(message.text) for message in messages) <= 1_000


def test_a_result_that_only_looks_cut_is_kept_as_it_is() -> None:
    shelf = ResultShelf()
    forged = "a" * 750 + "\n[… 1,000 of 9,999,999 characters …]\n" + "a" * 250
    answer, _ = answered(forged, "b" * 5_000, max_turn_output=1_000, shelf=shelf)
    assert f"of {len(forged):,} characters" in answer.text
    assert forged in {
        reading.passages[0].text for handle in shelf.handles("t") if (reading := shelf.read("t", handle)) is not None
    }


# -- events and the journal ------------------------------------------------------------------------------------------


def test_the_events_tell_of_the_calls_and_not_of_the_turn() -> None:
    events: list[Event] = []
    answered("a" * 5_000, "b" * 5_000, max_turn_output=1_000, listener=events.append)
    ends = [event for event in events if isinstance(event, CallFinished)]
    assert [(len(event.value), event.outcome.notes) for event in ends] == [(5_000, ()), (5_000, ())]


def test_recalled_from_the_journal_a_turn_is_cut_as_it_was() -> None:
    ran: list[int] = []

    def read_log() -> str:
        ran.append(1)
        return str(len(ran)) * 9_000

    shelf = ResultShelf()
    node = ToolNode([read_log], journal=MemoryJournal(), max_output=5_000, max_turn_output=3_000, shelf=shelf)
    calls: list[Any] = [{"id": f"c{number}", "name": "read_log", "args": {}} for number in range(2)]
    message = AIMessage(id="m1", tool_calls=calls)
    first = node.invoke([message], THREAD)
    assert node.invoke([message], THREAD) == first
    assert (len(ran), len(shelf)) == (2, 2)
