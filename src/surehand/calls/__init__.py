"""What happens to calls between a model's reply and its tool messages."""

from surehand.calls.amended import amended, broken
from surehand.calls.announce import log_fault
from surehand.calls.answer import ToolReturn
from surehand.calls.breakers import Breakers
from surehand.calls.budget import RetryBudget
from surehand.calls.call import Approve, Call, Host, Surroundings, Through, Turn, timeout_of
from surehand.calls.failures import GOVERNED, author_error, failed, let_out, may_run_again
from surehand.calls.guards import Guard, SpentLimit, spent_limit
from surehand.calls.history import History, past_calls
from surehand.calls.journal import CallJournal, CallKey, MemoryJournal, Recalled
from surehand.calls.middleware import (
    AsyncRun,
    ResultCache,
    Run,
    SingleFlight,
    ToolCallMiddleware,
    ToolCallRequest,
    as_middleware,
)
from surehand.calls.pipeline import gate, parse, resolve
from surehand.calls.results import (
    DEFAULT_READ,
    READER_NAME,
    RENDERERS,
    Passage,
    Reading,
    Renderer,
    Renderers,
    ResultShelf,
    reader_call,
    register_renderer,
    render_value,
    shorten,
    well_formed,
    without_links,
)
from surehand.calls.run import Answers, calls_of, run_alone, run_alone_sync, run_turn, run_turn_sync, settle_turn
from surehand.calls.table import RegisteredTool, ToolTable
from surehand.calls.typed import typed

__all__ = [
    "DEFAULT_READ",
    "GOVERNED",
    "READER_NAME",
    "RENDERERS",
    "Answers",
    "Approve",
    "AsyncRun",
    "Breakers",
    "Call",
    "CallJournal",
    "CallKey",
    "Guard",
    "History",
    "Host",
    "MemoryJournal",
    "Passage",
    "Reading",
    "Recalled",
    "RegisteredTool",
    "Renderer",
    "Renderers",
    "ResultCache",
    "ResultShelf",
    "RetryBudget",
    "Run",
    "SingleFlight",
    "SpentLimit",
    "Surroundings",
    "Through",
    "ToolCallMiddleware",
    "ToolCallRequest",
    "ToolReturn",
    "ToolTable",
    "Turn",
    "amended",
    "as_middleware",
    "author_error",
    "broken",
    "calls_of",
    "failed",
    "gate",
    "let_out",
    "log_fault",
    "may_run_again",
    "parse",
    "past_calls",
    "reader_call",
    "register_renderer",
    "render_value",
    "resolve",
    "run_alone",
    "run_alone_sync",
    "run_turn",
    "run_turn_sync",
    "settle_turn",
    "shorten",
    "spent_limit",
    "timeout_of",
    "typed",
    "well_formed",
    "without_links",
]
