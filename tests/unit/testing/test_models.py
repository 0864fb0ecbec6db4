from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from surehand import AIMessage, AIMessageChunk, HumanMessage, InputError, Message, OptionError, tool
from surehand.errors import ScriptExhausted
from surehand.testing import FunctionModel, ScriptedModel


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def test_replies_come_in_order() -> None:
    model = ScriptedModel([AIMessage("one"), "two"])
    assert [model.invoke("hi").text, model.invoke("hi").text] == ["one", "two"]


def test_bound_copies_share_the_script() -> None:
    model = ScriptedModel(["one", "two"])
    assert model.bind_tools([add]).invoke("hi").text == "one"
    assert model.invoke("hi").text == "two"
    model.assert_complete()


def test_requests_hold_what_was_sent_and_offered() -> None:
    model = ScriptedModel(["one"])
    model.bind_tools([add], tool_choice="add").invoke([HumanMessage("hi")])
    (request,) = model.requests
    assert request == [HumanMessage("hi")]
    assert request.messages == [HumanMessage("hi")]
    assert (request.tool_names, request.tool_choice) == (("add",), "add")


def test_an_exception_in_the_script_is_raised() -> None:
    model = ScriptedModel([ValueError("down"), "two"])
    with pytest.raises(ValueError, match="down"):
        model.invoke("hi")
    assert model.invoke("hi").text == "two"


def test_asking_past_the_end_is_an_error() -> None:
    model = ScriptedModel(["one"])
    model.invoke("hi")
    with pytest.raises(ScriptExhausted, match="has 1 replies"):
        model.invoke("hi")


def test_unused_replies_are_noticed() -> None:
    with pytest.raises(AssertionError, match="has 2 replies and was asked for 0"):
        ScriptedModel(["one", "two"]).assert_complete()


def test_an_entry_that_is_no_reply_is_refused() -> None:
    with pytest.raises(OptionError, match="AIMessages, texts, lists of AIMessageChunks or exceptions"):
        ScriptedModel([3])  # type: ignore[list-item]  # what a host without a type checker may do


def test_a_scripted_reply_can_be_streamed() -> None:
    reply = AIMessage("so", tool_calls=[{"id": "c1", "name": "add", "args": {"a": 1, "b": 2}}])
    (piece,) = ScriptedModel([reply]).stream("hi")
    assert piece.text == "so"
    assert piece.tool_calls == reply.tool_calls


def test_a_function_computes_the_reply_from_the_messages() -> None:
    def count(messages: list[Message]) -> AIMessage:
        return AIMessage(str(len(messages)))

    assert FunctionModel(count).invoke([HumanMessage("a"), HumanMessage("b")]).text == "2"


def test_the_function_may_be_asynchronous_and_return_text() -> None:
    async def answer(messages: list[Message]) -> str:
        await asyncio.sleep(0)
        return "later"

    assert FunctionModel(answer).invoke("hi").text == "later"


def test_a_function_that_returns_no_reply_is_an_error() -> None:
    with pytest.raises(InputError, match="returned no reply"):
        FunctionModel(lambda messages: 3).invoke("hi")  # type: ignore[arg-type, return-value]  # a host's mistake


PIECES: list[AIMessageChunk | BaseException] = [
    AIMessageChunk("Hel"),
    AIMessageChunk("lo", response_metadata={"finish_reason": "stop"}),
]


def test_a_scripted_reply_may_come_in_pieces() -> None:
    model = ScriptedModel([PIECES, PIECES, "whole"])
    assert [piece.text for piece in model.stream("hi")] == ["Hel", "lo"]
    assert (model.invoke("hi").text, model.invoke("hi").text) == ("Hello", "whole")
    model.assert_complete()


def test_an_exception_among_the_pieces_is_raised_in_its_place() -> None:
    pieces = ScriptedModel([[AIMessageChunk("Hel"), ConnectionError()]]).stream("hi")
    assert next(pieces).text == "Hel"
    with pytest.raises(ConnectionError):
        next(pieces)


@pytest.mark.parametrize("entry", [[], [AIMessageChunk("x"), "y"]])
def test_a_list_that_holds_anything_else_is_refused(entry: Any) -> None:
    with pytest.raises(OptionError, match="lists of AIMessageChunks"):
        ScriptedModel([entry])


def test_the_function_may_be_a_generator_of_pieces() -> None:
    def speak(messages: list[Message]) -> Iterator[AIMessageChunk]:
        yield from (AIMessageChunk(text) for text in ("Hel", "lo"))

    async def aspeak(messages: list[Message]) -> AsyncIterator[AIMessageChunk]:
        for text in ("Hel", "lo"):
            yield AIMessageChunk(text)

    for model in (FunctionModel(speak), FunctionModel(aspeak)):
        assert [piece.text for piece in model.stream("hi")] == ["Hel", "lo"]
        assert model.invoke("hi").text == "Hello"
