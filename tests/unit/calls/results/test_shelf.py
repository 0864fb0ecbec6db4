"""ResultShelf: whole results, each to be read by its handle in its own conversation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from surehand.calls.results.shelf import Passage, Reading, ResultShelf
from surehand.errors import OptionError


def kept(shelf: ResultShelf, text: str, *, thread_id: str = "t") -> str:
    """The handle of a text that there is room for."""
    handle = shelf.put(thread_id, text)
    assert handle is not None
    return handle


def whole(shelf: ResultShelf, handle: str, *, limit: int) -> str:
    """A text, read step by step."""
    text, offset = "", 0
    while True:
        reading = shelf.read("t", handle, offset, limit)
        assert reading is not None
        text += "".join(passage.text for passage in reading.passages)
        if reading.next_offset is None:
            return text
        offset = reading.next_offset


# -- handles ---------------------------------------------------------------------------------------------------------


def test_a_handle_has_22_characters_and_no_two_are_alike() -> None:
    shelf = ResultShelf()
    handles = {kept(shelf, f"text {number}") for number in range(100)}
    assert len(handles) == 100
    assert {len(handle) for handle in handles} == {22}


def test_a_handle_is_worth_nothing_in_another_conversation() -> None:
    shelf = ResultShelf()
    handle = kept(shelf, "secret", thread_id="mine")
    assert shelf.read("mine", handle) is not None
    assert shelf.read("yours", handle) is None


def test_an_unknown_handle_opens_nothing() -> None:
    assert ResultShelf().read("t", "x" * 22) is None


def test_the_same_text_is_kept_once_in_a_conversation() -> None:
    shelf = ResultShelf()
    assert kept(shelf, "text") == kept(shelf, "text")
    assert len(shelf) == 1


def test_two_conversations_with_the_same_text_have_handles_of_their_own() -> None:
    shelf = ResultShelf()
    assert kept(shelf, "text", thread_id="a") != kept(shelf, "text", thread_id="b")


def test_the_handles_of_a_conversation_are_listed_with_the_last_used_first() -> None:
    shelf = ResultShelf()
    first, second = kept(shelf, "one"), kept(shelf, "two")
    kept(shelf, "three", thread_id="other")
    assert shelf.handles("t") == [second, first]
    shelf.read("t", first)
    assert shelf.handles("t") == [first, second]


# -- bounds ----------------------------------------------------------------------------------------------------------


def test_beyond_so_many_results_the_oldest_goes() -> None:
    shelf = ResultShelf(max_results=2)
    first, second, third = (kept(shelf, text) for text in "abc")
    assert shelf.read("t", first) is None
    assert shelf.read("t", second) is not None
    assert shelf.read("t", third) is not None


def test_beyond_so_many_characters_the_oldest_go_until_there_is_room() -> None:
    shelf = ResultShelf(max_chars=10)
    handles = [kept(shelf, text) for text in ("aaaa", "bbbb", "cccccccc")]
    assert [shelf.read("t", handle) is not None for handle in handles] == [False, False, True]


def test_what_is_being_read_is_not_the_next_to_go() -> None:
    shelf = ResultShelf(max_results=2)
    first, second = kept(shelf, "one"), kept(shelf, "two")
    shelf.read("t", first)
    kept(shelf, "three")
    assert shelf.read("t", first) is not None
    assert shelf.read("t", second) is None


def test_a_text_that_is_longer_than_the_shelf_is_not_kept_and_displaces_nothing() -> None:
    shelf = ResultShelf(max_chars=10)
    handle = kept(shelf, "short")
    assert shelf.put("t", "x" * 11) is None
    assert shelf.read("t", handle) is not None


def test_a_conversation_has_something_to_read_until_its_last_text_is_gone() -> None:
    shelf = ResultShelf(max_results=1)
    assert not shelf.holds("t")
    kept(shelf, "text")
    assert shelf.holds("t")
    kept(shelf, "other", thread_id="u")
    assert not shelf.holds("t")


@pytest.mark.parametrize("option", [{"max_chars": 0}, {"max_results": -1}, {"max_results": True}])
def test_a_shelf_without_room_is_refused(option: dict[str, int]) -> None:
    with pytest.raises(OptionError):
        ResultShelf(**option)


def test_the_shelf_says_how_full_it_is() -> None:
    shelf = ResultShelf()
    kept(shelf, "x" * 1_234)
    assert repr(shelf) == "ResultShelf(1 results, 1,234 characters)"


def test_many_threads_at_a_time_leave_it_within_its_bounds() -> None:
    shelf = ResultShelf(max_chars=2_000, max_results=20)

    def use(worker: int) -> None:
        for number in range(100):
            handle = kept(shelf, f"{worker}-{number} " * 10, thread_id=str(worker))
            shelf.read(str(worker), handle, contains="-")
            shelf.handles(str(worker))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(8)))
    assert len(shelf) <= 20
    assert sum(shelf.holds(str(worker)) for worker in range(8)) == len(
        {worker for worker in range(8) if shelf.handles(str(worker))}
    )


# -- reading ---------------------------------------------------------------------------------------------------------


def test_a_piece_is_read_from_its_offset() -> None:
    shelf = ResultShelf()
    reading = shelf.read("t", kept(shelf, "0123456789"), 3, 4)
    assert reading == Reading(size=10, passages=(Passage(offset=3, text="3456"),), next_offset=7)


def test_the_last_piece_has_nothing_behind_it() -> None:
    shelf = ResultShelf()
    reading = shelf.read("t", kept(shelf, "0123456789"), 7, 4)
    assert reading == Reading(size=10, passages=(Passage(offset=7, text="789"),), next_offset=None)


@pytest.mark.parametrize("offset", [10, 1_000_000])
def test_beyond_the_end_there_is_nothing(offset: int) -> None:
    shelf = ResultShelf()
    assert shelf.read("t", kept(shelf, "0123456789"), offset) == Reading(size=10, passages=(), next_offset=None)


@pytest.mark.parametrize("limit", [1, 7, 1_000])
def test_read_step_by_step_the_text_is_whole(limit: int) -> None:
    shelf = ResultShelf()
    text = "Grüße 서울 😀\n" * 50
    assert whole(shelf, kept(shelf, text), limit=limit) == text


@pytest.mark.parametrize(("offset", "limit"), [(-1, 1), (0, 0), (0, -5)])
def test_what_cannot_be_read_is_refused(offset: int, limit: int) -> None:
    shelf = ResultShelf()
    with pytest.raises(OptionError):
        shelf.read("t", kept(shelf, "text"), offset, limit)


# -- searching -------------------------------------------------------------------------------------------------------


def found(text: str, contains: str, *, offset: int = 0, limit: int = 10_000) -> Reading:
    """What a search comes to."""
    shelf = ResultShelf()
    reading = shelf.read("t", kept(shelf, text), offset, limit, contains)
    assert reading is not None
    return reading


def test_a_place_is_shown_with_what_stands_around_it() -> None:
    reading = found("a" * 1_000 + "needle" + "z" * 1_000, "needle")
    [passage] = reading.passages
    assert passage.places == (1_000,)
    assert passage.text == "a" * 200 + "needle" + "z" * 200
    assert (reading.found, reading.next_offset) == (1, None)


def test_places_far_apart_have_passages_of_their_own() -> None:
    reading = found(("x" * 1_000 + "needle") * 3, "needle")
    assert [passage.places for passage in reading.passages] == [(1_000,), (2_006,), (3_012,)]


def test_places_close_together_share_a_passage_and_nothing_is_shown_twice() -> None:
    text = "one needle, two needle, three" + "." * 500
    [passage] = found(text, "needle").passages
    assert passage.places == (4, 16)
    assert passage.text == text[: 16 + 6 + 200]


def test_the_search_is_literal() -> None:
    assert found("a.c abc", "a.c").found == 1
    assert found("ABC", "abc").passages == ()


def test_a_search_goes_on_where_it_was_left() -> None:
    text = ("x" * 1_000 + "needle") * 10
    offset: int | None = 0
    places: list[int] = []
    while offset is not None:
        reading = found(text, "needle", offset=offset, limit=1_000)
        places += [place for passage in reading.passages for place in passage.places]
        offset = reading.next_offset
    assert places == [1_000 + 1_006 * number for number in range(10)]


def test_the_passages_keep_to_the_limit_together() -> None:
    reading = found(("x" * 1_000 + "needle") * 100, "needle", limit=2_000)
    assert sum(len(passage.text) for passage in reading.passages) <= 2_000
    assert reading.found == 100


def test_one_place_is_shown_however_small_the_limit() -> None:
    [passage] = found("x" * 100 + "needle" * 2, "needle", limit=1).passages
    assert passage.text == "needle"


def test_every_character_may_be_a_place() -> None:
    reading = found("a" * 5_000, "a", limit=1_000)
    [passage] = reading.passages
    assert len(passage.text) <= 1_000
    assert reading.next_offset == len(passage.places)


def test_an_empty_search_reads_on() -> None:
    reading = found("0123456789", "", offset=8)
    assert reading.passages == (Passage(offset=8, text="89"),)
