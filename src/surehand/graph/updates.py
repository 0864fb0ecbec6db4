"""What a node asked for by what it returned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from surehand.control import Command, Send, is_command
from surehand.errors import NodeError, shown
from surehand.graph.channels import Write
from surehand.graph.state import State, Values

__all__ = ["Update", "read_update"]


@dataclass(slots=True, kw_only=True)
class Update:
    """What one run of one node asks of the graph."""

    node: str
    writes: list[Write]
    targets: list[Any]
    """Where to go on besides the static edges; not yet checked."""
    for_parent: list[Command]
    """Commands for the graph around this one, addressed to it."""


def read_update(node: str, returned: object, *, seen: object, values: Values, state: State) -> Update:
    """The update behind a node's return value: None, an update of the state, a Command, or a list with Commands.

    Args:
        node: Who returned it.
        returned: What it returned.
        seen: The view of the state that it was given.
        values: The values that the view was made from.
        state: The graph's state.

    Raises:
        NodeError: It is nothing of the kind.
    """
    update = Update(node=node, writes=[], targets=[], for_parent=[])
    for part in _parts(returned):
        if is_command(part):
            _take_command(update, part, seen=seen, values=values, state=state)
        elif isinstance(part, Send):
            raise NodeError(
                node=node,
                problem=f"it returned {shown(part)}",
                remedy="Return Command(goto=Send(…)), or return it from a conditional edge.",
            )
        elif part is not None:
            update.writes += state.read_update(node, part, seen=seen, values=values)
    return update


def _parts(returned: object) -> Sequence[object]:
    """A list with a Command in it is several updates; every other value is one."""
    parts = cast("Sequence[object]", returned) if isinstance(returned, list | tuple) else ()
    if any(isinstance(part, Command | Send) for part in parts):
        return parts
    whole: list[object] = [returned]
    return whole


def _take_command(update: Update, command: Command, *, seen: object, values: Values, state: State) -> None:
    if command.graph == Command.PARENT:
        update.for_parent.append(Command(update=command.update, goto=command.goto))
        return
    if command.graph is not None:
        raise NodeError(
            node=update.node,
            problem=f"its command is for the graph {shown(command.graph)}",
            remedy="Expected graph=None for this graph, or Command.PARENT for the one around it.",
        )
    if command.update is not None:
        update.writes += state.read_update(update.node, command.update, seen=seen, values=values)
    update.targets += [command.goto] if isinstance(command.goto, str | Send) else _listed(update.node, command.goto)


def _listed(node: str, goto: object) -> list[Any]:
    if not isinstance(goto, list | tuple):
        raise NodeError(
            node=node,
            problem=f"its command leads to {shown(goto)}",
            remedy="Expected the name of a node, a Send, or a list of those.",
        )
    return list(cast("Sequence[Any]", goto))
