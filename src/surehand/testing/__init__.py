"""What tests of programs with Surehand need: models that follow a script, a clock, faults, a recorder of events."""

from surehand.testing.checkpointers import check_checkpointer
from surehand.testing.clock import FakeClock
from surehand.testing.events import EventLog, record_events
from surehand.testing.models import FunctionModel, Reply, ScriptedModel, SentRequest

__all__ = [
    "EventLog",
    "FakeClock",
    "FunctionModel",
    "Reply",
    "ScriptedModel",
    "SentRequest",
    "check_checkpointer",
    "record_events",
]
