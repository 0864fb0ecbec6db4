"""What a run puts on its stream, step by step or while a step runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from typing import Any, Final, Protocol

from surehand.concurrency import finish_without_loop, run_sync
from surehand.graph.engine import Run
from surehand.graph.live import STEP_ENDED, Outbox, end
from surehand.graph.settings import Modes, StreamMode
from surehand.graph.snapshot import INTERRUPT, Step, with_interrupts
from surehand.graph.state import State

__all__ = ["Start", "live", "stream_here"]

_ENDED: Final = object()


class Start(Protocol):
    """Makes the run, given what takes the items that its nodes emit; None where nobody reads them."""

    def __call__(self, emit: Callable[[Any], None] | None, *, is_here: bool) -> Coroutine[Any, Any, Run]:
        """The run, once it is opened; nothing waits for an event loop where it is to stay here."""
        ...


def stream_here(start: Start, state: State, modes: Modes) -> Generator[Any, None, None]:
    """The items of a run, for synchronous callers; a step runs when its items are asked for."""
    # What nodes emit has to come out while they run, so that something must run them meanwhile: a loop. The other
    # modes have nothing to say within a step, and their steps may stay in the caller's thread.
    return _pulled(live(start, state, modes)) if modes.are_live else _stepwise(start, state, modes)


async def live(start: Start, state: State, modes: Modes) -> AsyncGenerator[Any, None]:
    """The items of a run, in the order of time, those of a step while it runs."""
    outbox = Outbox()
    run = await start(outbox.put if "custom" in modes.names else None, is_here=False)
    while not run.is_over:
        work = outbox.start(run.step())
        # A reader may stop between two items, which closes this generator here: the step must not go on unattended.
        try:
            while (emitted := await outbox.take()) is not STEP_ENDED:
                yield modes.shown("custom", emitted)
            step = await work
        finally:
            await end(work)
        for mode, item in _items(step, state, modes):
            yield modes.shown(mode, item)


def _stepwise(start: Start, state: State, modes: Modes) -> Generator[Any, None, None]:
    run = finish_without_loop(start(None, is_here=True))
    while not run.is_over:
        for mode, item in _items(run.step_here(), state, modes):
            yield modes.shown(mode, item)


def _pulled(items: AsyncGenerator[Any, None]) -> Generator[Any, None, None]:
    """An asynchronous stream, taken item by item from synchronous code."""

    async def take() -> Any:
        return await anext(items, _ENDED)

    try:
        while (item := run_sync(take)) is not _ENDED:
            yield item
    finally:
        run_sync(items.aclose)


def _items(step: Step, state: State, modes: Modes) -> list[tuple[StreamMode, Any]]:
    """What a step puts on the stream when it has ended."""
    items: list[tuple[StreamMode, Any]] = []
    if step.interrupts:
        return _asked(step, state, modes)
    if "updates" in modes.names:
        for update in step.updates:
            for part in state.written(update.writes) or [None]:
                items.append(("updates", {update.node: part}))  # noqa: PERF401 - a list of one type, said once
    if "values" in modes.names:
        items.append(("values", state.view(step.after.values)))
    return items


def _asked(step: Step, state: State, modes: Modes) -> list[tuple[StreamMode, Any]]:
    """What a step puts on the stream that waits for answers."""
    items: list[tuple[StreamMode, Any]] = []
    if "updates" in modes.names:
        items.append(("updates", {INTERRUPT: step.interrupts}))
    if "values" in modes.names:
        items.append(("values", with_interrupts(state.view(step.after.values), step.after.values, step.interrupts)))
    return items
