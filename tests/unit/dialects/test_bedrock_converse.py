"""Bedrock's Converse is read whole and written so that it is accepted."""

from __future__ import annotations

from typing import Any

import pytest

from surehand.dialects import bedrock_converse, dialect_of
from surehand.errors import InputError
from surehand.messages import AIMessage, HumanMessage, Message, RemoveMessage, SystemMessage, ToolMessage

Block = dict[str, Any]

SERVER_SIDE: list[Block] = [
    {"toolUse": {"toolUseId": "s", "name": "nova_code_interpreter", "input": {"x": 1}, "type": "server_tool_use"}},
    {"toolResult": {"toolUseId": "s", "content": [{"json": {"out": 2}}], "status": "success", "type": "its_result"}},
]
THOUGHT: Block = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}}


def use(call_id: str, name: str = "f", **args: Any) -> Block:
    return {"toolUse": {"toolUseId": call_id, "name": name, "input": args}}


def result(call_id: str, *content: Block, status: str = "success") -> Block:
    return {"toolResult": {"toolUseId": call_id, "content": list(content), "status": status}}


def reply(*content: Block, **fields: Any) -> Block:
    return {"output": {"message": {"role": "assistant", "content": list(content)}}, "stopReason": "tool_use", **fields}


def calls(*ids: str) -> AIMessage:
    return AIMessage(tool_calls=[{"id": call_id, "name": "f", "args": {}} for call_id in ids])


def written(*messages: Message) -> list[Block]:
    return bedrock_converse.write_messages(messages)[1]


def written_back(*content: Block) -> list[Block]:
    """The content of a reply, read and written."""
    blocks: list[Block] = written(HumanMessage("hi"), bedrock_converse.read_reply(reply(*content)))[1]["content"]
    return blocks


def test_reply_is_read_with_all_it_holds() -> None:
    usage = {"inputTokens": 5, "outputTokens": 7, "totalTokens": 22, "cacheReadInputTokens": 10}

    message = bedrock_converse.read_reply(
        reply(THOUGHT, {"text": "Let me look."}, *SERVER_SIDE, use("a", x=1), usage=usage, metrics={"latencyMs": 3})
    )

    assert message.tool_calls == [{"id": "a", "name": "f", "args": {"x": 1}, "type": "tool_call"}]
    assert message.text == "Let me look."
    assert message.content[0] == THOUGHT
    assert list(message.content[2:4]) == SERVER_SIDE
    assert message.finish_reason == "tool_calls"
    assert message.response_metadata == {"stopReason": "tool_use"}
    assert message.usage_metadata == {"input_tokens": 15, "output_tokens": 7, "total_tokens": 22}


def test_one_plain_text_is_the_content() -> None:
    assert bedrock_converse.read_reply(reply({"text": "hi"})).content == "hi"
    assert bedrock_converse.read_reply(reply()).content == ""


@pytest.mark.parametrize("payload", [{}, {"message": "no such model"}, {"output": {}}, None, "x"])
def test_payload_without_a_message_is_refused(payload: Any) -> None:
    with pytest.raises(InputError, match="Expected a reply of Converse"):
        bedrock_converse.read_reply(payload)


def test_blocks_that_are_not_ours_go_back_as_they_came() -> None:
    redacted: Block = {"reasoningContent": {"redactedContent": b"\x00\xff"}}
    content: list[Block] = [
        THOUGHT,
        redacted,
        {"text": "x"},
        *SERVER_SIDE,
        use("a", x=1),
        {"cachePoint": {"type": "default"}},
    ]

    assert written_back(*content) == content


@pytest.mark.parametrize(("kind", "count"), [("tool_use", 1), ("server_tool_use", 0), ("mcp_tool_use", 0)])
def test_only_a_call_that_nobody_else_runs_is_ours(kind: str, count: int) -> None:
    block = {"toolUse": {**use("a")["toolUse"], "type": kind}}

    assert len(bedrock_converse.read_reply(reply(block)).tool_calls) == count


def test_cited_text_is_text_and_goes_back_cited() -> None:
    cited = {"citationsContent": {"content": [{"text": "so"}], "citations": [{"title": "t", "source": "s"}]}}

    assert bedrock_converse.read_reply(reply(cited)).text == "so"
    assert written_back(cited) == [cited]


def test_bytes_in_a_history_stay_bytes() -> None:
    image = {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}
    history: list[Block] = [
        {"role": "user", "content": [{"text": "look"}, image]},
        {"role": "assistant", "content": [use("a")]},
        {"role": "user", "content": [result("a", {"text": "seen"}, image)]},
    ]

    assert written(*bedrock_converse.read_messages(history)) == history


def test_user_and_assistant_alternate_and_answers_come_first() -> None:
    system, messages = bedrock_converse.write_messages(
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

    assert system == [{"text": "s"}]
    assert messages == [
        {"role": "user", "content": [{"text": "a"}, {"text": "b"}]},
        {"role": "assistant", "content": [use("1"), use("2")]},
        {
            "role": "user",
            "content": [result("1", {"text": "4"}), result("2", {"text": "no"}, status="error"), {"text": "c"}],
        },
    ]


def test_conversation_begins_with_the_user_and_ends_without_blanks() -> None:
    messages = written(AIMessage("hi \n"))

    assert [message["role"] for message in messages] == ["user", "assistant"]
    assert messages[1]["content"] == [{"text": "hi"}]


@pytest.mark.parametrize(
    "message", [HumanMessage(""), HumanMessage(" "), HumanMessage([{"text": ""}]), HumanMessage([])]
)
def test_no_content_is_empty(message: Message) -> None:
    assert written(message) == [{"role": "user", "content": [{"text": "(no output)"}]}]


def test_answer_without_output_says_so() -> None:
    assert written(calls("a"), ToolMessage("", tool_call_id="a"))[2]["content"] == [
        result("a", {"text": "(no output)"})
    ]


def test_system_keeps_its_cache_point() -> None:
    point = {"cachePoint": {"type": "default"}}

    assert bedrock_converse.write_messages([SystemMessage([{"text": "s"}, point]), HumanMessage("x")])[0] == [
        {"text": "s"},
        point,
    ]


def test_broken_calls_are_written_as_objects_with_good_names_and_ids() -> None:
    message = AIMessage(tool_calls=[{"id": "a b", "name": "no good", "args": "{bad"}])

    [call] = written(HumanMessage("x"), message)[1]["content"]

    assert call["toolUse"]["input"] == {"_raw": "{bad"}
    assert call["toolUse"]["name"] == "no_good"
    assert call["toolUse"]["toolUseId"].startswith("call_")


@pytest.mark.parametrize("call_id", ["tooluse_x-1", "functions.f:0", "a" * 64])
def test_id_that_bedrock_takes_is_kept(call_id: str) -> None:
    assert written(HumanMessage("x"), calls(call_id))[1]["content"] == [use(call_id)]


@pytest.mark.parametrize("call_id", ["a/b", ".", "a" * 65, "é"])
def test_id_that_bedrock_refuses_is_replaced_by_one_that_stays(call_id: str) -> None:
    [call] = written(HumanMessage("x"), calls(call_id))[1]["content"]

    assert call["toolUse"]["toolUseId"].startswith("call_")
    assert written(HumanMessage("x"), calls(call_id))[1]["content"] == [call]


def test_tools_are_named_as_they_were_offered() -> None:
    _, messages = bedrock_converse.write_messages([HumanMessage("x"), calls("a")], names={"f": "g"})

    assert messages[1]["content"] == [use("a", "g")]


def test_message_that_removes_is_refused() -> None:
    with pytest.raises(InputError, match="Converse has no such message"):
        bedrock_converse.write_messages([RemoveMessage(id="x")])


def test_other_providers_blocks_are_written_as_bedrock_takes_them() -> None:
    message = AIMessage(
        [
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "thinking", "thinking": "unsigned"},
            {"type": "text", "text": "x", "citations": [{"type": "char_location", "cited_text": "y"}]},
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
            {"type": "tool_use", "id": "a", "name": "f", "input": {}},
        ],
        tool_calls=[{"id": "a", "name": "f", "args": {}}],
    )

    assert written(HumanMessage("x"), message)[1]["content"] == [THOUGHT, {"text": "x"}, use("a")]


def test_answers_are_one_message_with_the_ids_they_came_with() -> None:
    answers = [ToolMessage("1", tool_call_id="a b"), ToolMessage("2", tool_call_id="c", status="error")]

    assert bedrock_converse.write_answers(answers) == [
        {"role": "user", "content": [result("a b", {"text": "1"}), result("c", {"text": "2"}, status="error")]}
    ]
    assert bedrock_converse.write_answers([]) == []


def test_history_with_a_whole_reply_is_read_and_known() -> None:
    given: list[Block] = [{"role": "user", "content": [{"text": "hi"}]}, reply(use("a", x=1))]

    messages = bedrock_converse.read_messages(given)

    assert [message.type for message in messages] == ["human", "ai"]
    dialect = dialect_of(given)
    assert dialect is not None
    assert dialect.NAME == "bedrock_converse"


def test_answers_in_a_history_find_their_calls() -> None:
    given: list[Block] = [
        {"role": "assistant", "content": [{"text": "x"}, use("a"), use("b")]},
        {
            "role": "user",
            "content": [result("b", {"json": {"n": 1}}, status="error"), result("a", {"text": "1"}), {"text": "?"}],
        },
    ]

    _, first, second, said = bedrock_converse.read_messages(given)

    assert isinstance(first, ToolMessage)
    assert isinstance(second, ToolMessage)
    assert (first.tool_call_id, first.status, first.content) == ("b", "error", [{"json": {"n": 1}}])
    assert (second.tool_call_id, second.status, second.content) == ("a", "success", "1")
    assert said.text == "?"
