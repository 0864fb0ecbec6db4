"""How long ``import surehand`` takes, in fresh interpreters."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

from benchmarks import peers
from benchmarks.harness import Case, Contender

FLOOR = "from pydantic import BaseModel, TypeAdapter; import asyncio, inspect, json, logging"


ALL_OF_IT = "from surehand import StateGraph, ToolNode, create_agent, tool"


def fresh(statement: str) -> Callable[[], object]:
    """A run that executes the statement in a new interpreter and returns the seconds it took there."""
    program = f"import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
    command = [sys.executable, "-c", program]
    # compiled files are kept, as they are for users: the first round, which is not counted, writes them
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return lambda: subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def contender(name: str, statement: str) -> Contender:
    """A contender that imports in a new interpreter."""
    return Contender(name=name, run=fresh(statement), times_itself=True)


def cases() -> Iterator[Case]:
    """The cases of this module."""
    contenders = [
        contender("pydantic and the standard library", FLOOR),
        contender("import surehand", "import surehand"),
        contender("from surehand import AIMessage", "from surehand import AIMessage"),
        contender("… ToolNode, tool", "from surehand import ToolNode, tool"),
        contender("… create_agent, StateGraph, ToolNode, tool", ALL_OF_IT),
    ]
    if peers.is_there():
        contenders.append(contender("import langgraph.prebuilt", "import langgraph.prebuilt"))
    yield Case(
        title="import, in a new interpreter",
        ours="import surehand",
        contenders=tuple(contenders),
        rounds=9,
        goal="at most 1.5 x pydantic and the standard library",
    )
