"""Conversations with Gemini are read as they were held, and come back the same."""

from __future__ import annotations

import itertools
import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.gemini import SIGNATURE, Part, answer, call, content, reply, written
from surehand.dialects import anthropic_messages, bedrock_converse, gemini, openai_chat
from surehand.errors import InputError
from surehand.messages import AIMessage, HumanMessage, Message, ToolMessage, check_transcript


def test_histories_are_read_with_their_answers_in_any_order_that_ids_or_names_tell() -> None:
    history = [
        content("user", {"text": "hi"}),
        content("model", call("f", x=1), call("g"), call("f", x=2)),
        content("function", answer("g", output="g"), answer("f", result="f1"), answer("f", error="f2")),
        content("model", call("f", "k1"), call("f", "k2")),
        content("user", answer("f", "k2", output="two"), answer("f", "k1", output="one"), {"text": "go on"}),
    ]

    messages = gemini.read_messages(history)

    assert check_transcript(messages) == []
    first, second = (message for message in messages if isinstance(message, AIMessage))
    told = {message.tool_call_id: message for message in messages if isinstance(message, ToolMessage)}
    assert [told[each["id"]].content for each in first.tool_calls] == ["f1", "g", "f2"]
    assert [told[each["id"]].content for each in second.tool_calls] == ["one", "two"]
    assert told[first.tool_calls[2]["id"]].status == "error"
    assert messages[-1].text == "go on"


def test_what_a_function_answered_goes_back_as_it_came_unless_the_message_was_changed() -> None:
    history = [
        content("user", {"text": "hi"}),
        content("model", call("f", "k")),
        content("user", answer("f", "k", files=["a"], count=0)),
    ]
    messages = gemini.read_messages(history)
    answered = cast("ToolMessage", messages[2])

    assert written(*messages) == history
    assert json.loads(str(answered.content)) == {"files": ["a"], "count": 0}
    assert written(*messages[:2], answered.replace(content="[left out]"))[2] == content(
        "user", answer("f", "k", output="[left out]")
    )


def test_the_pieces_of_a_reply_that_a_history_holds_one_by_one_are_one_message() -> None:
    pieces = [content("model", {"text": "So "}), content("model", {"text": "be it"}), content("model", call("f"))]

    messages = gemini.read_messages([content("user", {"text": "hi"}), *pieces])

    assert [message.type for message in messages] == ["human", "ai"]
    assert messages[1].text == "So be it"
    assert len(cast("AIMessage", messages[1]).tool_calls) == 1


def test_a_content_with_a_call_is_the_models_where_its_role_was_left_out() -> None:
    said = {"parts": [{"text": "So"}, call("f")]}

    messages = gemini.read_messages([{"parts": [{"text": "hi"}]}, said, content("user", answer("f", output="x"))])

    assert [message.type for message in messages] == ["human", "ai", "tool"]
    assert check_transcript(messages) == []
    assert written(*messages)[1] == {"role": "model", **said}


def test_replies_that_ended_are_messages_of_their_own() -> None:
    messages = gemini.read_messages([reply({"text": "a"}), reply({"text": "b"})])

    assert [message.text for message in messages] == ["a", "b"]


def test_a_content_of_an_unknown_role_is_refused() -> None:
    with pytest.raises(InputError, match="'judge'"):
        gemini.read_messages([content("judge", {"text": "x"})])


def test_messages_of_ours_may_stand_among_the_contents() -> None:
    ours = AIMessage(tool_calls=[{"id": "c", "name": "f", "args": {}}])

    messages = gemini.read_messages([HumanMessage("hi"), ours, content("user", answer("f", "c", output="x"))])

    assert check_transcript(messages) == []


def called(name: str, args: Any, signature: str | None) -> Part:
    return call(name, signature=signature, args=args)


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
words = st.text(min_size=1, max_size=5).filter(lambda text: bool(text.strip()))
parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(called, st.sampled_from(["f", "g", "long_name"]), values, st.none() | st.just(SIGNATURE)),
    st.fixed_dictionaries({"text": words}),
    st.fixed_dictionaries({"text": words, "thought": st.just(True)}),
)


@given(st.lists(st.lists(parts, min_size=1, max_size=4), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_any_turn_is_the_same_after_it_was_written_and_read(turns: list[list[Part]], order: Any) -> None:
    messages: list[Message] = [HumanMessage("hi")]
    numbers = itertools.count()
    for parts in turns:
        message = gemini.read_reply(reply(*parts))
        answers = [
            ToolMessage(f"answer {next(numbers)}", tool_call_id=each["id"], status=order.choice(["success", "error"]))
            for each in message.tool_calls
        ]
        order.shuffle(answers)
        messages += [message, *answers, HumanMessage("next")]

    back = gemini.read_messages(written(*messages))

    assert check_transcript(back) == []
    assert traffic(back) == traffic(messages)


def traffic(messages: list[Message]) -> list[Any]:
    """What was said, each call with its answer."""
    told = {message.tool_call_id: message for message in messages if isinstance(message, ToolMessage)}
    return [
        (
            message.text,
            [
                (each["name"], each["args"], told[each["id"]].content, told[each["id"]].status)
                for each in message.tool_calls
            ],
        )
        for message in messages
        if isinstance(message, AIMessage)
    ]


def test_what_gemini_said_is_told_to_other_providers_in_their_form() -> None:
    said = gemini.read_reply(
        reply(
            {"text": "Hm.", "thought": True},
            {"text": "So.", "thoughtSignature": SIGNATURE},
            {"executableCode": {"code": "1"}},
            call("f", signature=SIGNATURE),
        )
    )
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    answered = ToolMessage([{"type": "text", "text": "see"}, image], tool_call_id=said.tool_calls[0]["id"])
    history = [HumanMessage([{"text": "look"}, image]), said, answered]

    user, assistant, results = anthropic_messages.write_messages(history)[1]
    shown = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    assert user["content"] == [{"type": "text", "text": "look"}, shown]
    assert [block["type"] for block in assistant["content"]] == ["text", "tool_use"]
    assert results["content"][0]["content"] == [{"type": "text", "text": "see"}, shown]
    user, assistant, results = bedrock_converse.write_messages(history)[1]
    assert [list(block) for block in user["content"]] == [["text"], ["image"]]
    assert [list(block) for block in assistant["content"]] == [["text"], ["toolUse"]]
    assert [list(block) for block in results["content"][0]["toolResult"]["content"]] == [["text"], ["image"]]
    asked, replied, _ = openai_chat.write_messages(history)
    assert [part["type"] for part in asked["content"]] == ["text", "image_url"]
    assert replied["content"] == "So."
