"""A graph that can be run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from functools import partial
from typing import Any

from surehand.control import RunConfig
from surehand.graph.drawing import draw_mermaid
from surehand.graph.engine import Run, drive, drive_here
from surehand.graph.plan import Plan
from surehand.graph.settings import StreamMode, read_modes, read_settings
from surehand.graph.streaming import live, stream_here

__all__ = ["CompiledGraph"]


class CompiledGraph:
    """A checked graph; it holds no state of its own and may be run from several threads and loops at a time.

    ``StateGraph.compile()`` makes it. As a node of another graph it works on the keys that both states have.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    @property
    def plan(self) -> Plan:
        """The graph as plain values."""
        return self._plan

    @property
    def name(self) -> str:
        """The name in messages, and as a node."""
        return self._plan.name

    def invoke(self, input: Any, config: RunConfig | None = None, *, context: Any = None) -> Any:
        """Run to the end and return the state that was reached.

        The result is a dict for a TypedDict state, an instance for a dataclass or pydantic state, and the value for a
        state that is a single value. A lone synchronous node runs in this thread, parallel ones run on threads.

        Args:
            input: A mapping of state keys or an instance of the state's class; for a state with a message list also
                text, ``("user", text)``, a message or a list of messages.
            config: The run's configuration; ``recursion_limit`` (25) and ``max_concurrency`` (none) are limits.
            context: An object of the host's for tools and nodes, found at ``current_runtime().context``.

        Raises:
            InputError: The input does not fit the state.
            GraphRecursionError: The graph did not end in time; ``error.state`` is what was reached.
            NodeError: A node returned what is no update, or two nodes wrote one key that has no reducer.
            RoutingError: The graph was sent to a node that it does not have.
            Exception: Whatever a node raises, the same object, with a note that names the node.
        """
        run = self._start(input, config, context=context)
        drive_here(run)
        return self._reached(run.result)

    async def ainvoke(self, input: Any, config: RunConfig | None = None, *, context: Any = None) -> Any:
        """``invoke``, awaited; synchronous nodes run on threads."""
        run = self._start(input, config, context=context)
        await drive(run)
        return self._reached(run.result)

    def stream(
        self,
        input: Any,
        config: RunConfig | None = None,
        *,
        stream_mode: StreamMode | list[StreamMode] = "updates",
        context: Any = None,
    ) -> Generator[Any, None, None]:
        """Run step by step; nothing runs that was not asked for by taking the next item.

        Args:
            input: As for ``invoke``.
            config: As for ``invoke``.
            stream_mode: ``updates`` gives ``{node: update}`` for every node that ran, in the order in which they were
                applied; ``values`` gives the state after the input and after every step; ``custom`` gives what nodes
                pass to ``current_runtime().emit``, while they run. A list of modes gives ``(mode, item)`` pairs.
            context: As for ``invoke``.

        Raises:
            OptionError: The mode is none.
            Exception: As ``invoke``.
        """
        start = partial(self._start, input, config, context=context)
        return stream_here(start, self._plan.state, read_modes(stream_mode))

    def astream(
        self,
        input: Any,
        config: RunConfig | None = None,
        *,
        stream_mode: StreamMode | list[StreamMode] = "updates",
        context: Any = None,
    ) -> AsyncGenerator[Any, None]:
        """``stream``, awaited; synchronous nodes run on threads."""
        start = partial(self._start, input, config, context=context)
        return live(start, self._plan.state, read_modes(stream_mode))

    def draw_mermaid(self) -> str:
        """The graph as a Mermaid flowchart; dotted arrows are decided while it runs."""
        return draw_mermaid(self._plan)

    def __repr__(self) -> str:
        return f"CompiledGraph({self.name!r}, nodes=[{', '.join(self._plan.nodes)}])"

    def _start(
        self, given: object, config: RunConfig | None, emit: Callable[[Any], None] | None = None, *, context: object
    ) -> Run:
        return Run.from_input(self._plan, read_settings(config, context=context, emit=emit), self._given(given))

    def _given(self, given: object) -> object:
        """The input as the state takes it; every way to run the graph comes by here."""
        return given

    def _reached(self, state: Any) -> Any:
        """The state as ``invoke`` returns it."""
        return state
