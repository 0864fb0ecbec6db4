"""Cohere's chat is read whole and written so that it is accepted."""

from __future__ import annotations

from typing import Any

import pytest

from surehand.dialects import cohere_chat, dialect_of
from surehand.errors import InputError
from surehand.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    Message,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

Fields = dict[str, Any]

CITATION: Fields = {"start": 0, "end": 2, "text": "so", "sources": [{"type": "tool", "id": "a:0"}]}
DOCUMENT: Fields = {"type": "document", "document": {"id": "1", "data": {"title": "t"}}}


def call(call_id: str, arguments: str = "{}", name: str = "f") -> Fields:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def reply(reason: str = "TOOL_CALL", **message: Any) -> Fields:
    usage = {
        "billed_units": {"input_tokens": 1, "output_tokens": 1},
        "tokens": {"input_tokens": 5.0, "output_tokens": 7},
    }
    return {"id": "r", "finish_reason": reason, "message": {"role": "assistant", **message}, "usage": usage}


def written(*messages: Message) -> list[Fields]:
    return cohere_chat.write_messages(messages)


def written_back(**message: Any) -> Fields:
    return written(HumanMessage("x"), cohere_chat.read_reply(reply(**message)))[1]


def test_reply_is_read_with_all_it_holds() -> None:
    message = cohere_chat.read_reply(
        reply(tool_plan="I will add.", tool_calls=[call("a", '{"x": 1}'), call("b", "null")])
    )

    assert [(one["id"], one["args"]) for one in message.tool_calls] == [("a", {"x": 1}), ("b", {})]
    assert message.additional_kwargs == {"tool_plan": "I will add."}
    assert message.response_metadata == {"id": "r", "finish_reason": "TOOL_CALL"}
    assert message.finish_reason == "tool_calls"
    assert message.usage_metadata == {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}


def test_thoughts_are_kept_beside_the_text() -> None:
    content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "4"}]

    message = cohere_chat.read_reply(reply("COMPLETE", content=content))

    assert message.text == "4"
    assert message.content == content
    assert cohere_chat.read_reply(reply("COMPLETE", content=content[1:])).content == "4"


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        (
            {"billed_units": {"input_tokens": 1, "output_tokens": 2}},
            {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        ),
        ({"tokens": {"output_tokens": 2}}, {"output_tokens": 2}),
        ({}, None),
        (None, None),
    ],
)
def test_usage_is_what_was_told(usage: Any, read: Fields | None) -> None:
    assert cohere_chat.usage_of(usage) == read


@pytest.mark.parametrize("payload", [{}, {"message": "invalid api token"}, None])
def test_payload_without_a_message_is_refused(payload: Any) -> None:
    with pytest.raises(InputError, match="Expected a reply of Cohere's chat"):
        cohere_chat.read_reply(payload)


def test_plan_thoughts_and_citations_go_back() -> None:
    content = [{"type": "thinking", "thinking": "hm"}]
    message = {"tool_plan": "p", "tool_calls": [call("a")], "content": content, "citations": [CITATION]}

    assert written_back(**message) == {"role": "assistant", **message}


def test_text_beside_calls_is_the_plan() -> None:
    assert written_back(content=[{"type": "text", "text": "I add."}], tool_calls=[call("a")]) == {
        "role": "assistant",
        "tool_calls": [call("a")],
        "tool_plan": "I add.",
    }


def test_conversation_is_written_with_every_call_answered() -> None:
    assert written(
        SystemMessage("s"),
        HumanMessage(""),
        AIMessage(tool_calls=[{"id": "a b", "name": "no good", "args": "{bad"}]),
        HumanMessage([{"type": "text", "text": "see"}, {"type": "image", "data": "eA==", "mimeType": "image/png"}]),
        AIMessage(""),
    ) == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "(no output)"},
        {"role": "assistant", "tool_calls": [call("call_c8687a08aa5d6ed2044328fa", '{"_raw": "{bad"}', "no_good")]},
        {"role": "tool", "tool_call_id": "call_c8687a08aa5d6ed2044328fa", "content": written_refusal()},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,eA=="}},
            ],
        },
        {"role": "assistant", "content": "(no output)"},
    ]


def written_refusal() -> str:
    """What a call that was never answered is closed with."""
    return str(written(AIMessage(tool_calls=[{"id": "a", "name": "no good", "args": "{bad"}]))[1]["content"])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("4", "4"),
        ("", "(no output)"),
        ([DOCUMENT], [DOCUMENT]),
        ([{"type": "text", "text": "see"}, DOCUMENT], [{"type": "text", "text": "see"}, DOCUMENT]),
        ([{"type": "text", "text": "a"}, {"type": "json", "json": {"b": 1}}], 'a\n{"b": 1}'),
        (
            [{"type": "image", "data": "eA==", "mimeType": "image/png"}],
            "(a block of type image that cannot be shown here)",
        ),
    ],
)
def test_answer_is_a_text_or_documents(content: Any, expected: Any) -> None:
    assert cohere_chat.write_answers([ToolMessage(content, tool_call_id="a b")]) == [
        {"role": "tool", "tool_call_id": "a b", "content": expected}
    ]


def test_message_that_removes_is_refused() -> None:
    with pytest.raises(InputError, match="no such message"):
        written(RemoveMessage(id="x"))


@pytest.mark.parametrize(
    "item", [reply(content=[]), {"role": "assistant", "tool_plan": "p", "tool_calls": [call("a")]}]
)
def test_reply_and_message_with_a_plan_are_known(item: Fields) -> None:
    dialect = dialect_of([item])

    assert dialect is not None
    assert dialect.NAME == "cohere_chat"
    assert isinstance(cohere_chat.read_messages([item])[0], AIMessage)


def test_choice_of_chat_completions_is_not_cohere() -> None:
    assert not cohere_chat.knows(None, {"index": 0, "finish_reason": "stop", "message": {"role": "assistant"}})


def event(kind: str, index: int | None = None, **message: Any) -> Fields:
    return {"type": kind, **({} if index is None else {"index": index}), "delta": {"message": message}}


STREAM: list[Fields] = [
    {"id": "r", **event("message-start", role="assistant", content=[], tool_plan="", tool_calls=[])},
    event("content-start", 0, content={"type": "thinking", "thinking": ""}),
    event("content-delta", 0, content={"thinking": "h"}),
    event("content-delta", 0, content={"thinking": "m"}),
    {"type": "content-end", "index": 0},
    event("tool-plan-delta", tool_plan="I "),
    event("tool-plan-delta", tool_plan="add."),
    event("tool-call-start", 0, tool_calls=call("a", "")),
    event("tool-call-delta", 0, tool_calls={"function": {"arguments": '{"x"'}}),
    event("tool-call-delta", 0, tool_calls={"function": {"arguments": ": 1}"}}),
    {"type": "tool-call-end", "index": 0},
    event("tool-call-start", 1, tool_calls=call("b", "")),
    {"type": "tool-call-end", "index": 1},
    event("citation-start", 0, citations=CITATION),
    {"type": "citation-end", "index": 0},
    {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": reply()["usage"]}},
]


def fed(*events: Fields) -> tuple[AIMessage, AIMessage]:
    """The message of a stream, and the sum of its chunks."""
    stream, total = cohere_chat.CohereStream(), AIMessageChunk()
    for one in events:
        chunk = stream.feed(one)
        total = total if chunk is None else total + chunk
    return stream.finish(), total.to_message()


def test_stream_becomes_the_message_it_would_have_been() -> None:
    message, total = fed(*STREAM)

    assert message.content == [{"type": "thinking", "thinking": "hm"}]
    assert [(one["id"], one["args"]) for one in message.tool_calls] == [("a", {"x": 1}), ("b", {})]
    assert message.additional_kwargs == {"thinking": "hm", "tool_plan": "I add.", "citations": [CITATION]}
    assert message.response_metadata == {"id": "r", "finish_reason": "TOOL_CALL"}
    assert message.usage_metadata == {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}
    assert total == message


def test_text_of_a_stream_is_a_text() -> None:
    message, total = fed(
        event("content-start", 0, content={"type": "text", "text": ""}),
        event("content-delta", 0, content={"text": "hi"}),
        {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}},
    )

    assert message.content == total.content == "hi"


def test_numbers_of_blocks_may_be_missing() -> None:
    stream = cohere_chat.CohereStream()
    for kind, said in [("thinking", "Hm"), ("thinking", "m."), ("text", "It is "), ("text", "4.")]:
        stream.feed({"type": "content-delta", "delta": {"message": {"content": {kind: said}}}})

    assert stream.finish().content == [{"type": "thinking", "thinking": "Hmm."}, {"type": "text", "text": "It is 4."}]


def test_call_that_broke_off_is_invalid() -> None:
    assert [one["id"] for one in fed(*STREAM[:8])[0].invalid_tool_calls] == ["a"]
    assert fed(*STREAM[:8])[0].finish_reason is None


@pytest.mark.parametrize(
    "one", [{}, {"type": "debug"}, {"type": "tool-call-end", "index": 0}, {"type": "content-delta"}]
)
def test_event_that_says_nothing_adds_nothing(one: Fields) -> None:
    assert cohere_chat.CohereStream().feed(one) is None
