"""What holds for messages and conversations whatever a model sent and however a run broke off."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from surehand.dialects import anthropic_messages, openai_chat
from surehand.messages import (
    AIMessage,
    HumanMessage,
    Message,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    add_messages,
    check_transcript,
    convert_to_messages,
    message_from_dict,
    message_to_dict,
    repair_transcript,
    trim_messages,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(["id", "name", "args", "arguments", "input", "function", "custom", "type", "index", "error"])
ENTRIES = JSON | st.dictionaries(KEYS, JSON | st.dictionaries(KEYS, JSON, max_size=3), max_size=5)
JUNK = JSON | st.lists(ENTRIES, max_size=4)

IDS = st.sampled_from("abc")
CALLS = st.lists(
    st.fixed_dictionaries({"id": IDS, "name": st.just("f"), "args": st.sampled_from(["{}", "{bad"])}), max_size=3
)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(HumanMessage, st.text(max_size=3)),
    st.builds(SystemMessage, st.text(max_size=3)),
    st.builds(AIMessage, tool_calls=CALLS),
    st.builds(ToolMessage, st.text(max_size=3), tool_call_id=IDS),
)
TRANSCRIPTS = st.lists(MESSAGES, max_size=10)


def spoken(messages: list[Message]) -> list[str]:
    """All messages but the answers, which repair may add and leave out."""
    return [f"{message.type}:{message.text}" for message in messages if not isinstance(message, ToolMessage)]


@given(JUNK)
def test_no_junk_in_calls_stops_a_message(junk: Any) -> None:
    message = AIMessage(tool_calls=junk)

    ids = [call["id"] for call in message.tool_calls]
    assert len(set(ids)) == len(ids)
    assert all(ids)
    assert {call["id"] for call in message.invalid_tool_calls} <= set(ids)
    assert all(isinstance(call["name"], str) for call in message.tool_calls)
    valid = [call for call in message.tool_calls if call["id"] not in {bad["id"] for bad in message.invalid_tool_calls}]
    assert all(isinstance(call["args"], dict) for call in valid)


@given(st.lists(ENTRIES, max_size=4))
def test_every_entry_becomes_one_call_in_order(entries: list[Any]) -> None:
    assert len(AIMessage(tool_calls=entries).tool_calls) == len(entries)


@given(JUNK)
def test_junk_can_be_stored_printed_and_sent(junk: Any) -> None:
    message = AIMessage(tool_calls=junk)

    stored = json.loads(json.dumps(message_to_dict(message)))
    again = message_from_dict(stored)
    assert isinstance(again, AIMessage)
    assert [(call["id"], call["name"]) for call in again.tool_calls] == [
        (c["id"], c["name"]) for c in message.tool_calls
    ]
    assert message.pretty_repr()
    assert str(message)
    for written in (openai_chat.write_messages([message]), anthropic_messages.write_messages([message])):
        json.dumps(written, ensure_ascii=False, allow_nan=False).encode()


@given(JUNK)
def test_assistants_message_with_junk_calls_is_read(junk: Any) -> None:
    assert isinstance(convert_to_messages([{"role": "assistant", "content": None, "tool_calls": junk}])[0], AIMessage)


@given(TRANSCRIPTS)
def test_stored_messages_come_back_equal(messages: list[Message]) -> None:
    for message in messages:
        assert message_from_dict(json.loads(json.dumps(message_to_dict(message)))) == message


@given(TRANSCRIPTS)
def test_repaired_transcript_has_no_problems_and_loses_nothing_that_was_said(messages: list[Message]) -> None:
    repaired = repair_transcript(messages)

    assert check_transcript(repaired) == []
    assert spoken(repaired) == spoken(messages)


@given(TRANSCRIPTS)
def test_repair_is_idempotent_and_leaves_usable_transcripts_alone(messages: list[Message]) -> None:
    repaired = repair_transcript(messages)

    assert all(new is old for new, old in zip(repair_transcript(repaired), repaired, strict=True))
    if check_transcript(messages) == []:
        assert repaired == messages


@given(TRANSCRIPTS)
def test_one_more_problem_is_found_beside_all_others(messages: list[Message]) -> None:
    # What a transcript without problems is spared is the search for them: with one at its end it is searched.
    orphan = ToolMessage("x", tool_call_id="of nobody")
    *found, last = check_transcript([*messages, orphan])
    assert found == check_transcript(messages)
    assert last.kind == "orphaned"


@given(TRANSCRIPTS)
def test_every_answer_of_a_repaired_transcript_follows_its_call(messages: list[Message]) -> None:
    repaired = repair_transcript(messages)

    open_ids: set[str] = set()
    for message in repaired:
        if isinstance(message, ToolMessage):
            assert message.tool_call_id in open_ids
            open_ids.remove(message.tool_call_id)
        else:
            assert open_ids == set()
            open_ids = {call["id"] for call in message.tool_calls} if isinstance(message, AIMessage) else set()
    assert open_ids == set()


@given(TRANSCRIPTS, st.integers(1, 8), st.booleans())
def test_trimming_never_parts_a_call_from_its_answers(messages: list[Message], most: int, keep_system: bool) -> None:  # noqa: FBT001 - drawn
    usable = repair_transcript(messages)

    trimmed = trim_messages(usable, max_messages=most, keep_system=keep_system)

    assert check_transcript(trimmed) == []
    tail = trimmed[next((i for i, m in enumerate(trimmed) if not isinstance(m, SystemMessage)), len(trimmed)) :]
    assert tail == usable[len(usable) - len(tail) :]


@given(TRANSCRIPTS, st.integers(1, 8))
def test_trimmed_messages_fit_unless_the_newest_part_alone_is_too_long(messages: list[Message], most: int) -> None:
    usable = repair_transcript(messages)

    trimmed = trim_messages(usable, max_messages=most, keep_system=False)

    newest = trim_messages(usable, max_messages=1, keep_system=False)
    assert len(trimmed) <= max(most, len(newest))


WITH_IDS = st.lists(st.builds(HumanMessage, st.text(max_size=3), id=st.sampled_from([None, "1", "2", "3"])), max_size=6)


@given(WITH_IDS, WITH_IDS)
def test_every_message_of_a_merged_list_has_an_id_of_its_own(left: list[Message], right: list[Message]) -> None:
    merged = add_messages(add_messages([], left), right)

    ids = [message.id for message in merged]
    assert None not in ids
    assert len(set(ids)) == len(ids)


@given(WITH_IDS, WITH_IDS)
def test_adding_twice_is_adding_once(left: list[Message], right: list[Message]) -> None:
    known = add_messages([], right)
    once = add_messages(add_messages([], left), known)

    assert add_messages(once, known) == once


@given(WITH_IDS)
def test_nothing_added_changes_nothing(left: list[Message]) -> None:
    known = add_messages([], left)

    assert add_messages(known, []) == known


@given(WITH_IDS, st.data())
def test_removed_message_alone_is_gone(left: list[Message], data: st.DataObject) -> None:
    known = add_messages(["x"], left)
    gone = data.draw(st.sampled_from([message.id for message in known]))
    assert gone is not None

    assert add_messages(known, RemoveMessage(id=gone)) == [message for message in known if message.id != gone]


@settings(max_examples=50)
@given(TRANSCRIPTS)
def test_what_is_written_for_a_provider_reads_as_a_usable_transcript(messages: list[Message]) -> None:
    said = [message for message in messages if not isinstance(message, SystemMessage)]

    for written in (openai_chat.write_messages(said), anthropic_messages.write_messages(said)[1]):
        assert check_transcript(convert_to_messages(written)) == []
