"""HIST: a history stays one that every provider accepts, whatever happened in it.

What needs a node, a graph or an agent to show is tested with these.
"""

from __future__ import annotations

import json
from typing import Any

from surehand.dialects import anthropic_messages, gemini, openai_chat
from surehand.messages import (
    AIMessage,
    HumanMessage,
    Message,
    ToolMessage,
    add_messages,
    check_transcript,
    close_call,
    convert_to_messages,
    repair_transcript,
    trim_messages,
)
from surehand.outcomes import FailureKind


def ai(*calls: tuple[str | None, str, Any]) -> AIMessage:
    return AIMessage(tool_calls=[{"id": call_id, "name": name, "args": args} for call_id, name, args in calls])


def test_HIST_01_unanswered_call_is_found_and_closed_before_the_next_request() -> None:
    history: list[Message] = [HumanMessage("hi"), ai(("c1", "f", {})), HumanMessage("and?")]

    assert [str(problem) for problem in check_transcript(history)] == ["unanswered: call 'c1', message 1"]

    written = openai_chat.write_messages(history)
    assert [message["role"] for message in written] == ["user", "assistant", "tool", "user"]
    assert written[2]["tool_call_id"] == "c1"
    assert written[2]["content"].startswith("No result of this call is recorded")


def test_HIST_05_trimming_takes_a_call_and_its_answers_as_one() -> None:
    turn: list[Message] = [
        ai(("a", "f", {}), ("b", "f", {})),
        ToolMessage("1", tool_call_id="a"),
        ToolMessage("2", tool_call_id="b"),
    ]
    history = [HumanMessage("hi"), *turn, AIMessage("done"), HumanMessage("and?")]

    for most in range(1, 7):
        assert check_transcript(trim_messages(history, max_messages=most)) == []
    assert trim_messages(history, max_messages=4) == history[4:]
    assert trim_messages(history, max_messages=5) == history[1:]


def test_HIST_07_unparsable_arguments_are_exported_as_an_object() -> None:
    call = ai(("c1", "f", '{"bad'))
    history = [
        HumanMessage("hi"),
        call,
        close_call(call.tool_calls[0], FailureKind.MALFORMED, "Not JSON. Send it again."),
    ]

    (use,) = anthropic_messages.write_messages(history)[1][1]["content"]
    arguments = openai_chat.write_messages(history)[1]["tool_calls"][0]["function"]["arguments"]

    assert use["input"] == {"_raw": '{"bad'}
    assert json.loads(arguments) == {"_raw": '{"bad'}


def test_HIST_09_missing_id_is_made_and_written_to_call_and_answer() -> None:
    (call,) = openai_chat.read_messages(
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": None, "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            }
        ]
    )
    assert isinstance(call, AIMessage)
    answer = ToolMessage("4", tool_call_id=call.tool_calls[0]["id"])

    first, second = openai_chat.write_messages([call, answer])

    assert first["tool_calls"][0]["id"] == second["tool_call_id"] != ""


def test_HIST_11_two_calls_with_one_id_in_a_turn_are_two_calls() -> None:
    first, second = ai(("x", "f", {"a": 1}), ("x", "g", {"b": 2})).tool_calls

    assert first["id"] == "x" != second["id"]
    assert (first["args"], second["args"]) == ({"a": 1}, {"b": 2})


def test_HIST_11_id_used_again_in_a_later_turn_is_made_unique_with_its_answer() -> None:
    history: list[Message] = [
        ai(("x", "f", {})),
        ToolMessage("1", tool_call_id="x"),
        ai(("x", "f", {})),
        ToolMessage("2", tool_call_id="x"),
    ]

    repaired = repair_transcript(history)

    ids = [message.tool_call_id for message in repaired if isinstance(message, ToolMessage)]
    assert len(set(ids)) == 2
    assert check_transcript(repaired) == []


def test_HIST_12_functions_name_as_id_does_not_make_calls_collide() -> None:
    message = ai(("f", "f", {"x": 1}), ("f", "f", {"x": 2}))

    first, second = message.tool_calls
    assert first["id"] != second["id"]
    assert {first["name"], second["name"]} == {"f"}
    written = openai_chat.write_messages([message])[0]["tool_calls"]
    assert [call["function"]["name"] for call in written] == ["f", "f"]


def test_HIST_12_parallel_calls_without_ids_are_answered_one_by_one_and_no_id_is_made_up_for_the_provider() -> None:
    parts = [{"functionCall": {"name": "f", "args": {"x": number}}} for number in (1, 2)]
    message = gemini.read_reply({"candidates": [{"content": {"role": "model", "parts": parts}}]})

    first, second = message.tool_calls
    assert first["id"] != second["id"]
    answers = [ToolMessage("two", tool_call_id=second["id"]), ToolMessage("one", tool_call_id=first["id"])]
    _, said, answered = gemini.write_messages([HumanMessage("hi"), message, *answers])[1]
    assert said["parts"] == parts
    assert [part["functionResponse"] for part in answered["parts"]] == [
        {"name": "f", "response": {"output": word}} for word in ("one", "two")
    ]


def test_HIST_13_conversation_goes_on_after_calls_were_cancelled() -> None:
    call = ai(("c1", "f", {}), ("c2", "f", {}))
    stopped = add_messages([HumanMessage("hi")], [call, ToolMessage("4", tool_call_id="c1")])
    closed = add_messages(stopped, close_call(call.tool_calls[1], FailureKind.CANCELLED, "Cancelled by the user."))

    history = add_messages(closed, HumanMessage("something else"))

    assert check_transcript(history) == []


def test_HIST_13_calls_that_nobody_closed_are_closed_on_the_next_start() -> None:
    history = add_messages([HumanMessage("hi"), ai(("c1", "f", {}))], HumanMessage("something else"))

    repaired = repair_transcript(history)

    assert check_transcript(repaired) == []
    assert [message.type for message in repaired] == ["human", "ai", "tool", "human"]


def test_HIST_15_results_are_appended_by_the_reducer() -> None:
    state = add_messages([], [HumanMessage("hi", id="1"), ai(("c1", "f", {}))])

    after = add_messages(state, [ToolMessage("4", tool_call_id="c1")])

    assert after[:2] == state
    assert [message.type for message in after] == ["human", "ai", "tool"]


def test_HIST_history_of_dicts_without_ids_pairs_by_order() -> None:
    history = convert_to_messages(
        [
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}] * 2},
            {"role": "tool", "content": "1"},
            {"role": "tool", "content": "2"},
        ]
    )

    assert check_transcript(history) == []
