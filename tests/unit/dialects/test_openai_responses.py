"""OpenAI's Responses are read whole and written so that they are accepted."""

from __future__ import annotations

from typing import Any

import pytest

from surehand.dialects import anthropic_messages, openai_chat, openai_responses
from surehand.errors import InputError
from surehand.messages import AIMessage, HumanMessage, Message, RemoveMessage, SystemMessage, ToolMessage

Item = dict[str, Any]

USER: Item = {"role": "user", "content": "hi"}
THOUGHT: Item = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "sealed"}
KNOWN_BY_ID: Item = {"type": "reasoning", "id": "rs", "summary": []}
SEARCH: Item = {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search"}}
SHELL: Item = {"type": "shell_call", "id": "sh", "call_id": "s", "status": "completed", "action": {"commands": ["ls"]}}
SHELL_OUTPUT: Item = {"type": "shell_call_output", "call_id": "s", "output": []}


def call(call_id: str = "c", arguments: str = "{}", **fields: Any) -> Item:
    item = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": "f", "arguments": arguments}
    return {**item, "status": "completed", **fields}


def custom(text: str = "SELECT 1", **fields: Any) -> Item:
    return {"type": "custom_tool_call", "id": "ctc", "call_id": "q", "name": "sql", "input": text, **fields}


def answer(call_id: str = "c", output: Any = "4", kind: str = "function_call_output") -> Item:
    return {"type": kind, "call_id": call_id, "output": output}


def says(text: str = "hello", **fields: Any) -> Item:
    part: Item = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg", "role": "assistant", "status": "completed", "content": [part], **fields}


def reply(*output: Item, **fields: Any) -> Item:
    return {"object": "response", "id": "resp", "status": "completed", "output": list(output), **fields}


def read(*items: Any) -> list[Message]:
    return openai_responses.read_messages(items)


def again(*items: Any, is_stored: bool = True) -> list[Item]:
    """The items, read and written again."""
    return openai_responses.write_messages(read(*items), is_stored=is_stored)[1]


def calls_of(message: Message) -> list[tuple[str, Any]]:
    return [(entry["id"], entry["args"]) for entry in message.tool_calls] if isinstance(message, AIMessage) else []


def test_a_reply_without_output_is_refused() -> None:
    with pytest.raises(InputError, match="a list of output items"):
        openai_responses.read_reply({"error": {"message": "no"}})


def test_a_refusal_is_beside_the_content() -> None:
    part = {"type": "refusal", "refusal": "I will not."}
    message = openai_responses.read_reply(reply(says(content=[part])))

    assert message.additional_kwargs["refusal"] == "I will not."


def test_text_of_all_messages_is_the_text_of_the_reply() -> None:
    message = openai_responses.read_reply(reply(says("One. ", phase="commentary"), SEARCH, says("Two.")))

    assert message.text == "One. Two."


def test_custom_calls_are_never_read_as_json() -> None:
    message = openai_responses.read_reply(reply(custom('{"a": 1}')))

    assert calls_of(message) == [("q", {"input": '{"a": 1}'})]


def test_a_call_whose_sending_stopped_cannot_run() -> None:
    message = openai_responses.read_reply(
        reply(
            call("a", '{"a": 1}', status="incomplete"),
            call("b", "", status="in_progress"),
            custom("DROP TABLE x", status="incomplete"),
        )
    )

    assert [entry["id"] for entry in message.invalid_tool_calls] == ["a", "b", "q"]


@pytest.mark.parametrize(
    "item",
    [
        SEARCH,
        SHELL,
        {"type": "local_shell_call", "id": "lsh", "call_id": "l", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "apply_patch_call", "id": "apc", "call_id": "p", "operation": {"type": "delete_file", "path": "x"}},
        {"type": "computer_call", "id": "cc", "call_id": "m", "action": {"type": "screenshot"}},
        {"type": "mcp_call", "id": "mcp", "name": "ask", "arguments": "{}", "server_label": "wiki", "output": "yes"},
        {"type": "mcp_approval_request", "id": "mcpr", "name": "ask", "arguments": "{}", "server_label": "wiki"},
        {"type": "tool_search_call", "id": "tsc", "call_id": "t", "execution": "client", "arguments": {"queries": []}},
        {"type": "a_call_of_tomorrow_call", "id": "x", "call_id": "y"},
        custom(call_id="xs_call_1"),
    ],
)
def test_what_is_no_call_of_a_function_is_kept_and_neither_run_nor_answered(item: Item) -> None:
    message = openai_responses.read_reply(reply(item, call()))

    assert calls_of(message) == [("c", {})]
    assert message.content == [item, call()]
    assert again(USER, reply(item, call()), answer()) == [USER, item, call(), answer()]


@pytest.mark.parametrize("role", ["developer", "user", None])
def test_items_that_have_a_role_are_no_messages(role: str | None) -> None:
    tools = {"type": "additional_tools", "role": role, "tools": [{"type": "function", "name": "f"}]}

    assert again(USER, tools, call(), answer()) == [USER, tools, call(), answer()]


def test_items_that_were_made_in_one_go_are_one_message() -> None:
    messages = read(USER, THOUGHT, call("a"), call("b"), answer("a"), answer("b"), says("done"))

    assert [message.type for message in messages] == ["human", "ai", "tool", "tool", "ai"]
    assert calls_of(messages[1]) == [("a", {}), ("b", {})]


def test_answers_of_clients_to_other_calls_stay_with_those() -> None:
    """Else the newest message would be one without the call that is still open."""
    messages = read(USER, call("a"), call("b"), SHELL, answer("a"), SHELL_OUTPUT)

    assert [message.type for message in messages] == ["human", "ai", "tool"]
    assert calls_of(messages[1]) == [("a", {}), ("b", {})]


def test_a_program_goes_on_after_its_calls_were_answered() -> None:
    program = {"type": "program", "id": "cm", "call_id": "p", "code": "…", "fingerprint": "f"}
    caller = {"type": "program", "caller_id": "p"}
    output = {"type": "program_output", "id": "po", "call_id": "p", "result": "4", "status": "completed"}
    items = [USER, program, call(caller=caller), {**answer(), "caller": caller}, output, says("It is 4.")]

    assert again(*items) == items
    assert openai_responses.write_answers([ToolMessage("4", tool_call_id="c")], items[:3]) == [items[3]]


def test_a_whole_response_among_the_items_says_why_it_ended() -> None:
    cut_off = reply(call(arguments='{"a"'), status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    messages = read(USER, cut_off)

    assert isinstance(messages[1], AIMessage)
    assert messages[1].finish_reason == "length"


def test_answers_have_the_form_of_their_calls() -> None:
    answers = [ToolMessage("4", tool_call_id="c"), ToolMessage("1", tool_call_id="q")]

    assert openai_responses.write_answers(answers, [USER, reply(call(), custom())]) == [
        answer(),
        answer("q", "1", "custom_tool_call_output"),
    ]


def test_custom_calls_of_chat_completions_are_written_as_such() -> None:
    (message,) = openai_chat.read_messages(
        [{"role": "assistant", "tool_calls": [{"id": "q", "type": "custom", "custom": {"name": "sql", "input": "x"}}]}]
    )
    _, written = openai_responses.write_messages([HumanMessage("hi"), message, ToolMessage("1", tool_call_id="q")])

    assert [item.get("type") for item in written[1:]] == ["custom_tool_call", "custom_tool_call_output"]


def test_a_history_goes_back_as_it_came() -> None:
    items = [
        USER,
        THOUGHT,
        SEARCH,
        says("So."),
        call(arguments='{ "a":1 }'),
        answer(),
        says("Done.", phase="final_answer"),
    ]

    assert again(*items) == items


def test_the_instructions_are_those_of_the_system_at_the_start() -> None:
    instructions, items = openai_responses.write_messages(
        [SystemMessage("Be short."), SystemMessage("Be kind."), HumanMessage("hi"), SystemMessage("Now.")]
    )

    assert instructions == "Be short.\n\nBe kind."
    assert items == [USER, {"role": "system", "content": "Now."}]


def test_an_unanswered_call_is_answered_and_a_stray_answer_left_out() -> None:
    written = again(USER, call("a"), call("b"), answer("a"), answer("z"), {"role": "user", "content": "go on"})

    assert [item.get("call_id") for item in written] == [None, "a", "b", "a", "b", None]


def test_all_calls_of_a_turn_stand_together_and_each_thought_before_its_call() -> None:
    first, second = {**THOUGHT, "id": "rs_1"}, {**THOUGHT, "id": "rs_2"}
    written = again(USER, first, call("a"), says("So."), second, call("b"), answer("b"), answer("a"))

    assert [item.get("id") for item in written[1:5]] == ["msg", "rs_1", "fc_a", "rs_2"]
    assert [item["call_id"] for item in written[5:]] == ["b", "b", "a"]


def test_a_broken_call_is_written_as_one_that_the_api_takes_and_has_never_seen() -> None:
    written = again(USER, THOUGHT, says("So."), call(arguments='{"a": '), answer(output="malformed"))

    assert [item.get("type") for item in written] == [None, "message", "function_call", "function_call_output"]
    assert written[2] == {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"_raw": "{\\"a\\": "}'}
    assert "id" not in written[1]


def test_a_thought_that_is_only_an_id_goes_back_where_the_provider_keeps_it_alone() -> None:
    items = [USER, KNOWN_BY_ID, call(), answer()]
    unseen = call()
    del unseen["id"]

    assert again(*items) == items
    assert again(*items, is_stored=False) == [USER, unseen, answer()]
    assert again(USER, THOUGHT, call(), answer(), is_stored=False)[1] == THOUGHT


def test_what_was_cut_off_does_not_go_back() -> None:
    searching = {**SEARCH, "status": "searching"}
    cut_off = reply(says("Let me", status="incomplete"), searching, THOUGHT, status="incomplete")

    (said,) = again(USER, cut_off)[1:]
    assert (said["content"][0]["text"], "status" in said) == ("Let me", False)


def test_a_call_that_the_host_took_out_is_not_written() -> None:
    message = openai_responses.read_reply(reply(THOUGHT, call("a"), call("b")))
    _, written = openai_responses.write_messages([message.replace(tool_calls=message.tool_calls[:1])])

    assert [item.get("call_id") for item in written] == ["a", "a"]


def test_fields_that_only_replies_have_are_left_out() -> None:
    parsed = call(parsed_arguments={"a": 1}, created_by="x")

    assert again(USER, parsed, answer()) == [USER, call(), answer()]


def test_replies_of_other_providers_are_written_in_their_texts_and_calls() -> None:
    blocks: list[str | Item] = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "So."},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
    ]
    message = AIMessage(blocks, tool_calls=[{"id": "toolu_1", "name": "f", "args": {"a": 1}}])
    _, written = openai_responses.write_messages(
        [HumanMessage("hi"), message, ToolMessage("4", tool_call_id="toolu_1")]
    )

    assert written[1] == {"role": "assistant", "content": "So."}
    assert written[2] == {"type": "function_call", "call_id": "toolu_1", "name": "f", "arguments": '{"a": 1}'}


def test_other_providers_are_sent_the_texts_and_calls_of_a_reply() -> None:
    messages = read(USER, THOUGHT, SEARCH, says("So."), call(), answer())
    _, sent = anthropic_messages.write_messages(messages)

    assert [block["type"] for block in sent[1]["content"]] == ["text", "tool_use"]
    assert openai_chat.write_messages(messages)[1]["content"] == "So."


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"type": "text", "text": "x"}, {"type": "input_text", "text": "x"}),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
            {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AA"},
        ),
        (
            {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
            {"type": "input_image", "detail": "auto", "image_url": "https://x/y.png"},
        ),
        (
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AA"}},
            {"type": "input_file", "filename": "file.pdf", "file_data": "data:application/pdf;base64,AA"},
        ),
        ({"type": "input_file", "file_id": "file-1"}, {"type": "input_file", "file_id": "file-1"}),
    ],
)
def test_images_and_files_are_written_for_users_and_in_answers(block: Item, part: Item) -> None:
    image: Item = {"type": "input_image", "file_id": "file-0"}
    said = openai_responses.write_messages([HumanMessage([block])])[1]
    turn = AIMessage(tool_calls=[{"id": "c", "name": "f", "args": {}}])
    answered = openai_responses.write_messages([turn, ToolMessage([block, image], tool_call_id="c")])[1]

    assert said == [{"role": "user", "content": [part]}]
    assert answered[1]["output"] == [part, image]


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "text", "text": "x"}, "x"),
        ({"type": "audio", "data": "AA"}, "(a block of type audio that cannot be shown here)"),
        (
            {"type": "input_file", "filename": "a.mp3", "file_data": "data:audio/mpeg;base64,AA"},
            "(a block of type input_file that cannot be shown here)",
        ),
    ],
)
def test_an_answer_without_an_image_or_a_file_is_a_text(block: Item, text: str) -> None:
    (written,) = openai_responses.write_answers([ToolMessage([block], tool_call_id="c")])

    assert written["output"] == text


def test_a_message_that_the_api_does_not_have_is_refused() -> None:
    with pytest.raises(InputError, match="have no such message"):
        openai_responses.write_messages([RemoveMessage(id="x")])


@pytest.mark.parametrize("item", [{"kind": "x"}, 5, {"role": "wizard", "content": "x"}])
def test_what_is_no_item_is_refused(item: Any) -> None:
    with pytest.raises(InputError):
        read(USER, item)


def test_an_id_that_comes_twice_in_one_turn_is_answered_twice() -> None:
    messages = read(USER, call("a"), call("a", '{"b": 1}'), answer("a", "first"), answer("a", "second"))

    assert len({entry_id for entry_id, _ in calls_of(messages[1])}) == 2
    assert [message.text for message in messages[2:]] == ["first", "second"]
