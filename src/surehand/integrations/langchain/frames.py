"""What a LangGraph node knows about the call that runs, for the tools that are told of it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config

from surehand.control import (
    Runtime,
    _runtime,  # pyright: ignore[reportPrivateUsage] - what tools of ours ask for
)

__all__ = ["Frame", "current_frame", "entered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One call in a LangGraph node."""

    call_id: str
    """The id that the model gave the call."""
    config: RunnableConfig
    """The node's configuration, with what belongs to this call alone."""
    shown: Callable[[], Any]
    """Gives the node's state, as tools may see it."""
    store: Any = None
    context: Any = None
    write: Callable[[Any], Any] | None = None
    """Puts a value on the graph's ``custom`` stream; None outside of a graph."""
    tools: Sequence[Any] = ()
    """The node's tools, as LangChain's."""
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What LangGraph tells of the run and of the server, by attribute of its runtime."""
    is_compatible: bool = False
    """Whether results are formed as LangGraph's own node forms them."""

    @property
    def state(self) -> Any:
        """The node's state, as tools may see it: the list, mapping or object that the node was given."""
        return self.shown()


_frame: ContextVar[Frame | None] = ContextVar("surehand_langgraph_call", default=None)


def current_frame() -> Frame | None:
    """The call that runs in a LangGraph node; None where none does."""
    return _frame.get()


@contextmanager
def entered(frame: Frame) -> Generator[None]:
    """Have LangChain's code, LangGraph's and ours know the call that runs."""
    runtime = Runtime(store=frame.store, context=frame.context, emit=frame.write)
    tokens: list[tuple[ContextVar[Any], Any]] = [
        (_frame, _frame.set(frame)),
        (var_child_runnable_config, var_child_runnable_config.set(frame.config)),
        (_runtime, _runtime.set(runtime)),
    ]
    try:
        yield
    finally:
        for variable, token in reversed(tokens):
            with suppress(ValueError):  # a task that is thrown away is closed in a context that is not its own
                variable.reset(token)
