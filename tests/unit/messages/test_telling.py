"""Telling what a model says to whoever reads it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from surehand import AIMessage, AIMessageChunk, InputError
from surehand.control import Runtime, _runtime  # pyright: ignore[reportPrivateUsage] - what a graph sets
from surehand.messages import asked, message_reader, tell, telling, told


class Reader:
    """Takes what is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.waits = 0

    def __call__(self, mode: str, item: Any) -> None:
        self.told.append((mode, item))

    @property
    def is_full(self) -> bool:
        return False

    async def room(self) -> None:
        self.waits += 1

    def within(self, call_id: str) -> Reader:
        del call_id
        return self


async def pieces_of(*pieces: AIMessageChunk) -> AsyncGenerator[AIMessageChunk, None]:
    for piece in pieces:
        yield piece


def test_pieces_are_told_under_one_id_and_the_reader_is_waited_for() -> None:
    reader = Reader()
    reply = asyncio.run(told(pieces_of(AIMessageChunk("a"), AIMessageChunk("b", id="late")), reader))
    assert [(mode, piece.text, piece.id) for mode, piece in reader.told] == [
        ("messages", "a", reply.id),
        ("messages", "b", reply.id),
    ]
    assert (reply.text, type(reply), reader.waits) == ("ab", AIMessage, 2)


def test_a_providers_id_is_kept() -> None:
    reader = Reader()
    piece = AIMessageChunk("a", id="theirs")
    assert asyncio.run(told(pieces_of(piece), reader)).id == "theirs"
    assert reader.told[0][1] is piece


def test_a_reply_without_pieces_is_an_empty_one() -> None:
    assert asyncio.run(told(pieces_of(), Reader())) == AIMessage()


@pytest.mark.parametrize("given", [None, "text", AIMessage("whole")])
def test_what_is_no_piece_of_a_reply_is_an_error_and_no_end(given: Any) -> None:
    with pytest.raises(InputError, match="A model's stream gives what is no piece of a reply"):
        asyncio.run(told(pieces_of(AIMessageChunk("a"), given), Reader()))


def test_the_pieces_are_closed_when_nobody_wants_more() -> None:
    closed: list[str] = []

    async def pieces() -> AsyncGenerator[AIMessageChunk, None]:
        try:
            yield AIMessageChunk("a")
            yield AIMessageChunk("b")
        finally:
            closed.append("pieces")

    async def main() -> None:
        heard = telling(pieces(), Reader())
        await anext(heard)
        await heard.aclose()

    asyncio.run(main())
    assert closed == ["pieces"]


def test_a_whole_reply_is_told_with_the_id_it_is_returned_with() -> None:
    reader = Reader()
    reply = tell(AIMessage("x"), reader)
    assert reader.told == [("messages", reply)]
    assert reply.id is not None


def test_there_is_a_reader_only_where_messages_are_wanted() -> None:
    reader = Reader()
    assert message_reader() is None
    for wanted, found in ((frozenset[str](), None), (frozenset({"custom"}), None), (frozenset({"messages"}), reader)):
        token = _runtime.set(Runtime(publish=reader, wanted=wanted))
        assert message_reader() is found
        _runtime.reset(token)


@pytest.mark.parametrize("is_heard", ["heard", "unheard"])
def test_a_model_is_asked_for_pieces_only_where_somebody_hears_them(is_heard: str) -> None:
    class Model:
        def astream(self, input: Any, config: Any) -> AsyncGenerator[AIMessageChunk, None]:
            return pieces_of(AIMessageChunk(f"pieces for {input} {config}"))

    async def ask(input: Any, config: Any) -> AIMessage:
        return AIMessage(f"whole for {input} {config}")

    async def main() -> str:
        if is_heard == "heard":
            _runtime.set(Runtime(publish=Reader(), wanted=frozenset({"messages"})))
        return str((await asked(Model(), ask, "hi", {})).text)

    assert asyncio.run(main()) == ("pieces for hi {}" if is_heard == "heard" else "whole for hi {}")
