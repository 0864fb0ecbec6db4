"""Three servers that others have written, driven for real, killed and found again."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from support.mcp.real_servers import children, everything, git, time
from support.mcp.runs import FAULTS, Log, answer_of, call, faulty, is_alive, until, until_sent
from support.programs import run_python
from surehand import AIMessage, FailureKind, ToolMessage, ToolNode, create_agent
from surehand.events import CallProgressed, CallStarted, Event
from surehand.integrations.mcp import McpServer, McpServers
from surehand.testing import ScriptedModel

pytestmark = [
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked for in /proc"),
    pytest.mark.timeout(300),  # each begins a program or two, which a machine that is busy takes long to load
]


@pytest.fixture(autouse=True)
def nothing_is_left() -> Generator[None]:
    """No process that a test started is there when it has ended."""
    before = children()
    yield
    until(lambda: children() <= before)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one commit."""
    folder = tmp_path_factory.mktemp("repository")
    (folder / "a.txt").write_text("one\n", encoding="utf-8")
    own = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    for command in (["init", "-q"], ["add", "."], [*own, "commit", "-q", "-m", "the first one"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def kind_of(answer: ToolMessage) -> FailureKind | None:
    assert answer.outcome is not None
    return answer.outcome.kind


def test_the_server_for_times() -> None:
    with time() as server:
        node = ToolNode(server)
        assert [found.name for found in server.tools()] == ["get_current_time", "convert_time"]

        now = answer_of(node, "get_current_time", timezone="Asia/Tokyo")
        assert now.artifact["structured_content"]["timezone"] == "Asia/Tokyo"
        given = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        assert "21:00" in answer_of(node, "convert_time", **given).text

        missing = answer_of(node, "convert_time", time="12:00")
        assert (kind_of(missing), missing.text.count("missing, expected a string")) == (
            FailureKind.INVALID_ARGUMENTS,
            2,
        )
        nowhere = answer_of(node, "get_current_time", timezone="Nowhere/Land")
        assert (kind_of(nowhere), "Nowhere/Land" in nowhere.text) == (FailureKind.TOOL_ERROR, True)
        late = answer_of(node, "convert_time", **{**given, "time": "25:00"})
        assert (kind_of(late), "HH:MM" in late.text) == (FailureKind.TOOL_ERROR, True)


def test_the_server_for_git(repository: Path) -> None:
    with git(repository) as server:
        node = ToolNode(server)
        here = str(repository)
        assert "git_log" in {found.name for found in server.tools()}

        assert "nothing to commit" in answer_of(node, "git_status", repo_path=here).text
        assert "the first one" in answer_of(node, "git_log", repo_path=here, max_count="1").text
        (repository / "b.txt").write_text("two\n", encoding="utf-8")
        answer_of(node, "git_add", repo_path=here, files='["b.txt"]')
        assert "b.txt" in answer_of(node, "git_diff_staged", repo_path=here).text

        refused = answer_of(node, "git_log", repo_path=here, max_count="many")
        assert (kind_of(refused), "$.max_count" in refused.text) == (FailureKind.INVALID_ARGUMENTS, True)
        outside = answer_of(node, "git_status", repo_path="/")
        assert kind_of(outside) is FailureKind.TOOL_ERROR


def test_the_server_for_everything() -> None:
    events: list[Event] = []
    with everything(roots=["/tmp"]) as server:
        node = ToolNode(server, listener=events.append)
        assert len(server.tools()) > 10

        assert answer_of(node, "echo", message="hi").text == "Echo: hi"
        assert answer_of(node, "get-sum", a="2", b=3).text == "The sum of 2 and 3 is 5."
        assert "file:///tmp" in answer_of(node, "get-roots-list").text
        kinds = [block["type"] for block in blocks_of(answer_of(node, "get-tiny-image"))]
        assert kinds == ["text", "image", "text"]
        weather = answer_of(node, "get-structured-content", location="Chicago")
        assert set(weather.artifact["structured_content"]) == {"temperature", "conditions", "humidity"}
        links = answer_of(node, "get-resource-links", count=2)
        assert sum("](demo://" in str(block["text"]) for block in blocks_of(links)) == 2
        embedded = answer_of(node, "get-resource-reference", resourceType="Blob", resourceId=1)
        assert any("Resource 1" in str(block["text"]) for block in blocks_of(embedded))

        assert kind_of(answer_of(node, "echo")) is FailureKind.INVALID_ARGUMENTS
        wrong = answer_of(node, "get-structured-content", location="Paris")
        assert (kind_of(wrong), "New York" in wrong.text) == (FailureKind.INVALID_ARGUMENTS, True)

        done = answer_of(node, "trigger-long-running-operation", duration=0.5, steps=4)
        assert "completed" in done.text
    told = [event.progress for event in events if isinstance(event, CallProgressed)]
    assert told == [{"progress": float(step), "total": 4.0} for step in range(1, 5)]


def blocks_of(answer: ToolMessage) -> list[dict[str, Any]]:
    assert isinstance(answer.content, list)
    return [block for block in answer.content if isinstance(block, dict)]


def test_a_long_operation_is_cancelled_and_the_server_goes_on() -> None:
    async def main() -> None:
        async with everything() as server:
            node = ToolNode(server)
            long = AIMessage(tool_calls=[call("trigger-long-running-operation", duration=60, steps=60)])
            task = asyncio.create_task(node.ainvoke([long]))
            await asyncio.sleep(0.3)
            task.cancel()
            await asyncio.wait([task])
            late = ToolNode(server, timeout=0.3)
            answers: list[ToolMessage] = await late.ainvoke([long])
            assert kind_of(answers[0]) is FailureKind.TIMEOUT
            answers = await node.ainvoke([AIMessage(tool_calls=[call("echo", message="still here")])])
            assert answers[0].text == "Echo: still here"

    asyncio.run(main())


SERVERS: list[tuple[str, Callable[[Path, dict[str, Any]], McpServer], str, Callable[[Path], dict[str, Any]]]] = [
    ("time", lambda _, options: time(options=options), "get_current_time", lambda _: {"timezone": "UTC"}),
    ("git", lambda folder, options: git(folder, options=options), "git_status", lambda path: {"repo_path": str(path)}),
    ("everything", lambda _, options: everything(options=options), "echo", lambda _: {"message": "hi"}),
]


@pytest.mark.parametrize(("name", "make", "tool", "arguments"), SERVERS, ids=[server[0] for server in SERVERS])
def test_a_server_that_is_killed_in_the_middle_of_a_call_is_found_again(
    repository: Path,
    name: str,
    make: Callable[[Path, dict[str, Any]], McpServer],
    tool: str,
    arguments: Callable[[Path], dict[str, Any]],
) -> None:
    before = children()

    def killed_in_the_middle(server: McpServer, **options: Any) -> ToolMessage:
        (process,) = children() - before
        os.kill(process, signal.SIGSTOP)  # so that the call is under way when it dies

        def kill_when_called() -> None:
            until_sent(server)
            os.kill(process, signal.SIGKILL)

        def kill_soon(event: Event) -> None:
            if isinstance(event, CallStarted):
                threading.Thread(target=kill_when_called).start()

        return answer_of(ToolNode(server, listener=kill_soon, **options), tool, **arguments(repository))

    with make(repository, {}) as server:
        node = ToolNode(server)
        lost = killed_in_the_middle(server)
        assert "it may have happened: find out before you call again" in lost.text
        assert answer_of(node, tool, **arguments(repository)).status == "success"

        again = killed_in_the_middle(server, overrides={tool: {"read_only": True}})
        assert again.outcome is not None
        assert (again.status, again.outcome.attempts) == ("success", 2)


def test_an_agent_has_the_tools_of_several_servers(repository: Path) -> None:
    replies = [
        AIMessage(tool_calls=[call("clock_get_current_time", timezone="UTC")]),
        AIMessage(tool_calls=[call("git_status", call_id="2", repo_path=str(repository))]),
        AIMessage("Done."),
    ]
    with McpServers(time(prefix="clock"), git(repository)) as servers:
        model = ScriptedModel(replies)
        agent = create_agent(model, servers.tools())
        state = agent.invoke({"messages": [("user", "What time is it, and is all committed?")]})
    answers = [message for message in state["messages"] if isinstance(message, ToolMessage)]
    assert [answer.status for answer in answers] == ["success", "success"]


PROGRAM = """
import sys
from surehand import AIMessage, ToolNode
from surehand.integrations.mcp import McpServer

server = McpServer.stdio(sys.executable, ["-m", "mcp_server_time"])
calls = [{"id": "1", "name": "get_current_time", "args": {"timezone": "UTC"}}]
print(ToolNode(server).invoke([AIMessage(tool_calls=calls)])[0].status)
"""


def test_a_program_that_forgets_to_close_ends_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    ended = run_python("program.py", cwd=tmp_path, environ={"PYTHONPATH": os.pathsep.join(sys.path)})
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "success\n", "")


def test_a_server_that_will_not_end_is_killed_and_holds_up_nobody(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    stubborn = faulty("--log", log.path, "--stubborn")
    with stubborn:
        pass
    assert not is_alive(log.pids()[0])

    program = PROGRAM.replace('["-m", "mcp_server_time"]', f"{[str(FAULTS), '--log', str(log.path), '--stubborn']!r}")
    program = program.replace("get_current_time", "echo").replace("timezone", "text")
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    ended = run_python("program.py", cwd=tmp_path, environ={"PYTHONPATH": os.pathsep.join(sys.path)})
    assert (ended.returncode, ended.stdout) == (0, "success\n")
    until(lambda: not is_alive(log.pids()[1]))


def test_a_server_that_nobody_holds_any_more_is_ended() -> None:
    before = children()
    server = time()
    server.tools()
    assert children() != before
    del server
    gc.collect()
    until(lambda: children() == before)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_has_a_session_of_its_own_and_leaves_its_parents_alone() -> None:
    with time() as server:
        node = ToolNode(server.tools())
        child = os.fork()
        if not child:
            status = answer_of(node, "get_current_time", timezone="UTC").status
            server.close()
            os._exit(0 if status == "success" else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert answer_of(node, "get_current_time", timezone="UTC").status == "success"


WITHOUT_SDK = """
import sys
sys.modules["mcp"] = None
from surehand import MissingExtraError
from surehand.integrations.mcp import McpServer, serve_mcp

for use in (lambda: McpServer.stdio("x"), lambda: serve_mcp([len])):
    try:
        use()
    except MissingExtraError as error:
        print(error)
"""


def test_without_the_sdk_it_is_said_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WITHOUT_SDK, encoding="utf-8")
    ended = run_python("program.py", cwd=tmp_path, environ={"PYTHONPATH": os.pathsep.join(sys.path)})
    assert ended.stdout.count("pip install 'surehand[mcp]'") == 2
