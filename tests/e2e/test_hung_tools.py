"""Hundreds of tools hang, on threads and on loops: all calls are answered in time, and nothing keeps the program."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from support.programs import run_python
from surehand.concurrency.workers import MAX_ABANDONED, MAX_WORKING

MUCH_LESS_THAN_ONE_BY_ONE = 20
"""Seconds, for 200 calls of which each has 0.2; a busy machine needs some of them."""
SOON = 15
"""Seconds, for a program that would stay for ever where anything of it kept it."""

PROGRAM = """
import asyncio, json, sys, threading, time
from collections import Counter
from surehand import AIMessage, ToolNode, tool
from surehand.concurrency import workers
from surehand.testing import faults

@tool
def on_thread() -> str:
    "Hang on a thread."
    return "done"

@tool
async def on_loop() -> str:
    "Hang on a loop."
    return "done"

@tool
async def quick() -> str:
    "End at once."
    return "done"

TOOLS = {
    "sync": faults.hang().on(on_thread),
    "async": faults.hang().on(on_loop),
    "stubborn": faults.hang(ignores=1).on(on_loop),
    "deaf": faults.hang(ignores=1_000_000).on(on_loop),
}
wanted = [tuple(word.split("=")) for word in sys.argv[3:]]
node = ToolNode([TOOLS[kind] for kind, _ in wanted] + [quick], timeout=float(sys.argv[2]))
names = [TOOLS[kind].name for kind, number in wanted for _ in range(int(number))]
names.insert(len(names) // 2, "quick")
turn = [AIMessage(tool_calls=[{"id": f"c{i}", "name": name, "args": {}} for i, name in enumerate(names)])]
peak = 0
ticks = 0

async def watch():
    global peak, ticks
    while True:
        peak = max(peak, threading.active_count())
        await asyncio.sleep(0.005)
        ticks += 1

async def main():
    watcher = asyncio.ensure_future(watch())
    await asyncio.sleep(0)
    began = time.monotonic()
    answers = await node.ainvoke(turn)
    took = time.monotonic() - began
    watcher.cancel()
    return answers, took

if sys.argv[1] == "ainvoke":
    answers, took = asyncio.run(main())
else:
    began = time.monotonic()
    answers = node.invoke(turn)
    took = time.monotonic() - began
    peak = threading.active_count()
kinds = Counter(str(answer.outcome.kind) for answer in answers)
in_order = [answer.tool_call_id for answer in answers] == [f"c{i}" for i in range(len(names))]
ended = time.monotonic()
print(json.dumps({"took": took, "kinds": kinds, "in_order": in_order, "peak": peak, "ticks": ticks,
                  "abandoned": workers().abandoned, "ended": ended}), flush=True)
"""


def run(door: str, *, timeout: float = 0.2, **wanted: int) -> dict[str, Any]:
    """What a program saw that ran one turn of hung tools, and how long it took to exit after that."""
    numbers = [f"{kind}={number}" for kind, number in wanted.items()]
    command = [sys.executable, "-c", PROGRAM, door, str(timeout), *numbers]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    exited = time.monotonic()
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    return {**seen, "exit": exited - seen["ended"]}


@pytest.mark.parametrize("door", ["invoke", "ainvoke"])
@pytest.mark.parametrize(
    "wanted",
    [{"sync": 200}, {"async": 200}, {"sync": 200, "async": 200}],
    ids=["on threads", "on loops", "both kinds together"],
)
def test_hundreds_of_hung_tools_are_answered_in_time_and_the_program_ends(door: str, wanted: dict[str, int]) -> None:
    seen = run(door, **wanted)
    total = sum(wanted.values())

    assert seen["kinds"] == {"timeout": total, "None": 1}
    assert seen["in_order"]
    assert seen["took"] < MUCH_LESS_THAN_ONE_BY_ONE
    assert seen["exit"] < SOON
    assert seen["abandoned"] == wanted.get("sync", 0)
    assert seen["peak"] <= wanted.get("sync", 0) + MAX_WORKING + 5


def test_hung_threads_do_not_stop_the_loop() -> None:
    assert run("ainvoke", sync=200)["ticks"] > 20


@pytest.mark.parametrize(
    ("door", "kind"),
    # asyncio.run itself waits for tasks that swallow every cancellation, so there is no third case
    [("ainvoke", "stubborn"), ("invoke", "deaf")],
)
def test_tools_that_swallow_their_cancellation_are_answered_after_a_short_grace(door: str, kind: str) -> None:
    seen = run(door, **{kind: 200})

    assert seen["kinds"] == {"timeout": 200, "None": 1}
    assert seen["took"] < MUCH_LESS_THAN_ONE_BY_ONE
    assert seen["exit"] < SOON


def test_more_hung_threads_than_a_process_may_have_are_refused() -> None:
    seen = run("ainvoke", timeout=0.05, sync=MAX_ABANDONED + 100)

    assert seen["kinds"]["timeout"] <= MAX_ABANDONED + MAX_WORKING
    assert seen["kinds"]["limit"] >= 100 - MAX_WORKING
    assert seen["kinds"]["None"] == 1
    assert seen["peak"] <= MAX_ABANDONED + MAX_WORKING + 5
    assert seen["exit"] < SOON


IN_THREADS = """
import threading
from surehand import AIMessage, ToolNode, tool
from surehand.testing import faults

@tool(timeout=0.2)
def work() -> str:
    "Work."
    return "done"

node = ToolNode([faults.hang().on(work)])
turn = [AIMessage(tool_calls=[{"id": "c1", "name": "work", "args": {}}, {"id": "c2", "name": "work", "args": {}}])]
kinds = []

def use():
    kinds.extend(str(answer.outcome.kind) for answer in node.invoke(turn))

threads = [threading.Thread(target=use) for _ in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(kinds == ["timeout"] * 32)
"""


def test_hung_tools_behind_synchronous_doors_in_threads_let_all_threads_go_on(tmp_path: Path) -> None:
    done = run_python("-c", IN_THREADS, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


BESIDE = """
import asyncio, time
from surehand import AIMessage, ToolNode, tool
from surehand.concurrency.workers import MAX_WORKING
from surehand.testing import faults

@tool(timeout=None)
def work() -> str:
    "Work."
    return "done"

def turn(calls):
    return [AIMessage(tool_calls=[{"id": f"c{i}", "name": "work", "args": {}} for i in range(calls)])]

async def main():
    hung = asyncio.ensure_future(ToolNode([faults.hang().on(work)]).ainvoke(turn(MAX_WORKING + 8)))
    await asyncio.sleep(0.5)
    answers = await ToolNode([work]).ainvoke(turn(8))
    print({str(answer.content) for answer in answers}, hung.done(), flush=True)

asyncio.run(main())
"""


def test_tools_that_hang_without_a_timeout_do_not_hold_up_those_of_another_node(tmp_path: Path) -> None:
    done = run_python("-c", BESIDE, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (0, "{'done'} False\n"), done.stderr
