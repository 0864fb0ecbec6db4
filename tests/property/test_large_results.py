"""Whatever is too long ends in pieces of itself, and can be read whole by its handle."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from surehand.calls import ResultShelf, render_value
from surehand.calls.results.cut import Cut
from surehand.calls.turn_output import fair_share
from surehand.messages import AIMessage, ToolMessage
from surehand.nodes import ToolNode
from surehand.tools import Tool

NOTICE = 120
"""What a notice may have at most on top of a size that leaves no room for it."""
BROKEN_TEXT = st.text(st.characters(codec=None, exclude_categories=()))  # lone surrogates included
LINES = st.lists(st.text(max_size=8), max_size=40).map("\n".join)
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | BROKEN_TEXT | st.binary() | st.decimals() | st.dates()
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS | LINES,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": st.text()}), min_size=1)
    ),
    max_leaves=30,
)


def text_of(content: Any) -> str:
    """What counts of a content, blocks one a line."""
    return content if isinstance(content, str) else "\n".join(block["text"] for block in content)


def by_handle(shelf: ResultShelf, handle: str, step: int) -> str:
    """A text as it is read step by step."""
    text, offset = "", 0
    while (reading := shelf.read("t", handle, offset, step)) is not None:
        text += "".join(passage.text for passage in reading.passages)
        if reading.next_offset is None:
            break
        offset = reading.next_offset
    return text


@given(VALUES, st.integers(min_value=1, max_value=400), st.integers(min_value=1, max_value=100))
@settings(max_examples=150)
def test_any_value_is_cut_to_pieces_of_itself_and_read_whole_by_its_handle(value: Any, limit: int, step: int) -> None:
    shelf = ResultShelf()
    whole = text_of(render_value(value, max_output=None).content)
    text = text_of(render_value(value, max_output=limit, keep=lambda text: shelf.put("t", text)).content)
    text.encode()
    assert text.strip()
    assert len(text) <= limit + NOTICE
    cut = Cut.found_in(text)
    if cut is None or not len(shelf):
        assert text == whole
        return
    assert cut.handle is not None
    assert len(text) < len(whole)
    assert whole.startswith(cut.head)
    assert whole.endswith(cut.tail)
    assert by_handle(shelf, cut.handle, step) == whole


@given(st.text(min_size=1).map(lambda text: text * 50), st.data())
def test_cut_twice_a_text_keeps_the_sizes_and_the_handle_of_the_whole(text: str, data: st.DataObject) -> None:
    first = data.draw(st.integers(min_value=1, max_value=len(text) - 1))
    second = data.draw(st.integers(min_value=1, max_value=first))
    once = Cut.found_in("".join(Cut.whole(text, "h" * 22).to(first)))
    assert once is not None
    twice = Cut.found_in("".join(once.to(second)))
    assert twice is not None
    assert (twice.size, twice.handle) == (len(text), "h" * 22)
    assert text.startswith(twice.head)
    assert text.endswith(twice.tail)


@given(st.lists(st.integers(min_value=0, max_value=10_000)), st.integers(min_value=1, max_value=50_000))
def test_shares_keep_to_the_budget_and_give_nothing_away(sizes: list[int], budget: int) -> None:
    share = fair_share(sizes, budget)
    shown = sum(min(size, share) for size in sizes)
    assert shown <= max(budget, len(sizes))
    assert shown == sum(sizes) or sum(min(size, share + 1) for size in sizes) > budget


@given(st.lists(VALUES, min_size=1, max_size=6), st.integers(min_value=1, max_value=2_000))
@settings(max_examples=40)
def test_any_turn_keeps_to_its_budget_call_by_call(values: list[Any], budget: int) -> None:
    def returning(value: Any) -> Any:
        return lambda: value

    tools = [Tool.from_function(returning(value), name=f"t{number}") for number, value in enumerate(values)]
    calls: list[Any] = [{"id": f"c{number}", "name": f"t{number}", "args": {}} for number in range(len(values))]
    shelf = ResultShelf()
    node = ToolNode(tools, max_output=1_000, max_turn_output=budget, shelf=shelf)
    answers: list[ToolMessage] = node.invoke([AIMessage(tool_calls=calls)], {"configurable": {"thread_id": "t"}})
    assert [answer.tool_call_id for answer in answers] == [call["id"] for call in calls]
    texts = [text_of(answer.content) for answer in answers]
    assert sum(map(len, texts)) <= budget + NOTICE * len(values)
    for text, value in zip(texts, values, strict=True):
        cut = Cut.found_in(text)
        whole = text_of(render_value(value, max_output=None).content)
        assert whole == (text if cut is None else by_handle(shelf, cut.handle or "", 500))
