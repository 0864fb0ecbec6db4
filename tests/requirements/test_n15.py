"""N15: what the pipeline costs. The precise figures, beside those of peers, are printed by the benchmarks."""

from __future__ import annotations

import asyncio
import time

from surehand import AIMessage, ToolNode, tool

CALLS = 500
ROUNDS = 50
LIMIT = 150e-6
"""Seconds of the processor's per call: three times what a quiet machine shows, so that a busy one passes."""


@tool
async def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def turn() -> AIMessage:
    return AIMessage(tool_calls=[{"id": f"c{n}", "name": "double", "args": f'{{"number": {n}}}'} for n in range(CALLS)])


def test_N15_a_call_costs_tens_of_microseconds() -> None:
    node = ToolNode([double])

    async def seconds_of_a_round() -> float:
        start = time.thread_time()
        answers = await node.ainvoke([turn()])
        took = time.thread_time() - start
        assert answers[-1].text == str(2 * (CALLS - 1))
        return took / CALLS

    assert any(asyncio.run(seconds_of_a_round()) < LIMIT for _ in range(ROUNDS))
