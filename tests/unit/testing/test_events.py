from __future__ import annotations

from surehand import AIMessage, ToolNode, tool
from surehand.events import CallFinished, CallStarted
from surehand.testing import record_events


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def test_a_recorder_keeps_what_happened_to_each_call() -> None:
    events = record_events()
    calls = [{"id": "x", "name": "add", "args": {"a": 1, "b": 2}}, {"id": "y", "name": "add", "args": {"a": 1}}]
    ToolNode([add], listener=events).invoke([AIMessage(tool_calls=calls)])
    assert len(events.of(CallStarted)) == 2
    assert {event.call_id: event.outcome.status for event in events.of(CallFinished)} == {"x": "success", "y": "error"}
    assert [type(event) for event in events.about("x")] == [CallStarted, CallFinished]
