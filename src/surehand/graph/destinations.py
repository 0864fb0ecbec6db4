"""Where a node's commands may lead, as far as that can be known before it runs.

It is known for the sake of one check, that something leads to every node, and for the drawing. Declarations at every
node would make it exact, and every hand-off a chore. Instead a function is looked through for the words ``Command`` and
``Send``. Where they stand it may lead anywhere, and the check is silent; where they do not it leads nowhere. That errs
for a function whose helper makes the command; the error of the check then names ``destinations=``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import CodeType
from typing import Any, get_args, get_origin

from surehand.control import Command, Send
from surehand.graph.hints import function_of, literal_texts, return_hint
from surehand.graph.plan import Plan

__all__ = ["destinations_of"]

_NOWHERE: frozenset[str] = frozenset()


def destinations_of(action: object, declared: Iterable[str] | None) -> frozenset[str] | None:
    """The targets that were declared, or those of ``Command[Literal[…]]``; None: perhaps anywhere.

    A function that is not annotated may lead anywhere if its code speaks of ``Command`` or ``Send``, and nowhere if
    it does not: so a node that nothing leads to is found, and a hand-off needs no declaration.
    """
    if declared is not None:
        return frozenset(declared)
    plan = getattr(action, "plan", None)
    if isinstance(plan, Plan):  # its nodes may have commands for the graph around them
        return None if any(node.destinations is None for node in plan.nodes.values()) else _NOWHERE
    if getattr(action, "commands", False):  # a ToolNode whose tools may answer with commands
        return None
    # What is run depends on the door, so that both ways count.
    callables = [getattr(action, name) for name in ("invoke", "ainvoke") if hasattr(action, name)] or [action]
    found = [_destinations_of_function(function) for function in callables]
    known = [targets for targets in found if targets is not None]
    return _NOWHERE.union(*known) if len(known) == len(found) else None


def _destinations_of_function(action: object) -> frozenset[str] | None:
    commands = _commands_in(return_hint(action))
    if commands:
        targets, is_closed = zip(*(literal_texts(hint) for hint in commands), strict=True)
        return frozenset(name for texts in targets for name in texts) if all(is_closed) else None
    function = function_of(action)
    code = getattr(function, "__code__", None)
    names: Mapping[str, Any] = getattr(function, "__globals__", {})
    return None if isinstance(code, CodeType) and _speaks_of_commands(code, names) else _NOWHERE


def _commands_in(hint: Any) -> list[Any]:
    if hint is Command or get_origin(hint) is Command:
        return [hint]
    return [command for part in get_args(hint) for command in _commands_in(part)]


def _speaks_of_commands(code: CodeType, names: Mapping[str, Any]) -> bool:
    for name in (*code.co_names, *code.co_freevars):
        if name in {"Command", "Send"} or names.get(name) is Command or names.get(name) is Send:
            return True
    return any(_speaks_of_commands(part, names) for part in code.co_consts if isinstance(part, CodeType))
