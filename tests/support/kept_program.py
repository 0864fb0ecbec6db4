"""Runs a program with a checkpointer in each of its graphs and agents, and a thread for each of their runs.

``python kept_program.py memory|sqlite|postgres PLACE PROGRAM``; the program itself is not changed.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import surehand
import surehand.agent
from surehand.graph import CompiledGraph, StateGraph


def opened(kind: str, place: str) -> surehand.Checkpointer:
    """The saver of this kind."""
    if kind == "memory":
        return surehand.MemorySaver()
    return surehand.SqliteSaver(place) if kind == "sqlite" else surehand.PostgresSaver(place)


def with_saver(build: Callable[..., Any], saver: surehand.Checkpointer, *, before: int) -> Callable[..., Any]:
    """What builds a graph, with the saver in it unless it has one; ``before`` it come so many other arguments."""

    def kept(*given: Any, **options: Any) -> Any:
        return build(*given, **(options if len(given) > before else {"checkpointer": saver, **options}))

    return kept


def with_thread(run: Callable[..., Any]) -> Callable[..., Any]:
    """What runs a graph, on a thread of its own."""

    def kept(graph: CompiledGraph, given: Any, config: Any = None, **options: Any) -> Any:
        return run(graph, given, {"configurable": {"thread_id": f"{uuid4()}"}, **(config or {})}, **options)

    return kept


def main() -> None:
    """Run the program, and say on stderr how many threads were kept."""
    kind, place, program = sys.argv[1:]
    with opened(kind, place) as saver:
        StateGraph.compile = with_saver(StateGraph.compile, saver, before=1)  # type: ignore[method-assign]
        surehand.create_agent = surehand.agent.create_agent = with_saver(surehand.agent.create_agent, saver, before=2)
        for name in ("invoke", "ainvoke", "stream", "astream"):
            for cls in (CompiledGraph, *CompiledGraph.__subclasses__()):
                if name in vars(cls):
                    setattr(cls, name, with_thread(vars(cls)[name]))
        sys.argv = [program]
        sys.path.insert(0, str(Path(program).parent))
        runpy.run_path(program, run_name="__main__")
        print(len(saver.threads()), file=sys.stderr)  # noqa: T201 - what the test reads


if __name__ == "__main__":
    main()
