"""A server over HTTP that loses sessions, connections and answers."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from support.mcp.fault_http import FaultyHttp, faulty_http
from support.mcp.runs import answer_of, call
from surehand import AIMessage, FailureKind, ToolMessage, ToolNode
from surehand.errors import ToolServerError
from surehand.integrations.mcp import McpServer


@pytest.fixture
def faults() -> Generator[FaultyHttp]:
    """The server."""
    with faulty_http() as running:
        yield running


def test_headers_go_with_every_request_and_into_no_message(faults: FaultyHttp) -> None:
    headers = {"Authorization": "Bearer sk-hidden-key-0001"}
    with McpServer.http(faults.url, headers=headers) as server:
        assert answer_of(ToolNode(server), "echo", text="hi").text == "hi"
        assert faults.headers["Authorization"] == "Bearer sk-hidden-key-0001"
        faults.status = 401
        with pytest.raises(ToolServerError, match="answered with the HTTP status 401") as caught:
            McpServer.http(faults.url, headers=headers).tools()
    assert "sk-hidden" not in str(caught.value)


@pytest.mark.parametrize("status", [404, 400])
def test_a_session_that_the_server_has_lost_is_made_anew_for_all_and_nothing_runs_twice(
    faults: FaultyHttp, status: int
) -> None:
    calls = AIMessage(tool_calls=[call("echo", call_id=str(number), text=str(number)) for number in range(8)])
    faults.status_for_lost = status
    with McpServer.http(faults.url) as server:
        node = ToolNode(server)
        assert answer_of(node, "echo", text="hi").text == "hi"
        faults.forget()
        answers: list[ToolMessage] = node.invoke([calls])
    assert [answer.text for answer in answers] == [str(number) for number in range(8)]
    assert (faults.began, len(faults.calls)) == (2, 9)


@pytest.mark.parametrize("where", ["before", "after"])
def test_a_connection_that_breaks_leaves_the_call_in_doubt(faults: FaultyHttp, where: str, tmp_path: Path) -> None:
    path = tmp_path / "effects"
    with McpServer.http(faults.url) as server:
        node = ToolNode(server)
        faults.hangs_up = where
        lost = answer_of(node, "append", path=str(path), line="once")
        assert lost.outcome is not None
        assert (lost.outcome.kind, lost.outcome.attempts) == (FailureKind.EXCEPTION, 1)
        assert "it may have happened: find out before you call again" in lost.text
        assert answer_of(node, "echo", text="hi").text == "hi"
    assert path.exists() == (where == "after")


def test_a_connection_that_breaks_is_no_doubt_where_the_tool_may_run_twice(faults: FaultyHttp) -> None:
    with McpServer.http(faults.url, options={"echo": {"read_only": True}}) as server:
        faults.hangs_up = "after"
        answer = answer_of(ToolNode(server), "echo", text="hi")
    assert answer.outcome is not None
    assert (answer.text, answer.outcome.attempts) == ("hi", 2)


def test_a_server_that_is_gone_is_said_to_be() -> None:
    with faulty_http() as first:
        server = McpServer.http(first.url)
        node = ToolNode(server.tools())
        assert answer_of(node, "echo", text="hi").text == "hi"
    gone = answer_of(node, "echo", text="hi")
    assert "could not be reached. Nothing was executed." in gone.text
    server.close()


@pytest.mark.parametrize(
    "sent",
    [
        ("text/html", "<p>Log in"),
        ("application/json", "{"),
        ("application/json", ""),
        ("text/event-stream", "data: {\n\n"),
    ],
)
def test_a_call_that_was_taken_and_answered_with_rubbish_is_in_doubt(faults: FaultyHttp, sent: tuple[str, str]) -> None:
    faults.call_answer = sent
    with McpServer.http(faults.url) as server:
        answer = answer_of(ToolNode(server), "echo", text="hi")
    assert faults.calls == ["echo"]
    assert "may have happened" in answer.text
    assert "Nothing was executed" not in answer.text


def test_errors_of_the_protocol_over_http(faults: FaultyHttp) -> None:
    with McpServer.http(faults.url) as server:
        node = ToolNode(server)
        refused = answer_of(node, "refuse", code=-32602)
        assert refused.outcome is not None
        assert refused.outcome.kind is FailureKind.INVALID_ARGUMENTS
        assert "answered with the error -32603: not today" in answer_of(node, "refuse", code=-32603).text
        assert len(answer_of(node, "huge", size=2_000_000).text) > 40_000


@pytest.mark.parametrize("status", [401, 403, 413, 429])
def test_a_call_that_was_turned_away_is_no_doubt(faults: FaultyHttp, status: int) -> None:
    with McpServer.http(faults.url) as server:
        node = ToolNode(server)
        assert answer_of(node, "echo", text="hi").text == "hi"
        faults.status = status
        refused = answer_of(node, "echo", text="hi again")

    assert f"answered with the HTTP status {status}" in refused.text
    assert "Nothing was executed." in refused.text
