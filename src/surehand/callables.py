"""What can be learnt of a host's callables without calling them.

Annotations are often postponed and may name what is local to a function: a state class made inside a test, a type that
a closure holds. Python keeps no link from an annotation to the scope it was written in, so that three places are looked
in: the globals of the function, what its closure kept, and the functions that are running right now and led here. The
last is a guess, and a good one: who builds a graph or a node from local types does it while those are in scope.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from types import FrameType
from typing import Any

__all__ = ["caller_frames", "closure_names", "is_async_callable", "name_of"]


def is_async_callable(function: object) -> bool:
    """Whether calling it gives a coroutine: an async function, or an object with an async ``__call__``."""
    while isinstance(function, functools.partial):
        function = function.func
    # The type is asked: an instance is called by what its class says, and calling a class itself awaits nothing.
    own_call = getattr(type(function), "__call__", None)  # noqa: B004 - the method itself
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(own_call)


def name_of(function: object) -> str:
    """The function's own name, or its class's, for a log: a repr may show what a partial or an object was made with."""
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def closure_names(function: object) -> dict[str, Any]:
    """The names of the enclosing functions that the function uses, with what they hold now."""
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    found: dict[str, Any] = {}
    for name, cell in zip(names, getattr(function, "__closure__", None) or (), strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # the enclosing function has not assigned it yet
            continue
    return found


def caller_frames() -> Iterator[FrameType]:
    """The frames outside of Surehand that led here, the nearest first."""
    frame = inspect.currentframe()
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] != "surehand":
            yield frame
        frame = frame.f_back
