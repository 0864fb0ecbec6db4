"""Anthropic's Messages are read whole and written so that they are accepted."""

from __future__ import annotations

from typing import Any

import pytest

from surehand.dialects import anthropic_messages
from surehand.errors import InputError
from surehand.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    Message,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    check_transcript,
)

Block = dict[str, Any]


def use(call_id: str, name: str = "f", **args: Any) -> Block:
    return {"type": "tool_use", "id": call_id, "name": name, "input": args}


def text(words: str) -> Block:
    return {"type": "text", "text": words}


def calls(*ids: str) -> AIMessage:
    return AIMessage(tool_calls=[{"id": call_id, "name": "f", "args": {}} for call_id in ids])


def written(*messages: Message) -> list[Block]:
    return anthropic_messages.write_messages(messages)[1]


def fed(*events: Block) -> anthropic_messages.MessageStream:
    stream = anthropic_messages.MessageStream()
    for event in events:
        stream.feed(event)
    return stream


def start(index: int, block: Block) -> Block:
    return {"type": "content_block_start", "index": index, "content_block": block}


def piece(index: int, kind: str, value: Any) -> Block:
    key = {"text_delta": "text", "input_json_delta": "partial_json", "thinking_delta": "thinking"}.get(
        kind, "signature"
    )
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, key: value}}


def end(reason: str | None, **usage: int) -> Block:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


BEGIN: Block = {
    "type": "message_start",
    "message": {"id": "msg", "model": "m", "usage": {"input_tokens": 9, "output_tokens": 1}},
}


def test_reply_is_read_with_all_it_holds() -> None:
    content: list[Any] = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        text("Let me look."),
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}},
        {"type": "mcp_tool_use", "id": "m", "name": "far", "input": {}, "server_name": "y"},
        use("a", x=1),
    ]
    usage = {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 10, "cache_creation_input_tokens": None}

    message = anthropic_messages.read_reply(
        {"id": "msg", "model": "m", "role": "assistant", "content": content, "stop_reason": "tool_use", "usage": usage}
    )

    assert message == AIMessage(
        content,
        tool_calls=[{"id": "a", "name": "f", "args": {"x": 1}}],
        response_metadata={"id": "msg", "model": "m", "stop_reason": "tool_use"},
        usage_metadata={"input_tokens": 15, "output_tokens": 7, "total_tokens": 22},
    )
    assert message.finish_reason == "tool_calls"


def test_one_plain_text_is_the_content() -> None:
    assert anthropic_messages.read_reply({"content": [text("hi")]}).content == "hi"
    assert anthropic_messages.read_reply({"content": []}).content == ""


def test_text_with_citations_stays_a_block() -> None:
    block = {**text("hi"), "citations": [{"url": "x"}]}

    assert anthropic_messages.read_reply({"content": [block]}).content == [block]


@pytest.mark.parametrize("payload", [{}, {"type": "error", "error": {}}, {"content": "x"}])
def test_payload_without_content_is_refused(payload: Block) -> None:
    with pytest.raises(InputError, match="Expected a message with a list of content blocks"):
        anthropic_messages.read_reply(payload)


def test_user_and_assistant_alternate_and_answers_come_first() -> None:
    system, messages = anthropic_messages.write_messages(
        [
            SystemMessage("s"),
            HumanMessage("a"),
            HumanMessage("b"),
            calls("1", "2"),
            ToolMessage("4", tool_call_id="1"),
            HumanMessage("c"),
            ToolMessage("no", tool_call_id="2", status="error"),
        ]
    )

    assert system == "s"
    assert messages == [
        {"role": "user", "content": [text("a"), text("b")]},
        {"role": "assistant", "content": [use("1"), use("2")]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": "4"},
                {"type": "tool_result", "tool_use_id": "2", "content": "no", "is_error": True},
                text("c"),
            ],
        },
    ]


def test_blocks_are_written_as_they_were_read() -> None:
    content: list[Any] = [{"type": "thinking", "thinking": "hm", "signature": "s"}, text("x"), use("a", x=1), use("b")]
    message = anthropic_messages.read_reply({"content": content})

    assert written(HumanMessage("hi"), message)[1]["content"] == content


def test_what_else_a_call_block_holds_is_sent_back() -> None:
    block = {**use("a"), "caller": {"type": "direct"}, "cache_control": {"type": "ephemeral"}}
    message = anthropic_messages.read_reply({"content": [block]})

    assert written(HumanMessage("hi"), message)[1]["content"] == [block]


def test_what_an_sdk_adds_to_a_text_is_not_sent_back() -> None:
    parsed = {**text('{"a": 1}'), "parsed_output": {"a": 1}}
    (message,) = anthropic_messages.read_messages([{"role": "assistant", "content": [parsed, use("a")]}])

    assert written(message)[1]["content"] == [text('{"a": 1}'), use("a")]


def test_images_of_an_answer_are_written_in_this_form() -> None:
    image: Block = {"type": "image", "data": "aGk=", "mimeType": "image/jpeg"}
    results = written(HumanMessage("hi"), calls("a"), ToolMessage([image], tool_call_id="a"))[2]["content"]

    assert results[0]["content"] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "aGk="}}
    ]


def test_calls_of_blocks_with_one_id_get_ids_of_their_own() -> None:
    message = anthropic_messages.read_reply({"content": [use("a"), use("a")]})

    blocks = written(HumanMessage("hi"), message)[1]["content"]

    assert [block["id"] for block in blocks] == [call["id"] for call in message.tool_calls]


def test_block_of_a_call_that_the_message_does_not_make_is_left_out() -> None:
    message = AIMessage(
        [text("x"), use("gone")], tool_calls=[{"id": "a", "name": "f", "args": {}}, {"id": "b", "name": "f"}]
    )

    assert written(HumanMessage("hi"), message)[1]["content"] == [text("x"), use("a"), use("b")]


def test_unreadable_arguments_become_an_object() -> None:
    message = AIMessage(tool_calls=[{"id": "a", "name": "f", "args": "{a}{b}"}])

    assert written(HumanMessage("hi"), message)[1]["content"] == [use("a", _raw="{a}{b}")]


def test_unanswered_call_is_closed_before_the_user_goes_on() -> None:
    results = written(HumanMessage("hi"), calls("a"), HumanMessage("go on"))[2]["content"]

    assert [block["type"] for block in results] == ["tool_result", "text"]
    assert results[0]["is_error"] is True


def test_empty_texts_are_left_out_or_replaced() -> None:
    messages = written(HumanMessage(" \n"), AIMessage([text(""), text("x")]), HumanMessage(""), AIMessage(""))

    assert [message["content"] for message in messages] == [
        [text("(no output)")],
        [text("x")],
        [text("(no output)")],
        [text("(no output)")],
    ]


@pytest.mark.parametrize("content", ["", "  ", [], [text("")]])
def test_empty_answers_are_replaced(content: Any) -> None:
    results = written(HumanMessage("hi"), calls("a"), ToolMessage(content, tool_call_id="a"))[2]["content"]

    assert results[0]["content"] == "(no output)"


def test_conversation_that_was_cut_still_starts_with_the_user() -> None:
    messages = written(AIMessage("x"), HumanMessage("y"))

    assert [message["role"] for message in messages] == ["user", "assistant", "user"]


def test_last_words_of_the_assistant_end_without_blanks() -> None:
    assert written(HumanMessage("hi"), AIMessage("So: \n"))[1]["content"] == [text("So:")]


def test_several_system_messages_are_one_prompt() -> None:
    blocks: list[Any] = [{**text("b"), "cache_control": {"type": "ephemeral"}}]

    assert anthropic_messages.write_messages([SystemMessage("a"), SystemMessage("b")])[0] == "a\n\nb"
    assert anthropic_messages.write_messages([SystemMessage("a"), SystemMessage(blocks)])[0] == [text("a"), *blocks]
    assert anthropic_messages.write_messages([HumanMessage("x")])[0] is None


def test_ids_and_names_are_made_acceptable() -> None:
    message = AIMessage(tool_calls=[{"id": "a b", "name": "my tool", "args": {}}])

    (block,) = written(HumanMessage("hi"), message)[1]["content"]

    assert block["name"] == "my_tool"
    assert block["id"].startswith("call_")


def test_lone_surrogates_are_replaced() -> None:
    assert written(HumanMessage("a\ud800"))[0]["content"] == [text("a\ufffd")]


def test_message_that_asks_for_removal_is_refused() -> None:
    with pytest.raises(InputError, match="Apply RemoveMessage with add_messages"):
        written(RemoveMessage(id="m"))


def test_answers_are_one_user_message() -> None:
    answers = [ToolMessage("4", tool_call_id="a b"), ToolMessage("no", tool_call_id="c", status="error")]

    assert anthropic_messages.write_answers(answers) == [
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a b", "content": "4"},
                {"type": "tool_result", "tool_use_id": "c", "content": "no", "is_error": True},
            ],
        }
    ]
    assert anthropic_messages.write_answers([]) == []


ONE_ID: Block = {"role": "assistant", "content": [use("a", "f"), use("a", "g")]}


@pytest.mark.parametrize("said", [ONE_ID, {**ONE_ID, "type": "message", "stop_reason": "tool_use"}])
def test_answers_to_calls_of_one_id_bear_it_and_are_found_again(said: Block) -> None:
    (message,) = anthropic_messages.read_messages([said])
    assert isinstance(message, AIMessage)
    results = [ToolMessage(call["name"], tool_call_id=call["id"]) for call in message.tool_calls]

    (answer,) = anthropic_messages.write_answers(results, [HumanMessage("hi"), said])

    assert [block["tool_use_id"] for block in answer["content"]] == ["a", "a"]
    read = anthropic_messages.read_messages([said, answer])
    assert check_transcript(read) == []
    assert [each.text for each in read[1:]] == ["f", "g"]


def test_stream_is_assembled() -> None:
    stream = fed(
        BEGIN,
        start(0, {"type": "thinking", "thinking": "", "signature": ""}),
        piece(0, "thinking_delta", "hm"),
        piece(0, "signature_delta", "s"),
        start(1, text("")),
        piece(1, "text_delta", "Let me "),
        piece(1, "text_delta", "look."),
        start(2, {**use("a"), "input": {}}),
        piece(2, "input_json_delta", ""),
        piece(2, "input_json_delta", '{"x"'),
        piece(2, "input_json_delta", ": 1}"),
        start(3, {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
        piece(3, "input_json_delta", '{"query": "q"}'),
        end("tool_use", output_tokens=20),
        {"type": "message_stop"},
    )

    assert stream.finish() == AIMessage(
        [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            text("Let me look."),
            use("a", x=1),
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
        ],
        tool_calls=[{"id": "a", "name": "f", "args": {"x": 1}}],
        additional_kwargs={"thinking": "hm"},
        response_metadata={"id": "msg", "model": "m", "stop_reason": "tool_use"},
        usage_metadata={"input_tokens": 9, "output_tokens": 20, "total_tokens": 29},
    )


@pytest.mark.parametrize("deltas", [[], [piece(0, "input_json_delta", "")]])
def test_call_without_arguments_streams(deltas: list[Block]) -> None:
    message = fed(BEGIN, start(0, {**use("a"), "input": {}}), *deltas, end("tool_use")).finish()

    assert message.tool_calls[0]["args"] == {}
    assert message.invalid_tool_calls == []


def test_arguments_may_stand_in_the_start() -> None:
    assert fed(BEGIN, start(0, use("a", x=1)), end("tool_use")).finish().tool_calls[0]["args"] == {"x": 1}


def test_stream_that_broke_off_has_an_invalid_call() -> None:
    message = fed(BEGIN, start(0, {**use("a"), "input": {}}), piece(0, "input_json_delta", '{"x"')).finish()

    assert message.finish_reason is None
    assert message.tool_calls[0]["args"] == '{"x"'
    assert len(message.invalid_tool_calls) == 1


def test_retry_in_the_middle_of_a_stream_voids_what_came_before() -> None:
    stream = fed(BEGIN, start(0, {**use("a"), "input": {}}), piece(0, "input_json_delta", '{"x"'))
    for event in [BEGIN, start(0, {**use("b"), "input": {}}), end("tool_use"), {"type": "message_stop"}]:
        stream.feed(event)

    assert [call["id"] for call in stream.finish().tool_calls] == ["b"]


def test_message_after_a_stop_goes_on() -> None:
    first = [BEGIN, start(0, text("a")), {"type": "message_stop"}]
    second = [BEGIN, start(0, use("b", x=1)), end("tool_use"), {"type": "message_stop"}]

    message = fed(*first, *second).finish()

    assert message.content == [text("a"), use("b", x=1)]
    assert len(message.tool_calls) == 1


@pytest.mark.parametrize("number", [0, None])
def test_servers_may_give_every_block_one_number(number: int | None) -> None:
    events: list[Block] = [BEGIN]
    for block, *deltas in [
        (text(""), {"type": "text_delta", "text": "Both."}),
        (use("a"), {"type": "input_json_delta", "partial_json": '{"x": 1}'}),
        (use("b"), {"type": "input_json_delta", "partial_json": '{"x": 2}'}),
    ]:
        events.append({"type": "content_block_start", "index": number, "content_block": block})
        events += [{"type": "content_block_delta", "index": number, "delta": each} for each in deltas]

    message = fed(*events, end("tool_use")).finish()

    assert message.content == [text("Both."), use("a", x=1), use("b", x=2)]
    assert [call["args"] for call in message.tool_calls] == [{"x": 1}, {"x": 2}]


def test_servers_may_leave_out_where_a_text_starts() -> None:
    message = fed(BEGIN, piece(0, "thinking_delta", "Hm"), piece(1, "text_delta", "So."), end("end_turn")).finish()

    assert message.content == [{"type": "thinking", "thinking": "Hm"}, text("So.")]


@pytest.mark.parametrize(
    ("block", "delta"),
    [
        ({"type": "compaction", "content": None}, {"type": "compaction_delta", "content": "A sum."}),
        ({"type": "block_of_tomorrow", "content": ""}, {"type": "delta_of_tomorrow", "content": "A sum.", "size": 5}),
    ],
)
def test_blocks_of_every_kind_grow(block: Block, delta: Block) -> None:
    message = fed(BEGIN, start(0, block), {"type": "content_block_delta", "index": 0, "delta": delta}).finish()

    assert message.content == [{**block, "content": "A sum."}]


def test_finish_is_idempotent() -> None:
    stream = fed(BEGIN, start(0, {"type": "tool_use", "name": "f", "input": {}}), end("tool_use"))

    assert stream.finish() is stream.finish()


def test_stream_that_an_error_ended_adds_up_to_what_came() -> None:
    stream, total = anthropic_messages.MessageStream(), AIMessageChunk()
    thought = start(0, {"type": "thinking", "thinking": "Hm", "signature": "s"})
    for event in [BEGIN, thought, start(1, use("a", x=1)), {"type": "error", "error": {"type": "overloaded_error"}}]:
        chunk = stream.feed(event)
        total = total if chunk is None else total + chunk

    assert total.to_message() == stream.finish()


def test_error_event_is_kept() -> None:
    message = fed(BEGIN, {"type": "error", "error": {"type": "overloaded_error"}}).finish()

    assert message.response_metadata["error"] == {"type": "overloaded_error"}
    assert message.finish_reason is None


def test_citations_are_collected() -> None:
    citation = {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "citations_delta", "citation": {"url": "x"}},
    }

    message = fed(BEGIN, start(0, text("")), piece(0, "text_delta", "a"), citation).finish()

    assert message.content == [{**text("a"), "citations": [{"url": "x"}]}]


@pytest.mark.parametrize(
    "junk",
    [{}, {"type": "ping"}, {"type": "content_block_delta", "index": 7, "delta": {}}, {"type": "new", "index": 0}],
)
def test_events_that_nobody_knows_change_nothing(junk: Block) -> None:
    stream = anthropic_messages.MessageStream()

    assert stream.feed(junk) is None
    assert stream.finish().replace(response_metadata={}) == AIMessage("")


def test_thoughts_of_a_streamed_reply_are_in_the_sum_of_its_pieces_with_their_signature() -> None:
    events: list[Block] = [
        BEGIN,
        start(0, {"type": "thinking", "thinking": ""}),
        piece(0, "thinking_delta", "hm"),
        piece(0, "signature_delta", "signed"),
        start(1, use("c1")),
        end("tool_use"),
        {"type": "message_stop"},
    ]
    stream = anthropic_messages.MessageStream()
    first, *rest = [chunk for event in events if (chunk := stream.feed(event)) is not None]
    total = first
    for chunk in rest:
        total += chunk

    assert total.to_message().content == stream.finish().content
    assert total.to_message().content[0] == {"type": "thinking", "thinking": "hm", "signature": "signed"}


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "hm"},
        {"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "thinking", "thinking": [text("hm")], "signature": "s"},
        {"type": "image", "base64": "aGk=", "mime_type": "image/png"},
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
        {"type": "container_upload", "file_id": "file_1"},
    ],
)
def test_what_the_provider_takes_from_no_model_is_left_out_of_what_one_said(block: Block) -> None:
    [_, said, _] = written(HumanMessage("hi"), AIMessage([block, text("so")]), HumanMessage("go on"))

    assert said["content"] == [text("so")]


@pytest.mark.parametrize(
    "thought", [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "redacted_thinking", "data": "x"}]
)
def test_a_thought_that_led_to_nothing_is_not_sent(thought: Block) -> None:
    [_, said, _] = written(HumanMessage("hi"), AIMessage([thought]), HumanMessage("go on"))

    assert said["content"] == [text("(no output)")]


def test_citations_of_another_provider_are_not_sent() -> None:
    cited = {**text("so"), "citations": [{"location": {"web": {"url": "https://x"}}}]}
    own = {**text("so"), "citations": [{"type": "char_location", "cited_text": "s"}]}
    [_, said, _] = written(HumanMessage("hi"), AIMessage([cited, own]), HumanMessage("go on"))

    assert said["content"] == [text("so"), own]


SEARCH: Block = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND: Block = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


def test_a_search_that_was_never_answered_is_left_out_once_the_user_goes_on() -> None:
    asked, paused = HumanMessage("hi"), AIMessage([text("so"), SEARCH])

    assert written(asked, paused)[1]["content"] == [text("so"), SEARCH]
    assert written(asked, paused, AIMessage([FOUND]), HumanMessage("go on"))[1]["content"] == [
        text("so"),
        SEARCH,
        FOUND,
    ]
    assert written(asked, paused, HumanMessage("go on"))[1]["content"] == [text("so")]


def test_a_search_stays_open_while_our_calls_beside_it_are_answered() -> None:
    said = AIMessage([SEARCH, use("c1")], tool_calls=[{"id": "c1", "name": "f", "args": {}, "type": "tool_call"}])
    answer = ToolMessage("done", tool_call_id="c1")

    assert written(HumanMessage("hi"), said, answer)[1]["content"] == [SEARCH, use("c1")]
    assert written(HumanMessage("hi"), said, answer, HumanMessage("go on"))[1]["content"] == [use("c1")]


def test_an_error_is_told_in_texts_alone() -> None:
    image: Block = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}
    answer = ToolMessage([text("no"), image], tool_call_id="c1", status="error")
    [_, _, told] = written(HumanMessage("hi"), calls("c1"), answer)

    assert told["content"][0]["content"] == [text("no"), text("(a block of type image that cannot be shown here)")]


def test_a_users_file_is_a_document() -> None:
    file: Block = {"type": "file", "base64": "aGk=", "mime_type": "application/pdf"}
    source = {"type": "base64", "media_type": "application/pdf", "data": "aGk="}

    assert written(HumanMessage([file]))[0]["content"] == [{"type": "document", "source": source}]


def test_what_is_no_block_is_no_part_of_a_reply() -> None:
    assert anthropic_messages.read_reply({"content": [None, text("so")]}).content == "so"
