"""Where threads and event loops meet: the sync door and the worker threads."""

from surehand.concurrency.doors import entered_by_sync_door, run_sync
from surehand.concurrency.workers import Job, Workers, WorkersExhausted, deliver_to_loop, run_in_thread, workers

__all__ = ["Job", "Workers", "WorkersExhausted", "deliver_to_loop", "entered_by_sync_door", "run_in_thread", "run_sync", "workers"]
