"""A file whose rows were edited by hand: readers are told what is wrong and where, and nothing of it is executed."""

from __future__ import annotations

import json
import operator
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from surehand import (
    START,
    AIMessage,
    CheckpointError,
    Command,
    CompiledGraph,
    RunConfig,
    Send,
    SqliteSaver,
    StateGraph,
    StoreError,
    ToolNode,
    UsageError,
    add_messages,
    interrupt,
    tool,
)

CONFIG: RunConfig = {"configurable": {"thread_id": "t"}}
executed: list[str] = []


class State(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    log: Annotated[list[Any], operator.add]
    plan: dict[str, Any]


@tool
def touch(name: str) -> str:
    """Touch something."""
    executed.append(name)
    return f"touched {name}"


def calls_of(state: State) -> dict[str, Any]:
    return {"messages": [AIMessage(tool_calls=[{"id": "1", "name": "touch", "args": {"name": "a"}}])], "plan": {"a": 1}}


def graph_on(saver: SqliteSaver) -> CompiledGraph:
    """Messages, calls, sends and a question: a row of every kind."""
    builder = StateGraph(State)
    builder.add_node("model", calls_of).add_node("tools", ToolNode([touch]))
    builder.add_node("ask", lambda state: {"log": [interrupt("Go on?")]})
    builder.add_node("each", lambda number: {"log": [number]})
    builder.add_edge(START, "model").add_edge("model", "tools")
    builder.add_conditional_edges("tools", lambda state: ["ask", Send("each", {"number": 1})])
    return builder.compile(saver)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file with a run that waits for an answer."""
    path = tmp_path_factory.mktemp("stored") / "runs.sqlite"
    with SqliteSaver(path) as saver:
        assert "__interrupt__" in graph_on(saver).invoke({"messages": [], "log": [0]}, CONFIG)
    return path.read_bytes()


@pytest.fixture
def file(stored: bytes, tmp_path: Path) -> Iterator[Path]:
    executed.clear()
    path = tmp_path / "runs.sqlite"
    path.write_bytes(stored)
    yield path
    assert executed == []


def edited(path: Path, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(path)) as connection:
        count = connection.execute(statement, values).rowcount
        connection.commit()
    assert count > 0, statement


def answers(path: Path) -> list[Exception]:
    """What everybody is told who reads the thread; nobody may be told anything but a clear error."""
    told: list[Exception] = []
    with SqliteSaver(path) as saver:
        graph = graph_on(saver)
        readers: list[Callable[[], object]] = [
            lambda: graph.get_state(CONFIG),
            lambda: list(graph.get_state_history(CONFIG)),
            lambda: graph.invoke(None, CONFIG),
            lambda: graph.invoke(Command(resume="yes"), CONFIG),
            lambda: graph.update_state(CONFIG, {"log": ["x"]}, as_node="model"),
        ]
        for read in readers:
            begun = time.process_time()
            try:
                read()
            except StoreError as error:
                told.append(error)
            except UsageError:  # an edit that makes another thread of it is nothing to complain of
                continue
            assert time.process_time() - begun < 10
    return told


def text_with(change: Callable[[Any], Any]) -> Callable[[str], str]:
    return lambda text: json.dumps(change(json.loads(text)))


DEEP = '{"surehand":1,"value":' + "[" * 100_000 + "]" * 100_000 + "}"
HUGE = '{"surehand":1,"value":"' + "x" * 50_000_000 + '"}'
TEXTS: dict[str, str] = {
    "nothing": "",
    "no JSON": "{{{",
    "another program's": '{"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "true"}}',
    "a pickle": "cos\nsystem\n(S'true'\ntR.",
    "a later version": '{"surehand":99,"value":1}',
    "cut off": '{"surehand":1,"value":{"a":',
    "a class by name": '{"surehand":1,"value":{"$object":["subprocess.Popen",{"args":["true"]}]}}',
    "an unknown mark": '{"surehand":1,"value":{"$nope":1}}',
    "nested without end": DEEP,
    "of 50 MB": HUGE,
    "half a surrogate": '{"surehand":1,"value":"\\ud800"}',
    "a number without end": '{"surehand":1,"value":' + "9" * 100_000 + "}",
    "a change of nothing": '{"surehand":1,"change":{"keep":5}}',
}
_NEWEST = "(SELECT max(row) FROM surehand_checkpoints)"
PLACES: dict[str, str] = {
    "the body of a checkpoint": f"UPDATE surehand_checkpoints SET body = ? WHERE row = {_NEWEST}",
    "what was written beside it": "UPDATE surehand_writes SET text = ?",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_text_that_is_not_ours_is_told_and_not_executed(place: str, text: str, file: Path) -> None:
    edited(file, place, text)
    told = answers(file)
    assert told, "nobody noticed"
    for error in told:
        assert isinstance(error, CheckpointError)
        assert "thread 't'" in str(error)
        assert len(str(error)) < 2_000


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_value_of_the_state_that_is_not_ours_is_told(text: str, file: Path) -> None:
    edited(file, "UPDATE surehand_versions SET text = ? WHERE key = 'messages'", text)
    told = answers(file)
    if text not in (HUGE, TEXTS["half a surrogate"]):  # a text is a value too: only the conversation is none then
        assert told
    for error in told:
        assert isinstance(error, CheckpointError)
        assert "thread 't'" in str(error)


COLUMNS = {
    "surehand_checkpoints": ("number", "id", "parent", "created_at", "channels", "body"),
    "surehand_versions": ("key", "version", "previous", "text"),
    "surehand_writes": ("task", "kind", "number", "text"),
}
VALUES: list[Any] = [-1, 0, 2**62, 1.5, float("inf"), b"\x00\xff", "", "x" * 100_000, "[]", '{"messages": "a"}', "nope"]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize(("table", "column"), [(table, name) for table, names in COLUMNS.items() for name in names])
def test_a_column_of_another_kind_ends_in_a_clear_error_or_is_harmless(
    table: str, column: str, value: Any, file: Path
) -> None:
    edited(file, f"UPDATE {table} SET {column} = ? WHERE row = (SELECT max(row) FROM {table})", value)
    for error in answers(file):
        assert isinstance(error, CheckpointError), repr(error)


def test_a_chain_of_versions_that_leads_into_itself_ends(file: Path) -> None:
    edited(file, "UPDATE surehand_versions SET previous = version")
    told = answers(file)
    assert told
    assert all(isinstance(error, CheckpointError) for error in told)


def test_a_table_that_is_gone_is_told(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DROP TABLE surehand_versions")
        connection.commit()
    with pytest.raises(StoreError), SqliteSaver(file) as saver:
        graph_on(saver).get_state(CONFIG)


@pytest.mark.parametrize(
    "content", [b"", b"not a database at all, but long enough to look like one" * 40, b"\x00" * 8192]
)
def test_a_file_that_is_no_database_is_told_and_left_alone(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.txt"
    path.write_bytes(content)
    if not content:  # an empty file is an empty database
        with SqliteSaver(path) as saver:
            assert saver.threads() == []
        return
    with pytest.raises(StoreError) as caught, SqliteSaver(path) as saver:
        saver.threads()
    assert "other.txt" in str(caught.value)
    assert path.read_bytes() == content
