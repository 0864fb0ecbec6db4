"""``python -m benchmarks.storage [--page FILE]``: what kept runs cost on SQLite, beside LangGraph.

Prints tables in Markdown; with ``--page`` they take the place of what stands between the marks of that page.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.harness import environment
from surehand import START, AIMessage, MessagesState, SqliteSaver, StateGraph
from surehand.checkpoints import CallRow

STEPS: Final = (50, 100, 200)
MESSAGE_BYTES: Final = 10_000
PARALLEL: Final = (1, 10, 100)
COMMITS: Final = 2_000
BEGIN, END_MARK = "<!-- measured: begin -->", "<!-- measured: end -->"

Runner = Callable[[Path, int], float]
"""Runs a graph of so many steps on a new file, and says how many seconds it took."""


def texts(count: int) -> list[str]:
    """Messages that no compression makes smaller."""
    return [secrets.token_hex(MESSAGE_BYTES // 2) for _ in range(count)]


def ours(path: Path, steps: int) -> float:
    """A node that adds a message, in a loop."""
    said = texts(steps)

    def speak(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(said[len(state["messages"])])]}

    def more(state: MessagesState) -> str:
        return "speak" if len(state["messages"]) < steps else "__end__"

    builder = StateGraph(MessagesState).add_node("speak", speak).add_edge(START, "speak")
    with SqliteSaver(path) as saver:
        graph = builder.add_conditional_edges("speak", more, ["speak", "__end__"]).compile(saver)
        begun = time.perf_counter()
        graph.invoke({"messages": []}, {"configurable": {"thread_id": "t"}, "recursion_limit": steps + 1})
        return time.perf_counter() - begun


def langgraph(path: Path, steps: int) -> float:
    """The same in LangGraph."""
    from langchain_core.messages import AIMessage as TheirMessage  # noqa: PLC0415 - an optional peer
    from langgraph import graph as peer  # noqa: PLC0415
    from langgraph.checkpoint.sqlite import SqliteSaver as TheirSaver  # noqa: PLC0415

    said = texts(steps)

    def speak(state: Any) -> dict[str, Any]:
        return {"messages": [TheirMessage(said[len(state["messages"])])]}

    def more(state: Any) -> str:
        return "speak" if len(state["messages"]) < steps else "__end__"

    builder: Any = peer.StateGraph(peer.MessagesState)
    builder.add_node("speak", speak)
    builder.add_edge(peer.START, "speak")
    builder.add_conditional_edges("speak", more, ["speak", "__end__"])
    with TheirSaver.from_conn_string(str(path)) as saver:
        graph = builder.compile(checkpointer=saver)
        begun = time.perf_counter()
        graph.invoke({"messages": []}, {"configurable": {"thread_id": "t"}, "recursion_limit": steps + 2})
        return time.perf_counter() - begun


def runners() -> dict[str, Runner]:
    """Who is measured."""
    there = find_spec("langgraph") is not None and find_spec("langgraph.checkpoint.sqlite") is not None
    return {"Surehand": ours, **({"LangGraph": langgraph} if there else {})}


def steps_table() -> list[str]:
    """Bytes on the disk and milliseconds per step, by the number of steps."""
    lines = [
        "| steps of 10 KB | payload | | on the disk | times the payload | ms per step |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for steps in STEPS:
        for name, run in runners().items():
            stored, seconds = stored_by(run, steps)
            payload = steps * MESSAGE_BYTES
            lines.append(
                f"| {steps} | {payload / 1e6:.1f} MB | {name} | {stored / 1e6:.1f} MB | {stored / payload:.2f} | "
                f"{1000 * seconds / steps:.2f} |"
            )
    return lines


def stored_by(run: Runner, steps: int) -> tuple[int, float]:
    """Bytes of the file and what belongs to it, and the seconds of the best of three runs."""
    seconds, stored = [], 0
    for _ in range(3):
        with TemporaryDirectory() as folder:
            seconds.append(run(Path(folder) / "runs.sqlite", steps))
            stored = sum(file.stat().st_size for file in Path(folder).iterdir())
    return stored, min(seconds)


def commits_table() -> list[str]:
    """Rows of calls that are committed in a second, each before the next of its task."""
    lines = ["| calls at a time | awaited | from threads |", "| --- | --- | --- |"]
    for width in PARALLEL:
        awaited, threaded = asyncio.run(commits_awaited(width)), commits_from_threads(width)
        lines.append(f"| {width} | {awaited:,.0f} a second | {threaded:,.0f} a second |")
    return lines


def row(number: int) -> CallRow:
    """A row of a call of 500 bytes."""
    return CallRow(key=f"{number:032d}", version=1, state="running", text="x" * 500, changed_at=float(number))


async def commits_awaited(width: int) -> float:
    """Commits in a second by tasks of one loop."""
    with TemporaryDirectory() as folder, SqliteSaver(Path(folder) / "runs.sqlite") as saver:

        async def one(first: int) -> None:
            for number in range(first, COMMITS, width):
                await saver.asave_call("t", row(number), after=None)

        begun = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for first in range(width):
                group.create_task(one(first))
        return COMMITS / (time.perf_counter() - begun)


def commits_from_threads(width: int) -> float:
    """Commits in a second by threads."""
    with TemporaryDirectory() as folder, SqliteSaver(Path(folder) / "runs.sqlite") as saver:

        def one(first: int) -> None:
            for number in range(first, COMMITS, width):
                saver.save_call("t", row(number), after=None)

        begun = time.perf_counter()
        with ThreadPoolExecutor(width) as threads:
            list(threads.map(one, range(width)))
        return COMMITS / (time.perf_counter() - begun)


def measured() -> list[str]:
    """Everything, as Markdown."""
    facts = ", ".join(f"{name} {value}" for name, value in environment().items())
    return [
        *steps_table(),
        "",
        "Commits of the journal of calls on SQLite, each durable (`synchronous=FULL`) before its call goes on:",
        "",
        *commits_table(),
        "",
        f"Measured on two cores: {facts}.",
    ]


def main() -> int:
    """Print the tables, or put them into a page."""
    parser = argparse.ArgumentParser(prog="benchmarks.storage")
    parser.add_argument("--page", type=Path, help="the page whose marked part is replaced")
    page: Path | None = parser.parse_args().page
    lines = measured()
    print("\n".join(lines))
    if page is not None:
        before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END_MARK)[2]
        page.write_text("\n".join([before + BEGIN, "", *lines, "", END_MARK]) + after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
