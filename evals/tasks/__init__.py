"""The tasks. They were written before any framework had tried them, and are judged alike for all."""

from __future__ import annotations

from typing import Final

from evals.task import Task
from evals.tasks import faults, kinds, names, results, steps, values

__all__ = ["TASKS"]

TASKS: Final[dict[str, Task]] = {
    task.name: task for task in (*values.TASKS, *kinds.TASKS, *names.TASKS, *faults.TASKS, *results.TASKS, *steps.TASKS)
}
"""All of them, by name, in the order of the table."""
