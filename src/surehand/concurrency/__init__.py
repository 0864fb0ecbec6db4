"""Where threads and event loops meet: the sync door, the worker threads, the places to run in, the clock."""

from surehand.concurrency.child import send_heartbeat, send_progress
from surehand.concurrency.clock import SYSTEM_CLOCK, Clock, Timer
from surehand.concurrency.contexts import Gate, in_own_context, paced, settled, wake
from surehand.concurrency.doors import (
    Loan,
    blocked_loops,
    borrowed_loop,
    entered_by_sync_door,
    finish_without_loop,
    has_running_loop,
    is_behind_door,
    is_cancelled_from_outside,
    is_door_closing,
    run_sync,
    run_without_loop,
)
from surehand.concurrency.homes import Home
from surehand.concurrency.parcels import why_left_behind
from surehand.concurrency.processes import run_in_process
from surehand.concurrency.rate import RateWindow
from surehand.concurrency.slots import Held, Slots
from surehand.concurrency.targets import ProcessTarget, process_target
from surehand.concurrency.workers import (
    Job,
    Workers,
    WorkersExhausted,
    deliver_to_loop,
    run_in_thread,
    run_in_time,
    served_here,
    when_started,
    workers,
)

__all__ = [
    "SYSTEM_CLOCK",
    "Clock",
    "Gate",
    "Held",
    "Home",
    "Job",
    "Loan",
    "ProcessTarget",
    "RateWindow",
    "Slots",
    "Timer",
    "Workers",
    "WorkersExhausted",
    "blocked_loops",
    "borrowed_loop",
    "deliver_to_loop",
    "entered_by_sync_door",
    "finish_without_loop",
    "has_running_loop",
    "in_own_context",
    "is_behind_door",
    "is_cancelled_from_outside",
    "is_door_closing",
    "paced",
    "process_target",
    "run_in_process",
    "run_in_thread",
    "run_in_time",
    "run_sync",
    "run_without_loop",
    "send_heartbeat",
    "send_progress",
    "served_here",
    "settled",
    "wake",
    "when_started",
    "why_left_behind",
    "workers",
]
