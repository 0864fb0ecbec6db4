"""A server over HTTP that loses sessions, connections and answers."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from support.mcp.fault_http import FaultyHttp, Reply, faulty_http
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


PAGE = "<html><title>Sign in</title>secret=hunter2hunter2</html>"
RIGHT = '{"jsonrpc": "2.0", "id": %s, "result": {"content": [{"type": "text", "text": "%s"}]}}'
ERROR = (
    '{"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "unsupported version, key hunter2hunter2"}}'
)
TAKEN = [
    (Reply(body=PAGE), "answered with text/html, and not as servers of tools do"),
    (Reply(kind="", body="hello"), "answered with something, and not as servers of tools do"),
    (Reply(202), "took the request, and will not answer it (HTTP status 202)"),
    (Reply(204), "took the request, and will not answer it (HTTP status 204)"),
    (Reply(kind="application/json", body="{"), "sent what cannot be read as an answer"),
    (Reply(kind="application/json"), "sent what cannot be read as an answer"),
    (Reply(kind="application/json", body='{"error": "hunter2hunter2 ID"}'), "sent what cannot be read as an answer"),
    (Reply(kind="application/json", body=f"[{RIGHT % ('ID', '')}]"), "sent what cannot be read as an answer"),
    (
        Reply(kind="application/json", body=ERROR),
        "sent what cannot be read as an answer: unsupported version, key [red",
    ),
    (Reply(kind="application/json", body=RIGHT % (999, "")), "sent what cannot be read as an answer"),
    (Reply(kind="text/event-stream", body="data: {\n\n"), "sent what cannot be read as an answer"),
    (Reply(kind="text/event-stream", body="data: {"), "was lost before it answered"),
    (Reply(kind="text/event-stream"), "was lost before it answered"),
    (Reply(400, body=PAGE), "answered with the HTTP status 400 (Bad Request)"),
    (Reply(400, "application/json", ERROR), "the HTTP status 400 (Bad Request): unsupported version, key [redacted]"),
    (Reply(500, body=PAGE), "answered with the HTTP status 500 (Internal Server Error)"),
    (Reply(502, body=PAGE), "answered with the HTTP status 502 (Bad Gateway)"),
    (Reply(599, body=PAGE), "answered with the HTTP status 599"),
]
"""Answers to a request that may have been carried out, and the words for them."""
TURNED_AWAY = [
    (Reply(401, body=PAGE), "answered with the HTTP status 401 (it does not accept the credentials"),
    (Reply(403, body=PAGE), "answered with the HTTP status 403 (it does not allow this"),
    (Reply(405, body=PAGE), "answered with the HTTP status 405 (Method Not Allowed)"),
    (Reply(413, body=PAGE), "answered with the HTTP status 413 (the request is larger than it takes)"),
    (Reply(429, body=PAGE), "answered with the HTTP status 429 (it is asked too often)"),
    (
        Reply(302, headers={"location": "https://sign.example/hunter2hunter2?a=b"}),
        "sends its clients on to sign.example",
    ),
    (Reply(301, headers={"location": "/hunter2hunter2"}), "sends its clients on to another address, which is not"),
    (Reply(307, headers={"location": "https://[/hunter2hunter2"}), "sends its clients on to another address"),
]
"""Answers to a request that nothing was run for."""
HEADERS = {"Authorization": "Bearer hunter2hunter2"}


@pytest.mark.parametrize(("reply", "words"), TAKEN)
def test_a_call_whose_answer_cannot_be_used_is_in_doubt(faults: FaultyHttp, reply: Reply, words: str) -> None:
    with McpServer.http(faults.url, headers=HEADERS, timeout=20) as server:
        node = ToolNode(server)
        faults.replies["tools/call"] = reply
        answer = answer_of(node, "echo", text="hi")
        faults.replies.clear()
        assert answer_of(node, "echo", text="hi").text == "hi"
    assert faults.calls == ["echo", "echo"]
    assert words in answer.text
    assert "may have happened" in answer.text
    for secret in ("Nothing was executed", "hunter2", "pydantic", "SSE", "<html>"):
        assert secret not in answer.text


@pytest.mark.parametrize(("reply", "words"), TURNED_AWAY)
def test_a_call_that_was_turned_away_is_no_doubt(faults: FaultyHttp, reply: Reply, words: str) -> None:
    with McpServer.http(faults.url, headers=HEADERS) as server:
        node = ToolNode(server)
        faults.replies["tools/call"] = reply
        answer = answer_of(node, "echo", text="hi")
    assert words in answer.text
    assert "Nothing was executed." in answer.text
    assert "hunter2" not in answer.text


PASSING = (408, 429, 500, 502, 503, 504, 599)


@pytest.mark.parametrize(("reply", "words"), [*TAKEN, *TURNED_AWAY])
def test_a_start_that_is_answered_so_says_why_and_whether_the_next_may_succeed(
    faults: FaultyHttp, reply: Reply, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    faults.replies["tools/list"] = reply
    server = McpServer.http(faults.url, headers=HEADERS, start_timeout=20)
    with pytest.raises(ToolServerError) as caught:
        server.tools()
    server.close()
    assert ("broke off its answer" if words.startswith("was lost") else words) in str(caught.value)
    assert caught.value.retryable == (reply.status in PASSING or words.startswith("was lost"))
    logged = [record.getMessage() for record in caplog.records if record.name == "surehand.mcp"]
    for told in (str(caught.value), *logged):
        assert "hunter2" not in told
        assert "<html>" not in told


def test_what_a_server_answers_to_the_first_question_is_not_blamed_for_what_comes_later(faults: FaultyHttp) -> None:
    faults.replies["tools/list"] = Reply(kind="application/json", body=ERROR.replace("null", "ID"))
    with pytest.raises(ToolServerError, match="refused the session: unsupported version"):
        McpServer.http(faults.url, headers=HEADERS).tools()


@pytest.mark.parametrize("status", [429, 503])
def test_a_wait_that_a_server_asks_for_is_told(faults: FaultyHttp, status: int) -> None:
    with McpServer.http(faults.url) as server:
        node = ToolNode(server)
        faults.replies["tools/call"] = Reply(status, headers={"retry-after": "7"})
        answer = answer_of(node, "echo", text="hi")
    assert "asks to wait 7 seconds" in answer.text


def test_a_busy_server_is_asked_again_where_the_tool_may_run_twice(faults: FaultyHttp) -> None:
    with McpServer.http(faults.url, options={"echo": {"read_only": True}}) as server:
        faults.replies["tools/call"] = Reply(503)
        answer = answer_of(ToolNode(server), "echo", text="hi")
    assert answer.outcome is not None
    assert answer.outcome.attempts > 1


@pytest.mark.parametrize(
    "address", ["/mcp?key=plain-words-9", "/u/plain-words-of-9-users/mcp", "/mcp?key=plain%2Dwords%2D9"]
)
def test_what_is_secret_in_an_address_is_told_to_nobody(
    faults: FaultyHttp, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    url = faults.url.replace("/mcp", address)
    said = f"no rights for {url} and plain-words-9 of plain-words-of-9-users"
    error = f'{{"jsonrpc": "2.0", "id": ID, "error": {{"code": -32000, "message": "{said}"}}}}'
    with McpServer.http(url) as server:
        for reply in (Reply(kind="application/json", body=error), Reply(403, "application/json", error)):
            faults.replies["tools/call"] = reply
            answer = answer_of(ToolNode(server), "echo", text="hi")
            assert "no rights for " in answer.text
            told = answer.text.replace("plain-words-of-9-users" if "key=" in address else "plain-words-9", "")
            assert not any(part in told for part in ("plain-words", "plain%2D"))
        faults.replies["tools/list"] = Reply(403, "application/json", error)
        with pytest.raises(ToolServerError, match=r"status 403 .*no rights") as caught:
            McpServer.http(url).tools()
    assert "key=plain" not in str(caught.value) + caplog.text


def test_a_list_of_tools_without_an_end_is_read_once_and_told_of(
    faults: FaultyHttp, caplog: pytest.LogCaptureFixture
) -> None:
    tools = json.dumps({"tools": [{"name": "a", "inputSchema": {"type": "object"}}], "nextCursor": "again"})
    faults.replies["tools/list"] = Reply(
        kind="application/json", body=f'{{"jsonrpc": "2.0", "id": ID, "result": {tools}}}'
    )
    with McpServer.http(faults.url) as server:
        assert [found.name for found in server.tools()] == ["a"]
    assert "its list of tools has no end" in caplog.text


def test_an_address_that_knows_no_session_however_often_is_said_to(faults: FaultyHttp) -> None:
    with McpServer.http(faults.url) as server:
        node = ToolNode(server)
        faults.replies["tools/call"] = Reply(404, body=PAGE)
        answer = answer_of(node, "echo", text="hi")
    assert "nor did it after a new start: it answered with the HTTP status 404" in answer.text
    assert "Nothing was executed." in answer.text


def test_an_answer_that_is_cut_off_costs_no_other_call(faults: FaultyHttp) -> None:
    calls = AIMessage(tool_calls=[call("slow", call_id="1", seconds=1), call("echo", call_id="2", text="hi")])
    with McpServer.http(faults.url) as server:
        node = ToolNode(server)
        faults.hangs_up = "in the middle"
        answers: list[ToolMessage] = node.invoke([calls])
    assert answers[0].text == "done"
    assert "was lost before it answered" in answers[1].text


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_a_result_of_ten_megabytes_arrives(faults: FaultyHttp, kind: str) -> None:
    body = RIGHT % ("ID", "x" * 10_000_000)
    faults.replies["tools/call"] = Reply(kind=kind, body=body if "json" in kind else f"data: {body}\n\n")
    with McpServer.http(faults.url) as server:
        assert answer_of(ToolNode(server), "echo", text="hi").artifact == "x" * 10_000_000


def test_errors_of_the_protocol_over_http(faults: FaultyHttp) -> None:
    with McpServer.http(faults.url) as server:
        node = ToolNode(server)
        refused = answer_of(node, "refuse", code=-32602)
        assert refused.outcome is not None
        assert refused.outcome.kind is FailureKind.INVALID_ARGUMENTS
        assert "answered with the error -32603: not today" in answer_of(node, "refuse", code=-32603).text
        assert len(answer_of(node, "huge", size=2_000_000).text) > 40_000
