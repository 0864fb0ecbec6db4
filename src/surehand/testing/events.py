"""Recording what is announced while calls run."""

from __future__ import annotations

from typing import TypeVar

from surehand.events import Event

__all__ = ["EventLog", "record_events"]

E = TypeVar("E", bound=Event)


class EventLog(list[Event]):
    """A listener that keeps every event, in the order of time."""

    def __call__(self, event: Event) -> None:
        """Keep the event."""
        self.append(event)

    def of(self, kind: type[E]) -> list[E]:
        """The events of one class."""
        return [event for event in self if isinstance(event, kind)]

    def about(self, call_id: str) -> list[Event]:
        """The events of one call."""
        return [event for event in self if event.call_id == call_id]


def record_events() -> EventLog:
    """A listener to hand to a node or an agent; afterwards it holds what happened.

    Example:
        events = record_events()
        ToolNode([add], listener=events).invoke(state)
        assert [event.call_id for event in events.of(CallFinished)] == ["1"]
    """
    return EventLog()
