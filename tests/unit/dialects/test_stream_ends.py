"""Of a stream that ends too early nothing runs, and of one that comes again everything runs once."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import pytest

from support.data import committed_data, full_data, read_lines
from support.recordings import APIS
from surehand import AIMessage, AIMessageChunk, ToolNode, tool
from surehand.dialects import anthropic_messages, bedrock_converse, cohere_chat, gemini, openai_chat
from surehand.outcomes import FailureKind
from surehand.shapes import items_of, mapping_of

Frame = dict[str, Any]
FOLDERS: Final = [folder / "provider_recordings" for folder in (committed_data(), full_data()) if folder is not None]
BY_FOLDER: Final = pytest.mark.parametrize("folder", FOLDERS, ids=["committed", "full"][: len(FOLDERS)])


def recorded(folder: Any) -> Iterator[tuple[str, str, list[Any]]]:
    """Where a stream was recorded, its interface and its frames; those of several replies at once are left out."""
    for record in read_lines(folder / "streams.jsonl"):
        frames = [event["data"] for event in record["events"]]
        choices = [choice for frame in frames for choice in items_of(mapping_of(frame).get("choices"))]
        if not any(mapping_of(choice).get("index") for choice in choices):
            yield record["source"], record["api"], frames


@cache
def kind_of(api: str) -> Any:
    module = importlib.import_module(f"surehand.dialects.{APIS[api]}")
    return next(getattr(module, name) for name in module.__all__ if name.endswith("Stream"))


def fed(stream: Any, frames: list[Any]) -> AIMessageChunk:
    total = AIMessageChunk()
    for frame in frames:
        piece = stream.feed(frame)
        total = total if piece is None else total + piece
    return total


def told(message: AIMessage, *, with_ids: bool = True) -> list[Any]:
    return [(call["id"] if with_ids else None, call["name"], call["args"]) for call in message.tool_calls]


def runnable(message: AIMessage) -> list[Any]:
    """The calls that a node would run."""
    invalid = {call["id"] for call in message.invalid_tool_calls}
    calls = [] if message.is_cut_off else message.tool_calls
    return [(call["name"], call["args"]) for call in calls if call["id"] not in invalid]


@BY_FOLDER
def test_no_recorded_stream_is_taken_for_one_that_was_cut_off(folder: Any) -> None:
    for source, api, frames in recorded(folder):
        stream = kind_of(api)()
        fed(stream, frames)

        assert stream.is_finished, source
        assert stream.finish().is_cut_off == (stream.finish().finish_reason in ("length", "content_filter")), source


@BY_FOLDER
def test_wherever_a_recorded_stream_is_cut_nothing_runs_that_would_not_have_run(folder: Any) -> None:
    for source, api, frames in recorded(folder):
        stream, whole = kind_of(api)(), kind_of(api)()
        fed(whole, frames)
        meant = runnable(whole.finish())
        for place, frame in enumerate(frames):
            stream.feed(frame)
            if place % 7 == 0 or len(frames) < 60 or stream.is_finished:
                assert all(call in meant for call in runnable(stream.finish())), (source, place)
                assert stream.finish().is_cut_off or stream.is_finished, (source, place)


@BY_FOLDER
def test_a_recorded_stream_that_comes_twice_is_the_reply_once(folder: Any) -> None:
    for source, api, frames in recorded(folder):
        once, twice = kind_of(api)(), kind_of(api)()
        chunks = fed(once, frames), fed(twice, [*frames, *frames])

        for first, second in ((once.finish(), twice.finish()), chunks):
            with_ids = api != "gemini.generateContent"  # which has none, so that each reading makes its own
            assert told(second, with_ids=with_ids) == told(first, with_ids=with_ids), source
            assert (second.text, second.finish_reason) == (first.text, first.finish_reason), source


@BY_FOLDER
def test_a_recorded_stream_that_begins_again_after_its_end_and_breaks_off_is_still_the_reply(folder: Any) -> None:
    for source, api, frames in recorded(folder):
        once, more = kind_of(api)(), kind_of(api)()
        fed(once, frames)
        fed(more, [*frames, *frames[: len(frames) // 2]])

        assert runnable(more.finish()) == runnable(once.finish()), source
        assert more.finish().text == once.finish().text, source


def chat(finish_reason: str | None = None, **delta: Any) -> Frame:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


CALL: Final = {"index": 0, "id": "a", "function": {"name": "add", "arguments": '{"a": 1}'}}


def test_a_node_answers_the_calls_of_a_stream_that_was_cut_off_and_runs_none() -> None:
    done: list[int] = []

    @tool
    def add(a: int) -> str:
        """Add."""
        done.append(a)
        return "done"

    stream = openai_chat.ChatStream()
    stream.feed(chat(tool_calls=[CALL]))
    (answer,) = ToolNode([add]).invoke([stream.finish()])

    assert done == []
    assert answer.outcome.kind is FailureKind.TRUNCATED
    assert answer.content == (
        "Your reply was cut off by a failure on its way, so none of its calls was executed. Send the call again."
    )

    stream.feed(chat("tool_calls"))
    assert ToolNode([add]).invoke([stream.finish()])[0].content == "done"


def test_the_last_frame_of_a_server_that_gives_no_reason_ends_its_reply() -> None:
    stream = openai_chat.ChatStream()
    stream.feed(chat(tool_calls=[CALL]))
    assert stream.finish().is_cut_off

    piece = stream.feed("[DONE]")

    assert stream.is_finished
    assert piece is not None
    assert not piece.is_cut_off
    assert (stream.finish().finish_reason, runnable(stream.finish())) == ("stop", [("add", {"a": 1})])


def test_the_last_frame_changes_no_reason_that_was_given() -> None:
    stream = openai_chat.ChatStream()
    stream.feed(chat("length", tool_calls=[CALL]))

    assert stream.feed("[DONE]") is None
    assert stream.finish().finish_reason == "length"


def test_a_free_form_text_ends_with_the_last_frame() -> None:
    stream = openai_chat.ChatStream()
    stream.feed(chat(tool_calls=[{"index": 0, "id": "a", "custom": {"name": "sql", "input": "select 1"}}]))
    stream.feed("[DONE]")

    assert runnable(stream.finish()) == [("sql", {"input": "select 1"})]


def test_a_frame_that_is_equal_to_the_first_one_is_no_repetition() -> None:
    frames = [
        chat("stop", content=text) for text in ("ha", " so ", "ha", "?")
    ]  # each with a reason, as a few servers do
    stream = openai_chat.ChatStream()
    total = fed(stream, frames)

    assert stream.finish().text == total.text == "ha so ha?"


def test_the_last_of_many_ends_is_told_though_it_is_equal_to_the_first() -> None:
    stream = openai_chat.ChatStream()
    total = fed(stream, [chat("stop", content=text) for text in ("1", " and 0 is ", "1")])

    assert stream.finish().text == total.text == "1 and 0 is 1"


@pytest.mark.parametrize("number", [None, 0])
def test_a_choice_without_a_number_is_the_first(number: int | None) -> None:
    stream = openai_chat.ChatStream()
    for reason, delta in ((None, {"tool_calls": [CALL]}), ("tool_calls", {})):
        stream.feed({"choices": [{"index": number, "delta": delta, "finish_reason": reason}]})

    assert runnable(stream.finish()) == [("add", {"a": 1})]


def test_words_that_are_repeated_are_no_repetition_of_the_stream() -> None:
    frames = [chat(content=text) for text in ("ha", " ha", "ha", " ha")]
    stream = openai_chat.ChatStream()
    total = fed(stream, [*frames, chat("stop")])

    assert stream.finish().text == total.text == "ha haha ha"


def test_two_calls_that_are_alike_are_two_calls() -> None:
    stream = gemini.ContentStream()
    fed(stream, [parts(GEMINIS_CALL), parts(GEMINIS_CALL), parts(reason="STOP")])

    assert runnable(stream.finish()) == [("add", {"a": 1})] * 2


def block(number: int, call_id: str) -> list[Frame]:
    start: Frame = {"type": "tool_use", "id": call_id, "name": "add", "input": {}}
    return [{"type": "content_block_start", "index": number, "content_block": start}]


def test_a_second_message_in_one_stream_of_anthropics_has_an_end_of_its_own() -> None:
    first: list[Frame] = [
        {"type": "message_start", "message": {"id": "m1"}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]
    stream = anthropic_messages.MessageStream()
    total = fed(stream, [*first, {"type": "message_start", "message": {"id": "m2"}}, *block(0, "a")])

    assert not stream.is_finished
    assert runnable(stream.finish()) == []
    assert total.to_message().invalid_tool_calls
    assert total.finish_reason is None


def test_a_message_of_anthropics_that_stops_without_a_reason_has_ended() -> None:
    stream = anthropic_messages.MessageStream()
    fed(stream, [{"type": "message_start", "message": {"id": "m1"}}, *block(0, "a"), {"type": "message_stop"}])

    assert runnable(stream.finish()) == [("add", {})]


def parts(*given: Frame, reason: str | None = None, reply: str = "r") -> Frame:
    return {"responseId": reply, "candidates": [{"content": {"parts": list(given)}, "finishReason": reason}]}


GEMINIS_CALL: Final = {"functionCall": {"name": "add", "args": {"a": 1}}}


def test_a_reply_of_geminis_that_goes_on_after_a_reason_has_not_ended() -> None:
    stream = gemini.ContentStream()
    fed(stream, [parts({"executableCode": {"code": "1"}}, reason="STOP"), parts(GEMINIS_CALL)])

    assert runnable(stream.finish()) == []
    stream.feed(parts(reason="STOP"))
    assert runnable(stream.finish()) == [("add", {"a": 1})]


def test_another_reply_of_geminis_voids_the_one_that_broke_off() -> None:
    stream = gemini.ContentStream()
    begun = [parts({"text": "so "}), parts(GEMINIS_CALL)]
    total = fed(stream, [*begun, parts(GEMINIS_CALL, reply="again"), parts(reason="STOP", reply="again")])

    for message in (stream.finish(), total.to_message()):
        assert runnable(message) == [("add", {"a": 1})]
        assert message.text == ""
        assert message.response_metadata["id"] == "again"


def test_another_reply_in_a_history_of_geminis_is_another_message() -> None:
    read = gemini.read_messages([parts({"text": "so"}), parts({"text": " far"}), parts({"text": "again"}, reply="s")])

    assert [message.text for message in read] == ["so far", "again"]
    assert not any(message.is_cut_off for message in read if isinstance(message, AIMessage))


def test_what_a_model_said_in_a_history_is_not_taken_for_cut_off() -> None:
    (said,) = gemini.read_messages([{"role": "model", "parts": [GEMINIS_CALL]}])

    assert isinstance(said, AIMessage)
    assert runnable(said) == [("add", {"a": 1})]
    assert runnable(gemini.read_reply(parts(GEMINIS_CALL))) == [("add", {"a": 1})]


def test_a_start_of_coheres_before_an_end_voids_what_came() -> None:
    start: Frame = {"type": "message-start", "id": "r"}
    entry = {"id": "a", "function": {"name": "add", "arguments": '{"a": 1}'}}
    called: Frame = {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": entry}}}
    stream = cohere_chat.CohereStream()
    total = fed(stream, [start, called, start, called, {"type": "message-end", "delta": {}}])

    for message in (stream.finish(), total.to_message()):
        assert told(message) == [("a", "add", {"a": 1})]
        assert not message.is_cut_off


def test_a_failure_in_a_stream_keeps_its_calls_from_running() -> None:
    started = {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "a", "name": "add"}}}
    given = {"contentBlockIndex": 0, "delta": {"toolUse": {"input": '{"a": 1}'}}}
    stream = bedrock_converse.ConverseStream()
    fed(stream, [{"contentBlockStart": started}, {"contentBlockDelta": given}, {"internalServerException": {}}])

    assert told(stream.finish()) == [("a", "add", {"a": 1})]
    assert runnable(stream.finish()) == []
