"""Cut: head, notice and tail of a text that is too long, to be cut again."""

from __future__ import annotations

from functools import partial

import pytest

from surehand.calls import ResultShelf
from surehand.calls.results.cut import Cut, cut_of

TEXT = "".join(f"line {number}\n" for number in range(10_000))
HANDLE = "abcdefghij-ABCDEFGHI_0"


def cut(limit: int, *, handle: str | None = None) -> str:
    """The text at a size."""
    return "".join(Cut.whole(TEXT, handle).to(limit))


def test_the_notice_names_the_sizes() -> None:
    head, notice, rest = cut(1_000).partition("\n\n[… ")
    figures, _, tail = rest.partition(" …]\n\n")
    shown = f"{len(head + tail):,} of 98,890 characters are shown, the first {len(head):,} and the last {len(tail):,}."
    assert (notice, figures.partition(" The middle")[0]) == ("\n\n[… ", shown)


def test_the_notice_names_the_handle_the_tool_and_where_to_read_on() -> None:
    text = cut(1_000, handle=HANDLE)
    offset = len(text.partition("\n\n[…")[0])
    assert f'The middle is left out. Call read_tool_result(handle="{HANDLE}", offset={offset}) to read it.' in text
    assert text[:offset] == TEXT[:offset]


def test_without_a_handle_the_advice_stands_in_its_place() -> None:
    assert "Use page=2." in "".join(Cut.whole(TEXT).to(1_000, advice="Use page=2."))


@pytest.mark.parametrize(("handle", "least"), [(None, 100), (HANDLE, 200)])
def test_the_size_is_kept_where_there_is_room_for_a_notice(handle: str | None, least: int) -> None:
    assert all(len(cut(limit, handle=handle)) <= limit for limit in range(least, 1_200))


def test_a_tiny_size_leaves_half_of_it_to_the_text_and_a_short_notice() -> None:
    notice = f'\n[… 5 of 98,890 characters; read_tool_result(handle="{HANDLE}", offset=4) …]\n'
    assert cut(10, handle=HANDLE) == f"line{notice}\n"


@pytest.mark.parametrize("handle", [None, HANDLE])
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 50, 90, 150, 300, 301, 302, 303, 399, 400, 1_000])
def test_a_cut_text_is_known_by_itself(limit: int, handle: str | None) -> None:
    found = Cut.found_in(cut(limit, handle=handle))
    assert found is not None
    assert (found.size, found.handle, found.note) == (len(TEXT), handle, "")
    assert TEXT.startswith(found.head)
    assert TEXT.endswith(found.tail)


@pytest.mark.parametrize("limit", [5, 100, 250, 600, 900])
def test_cut_again_it_is_what_it_would_be_cut_at_once(limit: int) -> None:
    found = Cut.found_in(cut(1_000, handle=HANDLE))
    assert found is not None
    assert "".join(found.to(limit)) == cut(limit, handle=HANDLE)


def test_a_note_behind_the_text_stays_behind_it() -> None:
    found = Cut.found_in(cut(1_000) + "\n\n[Note: seen before.]")
    assert found is not None
    again = "".join(found.to(500))
    assert again.endswith("line 9999\n\n\n[Note: seen before.]")
    assert len(again) <= 500


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "a\n\n[… 12 of 100 characters are shown, the first 9 and the last 3. …]\n\nb",
        "\n[… 99999999999999999999999 of 1 characters …]\n",
        "\n[… , of , characters …]\n",
        cut(1_000) + "another text " * 100,
    ],
)
def test_a_text_that_only_looks_like_it_is_whole(text: str) -> None:
    assert Cut.found_in(text) is None


def test_a_text_that_would_not_get_shorter_stays_whole() -> None:
    assert cut_of("x" * 120, 100, lambda _: HANDLE) is None
    assert cut_of("x" * 250, 100, lambda _: HANDLE) is not None


def test_a_text_that_fits_is_not_kept() -> None:
    shelf = ResultShelf()
    assert cut_of("x" * 1_000, 1_000, partial(shelf.put, "t")) is None
    assert not shelf.holds("t")


def test_where_there_is_no_room_to_keep_it_the_notice_names_no_handle() -> None:
    cut_text = cut_of(TEXT, 1_000, lambda _: None)
    assert cut_text is not None
    assert "Ask for a smaller part" in cut_text.to(1_000)[1]
