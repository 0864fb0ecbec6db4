"""What happens to calls between a model's reply and its tool messages."""

from surehand.calls.answer import ToolReturn
from surehand.calls.call import Approve, Call, Host, Turn
from surehand.calls.journal import CallJournal, CallKey, MemoryJournal
from surehand.calls.pipeline import PERFORM, PREPARE, prepare, run_call
from surehand.calls.render import Rendered, render_value
from surehand.calls.run import Answers, calls_of, run_alone_sync, run_turn, run_turn_sync
from surehand.calls.table import RegisteredTool, ToolTable

__all__ = [
    "PERFORM",
    "PREPARE",
    "Answers",
    "Approve",
    "Call",
    "CallJournal",
    "CallKey",
    "Host",
    "MemoryJournal",
    "RegisteredTool",
    "Rendered",
    "ToolReturn",
    "ToolTable",
    "Turn",
    "calls_of",
    "prepare",
    "render_value",
    "run_alone_sync",
    "run_call",
    "run_turn",
    "run_turn_sync",
]
