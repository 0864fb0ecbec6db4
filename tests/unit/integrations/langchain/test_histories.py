"""Of a long conversation only the newest run is read, and what is read of it is what the whole would have given."""

# LangChain's own types are partly unknown.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, FunctionMessage, HumanMessage, SystemMessage, ToolMessage

from surehand.dialects.langchain_messages import read_messages
from surehand.integrations.langchain.histories import History, newest_run
from surehand.messages import Message

IDS = st.sampled_from(["c1", "c2", "c3"])
CALLS = st.lists(IDS.map(lambda id: {"id": id, "name": "f", "args": {}, "type": "tool_call"}), max_size=3)
RESULT: list[Any] = [{"type": "tool_result", "tool_use_id": "c1", "content": "r"}, {"type": "text", "text": "more"}]
MESSAGES = st.one_of(
    st.sampled_from([HumanMessage("go", id="h"), SystemMessage("s"), HumanMessage(RESULT)]),
    CALLS.map(lambda calls: AIMessage("", tool_calls=calls, id="a")),
    IDS.map(lambda id: ToolMessage("r", tool_call_id=id)),
)


def read(messages: list[Any]) -> History:
    start = newest_run(messages)
    return History(lambda: read_messages(messages[:start]), start, read_messages(messages[start:]))


def told(messages: Any) -> list[Any]:
    """The messages, but for the ids that calls with the id of another one get when they are read."""
    return [(type(message), message.content, message.name, message.id and "id", _ids(message)) for message in messages]


def _ids(message: Any) -> list[str]:
    ids = [call["id"] for call in getattr(message, "tool_calls", ())] or [getattr(message, "tool_call_id", "")]
    return [id if id in ("c1", "c2", "c3") else "new" for id in ids]


@given(messages=st.lists(MESSAGES, max_size=12), index=st.integers(-13, 13), end=st.integers(-13, 13))
def test_what_is_read_of_it_is_what_the_whole_gives(messages: list[Any], index: int, end: int) -> None:
    whole = told(read_messages(messages))
    assert told(read(messages)) == whole
    assert (len(read(messages)), told(reversed(read(messages)))) == (len(whole), whole[::-1])
    assert told(read(messages)[index:end]) == whole[index:end]
    assert told(read(messages)[::-2]) == whole[::-2]
    if -len(whole) <= index < len(whole):
        assert told([read(messages)[index]]) == [whole[index]]


def test_what_came_before_the_newest_run_is_read_when_it_is_wanted() -> None:
    asked: list[int] = []

    def older() -> list[Message]:
        asked.append(1)
        return read_messages([HumanMessage("go"), AIMessage("done")])

    history = History(older, 2, read_messages([HumanMessage("and")]))
    assert (len(history), history[2].text, history[-1:][0].text, asked) == (3, "and", "and", [])
    assert ([message.text for message in history], asked) == (["go", "done", "and"], [1])


def test_reading_begins_at_an_ai_message_or_at_the_start() -> None:
    turn: list[Any] = [HumanMessage("go"), AIMessage("done")]
    assert newest_run([*turn, HumanMessage("and"), AIMessage("x")]) == 1
    assert newest_run([]) == newest_run(turn) == newest_run([*turn, AIMessage("x")]) == 0
    assert newest_run([*turn, HumanMessage("and"), FunctionMessage(content="r", name="f")]) == 0
    assert newest_run([HumanMessage(RESULT), *turn, HumanMessage("and")]) == 0
