"""What users of MCP tools have met, and what becomes of it here."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from support.mcp.runs import Log, answer_of, call, faulty, until_missed
from surehand import AIMessage, FailureKind, ToolMessage, ToolNode
from surehand.integrations.mcp import McpServer
from surehand.testing import FakeClock


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """What the server notes."""
    return Log(tmp_path / "log")


@pytest.fixture
def server(log: Log) -> Generator[McpServer]:
    """A server."""
    with faulty("--log", log.path) as running:
        yield running


def kind_of(answer: ToolMessage) -> FailureKind | None:
    assert answer.outcome is not None
    return answer.outcome.kind


def test_MCP_01_an_error_of_the_tool_is_a_result_and_an_error_of_the_protocol_another(server: McpServer) -> None:
    node = ToolNode(server)
    told = answer_of(node, "busy")
    assert (told.status, told.text, kind_of(told)) == ("error", "Too many requests.", FailureKind.TOOL_ERROR)

    protocol = answer_of(node, "refuse", code=-32603)
    assert (protocol.status, kind_of(protocol)) == ("error", FailureKind.EXCEPTION)


def test_MCP_03_structured_content_is_kept_and_stands_in_for_text(server: McpServer) -> None:
    answer = answer_of(ToolNode(server), "no_text")
    assert answer.text == '{"n": 1}'
    assert answer.artifact == {"structured_content": {"n": 1}, "meta": {"trace": "t-1"}}


def test_MCP_04_structured_content_is_kept_on_errors_and_its_wait_is_waited(server: McpServer) -> None:
    answer = answer_of(ToolNode(server), "busy")
    assert answer.artifact == {"structured_content": {"code": "busy", "retry_after": 3}}

    clock = FakeClock()
    node = ToolNode(server, clock=clock, overrides={"busy": {"read_only": True, "timeout": None}})
    begun = clock.now()
    again = answer_of(node, "busy")
    assert again.outcome is not None
    assert (again.outcome.attempts, clock.now() - begun) == (3, 6)


def test_MCP_05_blocks_are_mapped_by_type_and_one_text_is_text(server: McpServer) -> None:
    node = ToolNode(server)
    assert answer_of(node, "echo", text="plain").content == "plain"
    assert answer_of(node, "blocks").content == [
        {"type": "text", "text": "one"},
        {"type": "image", "base64": "aW1n", "mime_type": "image/png"},
        {"type": "audio", "base64": "c25k", "mime_type": "audio/wav"},
        {"type": "text", "text": "[a.txt](file:///a.txt): a file"},
        {"type": "text", "text": "[file:///b.txt]\ninside"},
        {"type": "image", "base64": "aW1n", "mime_type": "image/png"},
        {"type": "text", "text": "[file:///d.zip, application/zip: 3 bytes, which cannot be shown]"},
    ]
    wrong = answer_of(node, "wrong_blocks")
    assert wrong.status == "success"
    assert '{"type": "video", "data": "dmlk"}' in wrong.text


def test_MCP_06_a_server_that_restarts_is_found_again_once_for_all_calls(server: McpServer, log: Log) -> None:
    node = ToolNode(server)
    assert answer_of(node, "echo", text="hi").text == "hi"
    log.kill()
    until_missed(server)

    calls = AIMessage(tool_calls=[call("echo", call_id=str(number), text=str(number)) for number in range(10)])
    answers: list[ToolMessage] = node.invoke([calls])

    assert [answer.text for answer in answers] == [str(number) for number in range(10)]
    assert len(log.pids()) == 2
