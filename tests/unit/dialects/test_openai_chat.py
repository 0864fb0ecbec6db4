"""Chat Completions are read whole and written so that they are accepted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai.types.chat import ChatCompletion

from surehand.dialects import openai_chat
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


def completion(message: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "model": "gpt", "choices": [{"index": 0, "message": message, **fields}]}


def call(name: str, arguments: Any, *, id: str | None = "c") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def delta(*tool_calls: dict[str, Any], finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {
        "id": "x",
        "choices": [{"index": 0, "delta": {"tool_calls": list(tool_calls), **fields}, "finish_reason": finish}],
    }


def written(*messages: Message) -> list[dict[str, Any]]:
    return openai_chat.write_messages(messages)


def test_reply_is_read_with_all_it_holds() -> None:
    payload = completion(
        {
            "role": "assistant",
            "content": "hm",
            "reasoning": "r",
            "tool_calls": [call("f", '{"a": 1}')],
            "annotations": [],
        },
        finish_reason="tool_calls",
    )
    payload["usage"] = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}

    message = openai_chat.read_reply(payload)

    assert message == AIMessage(
        "hm",
        tool_calls=[{"id": "c", "name": "f", "args": {"a": 1}}],
        additional_kwargs={"reasoning": "r"},
        response_metadata={"id": "chatcmpl-1", "model": "gpt", "finish_reason": "tool_calls"},
        usage_metadata={"input_tokens": 5, "output_tokens": 7, "total_tokens": 12},
    )
    assert message.finish_reason == "tool_calls"


def test_providers_id_is_no_message_id() -> None:
    assert openai_chat.read_reply(completion({"role": "assistant", "content": "x"})).id is None


def test_any_of_several_choices_can_be_read() -> None:
    payload = completion({"role": "assistant", "content": "a"})
    payload["choices"].append({"index": 1, "message": {"role": "assistant", "content": "b"}})

    assert openai_chat.read_reply(payload, choice=1).text == "b"


def test_choices_are_found_by_their_numbers() -> None:
    payload = completion({"role": "assistant", "content": "b"})
    payload["choices"][0]["index"] = 1
    payload["choices"].append({"index": 0, "message": {"role": "assistant", "content": "a"}})

    assert [openai_chat.read_reply(payload, choice=number).text for number in (0, 1)] == ["a", "b"]


TEXT_ALONE: dict[str, Any] = {"message": {"role": "assistant", "content": "Let me see."}, "finish_reason": "tool_calls"}
CALLS_ALONE: dict[str, Any] = {
    "message": {"role": "assistant", "content": None, "tool_calls": [call("f", '{"a": 1}')]},
    "finish_reason": "tool_calls",
}


@pytest.mark.parametrize("numbers", [[{}, {}], [{"index": 0}, {"index": 0}], [{"index": 0}, {"index": 1}]])
def test_text_and_calls_of_one_turn_may_come_as_two_choices(numbers: list[dict[str, int]]) -> None:
    payload = {"choices": [{**TEXT_ALONE, **numbers[0]}, {**CALLS_ALONE, **numbers[1]}]}

    message = openai_chat.read_reply(payload)

    assert (message.text, [call["args"] for call in message.tool_calls]) == ("Let me see.", [{"a": 1}])
    assert message.finish_reason == "tool_calls"


def test_alternatives_stay_apart() -> None:
    text = {"index": 0, "message": {"role": "assistant", "content": "No."}, "finish_reason": "stop"}

    assert openai_chat.read_reply({"choices": [text, {**CALLS_ALONE, "index": 1}]}).tool_calls == []


NO_REPLIES: list[dict[str, Any]] = [
    {},
    {"error": {"message": "no"}},
    {"choices": []},
    {"choices": [{}]},
    {"choices": "x"},
]


@pytest.mark.parametrize("payload", NO_REPLIES)
def test_payload_without_a_message_is_refused(payload: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"Expected a chat completion with a message in choices\[0\]"):
        openai_chat.read_reply(payload)


def test_reply_without_usage_has_none() -> None:
    assert openai_chat.read_reply(completion({"content": "x"})).usage_metadata is None


def test_conversation_is_written() -> None:
    assert written(
        SystemMessage("s"),
        SystemMessage("d", additional_kwargs={"role": "developer"}),
        HumanMessage("hi", name="Ada"),
        AIMessage(tool_calls=[{"id": "c", "name": "f", "args": {"a": "é"}}]),
        ToolMessage("4", tool_call_id="c", name="f"),
        AIMessage("done"),
    ) == [
        {"role": "system", "content": "s"},
        {"role": "developer", "content": "d"},
        {"role": "user", "content": "hi", "name": "Ada"},
        {"role": "assistant", "content": "", "tool_calls": [call("f", '{"a": "é"}')]},
        {"role": "tool", "tool_call_id": "c", "content": "4"},
        {"role": "assistant", "content": "done"},
    ]


@pytest.mark.parametrize(
    "args", ['{"city": "Par', "{a}{b}", "[1]", [1], 3, None, "", float("nan"), {"x": float("nan")}]
)
def test_arguments_written_are_always_an_object(args: object) -> None:
    message = written(AIMessage(tool_calls=[{"id": "c", "name": "f", "args": args}]))[0]

    arguments = json.loads(message["tool_calls"][0]["function"]["arguments"], parse_constant=pytest.fail)
    assert isinstance(arguments, dict)


def test_unreadable_arguments_are_shown_cut_short() -> None:
    message = written(AIMessage(tool_calls=[{"id": "c", "name": "f", "args": "x" * 500}]))[0]

    raw = json.loads(message["tool_calls"][0]["function"]["arguments"])["_raw"]
    assert raw == "x" * 199 + "…"


def test_unanswered_call_is_closed() -> None:
    messages = written(AIMessage(tool_calls=[{"id": "c", "name": "f", "args": {}}]), HumanMessage("go on"))

    assert [message["role"] for message in messages] == ["assistant", "tool", "user"]
    assert messages[1]["tool_call_id"] == "c"


@pytest.mark.parametrize(
    ("name", "sent"),
    [("", "unknown"), ("get weather", "get_weather"), ("a.b/c", "a_b_c"), ("x" * 80, "x" * 64), ("ok-1", "ok-1")],
)
def test_names_are_made_acceptable(name: str, sent: str) -> None:
    message = written(AIMessage(tool_calls=[{"id": "c", "name": name, "args": {}}]))[0]

    assert message["tool_calls"][0]["function"]["name"] == sent


def test_names_are_those_that_were_offered() -> None:
    message = AIMessage(tool_calls=[{"id": "c", "name": "my.tool", "args": {}}])

    (first, _) = openai_chat.write_messages([message], names={"my.tool": "my__tool"})

    assert first["tool_calls"][0]["function"]["name"] == "my__tool"


@pytest.mark.parametrize("call_id", ["a b", "é" * 5, "x" * 65, "\ud800"])
def test_ids_are_made_acceptable_for_call_and_answer_alike(call_id: str) -> None:
    first, second = written(
        AIMessage(tool_calls=[{"id": call_id, "name": "f", "args": {}}]), ToolMessage("4", tool_call_id=call_id)
    )

    assert first["tool_calls"][0]["id"] == second["tool_call_id"]
    assert second["tool_call_id"].startswith("call_")


@pytest.mark.parametrize("call_id", ["functions.search:0", "call_1__thought__" + "CuYB/+==" * 50])
def test_ids_that_say_something_to_the_model_stay(call_id: str) -> None:
    first, second = written(
        AIMessage(tool_calls=[{"id": call_id, "name": "search", "args": {}}]), ToolMessage("4", tool_call_id=call_id)
    )

    assert first["tool_calls"][0]["id"] == second["tool_call_id"] == call_id


def test_servers_can_have_a_limit_of_their_own_on_ids() -> None:
    messages = [AIMessage(tool_calls=[{"id": "x" * 50, "name": "f", "args": {}}])]

    assert openai_chat.write_messages(messages)[1]["tool_call_id"] == "x" * 50
    assert len(openai_chat.write_messages(messages, max_id_length=40)[1]["tool_call_id"]) <= 40


def test_lone_surrogates_are_replaced_and_pairs_joined() -> None:
    assert written(HumanMessage("a\ud800b \ud83d\ude00"))[0]["content"] == "a\ufffdb 😀"


@pytest.mark.parametrize("message", [HumanMessage(""), AIMessage(""), HumanMessage([])])
def test_empty_contents_are_replaced(message: Message) -> None:
    assert written(message)[0]["content"] == "(no output)"


def test_empty_answer_is_replaced() -> None:
    call_message = AIMessage(tool_calls=[{"id": "c", "name": "f", "args": {}}])

    assert written(call_message, ToolMessage("", tool_call_id="c"))[1]["content"] == "(no output)"


def test_blocks_of_an_answer_become_text() -> None:
    blocks: list[str | dict[str, Any]] = [{"type": "text", "text": "a"}, "b", {"type": "image", "data": "…"}]
    call_message = AIMessage(tool_calls=[{"id": "c", "name": "f", "args": {}}])

    content = written(call_message, ToolMessage(blocks, tool_call_id="c"))[1]["content"]

    assert content == "a\nb\n(a block of type image that cannot be shown here)"


def test_users_blocks_stay() -> None:
    blocks: list[str | dict[str, Any]] = ["a", {"type": "image_url", "image_url": {"url": "https://x"}}]

    assert written(HumanMessage(blocks))[0]["content"] == [{"type": "text", "text": "a"}, blocks[1]]


def test_chosen_extra_fields_are_sent_back() -> None:
    message = AIMessage("x", additional_kwargs={"reasoning_content": "r", "other": 1})

    assert openai_chat.write_messages([message], extra_fields=["reasoning_content"])[0] == {
        "role": "assistant",
        "content": "x",
        "reasoning_content": "r",
    }


SIGNED = {**call("f", '{"a": 1}'), "extra_content": {"google": {"thought_signature": "CuYB"}}}


def test_what_stands_beside_a_call_goes_back_to_servers_that_want_it() -> None:
    (message,) = openai_chat.read_messages([{"role": "assistant", "content": "", "tool_calls": [SIGNED]}])

    assert written(message)[0]["tool_calls"] == [call("f", '{"a": 1}')]
    sent = openai_chat.write_messages([message], extra_fields=["extra_content"])
    assert sent[0]["tool_calls"] == [SIGNED]


def test_what_stands_beside_a_call_is_kept_in_streams_too() -> None:
    stream = openai_chat.ChatStream()
    chunks = [stream.feed(delta({"index": 0, **SIGNED})), stream.feed(delta(finish="tool_calls"))]

    assert chunks[0] is not None
    assert chunks[1] is not None
    for message in (stream.finish(), (chunks[0] + chunks[1]).to_message()):
        assert openai_chat.write_messages([message], extra_fields=["extra_content"])[0]["tool_calls"] == [SIGNED]


def test_custom_call_is_written_as_it_was_read() -> None:
    custom = {"id": "c", "type": "custom", "custom": {"name": "calc", "input": "4 + 4"}}
    (message,) = openai_chat.read_messages([{"role": "assistant", "content": None, "tool_calls": [custom]}])

    assert written(message)[0]["tool_calls"] == [custom]


def test_message_that_asks_for_removal_is_refused() -> None:
    with pytest.raises(InputError, match="Apply RemoveMessage with add_messages"):
        written(RemoveMessage(id="m"))


def test_answers_are_written_with_the_ids_they_came_with() -> None:
    assert openai_chat.write_answers([ToolMessage("4", tool_call_id="a b")]) == [
        {"role": "tool", "tool_call_id": "a b", "content": "4"}
    ]


OLDER_CALL = completion({"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}})
NO_IDS = completion({"role": "assistant", "tool_calls": [call("f", "{}", id=""), call("g", "{}", id="")]})
ONE_ID = completion({"role": "assistant", "tool_calls": [call("f", "{}"), call("g", "{}")]})


@pytest.mark.parametrize("reply", [OLDER_CALL, OLDER_CALL["choices"][0]["message"]])
def test_older_call_is_answered_by_a_function_message(reply: dict[str, Any]) -> None:
    (message,) = openai_chat.read_messages([reply])
    assert isinstance(message, AIMessage)
    answer = ToolMessage("4", tool_call_id=message.tool_calls[0]["id"])

    answers = openai_chat.write_answers([answer], [{"role": "user", "content": "hi"}, reply])

    assert answers == [{"role": "function", "name": "f", "content": "4"}]
    assert check_transcript(openai_chat.read_messages([reply, *answers])) == []


@pytest.mark.parametrize("reply", [NO_IDS, ONE_ID, *(each["choices"][0]["message"] for each in (NO_IDS, ONE_ID))])
def test_answers_to_calls_without_ids_of_their_own_are_found_again(reply: dict[str, Any]) -> None:
    (message,) = openai_chat.read_messages([reply])
    assert isinstance(message, AIMessage)
    results = [ToolMessage(call["name"], tool_call_id=call["id"]) for call in message.tool_calls]

    answers = openai_chat.write_answers(results, [reply])

    read = openai_chat.read_messages([reply, *answers])
    assert check_transcript(read) == []
    assert [(answer.name, answer.text) for answer in read[1:]] == [("f", "f"), ("g", "g")]


def test_one_id_for_two_calls_is_that_of_both_answers() -> None:
    results = [ToolMessage("4", tool_call_id="c"), ToolMessage("5", tool_call_id="call_made_here")]

    assert [answer["tool_call_id"] for answer in openai_chat.write_answers(results, [ONE_ID])] == ["c", "c"]


def test_stream_is_assembled() -> None:
    events: list[dict[str, Any]] = [
        {"id": "x", "model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]},
        {"choices": [{"index": 0, "delta": {"content": "Let me ", "reasoning_content": "r"}}]},
        {"choices": [{"index": 0, "delta": {"content": "look."}}]},
        delta({"index": 0, **call("f", "")}),
        delta({"index": 0, "function": {"arguments": '{"a"'}}),
        delta({"index": 0, "function": {"arguments": ": 1}"}}, finish="tool_calls"),
        {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}},
    ]
    stream = openai_chat.ChatStream()

    chunks = [stream.feed(event) for event in events]
    message = stream.finish()

    assert message == AIMessage(
        "Let me look.",
        tool_calls=[{"id": "c", "name": "f", "args": {"a": 1}}],
        additional_kwargs={"reasoning_content": "r"},
        response_metadata={"id": "x", "model": "m", "finish_reason": "tool_calls"},
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    )
    assert "".join(chunk.text for chunk in chunks if chunk is not None) == "Let me look."


def test_event_that_brings_nothing_is_no_chunk() -> None:
    assert openai_chat.ChatStream().feed({"choices": []}) is None


def test_stream_of_another_choice_is_left_out() -> None:
    stream = openai_chat.ChatStream(choice=1)

    stream.feed({"choices": [{"index": 0, "delta": {"content": "a"}}]})
    stream.feed({"choices": [{"index": 1, "delta": {"content": "b"}}]})

    assert stream.finish().text == "b"


def test_stream_that_broke_off_has_no_finish_reason_and_an_invalid_call() -> None:
    stream = openai_chat.ChatStream()
    stream.feed(delta({"index": 0, **call("f", '{"city": "Par')}))

    message = stream.finish()

    assert message.finish_reason is None
    assert [each["id"] for each in message.invalid_tool_calls] == ["c"]


def test_stream_that_broke_off_before_any_argument_has_an_invalid_call() -> None:
    stream = openai_chat.ChatStream()
    stream.feed(delta({"index": 0, **call("delete_all", "")}))

    assert len(stream.finish().invalid_tool_calls) == 1


ERRORS: list[dict[str, Any]] = [
    {"error": {"code": 502, "message": "gone"}, "choices": [{"delta": {"content": ""}, "finish_reason": "error"}]},
    {"error": {"code": 502, "message": "gone"}},
    {"object": "error", "message": "gone", "code": 500},
    {"choices": [{"delta": {}, "finish_reason": "insufficient_system_resource"}]},
]


@pytest.mark.parametrize("error", ERRORS)
def test_error_in_a_stream_does_not_complete_a_call(error: dict[str, Any]) -> None:
    stream = openai_chat.ChatStream()
    begun, broken = stream.feed(delta({"index": 0, **call("f", "")})), stream.feed(error)

    assert [call["id"] for call in stream.finish().invalid_tool_calls] == ["c"]
    assert begun is not None
    assert broken is not None
    assert (begun + broken).to_message() == stream.finish()


def test_call_without_arguments_is_valid_in_a_stream_that_ended() -> None:
    stream = openai_chat.ChatStream()
    stream.feed(delta({"index": 0, **call("now", "")}, finish="tool_calls"))

    assert stream.finish().tool_calls[0]["args"] == {}
    assert stream.finish().invalid_tool_calls == []


def test_id_may_be_said_to_be_null_by_its_name() -> None:
    stream = openai_chat.ChatStream()
    for entry in (call("f", ""), call("", '{"a": ', id="null"), call("", "1}", id="null")):
        stream.feed(delta({"index": 0, **entry}))
    stream.feed(delta(finish="tool_calls"))

    assert [(each["id"], each["args"]) for each in stream.finish().tool_calls] == [("c", {"a": 1})]


def test_legacy_function_call_streams() -> None:
    stream = openai_chat.ChatStream()
    for fields in [{"name": "f", "arguments": ""}, {"arguments": '{"a"'}, {"arguments": ": 1}"}]:
        stream.feed({"choices": [{"index": 0, "delta": {"function_call": fields}}]})
    stream.feed(delta(finish="function_call"))

    assert [(each["name"], each["args"]) for each in stream.finish().tool_calls] == [("f", {"a": 1})]


@pytest.mark.parametrize(
    "junk",
    [{}, {"choices": None}, {"choices": [5]}, {"choices": [{"delta": 5}]}, delta("x"), delta({"function": 5})],  # type: ignore[arg-type]
)
def test_junk_in_a_stream_changes_nothing(junk: dict[str, Any]) -> None:
    stream = openai_chat.ChatStream()
    stream.feed(junk)

    assert stream.finish().tool_calls == []


@pytest.mark.parametrize("place", [{"index": 0}, {}])
def test_same_whole_call_twice_in_one_delta_is_two_calls(place: dict[str, int]) -> None:
    twice = [{**place, **call("dice", "{}", id=None)}, {**place, **call("dice", "{}", id="")}]
    stream = openai_chat.ChatStream()
    stream.feed(delta(*twice))
    stream.feed(delta(*twice, finish="stop"))

    assert len(stream.finish().tool_calls) == 2


def test_arguments_that_stream_as_an_object_are_read() -> None:
    stream = openai_chat.ChatStream()
    stream.feed(delta({"index": 0, **call("f", {"a": 1})}, finish="stop"))

    assert stream.finish().tool_calls[0]["args"] == {"a": 1}


@pytest.mark.parametrize("ids", ["", None, "0"])
def test_call_that_streams_without_a_list_around_it_is_read(ids: str | None) -> None:
    pieces = [call("f", '{"a"', id=ids), call("", ": 1}", id=ids), {}, None]
    stream = openai_chat.ChatStream()
    for piece in pieces:
        stream.feed({"choices": [{"index": 0, "delta": {"tool_calls": piece and {"index": 0, **piece}}}]})
    stream.feed(delta(finish="tool_calls"))

    (read,) = stream.finish().tool_calls
    assert (read["name"], read["args"]) == ("f", {"a": 1})


def test_the_sdks_completion_is_read_like_its_json() -> None:
    payload = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
                    ],
                },
            }
        ],
    }

    assert openai_chat.read_reply(ChatCompletion.model_validate(payload)) == openai_chat.read_reply(payload)


@pytest.mark.parametrize("text", ["SELECT 1", '{"a": 1}', "", 'a "b"\n\\'])
def test_custom_calls_in_a_stream_are_texts_and_not_json(text: str) -> None:
    frames = [
        custom_delta({"id": "q", "type": "custom", "custom": {"name": "sql", "input": text[:3]}}),
        custom_delta({"custom": {"input": text[3:]}}),
    ]
    cut_off, stream = openai_chat.ChatStream(), openai_chat.ChatStream()
    total = AIMessageChunk()
    end: dict[str, Any] = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    for frame in [*frames, end]:
        total += stream.feed(frame) or AIMessageChunk()
    for frame in frames:
        cut_off.feed(frame)

    for message in (stream.finish(), total.to_message()):
        assert [(call["id"], call["name"], call["args"]) for call in message.tool_calls] == [
            ("q", "sql", {"input": text})
        ]
        assert message.additional_kwargs["custom_calls"] == ["q"]
    assert [call["id"] for call in cut_off.finish().invalid_tool_calls] == ["q"]


def custom_delta(entry: dict[str, Any]) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **entry}]}, "finish_reason": None}]}
