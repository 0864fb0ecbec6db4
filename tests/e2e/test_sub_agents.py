"""An agent inside of another one, and a process that dies while it runs."""

from __future__ import annotations

from pathlib import Path

from support.programs import run_python

PROGRAM = """
import os, sys
from surehand import AIMessage, SqliteSaver, create_agent, tool
from surehand.testing import FunctionModel

def asking(name, **args):
    return AIMessage(tool_calls=[{"id": "c1", "name": name, "args": args}])

@tool
def effect(what: str) -> str:
    "Have an effect."
    with open("ledger", "a") as ledger:
        ledger.write(f"{what} ")
    return "done"

def inside(messages):
    if messages[-1].type != "tool":
        return asking("effect", what="once")
    if sys.argv[1] == "die":
        os._exit(9)
    return "It is done."

def outside(messages):
    return messages[-1].text if messages[-1].type == "tool" else asking("helper", request="Do it.")

helper = create_agent(FunctionModel(inside), [effect], name="helper")
with SqliteSaver("runs.db") as saver:
    agent = create_agent(FunctionModel(outside), [helper.as_tool(description="Ask.")], checkpointer=saver)
    given = "go" if sys.argv[1] == "die" else None
    print(agent.invoke(given, {"configurable": {"thread_id": "t"}})["messages"][-1].text)
"""


def test_the_agent_inside_goes_on_where_its_process_died_and_no_effect_is_repeated(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    assert run_python("program.py", "die", cwd=tmp_path).returncode == 9
    ended = run_python("program.py", "go on", cwd=tmp_path)
    assert ended.stdout.splitlines() == ["It is done."], ended.stderr
    assert (tmp_path / "ledger").read_text(encoding="utf-8") == "once "
