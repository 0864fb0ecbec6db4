"""One step of a LangGraph run that asks three times beside calls that finish at once, in a process of its own.

Args on the command line: the database, the file that says what was done, and what to do: ``begin`` or an answer.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command, interrupt

import surehand
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


@tool(response_format="content_and_artifact")
def charge(amount: int) -> Any:
    """Charge."""
    write(f"charge {amount}")
    return "charged", {"receipt": amount}


@tool
def note(word: str, runtime: ToolRuntime[Any, Any]) -> Command[Any]:
    """Note."""
    write(f"note {word}")
    answer = ToolMessage("noted", tool_call_id=runtime.tool_call_id, artifact=[word])
    return Command(update=[("messages", [answer])])


@surehand.tool(requires_approval=True)
def wipe(path: str) -> str:
    """Wipe."""
    write(f"wipe {path}")
    return "wiped"


with SqliteSaver.from_conn_string(database) as saver:
    graph = graph_of(ToolNode([send_email, delete_prod, charge, note, wipe]), saver=saver)
    given: Any = asking(
        call("wipe", "0", path="/a"),
        call("send_email", "1", to="ada"),
        call("charge", "2", amount=20),
        call("note", "3", word="hi"),
        call("delete_prod", "4"),
    )
    found = graph.invoke(given if order == "begin" else Command(resume=order), config())
    asked = found.get("__interrupt__", ())
    for question in asked:
        value: Any = question.value
        print(value if isinstance(value, str) else value["tool"])  # noqa: T201 - the test reads it
    for message in found["messages"][1:] if not asked else ():
        print(message.tool_call_id, message.content, message.artifact)  # noqa: T201 - as above
