"""Gemini's streamed arguments make the call that was meant, or one that nobody takes for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.gemini import SIGNATURE, Part
from surehand.dialects.gemini import ContentStream
from surehand.messages import AIMessage, AIMessageChunk
from surehand.shapes import is_array, is_object


def piece(*values: Part, goes_on: bool = True, **fields: Any) -> Part:
    inner: Part = {**fields, **({"partialArgs": list(values)} if values else {})}
    return {"functionCall": {**inner, "willContinue": True} if goes_on else inner}


def text(path: str, value: str, *, goes_on: bool = False) -> Part:
    return {"jsonPath": path, "stringValue": value, **({"willContinue": True} if goes_on else {})}


END = piece(goes_on=False)


def chunk(*parts: Part, reason: str | None = None) -> Part:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": reason}]}


def read(*parts: Part, reason: str | None = "STOP") -> tuple[AIMessage, AIMessageChunk]:
    """The message of a stream of these parts, one a chunk, and the sum of its chunks."""
    stream, total = ContentStream(), AIMessageChunk()
    for each in (*map(chunk, parts), *([chunk(reason=reason)] if reason else [])):
        if (told := stream.feed(each)) is not None:
            total += told
    return stream.finish(), total


def args(*values: Part) -> Any:
    message, _ = read(piece(name="f"), *(piece(value) for value in values), END)
    (found,) = message.tool_calls
    return found["args"] if not message.invalid_tool_calls else None


def test_values_come_to_their_places() -> None:
    assert args(
        text("$.list[0].a", "x", goes_on=True),
        text("$.list[0].a", "y", goes_on=True),
        text("$.list[0].a", ""),
        {"jsonPath": "$.list[0].b", "numberValue": 0.5},
        {"jsonPath": "$.list[1]", "boolValue": False},
        {"jsonPath": "$['a key']", "nullValue": None},
        {"jsonPath": '$["b\'"]', "nullValue": "NULL_VALUE"},
        {"jsonPath": "$['c\\'\"d']['']", "numberValue": 3},
    ) == {"list": [{"a": "xy", "b": 0.5}, False], "a key": None, "b'": None, "c'\"d": {"": 3}}


@pytest.mark.parametrize(
    "values",
    [
        [text("$.a", "x", goes_on=True)],
        [text("$.a", "x"), text("$.a", "y")],
        [text("$.a", "x"), {"jsonPath": "$.a.b", "numberValue": 1}],
        [text("$.a", "x", goes_on=True), {"jsonPath": "$.a", "numberValue": 1}],
        [text("$.a[1]", "x")],
        [text("$.a[0]", "x"), text("$.a.b", "y")],
        [text("$..a", "x")],
        [text("$.a[*]", "x")],
        [text("$", "x")],
        [text("a", "x")],
        [{"stringValue": "x"}],
        [{"jsonPath": "$.a"}],
        [{"jsonPath": "$.a", "willContinue": True}],
        [{"jsonPath": "$.a", "numberValue": 1, "stringValue": "x"}],
        [{"jsonPath": "$.a", "numberValue": 1, "willContinue": True}],
        [text("$" + ".a" * 500, "x")],
        [text("$[99999999999999999999]", "x")],
        [text("$['\\q']", "x")],
    ],
)
def test_what_does_not_fit_together_is_no_call_that_runs(values: list[Part]) -> None:
    assert args(*values) is None


def test_calls_follow_one_another_with_and_without_arguments() -> None:
    message, total = read(
        {"functionCall": {"name": "plain"}, "thoughtSignature": SIGNATURE},
        piece(name="f"),
        piece(text("$.id", "A")),
        END,
        piece(name="f", id="k", args={"x": 1}),
        piece(text("$.id", "B"), goes_on=False),
        piece(name="none"),
        END,
        END,
        {"functionCall": {"name": "whole", "args": {"y": 2}, "id": "w"}},
    )

    expected: list[tuple[str, Any]] = [
        ("plain", {}),
        ("f", {"id": "A"}),
        ("f", {"x": 1, "id": "B"}),
        ("none", {}),
        ("whole", {"y": 2}),
    ]
    assert [(call["name"], call["args"]) for call in message.tool_calls] == expected
    assert [(call["name"], call["args"]) for call in total.tool_calls] == expected
    assert [message.tool_calls[place]["id"] for place in (2, 4)] == ["k", "w"]
    assert message.content == total.to_message().content
    assert cast("list[Part]", message.content)[0] == {
        "functionCall": {"name": "plain", "args": {}},
        "thoughtSignature": SIGNATURE,
    }


def test_a_call_that_another_begins_upon_was_cut_off() -> None:
    message, _ = read(piece(name="f"), piece(text("$.id", "A")), piece(name="f"), piece(text("$.id", "B")), END)

    assert [call["name"] for call in message.tool_calls] == ["f", "f"]
    assert [call["id"] for call in message.invalid_tool_calls] == [message.tool_calls[0]["id"]]
    assert message.tool_calls[1]["args"] == {"id": "B"}


def test_pieces_that_bear_the_same_id_and_name_are_one_call() -> None:
    message, _ = read(
        piece(name="f", id="k"), piece(text("$.a", "x"), name="f", id="k"), piece(name="f", id="k", goes_on=False)
    )

    assert [(call["id"], call["args"]) for call in message.tool_calls] == [("k", {"a": "x"})]


def test_a_piece_of_no_call_is_a_call_that_names_no_tool() -> None:
    message, _ = read(piece(text("$.a", "x")), END)

    assert [call["name"] for call in message.tool_calls] == [""]


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(0, 1, width=16) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3) | st.dictionaries(st.text(max_size=3), inner, min_size=1, max_size=3)
    ),
    max_leaves=6,
)
objects = st.dictionaries(st.text(max_size=4), values, max_size=3)


def told(path: str, value: Any) -> Iterator[Part]:
    """The pieces in which a value comes; texts come in two and an end."""
    if is_object(value):
        for key, inner in value.items():
            yield from told(f"{path}[{json.dumps(key)}]", inner)
    elif is_array(value):
        for place, inner in enumerate(value):
            yield from told(f"{path}[{place}]", inner)
    elif isinstance(value, str):
        middle = len(value) // 2
        yield text(path, value[:middle], goes_on=True)
        yield text(path, value[middle:], goes_on=True)
        yield text(path, "")
    else:
        kind = "nullValue" if value is None else "boolValue" if isinstance(value, bool) else "numberValue"
        yield {"jsonPath": path, kind: value}


@given(st.lists(objects, min_size=1, max_size=3), st.sampled_from(["STOP", "MAX_TOKENS", None]), st.data())
def test_a_stream_that_is_cut_anywhere_gives_the_calls_that_had_ended(
    meant: list[Part], reason: str | None, data: st.DataObject
) -> None:
    parts: list[Part] = []
    ends: list[int] = []
    for each in meant:
        parts += [piece(name="f"), *(piece(value) for value in told("$", each)), END]
        ends.append(len(parts))
    length = data.draw(st.integers(0, len(parts)))

    message, total = read(*parts[:length], reason=reason)

    whole = [each for each, end in zip(meant, ends, strict=True) if end <= length]
    for reply in (message, total):
        broken = {call["id"] for call in reply.invalid_tool_calls}
        assert [call["args"] for call in reply.tool_calls if call["id"] not in broken] == whole
        assert len(broken) == (length not in (0, *ends))
