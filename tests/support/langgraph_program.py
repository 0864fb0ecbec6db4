"""One step of a LangGraph run that asks two humans, in a process of its own.

Args on the command line: the database, the file that says what was done, and what to do: ``begin`` or an answer.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command, interrupt

from support.langgraphs import asking, call, config, graph_of
from surehand.integrations.langchain.nodes import ToolNode

database, done, order = sys.argv[1:4]


def write(line: str) -> None:
    with Path(done).open("a") as file:
        file.write(line + "\n")


@tool
def send_email(to: str) -> str:
    """Send an e-mail."""
    write(f"send {interrupt(f'send to {to}?')}")
    return "sent"


@tool
def delete_prod() -> str:
    """Delete it all."""
    write(f"delete {interrupt('delete?')}")
    return "deleted"


with SqliteSaver.from_conn_string(database) as saver:
    graph = graph_of(ToolNode([send_email, delete_prod]), saver=saver)
    given: Any = asking(call("send_email", "1", to="ada"), call("delete_prod", "2"))
    found = graph.invoke(given if order == "begin" else Command(resume=order), config())
    for question in found.get("__interrupt__", ()):
        print(question.value)  # noqa: T201 - the test reads it
