"""What a call needs before its body may start: places that are limited, things for itself alone, and its turn in time.

All places are taken at once or none, so that calls never wait for one another in a circle. They belong to the node, not
to the turn: a limit that protects a database holds for all the turns that run side by side.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Hashable
from contextlib import asynccontextmanager
from typing import Any

from surehand.calls.arguments_view import Arguments
from surehand.calls.call import Call
from surehand.errors import OptionError

__all__ = ["Places", "in_place", "places_of"]

Places = dict[Hashable, int]
"""What is limited, and how many may be there at a time."""


def places_of(call: Call) -> Places:
    """The places that the call needs.

    Raises:
        Exception: What the host's own function of the arguments raises.
        OptionError: The function returned something else than texts.
    """
    tool, turn = call.tool, call.turn
    if tool is None:
        return {}
    options = tool.options
    places: Places = {("alone", name): 1 for name in _needed_alone(call)}
    if isinstance(options.concurrency, int):
        places["tool", tool.spec.name] = options.concurrency
    if isinstance(options.group, str) and options.group in turn.host.groups:
        places["group", options.group] = turn.host.groups[options.group]
    if turn.max_concurrency is not None:
        places["turn", id(turn)] = turn.max_concurrency
    return places


def _needed_alone(call: Call) -> list[str]:
    rule = call.tool.options.exclusive if call.tool else False
    if not callable(rule):
        return []
    found: Any = rule(Arguments(call.values))
    names: list[Any] = [found] if isinstance(found, str) else list(found or ())
    if not all(isinstance(name, str) for name in names):
        raise OptionError(option="exclusive", value=names, expected="a function that returns a list of texts")
    return names


@asynccontextmanager
async def in_place(call: Call, places: Places) -> AsyncGenerator[None]:
    """Entered while the call runs; waits until there is room, and until its tool's rate allows another start."""
    held = call.turn.host.slots.hold(places)
    window = call.turn.host.window(call.tool)
    if window is None:
        await held.take()
    else:
        await window.wait(held)
    with call.turn.holding(call.position, held.release):
        yield
