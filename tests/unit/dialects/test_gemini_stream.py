"""A stream of Gemini's is the reply that it would have been as a whole."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support.gemini import SIGNATURE, Part, call, content, reply, written
from surehand.dialects import gemini
from surehand.dialects.gemini import ContentStream
from surehand.messages import AIMessage, AIMessageChunk, HumanMessage

CODE: Part = {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": SIGNATURE}


def chunk(*parts: Part, reason: str | None = None, **fields: Any) -> Part:
    return {**reply(*parts, reason=reason), **fields}


def fed(*chunks: Part) -> tuple[AIMessage, AIMessageChunk]:
    stream, total = ContentStream(), AIMessageChunk()
    for each in chunks:
        if (told := stream.feed(each)) is not None:
            total += told
    return stream.finish(), total


def test_texts_and_thoughts_are_told_as_they_come() -> None:
    stream = ContentStream()
    told = [
        stream.feed(chunk(part)) for part in ({"text": "Hm", "thought": True}, {"text": "Hel"}, {"text": "lo"}, CODE)
    ]

    assert [piece.text for piece in told if piece is not None] == ["", "Hel", "lo"]
    assert told[0] is not None
    assert told[0].additional_kwargs == {"thinking": "Hm"}
    assert told[3] is None
    assert stream.finish().content == [{"text": "Hm", "thought": True}, {"text": "Hello"}, CODE]


def test_signatures_are_in_the_sum_of_the_pieces_too() -> None:
    parts = [{"text": "Hello"}, call("f", x=1, signature=SIGNATURE), {"text": "", "thoughtSignature": SIGNATURE}]

    whole, total = fed(chunk(parts[0]), chunk(parts[1]), chunk(parts[2], reason="STOP"))

    for message in (whole, total.to_message()):
        assert message.content == parts
        assert written(HumanMessage("hi"), message)[1] == content("model", *parts)


def test_the_last_figures_and_facts_hold() -> None:
    usage = {"promptTokenCount": 4}
    whole, total = fed(
        chunk({"text": "a"}, usageMetadata=usage, responseId="r", modelVersion="m"),
        chunk({"text": "b"}, usageMetadata={**usage, "candidatesTokenCount": 2}, responseId="r", modelVersion="m"),
        chunk(reason="STOP", usageMetadata={**usage, "candidatesTokenCount": 3, "thoughtsTokenCount": 1}),
    )

    for message in (whole, total):
        assert message.usage_metadata == {"input_tokens": 4, "output_tokens": 4, "total_tokens": 8}
        assert message.response_metadata == {"id": "r", "model": "m", "finish_reason": "STOP"}
        assert message.text == "ab"


def test_a_stream_without_an_end_has_no_reason_and_keeps_what_came() -> None:
    whole, total = fed(chunk({"text": "a"}), chunk(call("f")))

    for message in (whole, total):
        assert message.finish_reason is None
        assert [(each["name"], each["args"]) for each in message.tool_calls] == [("f", {})]


def test_an_error_in_a_stream_ends_it_with_what_came() -> None:
    parts = [{"text": "a"}, call("f", "id")]

    whole, total = fed(*map(chunk, parts), {"error": {"code": 503, "status": "UNAVAILABLE"}})

    assert total.to_message() == whole
    assert whole.content == parts
    assert whole.finish_reason is None
    assert whole.response_metadata["error"] == {"code": 503, "status": "UNAVAILABLE"}


def test_a_call_that_the_api_refused_at_the_end_of_a_stream_can_be_answered() -> None:
    end = reply({"text": ""}, reason="MALFORMED_FUNCTION_CALL", finishMessage="Malformed function call: add(a=")

    whole, total = fed(chunk({"text": "Let me add."}), end)

    for message in (whole, total):
        assert [each["name"] for each in message.invalid_tool_calls] == ["add"]


def test_the_message_is_the_same_until_something_comes() -> None:
    stream = ContentStream()
    stream.feed(chunk(call("f")))
    first = stream.finish()

    assert stream.finish() is first
    stream.feed(chunk(CODE))
    assert stream.finish().tool_calls == first.tool_calls
    assert stream.finish().content == [*first.content, CODE]


def test_one_of_several_candidates_is_streamed() -> None:
    stream = ContentStream(candidate=1)
    for word in "ab":
        candidates = [{"index": place, "content": content("model", {"text": word * (place + 1)})} for place in (0, 1)]
        stream.feed({"candidates": candidates})

    assert stream.finish().text == "aabb"


def numbered(x: int, signature: str | None) -> Part:
    return call("f", x=x, signature=signature)


words = st.text(max_size=3)
parts: st.SearchStrategy[Part] = st.one_of(
    st.fixed_dictionaries({"text": words}),
    st.fixed_dictionaries({"text": words, "thought": st.just(True)}),
    st.fixed_dictionaries({"text": words, "thoughtSignature": st.just(SIGNATURE)}),
    st.builds(numbered, st.integers(0, 2), st.none() | st.just(SIGNATURE)),
    st.just(CODE),
)


@given(st.lists(parts, max_size=8), st.data())
def test_however_a_stream_is_cut_it_is_the_whole_reply(given_parts: list[Part], data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(given_parts)), max_size=4).map(sorted))
    edges = [0, *cuts, len(given_parts)]
    chunks = [chunk(*given_parts[start:end]) for start, end in pairwise(edges)]

    streamed, total = fed(*chunks, chunk(reason="STOP"))
    whole = gemini.read_reply(reply(*given_parts))

    for message in (streamed, total.to_message()):
        assert message.content == whole.content
        assert message.text == whole.text
        assert [(each["name"], each["args"]) for each in message.tool_calls] == [
            (each["name"], each["args"]) for each in whole.tool_calls
        ]
        assert message.additional_kwargs == whole.additional_kwargs
