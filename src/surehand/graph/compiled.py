"""A graph that can be run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, Final

from surehand.concurrency import run_sync
from surehand.control import RunConfig
from surehand.graph.drawing import draw_mermaid
from surehand.graph.engine import Run, Step, drive, drive_here
from surehand.graph.live import STEP_ENDED, Outbox, end
from surehand.graph.plan import Plan
from surehand.graph.settings import StreamMode, read_modes, read_settings

__all__ = ["CompiledGraph"]

_ENDED: Final = object()


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
        modes = read_modes(stream_mode)
        # What nodes emit has to come out while they run, so that something must run them meanwhile: a loop. The other
        # modes have nothing to say within a step, and their steps may stay in the caller's thread.
        if "custom" in modes:
            return self._pulled(self.astream(input, config, stream_mode=stream_mode, context=context))
        return self._stepwise(self._start(input, config, context=context), modes, is_list=stream_mode != modes[0])

    def astream(
        self,
        input: Any,
        config: RunConfig | None = None,
        *,
        stream_mode: StreamMode | list[StreamMode] = "updates",
        context: Any = None,
    ) -> AsyncGenerator[Any, None]:
        """``stream``, awaited; synchronous nodes run on threads."""
        modes = read_modes(stream_mode)
        return self._live(input, config, modes, is_list=stream_mode != modes[0], context=context)

    def draw_mermaid(self) -> str:
        """The graph as a Mermaid flowchart; dotted arrows are decided while it runs."""
        return draw_mermaid(self._plan)

    def __repr__(self) -> str:
        return f"CompiledGraph({self.name!r}, nodes=[{', '.join(self._plan.nodes)}])"

    def _start(
        self,
        given: object,
        config: RunConfig | None,
        *,
        context: object,
        emit: Callable[[Any], None] | None = None,
    ) -> Run:
        return Run.from_input(self._plan, read_settings(config, context=context, emit=emit), self._given(given))

    def _given(self, given: object) -> object:
        """The input as the state takes it; every way to run the graph comes by here."""
        return given

    def _reached(self, state: Any) -> Any:
        """The state as ``invoke`` returns it."""
        return state

    def _stepwise(self, run: Run, modes: tuple[StreamMode, ...], *, is_list: bool) -> Generator[Any, None, None]:
        while not run.is_over:
            for mode, item in self._items(run.step_here(), modes):
                yield (mode, item) if is_list else item

    async def _live(
        self, given: object, config: RunConfig | None, modes: tuple[StreamMode, ...], *, is_list: bool, context: object
    ) -> AsyncGenerator[Any, None]:
        outbox = Outbox()
        run = self._start(given, config, context=context, emit=outbox.put if "custom" in modes else None)
        while not run.is_over:
            work = outbox.start(run.step())
            # A reader may stop between two items, which closes this generator here: the step must not go on unattended.
            try:
                while (emitted := await outbox.take()) is not STEP_ENDED:
                    yield ("custom", emitted) if is_list else emitted
                step = await work
            finally:
                await end(work)
            for mode, item in self._items(step, modes):
                yield (mode, item) if is_list else item

    def _items(self, step: Step, modes: tuple[StreamMode, ...]) -> list[tuple[StreamMode, Any]]:
        """What a step puts on the stream."""
        state = self._plan.state
        items: list[tuple[StreamMode, Any]] = []
        if "updates" in modes:
            for update in step.updates:
                for part in state.written(update.writes) or [None]:
                    items.append(("updates", {update.node: part}))  # noqa: PERF401 - a list of one type, said once
        if "values" in modes:
            items.append(("values", state.view(step.after.values)))
        return items

    @staticmethod
    def _pulled(items: AsyncGenerator[Any, None]) -> Generator[Any, None, None]:
        """An asynchronous stream, taken item by item from synchronous code."""

        async def take() -> Any:
            return await anext(items, _ENDED)

        try:
            while (item := run_sync(take)) is not _ENDED:
                yield item
        finally:
            run_sync(items.aclose)
