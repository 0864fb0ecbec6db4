"""``python -m benchmarks [case …]``: run the cases whose module is named; all without a name."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterator

from benchmarks import agents, calls, imports, langgraph_nodes, parallel, peers
from benchmarks.harness import Case, Row, environment, measure, save, table


def chosen(names: list[str], runner: asyncio.Runner) -> Iterator[Case]:
    """The cases to run, made one at a time."""
    if not names or "calls" in names:
        yield from calls.cases(runner)
    if not names or "langgraph_nodes" in names:
        yield from langgraph_nodes.cases(runner)
    if not names or "parallel" in names:
        yield from parallel.cases(runner)
    if not names or "agents" in names:
        yield from agents.cases()
    if not names or "imports" in names:
        yield from imports.cases()


def main() -> int:
    logging.disable(logging.INFO)
    print(", ".join(f"{name} {value}" for name, value in environment().items()))
    if not peers.is_there():
        print("LangGraph is not installed: its rows are left out. Install it with: make setup")
    rows: list[Row] = []
    with asyncio.Runner() as runner:
        for case in chosen(sys.argv[1:], runner):
            measured = measure(case)
            print("\n".join(table(case, measured)), flush=True)
            rows += measured
    print(f"\nSaved as {save(rows).name} in benchmarks/results.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
