"""What is written comes back; what is read and cannot be is told as one kind of error, in little time and memory."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from support.sameness import is_same
from surehand.checkpoints.codec import Codec
from surehand.control import Command, Send
from surehand.errors import CheckpointError
from surehand.interrupts import Answer, Interrupt
from surehand.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    Message,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from surehand.outcomes import FailureKind, Outcome
from surehand.stores import Item

CODEC = Codec()
HEAD = '{"surehand":1,"value":'


def again(value: Any, codec: Codec = CODEC) -> Any:
    return codec.loads(codec.dumps(value, where="key 'k'"), where="key 'k'")


def refused(value: Any, codec: Codec = CODEC) -> str:
    with pytest.raises(CheckpointError) as caught:
        codec.dumps(value, where="key 'k'")
    assert caught.value.where == "key 'k'"
    return str(caught.value)


def unreadable(text: Any, codec: Codec = CODEC) -> str:
    with pytest.raises(CheckpointError) as caught:
        codec.loads(text, where="key 'k'")
    assert len(str(caught.value)) < 1_000
    return str(caught.value)


# -- the form --------------------------------------------------------------------------------------------------------


def test_text_is_compact_json_with_a_version() -> None:
    text = CODEC.dumps({"a": [1, "汉", None, True, 1.5], "b": {}}, where="key 'k'")

    assert text == '{"surehand":1,"value":{"a":[1,"汉",null,true,1.5],"b":{}}}'
    assert json.loads(text)["surehand"] == 1


def test_change_is_not_read_as_a_value() -> None:
    text = CODEC.dumps_change({"a": (1,)}, where="key 'k'")

    assert CODEC.read(text, where="key 'k'") == ("change", {"a": (1,)})
    assert "the text is a change of another one" in unreadable(text)


def test_value_is_not_changed_by_being_written_or_read() -> None:
    value = {"a": [(1, 2)], "m": HumanMessage("x")}
    before = {"a": [(1, 2)], "m": HumanMessage("x")}

    found = again(value)

    assert value == before == found
    assert found["a"] is not value["a"]


# -- ours ------------------------------------------------------------------------------------------------------------

NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        Send("a", {"x": (1,), "m": [HumanMessage("x")]}),
        Command(update={"a": 1}, goto=("b", Send("c", None))),
        Command(resume=None, graph=Command.PARENT),
        Command(update=[("messages", [HumanMessage("x")])]),
        Interrupt(id="a", value={"q": ("?",)}, kind="approval", tool="t", asked_at=1.5),
        Answer(value=None, given_at=2.0),
        Item(namespace=("a", "b"), key="k", value={"n": 1}, created_at=NOW, updated_at=NOW),
        Outcome(),
        Outcome(kind=FailureKind.TIMEOUT, text="late", attempts=2, attempt_errors=("x",), notes=("n",), retryable=True),
        FailureKind.DENIED,
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_of_ours_come_back(value: Any) -> None:
    assert again(value) == value
    assert type(again(value)) is type(value)


def test_command_without_an_answer_still_has_none() -> None:
    assert again(Command(update=1)).resume is Command(update=1).resume


# -- messages --------------------------------------------------------------------------------------------------------


@dataclass
class Row:
    cells: tuple[Any, ...]


MESSAGES: list[Message] = [
    SystemMessage("s"),
    HumanMessage([{"type": "text", "text": "a"}, "b", {"$bytes": "x"}], id="m", name=""),
    AIMessage(
        [{"type": "thinking", "thinking": "…", "signature": "s"}, {"type": "tool_use", "id": "a", "input": {}}],
        tool_calls=[
            {"id": "a", "name": "f", "args": '{"x": 1.0, "y": [true, null]}'},
            {"id": "b", "name": "g", "args": "{'k': 2,}"},
            {"id": "c", "name": "h", "args": "{bad"},
            {"id": "d", "name": "h", "args": [1, (2,)]},
            "junk",
        ],
        usage_metadata={"input_tokens": 1, "details": {}},
        response_metadata={"finish_reason": "tool_calls", "logprobs": [(1, 2.0)]},
        additional_kwargs={"when": NOW, "raw": b"\x00"},
    ),
    AIMessage("汉\ud800", tool_calls=[{"id": "a", "name": "f", "args": {"deep": {"a": [{"b": {1: 2}}]}}}]),
    ToolMessage("done", tool_call_id="a", name="f", artifact={"rows": [Row((1, NOW))], 5: {1, 2}}, id="t"),
    ToolMessage("no", tool_call_id="a", status="error", outcome=Outcome(kind=FailureKind.EXCEPTION, text="no")),
    ToolMessage([{"type": "image", "source": {}}], tool_call_id="a", artifact=float("inf")),
    RemoveMessage(id="m"),
]


@pytest.mark.parametrize("message", MESSAGES, ids=range(len(MESSAGES)))
def test_message_comes_back_with_everything_in_it(message: Message) -> None:
    found = again(message, Codec([Row]))

    assert is_same(found, message)
    if isinstance(message, AIMessage):
        assert found.tool_calls == message.tool_calls
        assert found.invalid_tool_calls == message.invalid_tool_calls
        assert found.repairs == message.repairs
        assert found.finish_reason == message.finish_reason


def test_arguments_as_deep_as_they_are_read_come_back() -> None:
    args = '{"a":' * 128 + "{}" + "}" * 128
    message = AIMessage(tool_calls=[{"id": "a", "name": "f", "args": args[5:-1]}])
    assert not message.invalid_tool_calls

    assert again({"messages": [message]}) == {"messages": [message]}


def artifact_after(artifact: Any) -> Any:
    message = ToolMessage("done", tool_call_id="a", artifact=artifact)
    found = again([message])[0]
    assert (found.content, found.tool_call_id) == ("done", "a")
    return found.artifact


def test_artifact_without_a_stored_form_becomes_what_comes_nearest_and_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, logger="surehand.checkpoints"):
        found = artifact_after({"row": Row((1,)), "kept": (1, {2}), "lock": threading.Lock()})

    assert found["row"] == {"cells": [1]}
    assert found["kept"] == (1, {2})
    assert found["lock"].startswith("<unlocked _thread.lock")
    assert "key 'k': in a message, at $.artifact.row, a value is of class" in caplog.text
    assert "Pass types=(Row,) to compile()." in caplog.text


def test_no_artifact_fails_its_message() -> None:
    itself: list[Any] = []
    itself += [itself, itself]
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]

    class Float(float):
        def __repr__(self) -> str:
            return "1.5!"

    class Text(str):
        __slots__ = ()

    assert artifact_after(itself) == "[[...], [...]]"
    assert isinstance(artifact_after(deep), str)
    assert artifact_after(Float(1.5)) in (1.5, "1.5!")
    assert artifact_after(Text("x")) in ("x", "'x'")
    assert artifact_after(ValueError("x")) is not None
    assert artifact_after([ToolMessage("", tool_call_id="b", artifact=object())])[0].tool_call_id == "b"


def test_message_that_holds_itself_twice_over_has_an_end() -> None:
    artifact: list[Any] = []
    artifact += [ToolMessage("", tool_call_id="b", artifact=artifact)] * 2

    assert isinstance(artifact_after(artifact), str)


def test_what_a_provider_sent_fails_no_message() -> None:
    message = AIMessage(
        "x",
        tool_calls=[{"id": "a", "name": "f", "args": object()}],
        response_metadata={"usage": Row((1,))},
        additional_kwargs={"lock": threading.Lock(), "n": 1},
    )

    found = again(message)

    assert found.response_metadata == {"usage": {"cells": [1]}}
    assert found.additional_kwargs["n"] == 1
    assert [call["id"] for call in found.invalid_tool_calls] == ["a"]


def test_pieces_of_streams_and_message_classes_of_hosts_are_refused() -> None:
    class Special(HumanMessage):
        pass

    assert "is a piece of a stream. Store chunk.to_message()." in refused([AIMessageChunk("x")])
    assert "Use Surehand's classes, with additional_kwargs." in refused([Special("x")])


@pytest.mark.parametrize(
    "stored",
    [
        "5",
        "[]",
        "{}",
        '{"type":"robot"}',
        '{"type":"human"}{',
        '{"type":"human","content":5}',
        '{"type":"human","content":"x","tool_calls":[]}x',
        '{"type":"ai","content":"x","tool_calls":[{"id":"a"}]}',
        '{"type":"tool","content":"x"}',
        '{"type":"tool","content":"x","tool_call_id":"a","outcome":{"kind":null}}',
    ],
)
def test_damaged_message_is_refused(stored: str) -> None:
    unreadable(f'{HEAD}{{"$message":{stored}}}}}')


# -- what is refused when it is written ------------------------------------------------------------------------------


def test_value_that_holds_itself_is_refused_at_once() -> None:
    itself: list[Any] = []
    itself += [itself, itself, {"a": itself}]

    assert "is nested deeper than 300 levels, or holds itself. Store a flatter value." in refused(itself)


def nested(depth: int, kind: type[list[Any] | tuple[Any, ...]] = list) -> Any:
    value: Any = kind()
    for _ in range(depth - 1):
        value = kind([value])
    return value


def test_depth_is_refused_when_it_is_written_and_not_when_it_is_read() -> None:
    assert again(nested(299)) == nested(299)
    assert again(nested(149, tuple)) == nested(149, tuple)
    assert "nested deeper than 300 levels" in refused(nested(300))
    assert "nested deeper than 300 levels" in refused(nested(20_000))
    assert "nested deeper than 300 levels" in refused({"a": nested(20_000, tuple)})


def test_path_in_a_message_is_short() -> None:
    assert len(refused(nested(20_000))) < 600


def at_the_end_of_the_stack(action: Any) -> Any:
    """Call it with hardly any of Python's stack left."""
    try:
        return at_the_end_of_the_stack(action)
    except RecursionError:
        return action()


def told(action: Callable[[], object]) -> str:
    try:
        action()
    except CheckpointError as error:
        return str(error)
    return "nothing"


def test_end_of_the_stack_is_an_error_of_the_codec() -> None:
    text = CODEC.dumps(nested(250), where="key 'k'")

    written = at_the_end_of_the_stack(lambda: told(lambda: CODEC.dumps(nested(250), where="key 'k'")))
    read = at_the_end_of_the_stack(lambda: told(lambda: CODEC.loads(text, where="key 'k'")))

    assert "nested too deeply to be written from here" in written
    assert read == "nothing" or "nested too deeply to be read" in read  # by the version of Python


def test_dict_that_grows_while_it_is_written_is_an_error_of_the_codec() -> None:
    @dataclass
    class Growing:
        n: int

        def __getattribute__(self, name: str) -> Any:
            held["new"] = 1
            return object.__getattribute__(self, name)

    held: dict[str, Any] = {"a": Growing(1), "b": 1}

    assert "changed while it was written" in refused(held, Codec([Growing]))


# -- what is refused when it is read ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "{}",
        "[]",
        "x",
        '{"value":1}',
        '{"surehand":0,"value":1}',
        '{"surehand":true,"value":1}',
        '{"surehand":1.0,"value":1}',
        '{"surehand":"1","value":1}',
        '{"surehand": 1, "value": 1}',
        '{"surehand":1,"valve":1}',
        '\ufeff{"surehand":1,"value":1}',
        '{"v": 4, "channel_values": {}}',
    ],
)
def test_foreign_text_is_refused_by_how_it_begins(text: str) -> None:
    assert 'expected it to begin with {"surehand":1,"value":, got' in unreadable(text)


@pytest.mark.parametrize("text", [None, 5, b"", bytearray(b"{}"), ["x"]])
def test_what_is_no_text_is_refused(text: Any) -> None:
    assert "expected a text, got" in unreadable(text)


@pytest.mark.parametrize("rest", ['"value":1}', '"value":{"$new":1}}', '"blob":"…"}'])
def test_text_of_a_later_version_is_refused_without_a_look(rest: str) -> None:
    words = unreadable('{"surehand":2,' + rest)

    assert (
        "is of version 2, and this reader knows up to 1. Read it with the version of Surehand that wrote it." in words
    )


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ("", "damaged at character 22 of 22: Expecting value"),
        ("1", "Expecting ',' delimiter"),
        ("1}}", "damaged at character 24 of 25: Extra data"),
        ('1,"surehand":1}', "a key stands twice in one object"),
        ('1,"other":1}', "its version stands beside something else"),
        ('{"a":1,"b":2,"a":3}}', "a key stands twice in one object"),
        ("NaN}", "NaN is no JSON"),
        ("-Infinity}", "-Infinity is no JSON"),
        ('"a\nb"}', "Invalid control character"),
        ("1" * 21 + "}", "a number of 21 digits"),
        ('{"$new":1}}', "'$new' is no kind of value"),
    ],
)
def test_damage_is_named(rest: str, words: str) -> None:
    text = unreadable(HEAD + rest)

    assert text.startswith("key 'k': ")
    assert words in text


@contextmanager
def bounds(seconds: float, megabytes: float) -> Generator[None]:
    tracemalloc.start()
    began = time.process_time()
    try:
        yield
        spent, peak = time.process_time() - began, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert spent < seconds
    assert peak < megabytes * 1e6


@pytest.mark.parametrize("opening", ["[", '{"a":', '{"$tuple":[', '{"$dict":[[1,'])
def test_depth_of_a_text_takes_no_time_and_no_memory(opening: str) -> None:
    text = HEAD + opening * 100_000

    with bounds(2, 10):
        assert "nested too deeply to be read" in unreadable(text)


@pytest.mark.parametrize("digits", ["1" * 5_000, "-" + "1" * 5_000_000])
def test_digits_without_end_take_no_time(digits: str) -> None:
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)  # a host may
    try:
        with bounds(5, 50):
            assert "digits" in unreadable(f"{HEAD}{digits}}}")
    finally:
        sys.set_int_max_str_digits(limit)


def test_large_integers_come_back_whatever_the_host_allows() -> None:
    assert again(10**5_000) == 10**5_000
    assert again(-(2**70)) == -(2**70)


def test_long_text_is_read_in_proportion_to_its_length() -> None:
    text = f'{HEAD}"{"x" * 50_000_000}"'

    with bounds(20, 250):
        assert "Expecting ',' delimiter" in unreadable(text)
        assert "expected it to begin with" in unreadable(text[1:])


def test_nothing_named_in_a_text_is_run() -> None:
    for tag in ("$record", "$model", "$enum", "$tuple_of", "$url", "$surehand", "$model_v1"):
        assert "is not among the types" in unreadable(f'{HEAD}{{"{tag}":["os.system","true"]}}}}')


def test_class_of_another_kind_under_a_name_is_refused() -> None:
    text = Codec([Row]).dumps(Row(()), where="key 'k'").replace("$record", "$enum")

    assert "was a class of another kind ($enum) when this was written" in unreadable(text, Codec([Row]))


def test_codec_may_be_used_by_several_threads_at_a_time() -> None:
    codec = Codec([Row])
    value = [{"a": Row((n, {n}))} for n in range(200)]
    found: list[Any] = []

    def work() -> None:
        found.extend(again(value, codec) == value for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [True] * 80
