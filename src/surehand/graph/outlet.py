"""Where a run puts what is read from its stream, and from the streams of the graphs around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from surehand.control import current_runtime
from surehand.events import CallProgressed
from surehand.graph.live import Entry, Outbox
from surehand.graph.modes import Modes, Namespace
from surehand.graph.snapshot import INTERRUPT, Step, with_interrupts
from surehand.graph.state import State, Values
from surehand.messages import AIMessageChunk, Message, RemoveMessage, with_id

__all__ = ["Follower", "Outlet", "Voice", "as_it_is", "items_of", "outlet_around"]

View = Callable[[Any], Any]
"""The state as the host is to see it, made from the graph's own view of it."""


def as_it_is(state: Any) -> Any:
    """The state as the graph itself sees it."""
    return state


class Outlet:
    """Where the graphs of one stream put their items.

    Args:
        box: Where the reader takes them.
        modes: What the reader asked for.
        view: How the host is to see the state.
        namespace: The nodes that the graph runs inside of.
        around: The outlet of the graph that the reader itself is a part of; None outside of one.
    """

    __slots__ = ("_around", "_box", "_modes", "namespace", "view", "wanted")

    def __init__(
        self,
        box: Outbox,
        modes: Modes,
        *,
        view: View = as_it_is,
        namespace: Namespace = (),
        around: Outlet | None = None,
    ) -> None:
        self._box = box
        self._modes = modes
        self._around = around
        self.view = view
        self.namespace = namespace
        self.wanted: frozenset[str] = modes.names | (frozenset[str]() if around is None else around.wanted)

    def inside(self, place: str) -> Outlet:
        """The outlet of a graph that runs inside of this one."""
        around = None if self._around is None else self._around.inside(place)
        return Outlet(self._box, self._modes, namespace=(*self.namespace, place), around=around)

    @property
    def is_full(self) -> bool:
        """Whether one of the readers is so far behind that whoever can wait should."""
        return self._box.is_full or (self._around is not None and self._around.is_full)

    async def room(self) -> None:
        """Wait until there is room."""
        if self._box.is_full:
            await self._box.room()
        if self._around is not None:
            await self._around.room()

    # Within a step

    def emit(self, item: Any) -> None:
        """Give an item of the host's own to the nearest reader who asked for such."""
        if "custom" in self._modes.names:
            self._put("custom", item, may_drop=True)
        elif self._around is not None:
            self._around.emit(item)

    def tell_event(self, event: Any, metadata: Mapping[str, Any]) -> None:
        """Tell every reader of calls what happened to one."""
        if "calls" in self._modes.names:
            may_drop = isinstance(event, CallProgressed)
            self._put("calls", (event, self._placed(metadata)), may_drop=may_drop)
        if self._around is not None:
            self._around.tell_event(event, metadata)

    def tell_message(self, message: Message, metadata: Mapping[str, Any], *, is_new: bool = False) -> None:
        """Tell every reader of messages of one, or of a piece of one.

        Args:
            message: With an id.
            metadata: Where it comes from.
            is_new: Whether to leave out readers who know the message.
        """
        id = cast("str", message.id)
        if "messages" in self._modes.names and not (is_new and id in self._box.seen):
            self._box.seen.add(id)
            self._put("messages", (message, {**self._placed(metadata), "message_id": id}))
        if self._around is not None:
            self._around.tell_message(message, metadata, is_new=is_new)

    def know(self, ids: Iterable[str]) -> None:
        """Take note of messages that are no news to any reader."""
        if "messages" in self._modes.names:
            self._box.seen.update(ids)
        if self._around is not None:
            self._around.know(ids)

    # At the end of a step

    @property
    def of_steps(self) -> frozenset[str]:
        """The modes in which somebody reads the steps of this graph."""
        own = self._modes.of_steps(self.namespace)
        return own if self._around is None else own | self._around.of_steps

    def tell_step(self, mode: str, item: Any) -> None:
        """Tell every reader of this graph's steps what one of them did."""
        if mode in self._modes.of_steps(self.namespace):
            self._put(mode, item)
        if self._around is not None:
            self._around.tell_step(mode, item)

    def _placed(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        return {**metadata, "namespace": self.namespace}

    def _put(self, mode: str, item: Any, *, may_drop: bool = False) -> None:
        self._box.put(Entry(mode, self.namespace, item), may_drop=may_drop)


class Voice:
    """What a node has to put things on the stream: they are known by where they come from.

    Args:
        outlet: That of the node's graph.
        place: What a graph that the node runs is told by.
        metadata: Where it is.
    """

    __slots__ = ("_metadata", "_outlet", "_place")

    def __init__(self, outlet: Outlet, place: str, metadata: Mapping[str, Any]) -> None:
        self._outlet = outlet
        self._place = place
        self._metadata = metadata

    def __call__(self, mode: str, item: Any) -> None:
        """Put a value on the stream of a mode; on a thread, wait until there is room for it."""
        if mode == "messages":
            self._outlet.tell_message(item, self._metadata, is_new=not isinstance(item, AIMessageChunk))
        elif mode == "calls":
            self._outlet.tell_event(item, self._metadata)
        else:
            self._outlet.emit(item)

    def emit(self, item: Any) -> None:
        """Put an item of the host's own on the ``custom`` stream."""
        self._outlet.emit(item)

    @property
    def is_full(self) -> bool:
        """Whether a reader is so far behind that whoever can wait should."""
        return self._outlet.is_full

    async def room(self) -> None:
        """Wait until there is room."""
        await self._outlet.room()

    def within(self, call_id: str) -> Voice:
        """The same for what happens in one call."""
        node = str(self._metadata["node"])
        return Voice(self._outlet, f"{node}:{call_id}", {**self._metadata, "call_id": call_id})

    def outlet_inside(self) -> Outlet:
        """The outlet of a graph that the node runs."""
        return self._outlet.inside(self._place)


def outlet_around() -> Outlet | None:
    """The outlet of a graph that is run by the running code; None where that is not in a stream."""
    runtime = current_runtime()
    voice = None if runtime is None else runtime.publish
    return voice.outlet_inside() if isinstance(voice, Voice) else None


class Follower:
    """Tells the steps of one run of one graph.

    Args:
        outlet: Where they are told.
        graph: The graph's name.
        state: The graph's state.
        values: What the run begins with; the messages in it are no news.
    """

    def __init__(self, outlet: Outlet, graph: str, state: State, values: Values) -> None:
        self._outlet = outlet
        self._graph = graph
        self._state = state
        if "messages" in outlet.wanted:
            outlet.know(message.id for message in _messages_in(values.values()) if message.id is not None)

    async def follow(self, step: Step, *, is_here: bool) -> None:
        """Tell what a step did; where it does not stay in the caller's thread, wait for readers who are behind."""
        if "messages" in self._outlet.wanted:
            for update in step.updates:
                metadata = {"graph": self._graph, "node": update.node, "step": step.after.step}
                for message in _messages_in(write.value for write in update.writes):
                    if not isinstance(message, RemoveMessage):
                        self._outlet.tell_message(with_id(message), metadata, is_new=True)
        for mode, item in items_of(step, self._state, self._outlet.of_steps, view=self._outlet.view):
            self._outlet.tell_step(mode, item)
        if not is_here:
            await self._outlet.room()


def items_of(step: Step, state: State, modes: frozenset[str], *, view: View = as_it_is) -> list[tuple[str, Any]]:
    """What a step puts on the stream when it has ended, or when it waits for answers."""
    items: list[tuple[str, Any]] = []
    if "updates" in modes:
        if step.interrupts:
            items.append(("updates", {INTERRUPT: step.interrupts}))
        for update in step.updates:
            for part in state.written(update.writes) or [None]:
                items.append(("updates", {update.node: part}))  # noqa: PERF401 - a list of one type, said once
    if "values" in modes:
        values = step.after.values
        items.append(("values", with_interrupts(view(state.view(values)), values, step.interrupts)))
    return items


def _messages_in(values: Iterable[Any]) -> list[Message]:
    """The messages among values: those that are one, and those in lists of nothing else."""
    found: list[Message] = []
    for value in values:
        if isinstance(value, Message):
            found.append(value)
        elif isinstance(value, list | tuple) and all(
            isinstance(part, Message) for part in cast("Sequence[Any]", value)
        ):
            found += cast("Sequence[Message]", value)
    return found
