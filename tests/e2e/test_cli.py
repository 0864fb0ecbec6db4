"""The command line as a program of its own."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from support.pages import ROOT
from support.programs import chat_reply, run_python
from support.provider_server import provider_server

TOOLS = """
from surehand import tool


@tool
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sums.py").write_text(TOOLS, encoding="utf-8")
    return tmp_path


def surehand(*arguments: str, cwd: Path = ROOT, **environ: str) -> CompletedProcess[str]:
    return run_python("-m", "surehand.cli", *arguments, cwd=cwd, environ=environ)


def test_call_runs_a_tool_of_a_module_in_the_working_directory(folder: Path) -> None:
    ended = surehand("call", "sums:add", '{"a": 2, "b": "3"}', cwd=folder)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "5\n", "")


def test_tools_prints_the_export(folder: Path) -> None:
    ended = surehand("tools", "sums", "--schema", "openai", cwd=folder)
    assert json.loads(ended.stdout)[0]["function"]["name"] == "add"


def test_run_shows_each_step_of_an_agent(folder: Path) -> None:
    replies = [
        chat_reply("I add.", ("1", "add", '{"a": 2, "b": "three"}')),
        chat_reply(None, ("2", "add", {"a": 2, "b": 3})),
        chat_reply("It is 5."),
    ]
    with provider_server(replies) as server:
        ended = surehand(
            "run",
            "sums",
            "--model",
            "openai:test",
            "--system",
            "Be brief.",
            "What is 2 + 3?",
            cwd=folder,
            OPENAI_API_KEY="test",
            OPENAI_BASE_URL=f"{server.url}/v1",
        )
        assert server.requests[0]["messages"][0] == {"role": "system", "content": "Be brief."}
    assert (ended.returncode, ended.stderr) == (0, "")
    told = [
        "What is 2 + 3?",
        "I add.",
        'add {"a": 2, "b": "three"}',
        "invalid_arguments",
        "$.b",
        'add {"a": 2, "b": 3}',
        "success",
        "It is 5.",
    ]
    places = [ended.stdout.index(text) for text in told]
    assert places == sorted(places)


def test_run_says_in_one_line_that_a_server_cannot_be_reached(folder: Path) -> None:
    ended = surehand(
        "run",
        "sums",
        "--model",
        "openai:test",
        "hello",
        cwd=folder,
        OPENAI_API_KEY="test",
        OPENAI_BASE_URL="http://127.0.0.1:9/v1",
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("surehand: ")
    assert ended.stderr.count("\n") == 1


def test_demo_runs_live_against_a_model() -> None:
    replies = [chat_reply(None, ("1", "find_order", {"order_id": 4711})), chat_reply("Your order is shipped.")]
    with provider_server(replies) as server:
        ended = surehand("demo", "--model", "openai:test", OPENAI_API_KEY="test", OPENAI_BASE_URL=f"{server.url}/v1")
        assert len(server.requests[0]["tools"]) == 8
    assert ended.returncode == 0
    assert "Your order is shipped." in ended.stdout


def test_run_ends_with_1_and_the_reason_where_there_is_no_answer(folder: Path) -> None:
    with provider_server([chat_reply(None, ("1", "add", {"a": 2, "b": 3}))]) as server:
        ended = surehand(
            "run",
            "sums",
            "--model",
            "openai:test",
            "--max-iterations",
            "1",
            "What is 2 + 3?",
            cwd=folder,
            OPENAI_API_KEY="test",
            OPENAI_BASE_URL=f"{server.url}/v1",
        )
    assert ended.returncode == 1
    assert "max_iterations" in ended.stdout


def test_argument_text_that_is_no_utf8_is_refused_and_not_a_crash(folder: Path) -> None:
    (folder / "broken.txt").write_bytes(b'{"a": 2, "b": "\xff"}')
    command = "import sys; sys.argv = ['surehand', 'call', 'sums:add', '-']; from surehand.cli import main; main()"
    script = f"sys_stdin = open('broken.txt'); import sys; sys.stdin = sys_stdin; {command}"
    ended = run_python("-c", script, cwd=folder)
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
