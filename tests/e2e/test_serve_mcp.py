"""Our tools, served over MCP to the official client and to our own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import AudioContent, CallToolResult, ElicitResult, ImageContent, TextContent

from support.mcp.runs import answer_of, is_alive, until
from support.pages import ROOT
from surehand import OptionError, ToolNode, tool
from surehand.events import CallProgressed, Event
from surehand.integrations.mcp import McpServer, serve_mcp

TOOLS = str(ROOT / "tests/support/mcp/served_tools.py")
COMMAND = ["-m", "surehand.cli", "serve-mcp", TOOLS]
ENVIRONMENT = {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUTF8": "1"}
MODES = ["auto", "legacy"]
"""Newer revisions of the protocol, and those that begin with a handshake."""

pytestmark = pytest.mark.timeout(300)  # each begins a program or two, which a machine that is busy takes long to load


@contextmanager
def served_over_http(host: str = "127.0.0.1") -> Generator[str]:
    """The address of a server of our tools."""
    with socket.socket() as free:
        free.bind((host, 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, *COMMAND, "--http", f"{host}:{port}"],
        env={**os.environ, **ENVIRONMENT},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((host, port)) == 0

    try:
        until(listens, seconds=250)
        yield f"http://{host}:{port}/mcp"
    finally:
        server.terminate()
        assert server.wait(60) is not None


@pytest.fixture(scope="module")
def url() -> Generator[str]:
    """One server over HTTP for all tests: a process for each would take longer than what they try."""
    with served_over_http() as address:
        yield address


@asynccontextmanager
async def piped(mode: str) -> AsyncGenerator[Client]:
    """An official client of a server over pipes."""
    parameters = StdioServerParameters(command=sys.executable, args=COMMAND, env=ENVIRONMENT)
    async with Client(stdio_client(parameters, errlog=sys.__stderr__ or sys.stderr), mode=mode) as connected:
        yield connected


async def cancels(connected: Client, note: Path) -> None:
    """Cancel a call in the middle; the tool ends its clean-up."""
    call = asyncio.create_task(connected.call_tool("wait", {"path": str(note)}))
    await asyncio.to_thread(until, note.exists)
    call.cancel()
    await asyncio.wait([call])
    await asyncio.to_thread(until, lambda: note.read_text(encoding="utf-8") == "cleaned up")


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


@pytest.mark.parametrize("mode", MODES)
def test_an_official_client_over_pipes(mode: str, tmp_path: Path) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async def main() -> None:
        async with piped(mode) as connected:
            assert len((await connected.list_tools()).tools) > 10
            for number in range(3):  # what tools print stays out of the protocol
                assert text_of(await connected.call_tool("chatty", {"text": str(number)})) == str(number)
            assert text_of(await connected.call_tool("reads_input", {})) == "''"
            await connected.call_tool("count", {"number": 5}, progress_callback=tell)
            await cancels(connected, tmp_path / "note")
            assert text_of(await connected.call_tool("add", {"a": 1})) == "2"

    asyncio.run(main())
    assert told == [(step, 5, f"step {step}") for step in range(1, 6)]


@pytest.mark.parametrize("mode", MODES)
def test_an_official_client_over_http(url: str, mode: str, tmp_path: Path) -> None:
    told: list[float] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    async def main() -> None:
        async with Client(url, mode=mode) as connected:
            await connected.call_tool("count", {"number": 3}, progress_callback=tell)
            await cancels(connected, tmp_path / "note")
            assert text_of(await connected.call_tool("add", {"a": 1})) == "2"

    asyncio.run(main())
    assert told == [1, 2, 3]


@pytest.mark.parametrize("mode", MODES)
def test_tools_are_declared_as_mcp_wants_them(url: str, mode: str) -> None:
    async def main() -> None:
        async with Client(url, mode=mode) as connected:
            listed = {known.name: known for known in (await connected.list_tools()).tools}
        assert list(listed)[:3] == ["add", "stock", "chatty"]
        assert listed["add"].input_schema["required"] == ["a"]
        assert listed["add"].description == "Add two numbers."
        annotations = listed["wipe"].annotations
        assert annotations is not None
        assert annotations.destructive_hint is True

    asyncio.run(main())


@pytest.mark.parametrize("mode", MODES)
def test_failures_are_results_and_an_unknown_tool_is_an_error_of_the_protocol(url: str, mode: str) -> None:
    async def main() -> None:
        async with Client(url, mode=mode) as connected:
            assert text_of(await connected.call_tool("add", {"a": "2", "b": 3})) == "5"
            refused = await connected.call_tool("add", {"a": "two"})
            assert (refused.is_error, "$.a" in text_of(refused)) == (True, True)
            own_words = await connected.call_tool("fail", {"how": "author"})
            assert (own_words.is_error, text_of(own_words)) == (True, "Sold out. Try Tuesday.")
            other = await connected.call_tool("fail", {"how": "other"})
            assert (other.is_error, "hunter2" in text_of(other), "/home" in text_of(other)) == (True, False, False)
            late = await connected.call_tool("stuck", {})
            assert (late.is_error, "did not answer within 0.2 seconds" in text_of(late)) == (True, True)
            with pytest.raises(MCPError, match="Did you mean 'add'") as caught:
                await connected.call_tool("ad", {})
            assert caught.value.code == -32602

    asyncio.run(main())


def test_blocks_are_those_of_mcp(url: str) -> None:
    async def main() -> CallToolResult:
        async with Client(url) as connected:
            return await connected.call_tool("picture", {})

    first, image, inline, far, sound = asyncio.run(main()).content
    assert first == TextContent(text="look")
    assert image == ImageContent(data="aW1n", mime_type="image/png")
    assert inline == ImageContent(data="R0lG", mime_type="image/gif")
    assert isinstance(far, TextContent)
    assert sound == AudioContent(data="c25k", mime_type="audio/wav")


@pytest.mark.parametrize("mode", MODES)
def test_results_are_data_where_the_tool_says_so(url: str, mode: str) -> None:
    async def main() -> None:
        async with Client(url, mode=mode) as connected:
            listed = {known.name: known for known in (await connected.list_tools()).tools}
            assert listed["add"].output_schema is None
            schema = listed["stock"].output_schema
            assert schema is not None
            assert (schema["type"], list(schema["properties"])) == ("object", ["item", "left"])
            found = await connected.call_tool("stock", {"item": "pen"})
            assert found.structured_content == json.loads(text_of(found)) == {"item": "pen", "left": 3}
            other = await connected.call_tool("stock", {"item": "ink"})
            assert (other.is_error, other.structured_content, "plenty" in text_of(other)) == (True, None, True)

    asyncio.run(main())


@pytest.mark.parametrize("mode", MODES)
def test_data_that_is_larger_than_a_client_takes_costs_the_data_and_not_the_answer(url: str, mode: str) -> None:
    async def main() -> tuple[CallToolResult, CallToolResult]:
        async with Client(url, mode=mode) as over_http, piped(mode) as over_pipes:
            return (
                await over_http.call_tool("book", {"pages": 3_000}),
                await over_pipes.call_tool("book", {"pages": 3_000}),
            )

    http, pipes = asyncio.run(main())
    assert pipes.structured_content == {"text": "x" * 3_000_000}
    if mode == "legacy":
        assert (http.is_error, http.structured_content) == (True, None)
        assert "too large to be given as data" in text_of(http)
    else:
        assert http.structured_content == pipes.structured_content


def test_a_long_result_is_cut(url: str) -> None:
    async def main() -> CallToolResult:
        async with Client(url) as connected:
            return await connected.call_tool("long", {})

    assert len(text_of(asyncio.run(main()))) <= 200


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (ElicitResult(action="accept", content={"approve": True}), "wiped /a"),
        (ElicitResult(action="accept", content={"approve": False}), "The user did not approve it."),
        (ElicitResult(action="decline"), "The user did not approve it."),
        (None, "this client has no way to ask one"),
    ],
)
def test_an_approval_is_asked_of_the_human_behind_the_client(
    url: str, mode: str, given: ElicitResult | None, words: str
) -> None:
    asked: list[str] = []

    async def ask(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        assert given is not None
        return given

    async def main() -> str:
        async with Client(url, mode=mode, elicitation_callback=None if given is None else ask) as connected:
            return text_of(await connected.call_tool("wipe", {"path": "/a"}))

    assert words in asyncio.run(main())
    assert len(asked) == (given is not None)
    assert all('"path": "/a"' in question for question in asked)


@pytest.mark.parametrize("how", ["its input ends", "it is told to"])
def test_it_ends_when(how: str) -> None:
    server = subprocess.Popen(
        [sys.executable, *COMMAND],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **ENVIRONMENT},
    )
    assert server.stdin is not None
    assert server.stdout is not None
    with server.stdin, server.stdout:
        server.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        server.stdin.flush()
        assert b'"id":1' in server.stdout.readline().replace(b" ", b"")
        if how == "it is told to":
            server.send_signal(signal.SIGTERM)
        else:
            server.stdin.close()
        assert server.wait(60) == 0


def test_our_own_client_over_http(url: str) -> None:
    events: list[Event] = []
    with McpServer.http(url) as server:
        node = ToolNode(server, listener=events.append)
        assert answer_of(node, "add", a=2, b=3).text == "5"
        assert answer_of(node, "fail", how="author").text == "Sold out. Try Tuesday."
        assert answer_of(node, "count", number=3).text == "counted"
        assert answer_of(node, "stock", item="pen").artifact == {"structured_content": {"item": "pen", "left": 3}}
        image = answer_of(node, "picture").content[1]
        assert image == {"type": "image", "base64": "aW1n", "mime_type": "image/png"}
    told = [event.progress for event in events if isinstance(event, CallProgressed)]
    assert [progress["progress"] for progress in told] == [1, 2, 3]


@pytest.mark.parametrize(
    ("content", "words"), [({"approve": True}, "wiped /a"), (None, "The user did not approve it.")]
)
def test_our_own_client_has_its_host_ask_the_human(url: str, content: dict[str, Any] | None, words: str) -> None:
    async def ask(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="decline") if content is None else ElicitResult(action="accept", content=content)

    with McpServer.http(url, elicitation=ask) as server:
        assert words in answer_of(ToolNode(server), "wipe", path="/a").text


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere 127.0.0.2 is no address of the machine")
def test_a_page_in_a_browser_is_refused_whatever_the_address_is() -> None:
    with served_over_http("127.0.0.2") as address:
        with McpServer.http(address) as server:
            assert "add" in {found.name for found in server.tools()}
        for forged, status in (({"Host": "page.example"}, 421), ({"Origin": "http://page.example"}, 403)):
            request = urllib.request.Request(address, b"{}", {"Content-Type": "application/json", **forged})
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request)
            with refused.value as answer:
                assert answer.code == status


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="pipes are shut as on Unix")
def test_a_client_that_vanishes_in_the_middle_of_a_call_leaves_no_trace() -> None:
    served = subprocess.Popen(
        [sys.executable, *COMMAND],
        env={**os.environ, **ENVIRONMENT},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert served.stdin is not None
    assert served.stdout is not None
    info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    first = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": info}
    called = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "add", "arguments": {"a": 1}},
    }
    served.stdin.write(f"{json.dumps(first)}\n".encode())
    served.stdin.flush()
    served.stdout.readline()
    served.stdout.close()
    served.stdin.write(f"{json.dumps(called)}\n".encode())
    _, said = served.communicate(timeout=120)
    assert served.returncode == 0
    assert b"Traceback" not in said


def test_our_own_client_over_pipes_and_nothing_is_left() -> None:
    with McpServer.stdio(sys.executable, COMMAND, env=ENVIRONMENT) as server:
        node = ToolNode(server)
        process = int(answer_of(node, "pid").text)
        assert answer_of(node, "add", a=2, b=3).text == "5"
        os.kill(process, signal.SIGKILL)
        until(lambda: not is_alive(process))

        def is_back() -> bool:  # until its end was heard, a call may be in doubt
            return answer_of(node, "pid").text.isdigit()

        until(is_back)
        after = int(answer_of(node, "pid").text)
        assert after != process
    assert not is_alive(after)


@pytest.mark.parametrize("address", ["0.0.0.0:80", "example.org:80", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:x", 7])
def test_only_this_machine_is_served(address: Any) -> None:
    @tool
    def own() -> str:
        "Mine."
        return "own"

    with pytest.raises(OptionError, match="put a proxy before it"):
        serve_mcp([own], http=address)
