"""Ollama's chat is read whole and written so that it is accepted."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from surehand.dialects import dialect_of, ollama_chat
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

Fields = dict[str, Any]

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
IMAGE: Fields = {"type": "image", "data": PNG, "mimeType": "image/png"}


def call(name: str = "f", call_id: str | None = None, **arguments: Any) -> Fields:
    function = {"function": {"name": name, "arguments": arguments}}
    return function if call_id is None else {"id": call_id, **function}


def part(*, done: bool = False, **message: Any) -> Fields:
    end: Fields = {"done_reason": "stop", "prompt_eval_count": 5, "eval_count": 7} if done else {}
    return {
        "model": "m",
        "created_at": "2026",
        "message": {"role": "assistant", "content": "", **message},
        "done": done,
        **end,
    }


def written(*messages: Message) -> list[Fields]:
    return ollama_chat.write_messages(messages)


def test_reply_is_read_with_all_it_holds() -> None:
    message = ollama_chat.read_reply(part(done=True, thinking="hm", tool_calls=[call("f", "a", x=1), call("g")]))

    assert [(one["name"], one["args"]) for one in message.tool_calls] == [("f", {"x": 1}), ("g", {})]
    assert message.tool_calls[0]["id"] == "a"
    assert message.tool_calls[1]["id"]
    assert message.additional_kwargs == {"thinking": "hm"}
    assert message.finish_reason == "stop"
    assert message.usage_metadata == {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [({"done": True}, "stop"), ({"done": False}, None), ({"done": True, "done_reason": "length"}, "length")],
)
def test_reply_is_complete_once_it_is_done(fields: Fields, reason: str | None) -> None:
    assert ollama_chat.read_reply({"message": {"role": "assistant", "content": "x"}, **fields}).finish_reason == reason


@pytest.mark.parametrize("payload", [{}, {"error": "model not found"}, None])
def test_payload_without_a_message_is_refused(payload: Any) -> None:
    with pytest.raises(InputError, match="Expected a reply of Ollama's chat"):
        ollama_chat.read_reply(payload)


def test_conversation_is_written_with_objects_as_arguments() -> None:
    assert written(
        SystemMessage("s"),
        HumanMessage("x"),
        AIMessage(
            "Let me.",
            tool_calls=[{"id": "a", "name": "f", "args": {"x": 1}}, {"id": "b", "name": "no good", "args": "{bad"}],
            additional_kwargs={"thinking": "hm"},
        ),
        ToolMessage("4", tool_call_id="a"),
        ToolMessage("", tool_call_id="b", status="error"),
        AIMessage(""),
    ) == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "x"},
        {
            "role": "assistant",
            "content": "Let me.",
            "thinking": "hm",
            "tool_calls": [call("f", "a", x=1), call("no_good", "b", _raw="{bad")],
        },
        {"role": "tool", "content": "4", "tool_name": "f", "tool_call_id": "a"},
        {"role": "tool", "content": "(no output)", "tool_name": "no_good", "tool_call_id": "b"},
        {"role": "assistant", "content": "(no output)"},
    ]


def test_images_stand_beside_the_text() -> None:
    message = HumanMessage([{"type": "text", "text": "see"}, IMAGE])

    assert written(message) == [{"role": "user", "content": "see", "images": [PNG]}]
    assert ollama_chat.write_answers([ToolMessage([IMAGE], tool_call_id="a", name="f")]) == [
        {"role": "tool", "content": "", "images": [PNG], "tool_name": "f"}
    ]


def test_images_that_a_host_sent_go_back() -> None:
    given: list[Fields] = [{"role": "user", "content": "see", "images": [PNG]}]

    assert written(*ollama_chat.read_messages(given)) == given


@pytest.mark.parametrize("data", ["/etc/passwd0", "aGFsbG8=", "no base64"])
def test_text_that_is_no_image_is_not_sent_as_one(data: str) -> None:
    [answer] = ollama_chat.write_answers([ToolMessage([{**IMAGE, "data": data}], tool_call_id="a")])

    assert "images" not in answer
    assert "cannot be shown here" in answer["content"]


def test_message_that_removes_is_refused() -> None:
    with pytest.raises(InputError, match="no such message"):
        written(RemoveMessage(id="x"))


@pytest.mark.parametrize("call_id", ["a", None])
def test_answer_names_its_tool_and_the_id_that_the_call_has(call_id: str | None) -> None:
    given = [part(tool_calls=[call("f", call_id, x=1)])]
    [message] = ollama_chat.read_messages(given)
    assert isinstance(message, AIMessage)

    [answer] = ollama_chat.write_answers([ToolMessage("4", tool_call_id=message.tool_calls[0]["id"], name="f")], given)

    expected = {"role": "tool", "content": "4", "tool_name": "f"}
    assert answer == (expected if call_id is None else {**expected, "tool_call_id": call_id})


def test_answers_without_ids_find_their_calls_by_name_and_order() -> None:
    assistant = {"role": "assistant", "content": "", "tool_calls": [call("f", x=1), call("g"), call("f", x=2)]}
    answers = [{"role": "tool", "content": name, "tool_name": name[0]} for name in ("g1", "f1", "f2")]

    message, *read = ollama_chat.read_messages([assistant, *answers])

    assert isinstance(message, AIMessage)
    first, second, third = (one["id"] for one in message.tool_calls)
    assert [(one.text, one.tool_call_id) for one in read if isinstance(one, ToolMessage)] == [
        ("g1", second),
        ("f1", first),
        ("f2", third),
    ]


@pytest.mark.parametrize(
    "item", [part(done=True), {"role": "assistant", "content": "", "tool_calls": [call("f", "a")]}]
)
def test_reply_and_message_with_calls_are_known(item: Fields) -> None:
    dialect = dialect_of([item])

    assert dialect is not None
    assert dialect.NAME == "ollama_chat"


def test_answers_to_a_whole_reply_without_ids_are_found_again() -> None:
    reply = part(done=True, tool_calls=[call("f"), call("g")])
    (message,) = ollama_chat.read_messages([reply])
    assert isinstance(message, AIMessage)
    results = [ToolMessage(one["name"], tool_call_id=one["id"], name=one["name"]) for one in message.tool_calls]

    read = ollama_chat.read_messages([reply, *ollama_chat.write_answers(results, [reply])])

    assert check_transcript(read) == []
    assert [each.text for each in read[1:]] == ["f", "g"]


def test_history_without_ids_is_written_without_ids() -> None:
    history: list[Fields] = [
        {"role": "assistant", "content": "", "tool_calls": [call("f", x=1), call("f", x=2)]},
        {"role": "tool", "content": "1", "tool_name": "f"},
        {"role": "tool", "content": "2", "tool_name": "f"},
    ]

    assert written(*ollama_chat.read_messages(history)) == history


def test_tool_may_be_named_as_elsewhere() -> None:
    [message] = ollama_chat.read_messages([{"role": "tool", "content": "1", "name": "f"}])

    assert message.name == "f"


def test_id_made_for_a_call_is_of_the_form_that_is_left_out() -> None:
    assert "id" not in written(AIMessage(tool_calls=[{"name": "f", "args": {}}]))[0]["tool_calls"][0]


def fed(*parts: Fields) -> tuple[AIMessage, AIMessage]:
    """The message of a stream, and the sum of its chunks."""
    stream, total = ollama_chat.OllamaStream(), AIMessageChunk()
    for one in parts:
        chunk = stream.feed(one)
        total = total if chunk is None else total + chunk
    return stream.finish(), total.to_message()


def test_stream_becomes_the_message_it_would_have_been() -> None:
    message, total = fed(
        part(thinking="h"), part(thinking="m"), part(content="Let "), part(content="me."),
        part(tool_calls=[call("f", x=1)]), part(tool_calls=[call("f", x=1)]), part(done=True),
    )  # fmt: skip

    assert message.text == "Let me."
    assert message.additional_kwargs == {"thinking": "hm"}
    assert [one["args"] for one in message.tool_calls] == [{"x": 1}, {"x": 1}]
    assert message.usage_metadata == {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}
    assert message.finish_reason == "stop"
    assert total == message


def test_calls_of_one_number_are_several() -> None:
    numbered: list[Fields] = [{"id": name, "function": {"index": 0, "name": name, "arguments": {}}} for name in "ab"]

    assert [one["id"] for one in fed(part(tool_calls=numbered), part(done=True))[0].tool_calls] == ["a", "b"]


def test_what_the_end_tells_once_more_is_one_call() -> None:
    stream = ollama_chat.OllamaStream()
    stream.feed(part(tool_calls=[call("f", x=1)]))
    stream.feed(part(tool_calls=[call("f", x=1)]))
    stream.feed(part(done=True, tool_calls=[call("f", x=1), call("f", x=1), call("g")]))

    assert [one["name"] for one in stream.finish().tool_calls] == ["f", "f", "g"]


def test_stream_that_fails_has_no_reason() -> None:
    message = fed(part(content="x"), {"error": "out of memory"})[0]

    assert message.response_metadata["error"] == "out of memory"
    assert message.finish_reason is None


@pytest.mark.parametrize("arguments", ['{"x": 1}', {"x": 1}])
def test_arguments_may_be_text(arguments: Any) -> None:
    entry = {"function": {"name": "f", "arguments": arguments}}

    assert fed(part(tool_calls=[entry]))[0].tool_calls[0]["args"] == {"x": 1}


def test_call_without_arguments_has_none() -> None:
    assert fed(part(tool_calls=[{"function": {"name": "f", "arguments": None}}]))[0].tool_calls[0]["args"] == {}
