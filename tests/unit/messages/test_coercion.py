"""Whatever a host has as a conversation is read as messages."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core import messages as langchain

from surehand.errors import InputError
from surehand.messages import (
    AIMessage,
    HumanMessage,
    Message,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    check_transcript,
    convert_to_messages,
    message_to_dict,
)


def one(value: object) -> Message:
    (message,) = convert_to_messages(value)
    return message


@pytest.mark.parametrize(
    "value", ["hi", ("user", "hi"), ["hi"], [("human", "hi")], [["user", "hi"]], HumanMessage("hi")]
)
def test_what_a_user_says_is_read(value: object) -> None:
    assert one(value) == HumanMessage("hi")


def test_list_of_two_texts_is_two_messages() -> None:
    assert convert_to_messages(["user", "hi"]) == [HumanMessage("user"), HumanMessage("hi")]


def test_tuple_of_messages_is_a_sequence() -> None:
    assert convert_to_messages((HumanMessage("a"), AIMessage("b"))) == [HumanMessage("a"), AIMessage("b")]


def test_messages_are_taken_as_they_are_in_a_new_list() -> None:
    given = [HumanMessage("a"), AIMessage("b")]

    read = convert_to_messages(given)

    assert read is not given
    assert all(message is other for message, other in zip(read, given, strict=True))


@pytest.mark.parametrize(
    ("role", "kind"),
    [
        ("user", HumanMessage),
        ("human", HumanMessage),
        ("assistant", AIMessage),
        ("ai", AIMessage),
        ("system", SystemMessage),
    ],
)
@pytest.mark.parametrize("key", ["role", "type"])
def test_mapping_is_read_by_role_or_type(role: str, kind: type[Message], key: str) -> None:
    assert one({key: role, "content": "x"}) == kind("x")


def test_developer_messages_remember_their_role() -> None:
    assert one({"role": "developer", "content": "x"}) == SystemMessage("x", additional_kwargs={"role": "developer"})


def test_openai_history_is_read() -> None:
    messages = convert_to_messages(
        [
            {"role": "user", "content": "hi", "name": "Ada"},
            {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "reasoning_content": "hm",
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
            },
            {"role": "tool", "tool_call_id": "c", "content": "4"},
        ]
    )

    assert messages == [
        HumanMessage("hi", name="Ada"),
        AIMessage(
            tool_calls=[{"id": "c", "name": "f", "args": {"a": 1}}], additional_kwargs={"reasoning_content": "hm"}
        ),
        ToolMessage("4", tool_call_id="c", name="f"),
    ]


def test_legacy_function_call_is_a_call() -> None:
    call, answer = convert_to_messages(
        [
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "4"},
        ]
    )

    assert isinstance(call, AIMessage)
    assert isinstance(answer, ToolMessage)
    assert answer.tool_call_id == call.tool_calls[0]["id"]


def test_placeholder_that_says_nothing_is_no_call() -> None:
    message = one(
        {"role": "assistant", "content": "hi", "function_call": {"name": "", "arguments": ""}, "tool_calls": None}
    )

    assert message == AIMessage("hi")


def test_anthropic_history_is_read() -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
        {"type": "tool_use", "id": "b", "name": "g", "input": {}},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
    ]
    results: list[dict[str, Any]] = [
        {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "4"}]},
        {"type": "tool_result", "tool_use_id": "b", "is_error": True, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "and?"},
    ]

    call, first, second, rest = convert_to_messages(
        [{"role": "assistant", "content": blocks}, {"role": "user", "content": results}]
    )

    assert isinstance(call, AIMessage)
    assert call.content == blocks
    assert [(each["id"], each["name"], each["args"]) for each in call.tool_calls] == [
        ("a", "f", {"x": 1}),
        ("b", "g", {}),
    ]
    assert first == ToolMessage([{"type": "text", "text": "4"}], tool_call_id="a", name="f")
    assert second == ToolMessage(
        "", tool_call_id="b", name="g", status="error", additional_kwargs={"cache_control": {"type": "ephemeral"}}
    )
    assert rest == HumanMessage([{"type": "text", "text": "and?"}])


@pytest.mark.parametrize("call_id", [None, ""])
def test_answers_without_an_id_follow_their_calls(call_id: str | None) -> None:
    calls = [{"id": call_id, "function": {"name": name, "arguments": "{}"}} for name in "fg"]
    answers = [{"role": "tool", "tool_call_id": call_id, "name": name, "content": name} for name in "gf"]

    messages = convert_to_messages([{"role": "assistant", "content": "", "tool_calls": calls}, *answers])

    assert check_transcript(messages) == []
    call = messages[0]
    assert isinstance(call, AIMessage)
    assert [m.tool_call_id for m in messages if isinstance(m, ToolMessage)] == [c["id"] for c in call.tool_calls[::-1]]


def test_answers_to_an_id_that_came_twice_follow_their_calls_in_order() -> None:
    calls = [{"id": "x", "function": {"name": name, "arguments": "{}"}} for name in "fg"]
    answers = [{"role": "tool", "tool_call_id": "x", "content": text} for text in "12"]

    messages = convert_to_messages([{"role": "assistant", "content": "", "tool_calls": calls}, *answers])

    assert check_transcript(messages) == []
    assert [message.name for message in messages[1:]] == ["f", "g"]


def test_answer_with_a_made_id_finds_its_call_when_the_history_is_read_again() -> None:
    history = [{"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}]
    made = convert_to_messages(history)[0]
    assert isinstance(made, AIMessage)

    again = convert_to_messages([*history, {"role": "tool", "tool_call_id": made.tool_calls[0]["id"], "content": "4"}])

    assert check_transcript(again) == []


def test_numbers_as_ids_still_pair() -> None:
    calls = [{"id": 7, "function": {"name": "f", "arguments": "{}"}}]

    messages = convert_to_messages(
        [{"role": "assistant", "content": "", "tool_calls": calls}, {"role": "tool", "tool_call_id": 7, "content": "4"}]
    )

    assert check_transcript(messages) == []


def test_broken_arguments_never_stop_the_reading() -> None:
    message = one(
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{a}{b}"}}, "junk"]}
    )

    assert isinstance(message, AIMessage)
    assert len(message.invalid_tool_calls) == 2


LANGCHAIN: list[langchain.BaseMessage] = [
    langchain.SystemMessage("s"),
    langchain.HumanMessage("hi", name="Ada", id="m1"),
    langchain.AIMessage(
        "x",
        tool_calls=[{"id": "c", "name": "f", "args": {"a": 1}}],
        invalid_tool_calls=[{"id": "d", "name": "g", "args": "{bad", "error": "no", "type": "invalid_tool_call"}],
        response_metadata={"finish_reason": "tool_calls"},
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    ),
    langchain.ToolMessage("4", tool_call_id="c", status="error", artifact=[1]),
]


def expected_of_langchain() -> list[Message]:
    invalid = {"type": "invalid_tool_call", "id": "d", "name": "g", "args": "{bad", "error": "no"}
    return [
        SystemMessage("s"),
        HumanMessage("hi", name="Ada", id="m1"),
        AIMessage(
            "x",
            tool_calls=[{"id": "c", "name": "f", "args": {"a": 1}}, invalid],
            response_metadata={"finish_reason": "tool_calls"},
            usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        ),
        ToolMessage("4", tool_call_id="c", name="f", status="error", artifact=[1]),
    ]


def test_langchain_messages_are_read() -> None:
    assert convert_to_messages(LANGCHAIN) == expected_of_langchain()


def test_langchain_messages_as_flat_dicts_are_read() -> None:
    assert convert_to_messages([message.model_dump() for message in LANGCHAIN]) == expected_of_langchain()


def test_langchain_messages_as_nested_dicts_are_read() -> None:
    assert convert_to_messages(langchain.messages_to_dict(LANGCHAIN)) == expected_of_langchain()


def test_langchain_messages_as_serialised_constructors_are_read() -> None:
    assert convert_to_messages([message.to_json() for message in LANGCHAIN]) == expected_of_langchain()


def test_langchain_calls_keep_the_order_they_were_sent_in() -> None:
    raw = [
        {"id": call_id, "function": {"name": "f", "arguments": args}} for call_id, args in [("d", "{bad"), ("c", "{}")]
    ]
    message = one(langchain.AIMessage("", additional_kwargs={"tool_calls": raw}))

    assert isinstance(message, AIMessage)
    assert [call["id"] for call in message.tool_calls] == ["d", "c"]


def test_langchain_remove_message_is_read() -> None:
    assert one(langchain.RemoveMessage(id="m")) == RemoveMessage(id="m")


def test_messages_of_an_sdk_are_read_by_their_role() -> None:
    from openai.types.chat import ChatCompletionMessage  # noqa: PLC0415 - heavy, and for this test alone

    message = ChatCompletionMessage.model_validate(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        }
    )

    assert one(message) == AIMessage(tool_calls=[{"id": "c", "name": "f", "args": {}}])


def test_stored_form_is_read() -> None:
    message = AIMessage("x", id="m", tool_calls=[{"id": "c", "name": "f", "args": {}}])

    assert one(message_to_dict(message)) == message


@pytest.mark.parametrize("value", [None, 5, {"content": "x"}, {}, [5], object(), ("user", 5), [None]])
def test_anything_else_is_refused_with_the_accepted_forms(value: object) -> None:
    with pytest.raises(InputError, match=r"Pass a text, a \(role, text\) pair, a message, a mapping"):
        convert_to_messages(value)


@pytest.mark.parametrize("value", [("bot", "hi"), {"role": "bot", "content": "hi"}, {"role": 5, "content": "hi"}])
def test_unknown_roles_are_refused_with_the_known_ones(value: object) -> None:
    with pytest.raises(InputError, match=r"no message of the role .*Roles: user, human, assistant"):
        convert_to_messages(value)


def test_given_mappings_are_not_changed() -> None:
    given = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}
    before = repr(given)

    convert_to_messages([given])

    assert repr(given) == before
