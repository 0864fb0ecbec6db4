"""The programs of the articles print the same where their runs are kept, whatever keeps them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support.pages import ROOT
from support.programs import EXAMPLES, anthropic_reply, chat_reply, run_example, run_python
from support.provider_server import provider_server

FIRST = {"type": "tool_use", "id": "toolu_1", "name": "SelectNumber", "input": {"a": 42}}
SECOND = {"type": "tool_use", "id": "toolu_2", "name": "SelectNumber", "input": {"a": 37}}
REPLIES: dict[str, list[Any]] = {
    "article_000_validation.py": [anthropic_reply([FIRST]), anthropic_reply([SECOND]), anthropic_reply([])],
    "article_001_agent.py": [
        chat_reply(None, ("c1", "book_course", {"user_name": "张三", "course_name": "Python"})),
        chat_reply("好"),
        chat_reply(None, ("c2", "book_course", {"user_name": "赵六", "course_name": "Python"})),
        chat_reply("没有"),
    ],
    "article_001_return_direct.py": [
        chat_reply(None, ("c1", "search_normal", {"keyword": "Python"})),
        chat_reply("Found."),
        chat_reply(None, ("c2", "search_direct", {"keyword": "Python"})),
    ],
    "graph_with_function_node.py": [],
}


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    if request.param == "postgres":
        return ["postgres", request.getfixturevalue("postgres").conninfo()]
    return [request.param, str(tmp_path / "runs.sqlite")]


@cache
def as_it_is(program: str) -> tuple[str, list[dict[str, Any]]]:
    """What the program prints whose runs nobody keeps, and what it asks for."""
    with provider_server(REPLIES[program]) as server:
        return run_example(program, url=server.url), server.requests[:]


@pytest.mark.parametrize("program", REPLIES)
def test_a_program_prints_the_same_where_its_runs_are_kept(program: str, place: list[str]) -> None:
    plain, asked = as_it_is(program)
    with provider_server(REPLIES[program]) as server:
        environ = {f"{name}_API_KEY": "test" for name in ("ANTHROPIC", "DEEPSEEK", "OPENAI")}
        environ |= {"ANTHROPIC_BASE_URL": server.url, "DEEPSEEK_BASE_URL": f"{server.url}/v1"}
        runner = str(ROOT / "tests/support/kept_program.py")
        ended = run_python("-W", "error", runner, *place, str(EXAMPLES / program), cwd=EXAMPLES, environ=environ)
        assert ended.returncode == 0, ended.stderr
        assert [each["messages"] for each in server.requests] == [each["messages"] for each in asked]
    assert ended.stdout == plain
    assert int(ended.stderr.split()[-1]) >= 1
