"""Gemini's contents are read whole and written so that they are accepted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support.gemini import SIGNATURE, Part, answer, call, content, reply, written
from surehand import ToolNode, run_tool_calls, tool
from surehand.dialects import dialect_of, gemini
from surehand.errors import InputError
from surehand.messages import (
    AIMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)


def test_a_reply_is_read_with_all_it_holds() -> None:
    message = gemini.read_reply(
        {
            **reply({"text": "Hmm.", "thought": True}, {"text": "Let me see."}, call("add", a=1, signature=SIGNATURE)),
            "usageMetadata": {
                "promptTokenCount": 9,
                "toolUsePromptTokenCount": 1,
                "candidatesTokenCount": 4,
                "thoughtsTokenCount": 3,
                "totalTokenCount": 17,
            },
            "modelVersion": "gemini-3-flash",
            "responseId": "r1",
        }
    )

    assert message.text == "Let me see."
    assert [(each["name"], each["args"]) for each in message.tool_calls] == [("add", {"a": 1})]
    assert message.finish_reason == "stop"
    assert message.response_metadata["id"] == "r1"
    assert message.response_metadata["model"] == "gemini-3-flash"
    assert message.usage_metadata == {"input_tokens": 10, "output_tokens": 7, "total_tokens": 17}
    assert message.additional_kwargs == {"thinking": "Hmm."}


def test_a_reply_of_one_text_has_that_text_as_its_content() -> None:
    assert gemini.read_reply(reply({"text": "Hello"}, {"text": " you"})).content == "Hello you"


def test_a_signed_text_stays_apart_from_the_others() -> None:
    parts = [{"text": "Hello"}, {"text": "", "thoughtSignature": SIGNATURE}]

    message = gemini.read_reply(reply(*parts))

    assert message.content == parts
    assert message.text == "Hello"


@pytest.mark.parametrize(
    ("reason", "read"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("OTHER", "other"),
        ("A_NEW_WORD", "other"),
        (1, "stop"),
        (2, "length"),
        (77, "other"),
        (None, None),
    ],
)
def test_the_reason_of_the_end_is_read_as_words_or_numbers(reason: Any, read: str | None) -> None:
    assert gemini.read_reply(reply({"text": "x"}, reason=reason)).finish_reason == read


def test_a_prompt_that_was_refused_is_told_as_filtered() -> None:
    message = gemini.read_reply({"promptFeedback": {"blockReason": "OTHER"}, "usageMetadata": {"promptTokenCount": 4}})

    assert (message.content, message.tool_calls, message.finish_reason) == ("", [], "content_filter")
    assert message.response_metadata["promptFeedback"] == {"blockReason": "OTHER"}


@pytest.mark.parametrize("payload", [{}, {"error": {"code": 400}}, "text", None, {"candidates": []}])
def test_what_is_no_reply_is_refused(payload: Any) -> None:
    with pytest.raises(InputError, match="candidate"):
        gemini.read_reply(payload)


def test_one_of_several_candidates_is_read() -> None:
    candidates = [{"index": place, "content": content("model", {"text": word})} for place, word in enumerate("ab")]

    assert gemini.read_reply({"candidates": candidates}, candidate=1).text == "b"
    with pytest.raises(InputError, match="candidate 2"):
        gemini.read_reply({"candidates": candidates}, candidate=2)


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ('Malformed function call: print(default_api.add(a=1, b="x', "add"),
        ("Malformed function call: call:default_api:write_file{path:", "write_file"),
        ("Malformed function call: add(a=", "add"),
        ("Unexpected tool call: Model tried to call an undeclared function: list_files", "list_files"),
        ("Malformed function call.", ""),
        ("{}", ""),
        (None, ""),
    ],
)
def test_a_call_that_the_api_refused_is_one_that_can_be_answered(told: str | None, name: str) -> None:
    message = gemini.read_reply(reply(reason="MALFORMED_FUNCTION_CALL", finishMessage=told))

    (lost,) = message.invalid_tool_calls
    assert lost["name"] == name
    assert message.finish_reason == "other"
    back = written(HumanMessage("hi"), message, ToolMessage("no", tool_call_id=lost["id"], status="error"))
    assert back[1]["parts"][0]["functionCall"]["name"] == back[2]["parts"][0]["functionResponse"]["name"]
    assert "id" not in back[1]["parts"][0]["functionCall"]


def test_the_call_that_the_api_stopped_at_is_not_run() -> None:
    message = gemini.read_reply(
        reply(call("f", x=1), call("f", x=2), reason="MALFORMED_FUNCTION_CALL", finishMessage="{}")
    )

    first, second = message.tool_calls
    assert first["args"] == {"x": 1}
    assert [lost["id"] for lost in message.invalid_tool_calls] == [second["id"]]


def test_a_call_of_an_undeclared_tool_is_the_call_that_was_sent() -> None:
    message = gemini.read_reply(reply(call("list_files"), reason="UNEXPECTED_TOOL_CALL", finishMessage="…"))

    assert [(each["name"], each["args"]) for each in message.tool_calls] == [("list_files", {})]
    assert message.invalid_tool_calls == []


def test_what_the_provider_ran_itself_is_kept_and_no_call() -> None:
    parts: list[Part] = [
        {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": SIGNATURE},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "s", "args": {}}},
        {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "s", "response": {}}},
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
        {"aKindOfPartThatIsNew": {"x": 1}},
        {"text": "one"},
    ]

    message = gemini.read_reply(reply(*parts))

    assert (message.tool_calls, message.content, message.text) == ([], parts, "one")
    assert written(HumanMessage("hi"), message)[1]["parts"] == parts


def test_parallel_calls_without_ids_get_ids_that_differ_and_go_back_without() -> None:
    parts = [call("f", x=1, signature=SIGNATURE), call("f", x=1), call("f", x=2)]
    message = gemini.read_reply(reply(*parts))
    first, second, third = message.tool_calls
    answers = [ToolMessage(word, tool_call_id=each["id"]) for word, each in (("c", third), ("a", first), ("b", second))]

    back = written(HumanMessage("hi"), message, *answers)

    assert len({each["id"] for each in message.tool_calls}) == 3
    assert back[1] == content("model", *parts)
    assert back[2] == content("user", answer(output="a"), answer(output="b"), answer(output="c"))


def test_ids_that_the_provider_sent_go_back() -> None:
    message = gemini.read_reply(reply(call("f", "k1"), call("f", "k2")))
    answers = [ToolMessage("x", tool_call_id=each["id"]) for each in message.tool_calls]

    back = written(HumanMessage("hi"), message, *answers)

    assert [each["id"] for each in message.tool_calls] == ["k1", "k2"]
    assert back[2] == content("user", answer("f", "k1", output="x"), answer("f", "k2", output="x"))


def test_a_repeated_id_is_replaced_in_the_call_and_in_its_answer() -> None:
    message = gemini.read_reply(reply(call("f", "k"), call("g", "k")))
    answers = [ToolMessage("x", tool_call_id=each["id"]) for each in message.tool_calls]

    _, said, answered = written(HumanMessage("hi"), message, *answers)

    ids = [part["functionCall"]["id"] for part in said["parts"]]
    assert len(set(ids)) == 2
    assert [part["functionResponse"]["id"] for part in answered["parts"]] == ids


def test_calls_of_another_provider_go_with_their_ids_and_are_vouched_for_where_that_is_asked() -> None:
    foreign = AIMessage(
        [{"type": "thinking", "thinking": "…", "signature": "s"}, {"type": "text", "text": "So."}],
        tool_calls=[{"id": "toolu_1", "name": "f", "args": {}}, {"id": "toolu_2", "name": "f", "args": {}}],
    )
    history = [HumanMessage("hi"), foreign, *(ToolMessage("x", tool_call_id=f"toolu_{n}") for n in (1, 2))]

    plain = written(*history)[1]["parts"]
    vouched = written(*history, sign_calls=True)[1]["parts"]

    assert plain == [{"text": "So."}, call("f", "toolu_1"), call("f", "toolu_2")]
    assert vouched == [{"text": "So."}, call("f", "toolu_1", gemini.UNSIGNED), call("f", "toolu_2")]


def test_a_signature_of_its_own_is_never_replaced() -> None:
    message = gemini.read_reply(reply(call("f", signature=SIGNATURE), call("f")))

    parts = written(HumanMessage("hi"), message, sign_calls=True)[1]["parts"]

    assert parts == [call("f", signature=SIGNATURE), call("f")]


def test_broken_arguments_are_shown_and_never_sent() -> None:
    broken = AIMessage(tool_calls=[{"id": "c", "name": "1 bad name!", "args": '{"a": '}])

    _, said, answered = written(HumanMessage("hi"), broken)

    assert said["parts"][0]["functionCall"] == {"id": "c", "name": "_1_bad_name_", "args": {"_raw": '{"a": '}}
    assert answered["parts"][0]["functionResponse"]["name"] == "_1_bad_name_"


def test_failures_are_told_as_errors_and_empty_results_as_such() -> None:
    calls = AIMessage(tool_calls=[{"id": f"c{n}", "name": "f", "args": {}} for n in (1, 2)])
    answers = [ToolMessage("no\ud800", tool_call_id="c1", status="error"), ToolMessage("", tool_call_id="c2")]

    back = written(HumanMessage("hi"), calls, *answers)[2]

    assert back == content("user", answer("f", "c1", error="no�"), answer("f", "c2", output="(no output)"))


PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
WAV = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}


def test_files_go_in_the_answer_where_the_model_takes_them_there() -> None:
    called = AIMessage(tool_calls=[{"id": "c", "name": "f", "args": {}}])
    shown = ToolMessage([{"type": "text", "text": "see"}, PNG, WAV], tool_call_id="c")

    newer = written(HumanMessage("hi"), called, shown)[2]["parts"][0]["functionResponse"]
    older = written(HumanMessage("hi"), called, shown, with_media=False)[2]["parts"][0]["functionResponse"]

    assert newer["parts"] == [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]
    assert newer["response"]["output"].startswith("see\n(a block of type input_audio")
    assert "parts" not in older
    assert "type image" in older["response"]["output"]


def test_the_system_prompt_stands_apart_and_roles_take_turns() -> None:
    system, contents = gemini.write_messages(
        [
            SystemMessage("Be short."),
            HumanMessage("a"),
            HumanMessage("b"),
            AIMessage("c"),
            SystemMessage("Now long."),
            AIMessage("d"),
        ]
    )

    assert system == {"parts": [{"text": "Be short."}, {"text": "Now long."}]}
    assert contents == [
        content("user", {"text": "a"}, {"text": "b"}),
        content("model", {"text": "c"}, {"text": "d"}),
    ]


def test_a_trimmed_conversation_begins_with_the_user_and_no_content_is_empty() -> None:
    contents = written(AIMessage("c"), HumanMessage(""), AIMessage(""))

    assert [entry["role"] for entry in contents] == ["user", "model", "user", "model"]
    assert all(entry["parts"] and all(part["text"] for part in entry["parts"]) for entry in contents)
    assert gemini.write_messages([]) == (None, [])


def test_a_message_that_changes_the_history_is_refused() -> None:
    with pytest.raises(InputError, match="RemoveMessage"):
        written(RemoveMessage(id="1"))


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def snake(part: Part) -> Part:
    return {"function_call": part["functionCall"]}


@pytest.mark.parametrize("spelled", [dict, snake])
def test_calls_are_run_and_answered_in_contents(spelled: Callable[[Part], Part]) -> None:
    said = content("model", *map(spelled, [call("add", a=1, b=2), call("add", "k", a=3, b="x")]))

    (back,) = run_tool_calls(said, [add])

    first, second = (part["functionResponse"] for part in back["parts"])
    assert back["role"] == "user"
    assert first == {"name": "add", "response": {"output": "3"}}
    assert (second["id"], second["name"]) == ("k", "add")
    assert "$.b: expected an integer" in second["response"]["error"]


def test_a_whole_reply_is_answered_by_a_node() -> None:
    state = {"messages": [content("user", {"text": "hi"}), reply(call("add", a=1, b=2))]}

    assert ToolNode([add]).invoke(state) == {"messages": [content("user", answer("add", output="3"))]}


def test_only_what_a_model_of_gemini_said_is_known() -> None:
    dialect = dialect_of([content("user", {"text": "x"}), content("model", {"text": "y"})])

    assert dialect is not None
    assert dialect.NAME == gemini.NAME
    assert dialect_of([content("user", {"text": "x"})]) is None
