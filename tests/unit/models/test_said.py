"""A model that reads calls out of its text shows the same in pieces and as a whole, and never a call's marks."""

from __future__ import annotations

import asyncio
import operator
from functools import reduce
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.text_calls import ONE_CALL, TWO_CALLS
from surehand import AIMessage, Tool, tool
from surehand.errors import OptionError
from surehand.messages import AIMessageChunk
from surehand.testing import ScriptedModel


@tool
def f(a: str = "") -> str:
    """Do f."""
    return a


@tool
def g() -> str:
    """Do g."""
    return ""


def pieces_of(text: str, cuts: list[int]) -> list[AIMessageChunk]:
    ends = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    last = AIMessageChunk("", response_metadata={"finish_reason": "stop"}, usage_metadata={"output_tokens": 3})
    return [*(AIMessageChunk(text[start:end], id="r1") for start, end in pairwise(ends)), last]


def asked(reply: Any, **options: Any) -> ScriptedModel:
    return ScriptedModel([reply], **{"text_calls": True, **options}).bind_tools([f, g])


def all_of(reply: AIMessage) -> tuple[Any, ...]:
    calls = [(call["name"], call["args"]) for call in reply.tool_calls]
    return reply.content, calls, reply.id, reply.finish_reason, reply.usage_metadata


def streamed(reply: Any, **options: Any) -> AIMessage:
    return reduce(operator.add, asked(reply, **options).stream("hi")).to_message()


texts = st.one_of(
    st.sampled_from([*(text for text, _ in ONE_CALL.values()), *TWO_CALLS.values()]),
    st.sampled_from(
        ("It is done.", "", " \n", '{"answer": 42}', "```\ncode\n```", "<tool_call>{", "[TOOL_CALLS] is a mark")
    ),
)


@given(lead=st.sampled_from(("", "I look.\n", "> ")), text=texts, cuts=st.lists(st.integers(1, 150), max_size=8))
def test_pieces_add_up_to_the_reply(lead: str, text: str, cuts: list[int]) -> None:
    reply = pieces_of(lead + text, cuts)

    assert all_of(streamed(reply)) == all_of(asked(reply).invoke("hi"))


def test_asynchronous_pieces_add_up_to_the_reply() -> None:
    reply = pieces_of('I look. <tool_call>{"name": "f", "arguments": {}}</tool_call>', [3, 10, 12, 30])

    async def told() -> list[AIMessageChunk]:
        return [piece async for piece in asked(reply).astream("hi")]

    pieces = asyncio.run(told())
    assert [piece.text for piece in pieces if piece.text] == ["I l", "ook."]
    assert all_of(reduce(operator.add, pieces).to_message()) == all_of(asked(reply).invoke("hi"))


def test_blocks_that_are_no_text_stay() -> None:
    thought = {"type": "thinking", "thinking": "I need f.", "signature": "s"}
    text = 'I look.\n<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    reply = AIMessage([thought, {"type": "text", "text": text}])

    read = asked(reply).invoke("hi")

    assert read.content == [thought, {"type": "text", "text": "I look."}]
    assert all_of(streamed(reply)) == all_of(read)
    whole = [AIMessageChunk(text), AIMessageChunk("", whole_content=reply.content)]
    assert all_of(streamed(whole)) == all_of(read)


def test_blocks_of_a_reply_without_calls_are_whole_in_pieces_too() -> None:
    reply = AIMessage([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "<tool_call> is a tag."}])

    assert streamed(reply).content == asked(reply).invoke("hi").content == reply.content


@pytest.mark.parametrize("lead", ["", '<tool_call>{"name": "g", ', "I look.\n"])
def test_reply_with_calls_of_its_own_is_left_as_it_is(lead: str) -> None:
    call: Any = {"id": "c1", "name": "f", "args": "{}", "index": 0, "type": "tool_call_chunk"}
    reply = [
        AIMessageChunk(lead),
        AIMessageChunk("", tool_call_chunks=[call]),
        AIMessageChunk('<tool_call>{"name": "g"}'),
    ]

    whole = streamed(reply)

    assert whole.text == lead + '<tool_call>{"name": "g"}'
    assert [entry["id"] for entry in whole.tool_calls] == ["c1"]
    assert all_of(whole) == all_of(asked(reply).invoke("hi"))


def test_reply_that_begins_anew_is_read_anew() -> None:
    text = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    reply = [AIMessageChunk('I <tool_call>{"name": "g"'), AIMessageChunk("No. ", is_restart=True), AIMessageChunk(text)]

    whole = streamed(reply)

    assert whole.text == "No."
    assert [call["name"] for call in whole.tool_calls] == ["f"]


def test_tool_is_found_by_the_name_that_it_was_offered_by() -> None:
    """No provider takes a dot in a name, so that the model knows the tool by another one."""

    def read(**_: Any) -> str:
        return "ok"

    dotted = Tool.from_json_schema("files.read", {"type": "object"}, read, description="Read.")
    model = ScriptedModel(['<tool_call>{"name": "files_read", "arguments": {}}</tool_call>'], text_calls=True)

    (call,) = model.bind_tools([dotted]).invoke("hi").tool_calls

    assert call["name"] == "files.read"


def test_forms_can_be_named() -> None:
    hermes = ONE_CALL["hermes"][0]

    assert asked(hermes, text_calls="hermes").invoke("hi").tool_calls
    assert asked(hermes, text_calls=["hermes", "json"]).invoke("hi").tool_calls
    assert not asked(hermes, text_calls=("json",)).invoke("hi").tool_calls
    assert not asked(hermes, text_calls=()).invoke("hi").tool_calls


@pytest.mark.parametrize("wrong", ["hermès", ["hermes", "qwen"], 3, {"hermes": 1}, [["hermes"]]])
def test_unknown_form_is_refused_with_the_list(wrong: Any) -> None:
    with pytest.raises(OptionError, match=r"hermes, json, kimi"):
        ScriptedModel([], text_calls=wrong)
