"""A graph that can be run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from functools import cached_property, partial
from typing import Any

from surehand.checkpoints.codec import Codec
from surehand.concurrency import finish_without_loop, run_sync
from surehand.control import RunConfig, is_command
from surehand.errors import OptionError
from surehand.graph.drawing import draw_ascii, draw_mermaid, draw_png, draw_svg, svg_for_notebook
from surehand.graph.engine import Run, drive, drive_here
from surehand.graph.kept import Keeping
from surehand.graph.modes import StreamMode, read_modes
from surehand.graph.opening import open_inside, open_run
from surehand.graph.outlet import Outlet, outlet_around
from surehand.graph.plan import Plan
from surehand.graph.settings import Keeper, read_settings
from surehand.graph.snapshot import with_interrupts
from surehand.graph.streaming import astream_of, stream_of
from surehand.graph.tasks import Settings
from surehand.graph.threads import StateSnapshot, change, history, look
from surehand.policy import count_or_none

__all__ = ["CompiledGraph"]


class CompiledGraph:
    """A checked graph; it holds no state of its own and may be run from several threads and loops at a time.

    ``StateGraph.compile()`` makes it. As a node of another graph it works on the keys that both states have.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        saver = plan.checkpointer
        self._keeper = None if saver is None else Keeper(saver=saver, codec=self._codec)

    @cached_property
    def _codec(self) -> Codec:
        """Reads and writes the values of this graph, wherever it is kept."""
        return Codec(self._plan.all_types())

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
        run = finish_without_loop(self._open(input, config, context=context, is_here=True))
        drive_here(run)
        return self._result_of(run)

    async def ainvoke(self, input: Any, config: RunConfig | None = None, *, context: Any = None) -> Any:
        """``invoke``, awaited; synchronous nodes run on threads."""
        run = await self._open(input, config, context=context, is_here=False)
        await drive(run)
        return self._result_of(run)

    def stream(
        self,
        input: Any,
        config: RunConfig | None = None,
        *,
        stream_mode: StreamMode | list[StreamMode] = "updates",
        subgraphs: bool = False,
        context: Any = None,
    ) -> Generator[Any, None, None]:
        """Run step by step; no step begins that was not asked for by taking the next item.

        Args:
            input: As for ``invoke``.
            config: As for ``invoke``.
            stream_mode: ``updates`` gives ``{node: update}`` for every node that ran, in the order in which they were
                applied, and ``{"__interrupt__": (…)}`` where the run stops with questions; ``values`` gives the state
                after the input and after every step. While a step runs, ``messages`` gives ``(piece, metadata)`` for
                what models say, and every other message that a node adds, whole; ``calls`` gives ``(event, metadata)``
                for every event of every call; ``custom`` gives what nodes and tools pass to
                ``current_runtime().emit``. A list of modes gives ``(mode, item)`` pairs.
            subgraphs: Whether the steps of graphs inside of this one are told too: items are then
                ``(namespace, item)`` or ``(namespace, mode, item)``, with the nodes around as the namespace.
            context: As for ``invoke``.

        Raises:
            OptionError: The mode is none.
            Exception: As ``invoke``.
        """
        start = partial(self._open, input, config, context=context)
        return stream_of(start, self._plan.state, read_modes(stream_mode, subgraphs=subgraphs), self._reached)

    def astream(
        self,
        input: Any,
        config: RunConfig | None = None,
        *,
        stream_mode: StreamMode | list[StreamMode] = "updates",
        subgraphs: bool = False,
        context: Any = None,
    ) -> AsyncGenerator[Any, None]:
        """``stream``, awaited; synchronous nodes run on threads."""
        start = partial(self._open, input, config, context=context)
        return astream_of(start, read_modes(stream_mode, subgraphs=subgraphs), self._reached)

    def draw_mermaid(self, *, xray: bool | int = False) -> str:
        """The graph as a Mermaid flowchart; dotted arrows are decided while it runs.

        Args:
            xray: Whether nodes that are graphs are opened; a number: how many levels of them.
        """
        return draw_mermaid(self._plan, xray=xray)

    def draw_ascii(self, *, xray: bool | int = False, max_width: int | None = 120) -> str:
        """The graph in boxes and lines of plain text.

        Args:
            xray: As for ``draw_mermaid``.
            max_width: Columns; a graph that is wider is told as a list of what follows what. None for no limit.
        """
        return draw_ascii(self._plan, xray=xray, max_width=max_width)

    def draw_svg(self, *, xray: bool | int = False) -> str:
        """The graph as an SVG picture, which needs nothing but itself and suits light and dark pages."""
        return draw_svg(self._plan, xray=xray)

    def draw_png(self, *, xray: bool | int = False, scale: float = 2.0) -> bytes:
        """The SVG picture as PNG, made here, without a network.

        Args:
            xray: As for ``draw_mermaid``.
            scale: Pixels to a pixel of the SVG.

        Raises:
            MissingExtraError: The ``draw`` extra is not installed.
        """
        return draw_png(self._plan, xray=xray, scale=scale)

    def _repr_svg_(self) -> str | None:
        """What a notebook shows; nothing for a graph that takes long to draw and that nobody could read."""
        return svg_for_notebook(self._plan)

    def __repr__(self) -> str:
        return f"CompiledGraph({self.name!r}, nodes=[{', '.join(self._plan.nodes)}])"

    async def ainvoke_inside(
        self, input: Any, place: str, config: RunConfig | None = None, *, context: Any = None
    ) -> Any:
        """``ainvoke`` for code inside of a node, such as the body of a tool.

        Where the run of that node is kept, this one is kept with it, also without a checkpointer of its own: taken up
        again, it goes on where it stopped, and its questions are those of the run around it.

        Args:
            input: As for ``ainvoke``; not looked at where the run is taken up again.
            place: Tells this run from others of the same node, and is the same when the node runs again: the
                ``idempotency_key`` of a call.
            config: As for ``ainvoke``.
            context: As for ``ainvoke``.

        Raises:
            Interrupted: It asks.
            Exception: As ``ainvoke``.
        """
        settings = read_settings(config, context=context, outlet=outlet_around())
        run = await open_inside(self._plan, settings, self._given(input), place, self._codec)
        await drive(run)
        return self._result_of(run)

    # Threads

    def get_state(self, config: RunConfig) -> StateSnapshot:
        """What is kept of a thread: its newest checkpoint, or the one that ``checkpoint_id`` names.

        A thread without a checkpoint has no values and nothing to run next.

        Raises:
            OptionError: The graph has no checkpointer, or the configuration names no thread.
            CheckpointError: What is kept cannot be read, or there is no such checkpoint.
        """
        settings, keeping = self._kept(config)
        return finish_without_loop(look(self._plan, settings, keeping, is_here=True))

    async def aget_state(self, config: RunConfig) -> StateSnapshot:
        """``get_state``, awaited."""
        settings, keeping = self._kept(config)
        return await look(self._plan, settings, keeping, is_here=False)

    def get_state_history(self, config: RunConfig, *, limit: int | None = None) -> Iterator[StateSnapshot]:
        """The checkpoints of a thread, the newest first; ``config`` of each is where a graph can go on from.

        Args:
            config: Names the thread.
            limit: How many at most; None for all.

        Raises:
            OptionError, CheckpointError: As ``get_state``.
        """
        _, keeping = self._kept(config)
        items = history(self._plan, keeping, limit=count_or_none("limit", limit), is_here=True)
        while (item := finish_without_loop(_next(items))) is not None:
            yield item

    async def aget_state_history(self, config: RunConfig, *, limit: int | None = None) -> AsyncIterator[StateSnapshot]:
        """``get_state_history``, awaited."""
        _, keeping = self._kept(config)
        most = count_or_none("limit", limit)
        async for item in history(self._plan, keeping, limit=most, is_here=False):
            yield item

    def update_state(self, config: RunConfig, values: Any, as_node: str | None = None) -> RunConfig:
        """Change the state of a thread, as if a node had returned ``values``; the run goes on behind that node.

        A checkpoint is added, and none is changed. Where ``checkpoint_id`` names an earlier one, the thread is forked
        there. Questions of the checkpoint before are no longer open.

        Args:
            config: Names the thread.
            values: The update, as a node returns it; None changes nothing, and still goes on behind the node.
            as_node: The node, or START for the input; None for the one that ran last.

        Returns:
            Names the new checkpoint.

        Raises:
            InputError: The node is unknown or cannot be told, or the update is none of the state.
            CheckpointConflict: A run has gone on with the thread meanwhile.
            OptionError, CheckpointError: As ``get_state``.
        """
        return run_sync(lambda: self.aupdate_state(config, values, as_node))

    async def aupdate_state(self, config: RunConfig, values: Any, as_node: str | None = None) -> RunConfig:
        """``update_state``, awaited."""
        settings, keeping = self._kept(config)
        return await change(self._plan, settings, keeping, values, as_node)

    def _kept(self, config: RunConfig) -> tuple[Settings, Keeping]:
        settings = read_settings(config, keeper=self._keeper)
        if settings.keeping is None:
            raise OptionError(
                option="checkpointer",
                value=None,
                expected="one, for the state of a thread to be kept",
                remedy="Compile the graph with checkpointer=….",
            )
        return settings, settings.keeping

    async def _open(
        self,
        given: object,
        config: RunConfig | None,
        outlet: Outlet | None = None,
        *,
        context: object,
        is_here: bool,
    ) -> Run:
        heard = outlet or outlet_around()
        settings = read_settings(config, context=context, outlet=heard, keeper=self._keeper)
        goes_on = self._keeper is not None and (given is None or is_command(given))
        return await open_run(self._plan, settings, given if goes_on else self._given(given), is_here=is_here)

    def _result_of(self, run: Run) -> Any:
        return with_interrupts(self._reached(run.result), run.snapshot.values, run.interrupts)

    def _given(self, given: object) -> object:
        """The input as the state takes it; every way to run the graph comes by here."""
        return given

    def _reached(self, state: Any) -> Any:
        """The state as ``invoke`` returns it."""
        return state


async def _next(items: AsyncIterator[StateSnapshot]) -> StateSnapshot | None:
    return await anext(items, None)
