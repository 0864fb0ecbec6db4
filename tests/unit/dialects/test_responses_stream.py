"""A streamed response is put together whatever its server leaves out, repeats or contradicts."""

from __future__ import annotations

from typing import Any

import pytest

from surehand.dialects.openai_responses import ResponseStream
from surehand.messages import AIMessage, AIMessageChunk

Event = dict[str, Any]


def event(kind: str, **fields: Any) -> Event:
    return {"type": f"response.{kind}", **fields}


def created(response_id: str = "resp") -> Event:
    return event("created", response={"id": response_id, "model": "m", "status": "in_progress", "output": []})


def ended(*output: Event, status: str = "completed", **fields: Any) -> Event:
    return event(status, response={"id": "resp", "status": status, "output": list(output), **fields})


def call(arguments: str = "", **fields: Any) -> Event:
    item = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": arguments}
    return {**item, "status": "completed", **fields}


def says(text: str) -> Event:
    part: Event = {"type": "output_text", "text": text, "annotations": [{"type": "url_citation"}]}
    return {"type": "message", "id": "msg", "role": "assistant", "status": "completed", "content": [part]}


def delta(text: str, kind: str = "function_call_arguments", **fields: Any) -> Event:
    return event(f"{kind}.delta", output_index=0, item_id="fc", delta=text, **fields)


def added(item: Event) -> Event:
    return event("output_item.added", output_index=0, item=item)


def done(item: Event) -> Event:
    return event("output_item.done", output_index=0, item=item)


def read(*events: Event) -> AIMessage:
    """The message; the sum of its chunks is checked to say the same."""
    stream, total = ResponseStream(), AIMessageChunk()
    for entry in events:
        chunk = stream.feed(entry)
        total = total if chunk is None else total + chunk
    message = stream.finish()
    assert valid(total.to_message()) == valid(message)
    return message


def valid(message: AIMessage) -> list[tuple[str, Any]]:
    broken = [entry["id"] for entry in message.invalid_tool_calls]
    return [(entry["id"], entry["args"]) for entry in message.tool_calls if entry["id"] not in broken]


def test_ends_that_say_what_the_deltas_said_in_other_words_are_the_same_call() -> None:
    assert valid(read(added(call()), delta('{"a":1}'), done(call('{"a": 1}')), ended())) == [("c", {"a": 1})]


def test_a_call_whose_end_contradicts_its_deltas_cannot_run() -> None:
    message = read(added(call()), delta('{"a": 1}'), done(call('{"a": 2}')), ended(call('{"a": 2}')))

    assert [entry["id"] for entry in message.invalid_tool_calls] == ["c"]


def test_a_custom_call_whose_end_contradicts_its_deltas_cannot_run() -> None:
    item = {"type": "custom_tool_call", "id": "fc", "call_id": "q", "name": "sql", "input": ""}
    message = read(added(item), delta("DROP", "custom_tool_call_input"), done({**item, "input": "SELECT"}), ended())

    assert [entry["id"] for entry in message.invalid_tool_calls] == ["q"]


@pytest.mark.parametrize("status", ["incomplete", "failed", "cancelled"])
def test_a_call_that_was_still_being_sent_at_a_bad_end_cannot_run(status: str) -> None:
    for events in (
        [added(call())],
        [added(call()), delta('{"a": 1}')],
        [added(call()), done(call("", status="incomplete"))],
    ):
        message = read(created(), *events, ended(status=status, incomplete_details={"reason": "max_output_tokens"}))

        assert [entry["id"] for entry in message.invalid_tool_calls] == ["c"]


def test_a_call_that_was_done_before_a_bad_end_is_whole_and_the_reply_says_why_it_ended() -> None:
    message = read(
        added(call()),
        done(call('{"a": 1}')),
        ended(status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
    )

    assert valid(message) == [("c", {"a": 1})]
    assert message.finish_reason == "length"


def test_a_stream_that_breaks_off_has_no_finish_reason() -> None:
    message = read(created(), added(call()), delta('{"a":'))

    assert message.finish_reason is None
    assert [entry["args"] for entry in message.invalid_tool_calls] == ['{"a":']
    assert read(created(), added(call())).invalid_tool_calls != []


@pytest.mark.parametrize("kind", ["completed", "done"])
@pytest.mark.parametrize("status", ["completed", "in_progress", "queued", "stop", "tool_calls", "success", None])
def test_an_end_is_one_whatever_a_gateway_calls_it_and_puts_in_the_place_of_the_status(
    kind: str, status: str | None
) -> None:
    end = event(kind, response={"id": "resp", "status": status, "output": []})
    message = read(created(), added(call()), delta('{"a": 1}'), end)

    assert (valid(message), message.is_cut_off) == ([("c", {"a": 1})], False)
    assert message.finish_reason in ("stop", "tool_calls")


def test_a_status_that_names_a_limit_is_one_after_any_end() -> None:
    message = read(created(), added(call()), delta("{"), event("completed", response={"status": "length"}))

    assert (message.finish_reason, message.is_cut_off) == ("length", True)


def test_an_error_inside_the_stream_is_kept() -> None:
    message = read(created(), {"type": "error", "code": "server_error", "message": "overloaded", "param": None})

    assert message.response_metadata["error"]["message"] == "overloaded"
    assert message.finish_reason is None


def test_a_retry_that_was_spliced_in_voids_what_came_before() -> None:
    first = [created("one"), added(call()), delta('{"a": 1')]
    second = [created("two"), added(call()), done(call('{"a": 2}')), ended(call('{"a": 2}'))]

    assert valid(read(*first, *second)) == [("c", {"a": 2})]


def test_a_start_that_is_told_twice_is_one() -> None:
    events = [
        created(),
        added(call()),
        event("in_progress", response={"id": "resp"}),
        created(),
        done(call('{"a": 1}')),
    ]

    assert valid(read(*events, ended())) == [("c", {"a": 1})]


def test_texts_are_told_as_they_come_and_what_deltas_left_out_in_the_end() -> None:
    item: Event = {**says(""), "content": []}
    stream = ResponseStream()
    events = [
        added(item),
        event("output_text.delta", output_index=0, item_id="msg", content_index=0, delta="so "),
        done(says("so be it")),
        ended(says("so be it")),
    ]
    chunks = [chunk for entry in events if (chunk := stream.feed(entry)) is not None]

    assert [chunk.text for chunk in chunks if chunk.text] == ["so ", "be it"]
    assert stream.finish().content == chunks[-1].whole_content == [says("so be it")]


def test_thoughts_and_refusals_are_told_beside_the_text() -> None:
    stream = ResponseStream()
    thought = stream.feed(
        event("reasoning_summary_text.delta", output_index=0, item_id="rs", summary_index=0, delta="hm")
    )
    refusal = stream.feed(event("refusal.delta", output_index=1, item_id="msg", content_index=0, delta="no"))

    assert thought is not None
    assert refusal is not None
    assert (thought.additional_kwargs, refusal.additional_kwargs) == ({"reasoning_content": "hm"}, {"refusal": "no"})


def test_arguments_of_calls_that_the_provider_runs_are_nobodys() -> None:
    item: Event = {"type": "web_search_call", "id": "fc", "status": "in_progress"}
    message = read(added(item), delta('{"query": "x"}'), done({**item, "status": "completed"}), ended())

    assert message.tool_calls == []


def test_deltas_may_name_their_call_instead_of_their_item() -> None:
    items = [call(id=f"fc_{name}", call_id=name, status="in_progress") for name in "ab"]
    deltas = [
        event("function_call_arguments.delta", call_id=name, delta=text) for text in ('{"x"', ": 1}") for name in "ab"
    ]

    message = read(*(event("output_item.added", item=item) for item in items), *deltas, event("completed", response={}))

    assert [(each["id"], each["args"]) for each in message.tool_calls] == [("a", {"x": 1}), ("b", {"x": 1})]


def test_a_message_that_began_with_its_text_has_no_empty_fields() -> None:
    message = read(event("output_text.delta", delta="Hm"), event("reasoning_summary_text.delta", delta="So"))

    assert message.text == "Hm"
    assert all(None not in block.values() for block in message.content if isinstance(block, dict))


def test_a_response_without_items_of_its_own_is_read_from_its_end() -> None:
    assert valid(read(created(), ended(call('{"a": 1}'), call("{}", id="fc2", call_id="d")))) == [
        ("c", {"a": 1}),
        ("d", {}),
    ]


def test_a_server_that_numbers_every_event_alike_loses_none() -> None:
    events = [
        created(),
        added(call()),
        delta("{"),
        delta('"a": 1'),
        delta("}"),
        delta(""),
        done(call('{"a": 1}')),
        ended(),
    ]

    assert valid(read(*({**entry, "sequence_number": 0} for entry in events))) == [("c", {"a": 1})]


def test_what_is_no_event_adds_nothing() -> None:
    stream = ResponseStream()

    for entry in ({}, {"type": 5}, {"type": "response.output_item.added"}, delta("x"), {"type": "keepalive"}):
        stream.feed(entry)
    assert stream.finish().tool_calls == []
