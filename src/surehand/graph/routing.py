"""Where a graph goes on after a step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from surehand.control import END, START, Send
from surehand.errors import RoutingError
from surehand.graph.plan import Branch, Plan

__all__ = ["ENTRY", "WHOLE_STATE", "Task", "arrive", "next_tasks", "place_of", "targets_of_branch", "tasks_for"]


class _WholeState:
    def __repr__(self) -> str:
        return "WHOLE_STATE"


WHOLE_STATE: Final = _WholeState()
"""The argument of a task that is given the state."""


class Task(NamedTuple):
    """One run of one node in the next step."""

    node: str
    arg: Any = WHOLE_STATE
    """What it is given in place of the state, for a ``Send``."""


ENTRY: Final = Task(START)
"""What a run begins with: the step that nothing runs in."""


def place_of(tasks: Sequence[Task], position: int) -> str:
    """What is told of a task by its name; a node that is sent to may run several times in a step."""
    task = tasks[position]
    return task.node if task.arg is WHOLE_STATE else f"{task.node}:{position}"


def targets_of_branch(branch: Branch, answer: object) -> list[object]:
    """The names and sends behind what a path answered.

    Raises:
        RoutingError: An answer is not in the branch's map, or is no name.
    """
    parts = cast("Sequence[object]", answer) if isinstance(answer, list | tuple) else (answer,)
    return [_target_of(branch, part) for part in parts]


def _target_of(branch: Branch, answer: object) -> object:
    if branch.targets is None or isinstance(answer, Send):
        return answer  # tasks_for refuses what is no node's name
    try:
        return branch.targets[answer]
    except (KeyError, TypeError):  # TypeError: it cannot be hashed
        pass
    raise RoutingError(source=branch.source, target=answer, known=[str(key) for key in branch.targets])


def tasks_for(targets: Iterable[tuple[str, object]], plan: Plan) -> tuple[Task, ...]:
    """The tasks of the next step, from ``(source, target)`` pairs, in the order of the nodes.

    A node is run once however many edges lead to it, and once for every ``Send``, after that.

    Raises:
        RoutingError: A target is no node of the graph.
    """
    pulled: dict[str, Task] = {}  # by name: two edges that lead to one node run it once
    sent: list[Task] = []
    for source, target in targets:
        if isinstance(target, Send):
            sent.append(Task(_known(source, target.node, plan, may_end=False), target.arg))
        elif (name := _known(source, target, plan, may_end=True)) != END:
            pulled[name] = Task(name)
    tasks = [*pulled.values(), *sent]
    return tuple(sorted(tasks, key=lambda task: plan.nodes[task.node].index) if len(tasks) > 1 else tasks)


def next_tasks(
    targets: Iterable[tuple[str, object]], plan: Plan, deferred: Sequence[Task]
) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """The tasks of the next step, and those that run when nothing else is left to run.

    Raises:
        RoutingError: A target is no node of the graph.
    """
    tasks = tasks_for(targets, plan)
    now = [task for task in tasks if not plan.nodes[task.node].is_deferred]
    if len(now) == len(tasks) and not deferred:
        return tasks, ()
    held = [*deferred, *(task for task in tasks if plan.nodes[task.node].is_deferred and task not in deferred)]
    if now:
        return tuple(now), tuple(held)
    return tuple(sorted(held, key=lambda task: plan.nodes[task.node].index)), ()


def _known(source: str, target: object, plan: Plan, *, may_end: bool) -> str:
    if isinstance(target, str) and (target in plan.nodes or (may_end and target == END)):
        return target
    raise RoutingError(source=source, target=target, known=[*plan.nodes, *(["END"] if may_end else [])])


def arrive(
    plan: Plan, arrived: Mapping[int, frozenset[str]], sources: Iterable[str]
) -> tuple[dict[int, frozenset[str]], list[tuple[str, str]]]:
    """Which sources each join has seen after a step, and the targets of those that have seen all of theirs."""
    if not plan.joins:
        return {}, []
    ran, waiting, complete = frozenset(sources), dict(arrived), list[tuple[str, str]]()
    # A join that is complete forgets what it saw, so that in a loop it waits for all of its sources again.
    for position, join in enumerate(plan.joins):
        seen = waiting.pop(position, frozenset()) | (ran & frozenset(join.sources))
        if len(seen) == len(join.sources):
            complete.append((" and ".join(join.sources), join.target))
        elif seen:
            waiting[position] = seen
    return waiting, complete
