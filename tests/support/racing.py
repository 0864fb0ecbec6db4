"""A process that runs turns which others run at the same time: ``python -m support.racing store ledger thread turns``.

It says when it is ready, begins a turn for each line that it reads, and says what the turn came to, as JSON. Each call
writes a line into the ledger.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from surehand import AIMessage, HumanMessage, SavedJournal, ToolMessage, ToolNode, tool
from surehand.checkpoints.sqlite import SqliteSaver

__all__ = ["main", "turn"]

CALLS = 4


def turn(number: int) -> list[Any]:
    """The messages of a turn, the same in every process."""
    calls: list[dict[str, Any]] = [
        {"id": f"c{call}", "name": "pay" if call % 2 else "apay", "args": {"to": f"{number}.{call}"}}
        for call in range(CALLS)
    ]
    return [HumanMessage("go"), AIMessage(id=f"m{number}", tool_calls=calls)]


def main(store: str, ledger: str, thread_id: str, turns: int) -> None:
    """Run the turns and say what they came to."""
    lines = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    @tool
    def pay(to: str) -> str:
        """Pay."""
        os.write(lines, f"{to} by {os.getpid()}\n".encode())
        return f"paid {to}"

    @tool
    async def apay(to: str) -> str:
        """Pay, on the loop."""
        await asyncio.sleep(0)
        os.write(lines, f"{to} by {os.getpid()}\n".encode())
        return f"paid {to}"

    with SqliteSaver(Path(store)) as saver:
        node = ToolNode([pay, apay], journal=SavedJournal(saver, thread_id))
        _say("ready")
        for number in range(turns):
            sys.stdin.readline()
            _say([_told(answer) for answer in node.invoke(turn(number), {"configurable": {"thread_id": thread_id}})])


def _told(answer: ToolMessage) -> list[Any]:
    return [answer.text, None if answer.outcome is None else answer.outcome.kind]


def _say(value: Any) -> None:
    sys.stdout.write(f"{json.dumps(value)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
