"""The tools of a server that does all that servers do when they go wrong."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from support.liveness import comes_true
from support.mcp.runs import Log, answer_of, call, faulty, is_alive, until, until_missed
from surehand import (
    AIMessage,
    FailureKind,
    OptionError,
    ToolDefinitionError,
    ToolMessage,
    ToolNode,
    ToolOptions,
    tool,
)
from surehand.errors import ToolServerError
from surehand.events import CallProgressed, Event
from surehand.integrations.mcp import McpServer, McpServers
from surehand.integrations.mcp.launches import StdioLaunch
from surehand.integrations.mcp.links import LastWords
from surehand.testing import FakeClock


@pytest.fixture
def log(tmp_path: Path) -> Generator[Log]:
    """The log of a fault server; no process that it names is left when the test ends."""
    kept = Log(tmp_path / "log")
    yield kept
    until(lambda: not any(map(is_alive, kept.pids())))


def faults(log: Log, *arguments: str, **options: Any) -> McpServer:
    return faulty("--log", log.path, *arguments, **options)


def names(server: McpServer | McpServers) -> list[str]:
    return [found.name for found in server.tools()]


def kind_of(answer: ToolMessage) -> FailureKind | None:
    assert answer.outcome is not None
    return answer.outcome.kind


def test_the_first_use_starts_it_and_close_ends_it(log: Log) -> None:
    server = faults(log)
    assert log.pids() == []

    assert answer_of(ToolNode(server), "echo", text="hi").content == "hi"
    assert len(log.pids()) == 1

    server.close()
    assert not is_alive(log.pids()[0])


def test_after_its_end_it_is_entered_anew_or_not_at_all(log: Log) -> None:
    with faults(log) as server:
        node = ToolNode(server.tools())
    assert "was closed. Nothing was executed." in answer_of(node, "echo", text="hi").text
    with server:
        assert answer_of(node, "echo", text="hi").text == "hi"
    assert len(log.pids()) == 2


def test_arguments_are_validated_before_the_server_hears_of_them(log: Log) -> None:
    with faults(log) as server:
        node = ToolNode(server)
        assert answer_of(node, "add", a="2", b=3.0).text == "5"
        refused = answer_of(node, "add", a="two")

    assert (kind_of(refused), len(log.messages("tools/call"))) == (FailureKind.INVALID_ARGUMENTS, 1)
    assert "$.a" in refused.text
    assert "$.b" in refused.text


def test_no_name_of_an_argument_is_reserved(log: Log) -> None:
    given: dict[str, Any] = {"self": "a", "config": "b", "run_manager": "c", "args": [1], "kwargs": {}}
    with faults(log) as server:
        assert answer_of(ToolNode(server), "names", **given).text == "args, config, kwargs, run_manager, self"


def test_hostile_declarations_cost_nobody_but_themselves(log: Log, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "surehand.mcp"), faults(log, "--hostile", "--pages", "4") as server:
        found = names(server)
        assert answer_of(ToolNode(server), "echo", text="hi").text == "hi"
    assert {"echo", "names", "twice", "no_type", "dotted.name"} <= set(found)
    assert len(found) == len(set(found)) == 21
    assert "the tool bad_type of the server faults is left out" in caplog.text


def test_what_is_no_message_is_passed_over(log: Log) -> None:
    with faults(log, "--garbage", "--noise") as server:
        assert answer_of(ToolNode(server), "echo", text="hi").text == "hi"


RESULT = '"result": {"content": [{"type": "text", "text": "%s"}]}}'
HALF = "raw:" + '{"jsonrpc": "2.0", "id": ID, ' + RESULT % r"a\ud83d"
NO_UTF8 = "raw:" + '{"jsonrpc": "2.0", "id": ID, ' + RESULT % "a\xff"
OTHER_ID = "raw:" + '{"jsonrpc": "2.0", "id": "ID", ' + RESULT % "found"
NO_VERSION = "raw:" + '{"id": ID, ' + RESULT % "found"
DEEP = 'raw:{"jsonrpc": "2.0", "id": ID, "result": {"structuredContent": ' + "[" * 250 + "]" * 250 + "}}"


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (HALF, "a\ufffd"),
        (NO_UTF8, "a\ufffd"),
        (OTHER_ID, "found"),
        (NO_VERSION, "found"),
        (DEEP, "[" * 250 + "]" * 250),
    ],
)
def test_an_answer_that_can_be_read_somehow_is_read(log: Log, sent: str, read: str) -> None:
    with faults(log, timeout=5) as server:
        node = ToolNode(server)
        assert answer_of(node, "echo", text=sent).text == read
        assert answer_of(node, "echo", text="hi").text == "hi"


@pytest.mark.parametrize(
    "rest", ['"result": [1]', '"result": null', '"error": "no"', '"error": {"message": "no"}', '"x": 1']
)
def test_nobody_waits_for_an_answer_that_came_and_cannot_be_read(log: Log, rest: str) -> None:
    with faults(log, timeout=20) as server:
        answer = answer_of(ToolNode(server), "echo", text='raw:{"jsonrpc": "2.0", "id": ID, ' + rest + "}")
    assert kind_of(answer) is FailureKind.EXCEPTION
    assert "what it sent cannot be read as an answer. It may have happened in part." in answer.text


def test_errors_do_not_tell_a_model_the_secrets_that_the_server_was_given(log: Log) -> None:
    said = '"content": [{"type": "text", "text": "no rights: plain-words-9"}]'
    with faults(log, env={"SHOP_TOKEN": "plain-words-9"}) as server:
        node = ToolNode(server)
        failed = answer_of(
            node, "echo", text='raw:{"jsonrpc": "2.0", "id": ID, "result": {"isError": true, ' + said + "}}"
        )
        error = '"error": {"code": -32000, "message": "no rights: plain-words-9"}}'
        refused = answer_of(node, "echo", text='raw:{"jsonrpc": "2.0", "id": ID, ' + error)
    assert failed.text == "no rights: [redacted]"
    assert "no rights: [redacted]" in refused.text


def test_no_part_of_a_secret_is_left_where_a_long_line_is_cut() -> None:
    last_words = LastWords("shop", StdioLaunch.of("shop", (), {"SHOP_TOKEN": "plain-words-9"}, None))
    with last_words.file() as file:
        file.write("a" * 493 + "plain-words-9\n")
    assert "plain" not in last_words.told()


def test_a_server_gets_the_variables_it_is_given_and_none_of_ours(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "secret")
    with faults(log, env={"THEIRS": "given"}) as server:
        node = ToolNode(server)
        told = [answer_of(node, "environment", name=name).text for name in ("THEIRS", "MY_TOKEN")]
    assert told == ["given", "not set"]


def test_a_name_may_be_prefixed_and_tools_chosen(log: Log) -> None:
    with faults(log, prefix="far", include=["e*", "add"], exclude=["environ*"]) as server:
        assert names(server) == ["far_echo", "far_add"]
        assert answer_of(ToolNode(server), "far_echo", text="hi").text == "hi"


def test_hints_that_forbid_are_taken_and_hints_that_permit_are_trusted_only_where_the_host_says_so(log: Log) -> None:
    def options(server: McpServer, name: str) -> ToolOptions:
        return next(found.spec.options for found in server.tools() if found.name == name)

    with faults(log) as careful, faults(log, trust_hints=True) as trusting:
        assert options(careful, "wipe").destructive is True
        assert options(careful, "slow").read_only is not True
        assert options(careful, "append_and_die_idempotent").idempotent is not True
        assert options(trusting, "slow").read_only is True
        assert options(trusting, "append_and_die_idempotent").idempotent is True


def test_the_options_of_the_host_win_over_hints(log: Log) -> None:
    options = {"wipe": ToolOptions(destructive=False), "echo": {"requires_approval": True}}
    with faults(log, options=options, timeout=7) as server:
        found = {known.name: known.spec.options for known in server.tools()}
        assert (found["wipe"].destructive, found["wipe"].timeout) == (False, 7)
        assert kind_of(answer_of(ToolNode(server), "echo", text="hi")) is FailureKind.DENIED


def test_an_option_for_a_tool_that_is_not_there_is_refused(log: Log) -> None:
    with pytest.raises(OptionError, match="Did you mean 'echo'"), faults(log, options={"ehco": {"timeout": 1}}):
        pass


def test_a_server_that_cannot_be_started_says_why(log: Log, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ToolServerError, match="its command, or its working directory, was not found"):
        McpServer.stdio("no-such-command-here").tools()
    with pytest.raises(ToolServerError, match="ended before it was ready") as caught:
        faults(log, "--die-at-start").tools()
    [note] = caught.value.__notes__
    for told in (caplog.text, note):
        assert "there is no database" in told
        assert "hunter2" not in told
    assert "there is no database" not in str(caught.value)  # which a model may be told
    with pytest.raises(ToolServerError, match=r"was not ready within 0\.3 seconds"):
        faults(log, "--hang-at-start", start_timeout=0.3).tools()
    with pytest.raises(ToolServerError, match="could not be reached"):
        McpServer.http("http://127.0.0.1:9/mcp").tools()


def test_a_server_is_closed_in_the_middle_of_its_start(log: Log) -> None:
    server = faults(log, "--hang-at-start", start_timeout=60)
    told: list[str] = []

    def start() -> None:
        with pytest.raises(ToolServerError) as caught:
            server.tools()
        told.append(str(caught.value))

    starting = threading.Thread(target=start)
    starting.start()
    until(lambda: log.pids() != [])
    server.close()  # not after the minute that a start may take
    starting.join(20)
    assert told == ["The tool server 'faults' was closed before it was ready. Nothing was executed."]
    assert not is_alive(log.pids()[0])


def test_a_server_that_keeps_failing_is_left_alone_for_a_while(log: Log) -> None:
    server = faults(log, "--die-at-start")
    asked: list[ToolServerError] = []
    for _ in range(6):
        with pytest.raises(ToolServerError) as caught:
            server.tools()
        asked.append(caught.value)
        if caught.value.retry_after is not None:
            break
    assert asked[-1].retry_after is not None
    assert len(log.pids()) == len(asked) - 1
    server.close()


def test_a_call_that_may_have_happened_is_said_to_and_not_run_again(log: Log, tmp_path: Path) -> None:
    path = tmp_path / "effects"
    with faults(log) as server:
        node = ToolNode(server)
        lost = answer_of(node, "append_and_die", path=str(path), line="once")
        assert answer_of(node, "echo", text="later").text == "later"
    assert kind_of(lost) is FailureKind.EXCEPTION
    assert "it may have happened: find out before you call again" in lost.text
    assert path.read_text(encoding="utf-8") == "once\n"


def test_a_call_that_may_run_twice_does(log: Log, tmp_path: Path) -> None:
    path = tmp_path / "effects"
    with faults(log, trust_hints=True) as server:
        answer = answer_of(ToolNode(server), "append_and_die_idempotent", path=str(path), line="again")
    assert answer.outcome is not None
    assert (answer.text, answer.outcome.attempts) == ("appended", 2)


def test_a_server_that_is_killed_in_the_middle_of_a_call_is_started_anew_by_the_next(log: Log) -> None:
    def kill() -> None:
        until(lambda: bool(log.messages("tools/call")))
        log.kill()

    with faults(log) as server:
        node = ToolNode(server)
        killing = threading.Thread(target=kill)
        killing.start()
        lost = answer_of(node, "slow", seconds=20)
        killing.join()
        assert "was lost before it answered" in lost.text
        assert answer_of(node, "echo", text="hi").text == "hi"
        assert len(log.pids()) == 2


def test_parallel_calls_share_one_new_start(log: Log) -> None:
    calls = AIMessage(tool_calls=[call("echo", call_id=str(number), text=str(number)) for number in range(20)])
    with faults(log) as server:
        node = ToolNode(server)
        node.invoke([calls])
        log.kill()
        until_missed(server)
        answers: list[ToolMessage] = node.invoke([calls])
        assert [answer.text for answer in answers] == [str(number) for number in range(20)]
        assert len(log.pids()) == 2


def test_a_timeout_and_a_cancelled_caller_tell_the_server(log: Log) -> None:
    async def cancelled(node: ToolNode) -> None:
        task = asyncio.create_task(node.ainvoke([AIMessage(tool_calls=[call("slow", seconds=20)])]))
        await comes_true(lambda: len(log.messages("tools/call")) == 2)
        task.cancel()
        await asyncio.wait([task])

    clock = FakeClock(autojump=None)

    def let_time_pass() -> None:
        until(lambda: bool(log.messages("tools/call")))
        clock.advance(10)

    with faults(log) as server:
        passing = threading.Thread(target=let_time_pass)
        passing.start()
        late = answer_of(ToolNode(server, clock=clock, overrides={"slow": {"timeout": 5}}), "slow", seconds=20)
        passing.join()
        assert kind_of(late) is FailureKind.TIMEOUT
        until(lambda: len(log.messages("notifications/cancelled")) == 1)
        asyncio.run(cancelled(ToolNode(server, overrides={"slow": {"timeout": None}})))
        until(lambda: len(log.messages("notifications/cancelled")) == 2)
        assert answer_of(ToolNode(server), "echo", text="hi").text == "hi"
    sent = [message["id"] for message in log.messages("tools/call")]
    assert [message["params"]["requestId"] for message in log.messages("notifications/cancelled")] == sent[:2]


def test_progress_is_told_and_is_a_sign_of_life(log: Log) -> None:
    events: list[Event] = []
    with faults(log, options={"slow": {"idle_timeout": 0.4, "timeout": 10}}) as server:
        answer = answer_of(ToolNode(server, listener=events.append), "slow", seconds=1)
    told = [event.progress for event in events if isinstance(event, CallProgressed)]
    assert answer.text == "done"
    assert told[0] == {"progress": 1.0, "message": "step 1"}
    assert len(told) > 10


def test_a_slow_call_holds_nobody_up(log: Log) -> None:
    with faults(log) as server:
        node = ToolNode(server)
        slow = threading.Thread(target=answer_of, args=(node, "slow"), kwargs={"seconds": 30})
        slow.start()
        until(lambda: bool(log.messages("tools/call")))
        assert answer_of(node, "echo", text="hi").text == "hi"
        assert slow.is_alive()
    slow.join()


def test_threads_and_loops_and_nodes_share_one_session(log: Log) -> None:
    told: list[str] = []
    with faults(log) as server:
        nodes = [ToolNode(server), ToolNode(server.tools())]

        def work(number: int) -> None:
            node = nodes[number % 2]
            if number % 4 < 2:
                told.append(answer_of(node, "echo", text=str(number)).text)
                return
            message = AIMessage(tool_calls=[call("echo", text=str(number))])
            answers: list[ToolMessage] = asyncio.run(node.ainvoke([message]))
            told.append(answers[0].text)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(told, key=int) == [str(number) for number in range(16)]
    assert len(log.pids()) == 1


def test_a_node_follows_the_list_of_tools(log: Log) -> None:
    with faults(log) as server:
        node = ToolNode(server)
        before = server.tools()
        answer_of(node, "echo", text="+fresh")
        until(lambda: "fresh" in names(server))
        assert [known for known in server.tools() if known.name != "fresh"] == before  # the very same tools
        answer_of(node, "echo", text="-fresh")
        until(lambda: "fresh" not in names(server))


def test_a_tool_that_is_gone_is_no_longer_available(log: Log) -> None:
    with faults(log) as server:
        fixed = ToolNode(server.tools())
        answer_of(fixed, "echo", text="-add")
        gone = answer_of(fixed, "add", a=1, b=2)
    assert "does not have the tool 'add' any more. Nothing was executed." in gone.text


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (-32602, FailureKind.INVALID_ARGUMENTS, "refused the arguments: not today"),
        (-32601, FailureKind.EXCEPTION, "answered with the error -32601: not today. Nothing was executed."),
        (-32603, FailureKind.EXCEPTION, "answered with the error -32603: not today. It may have happened in part."),
        (-32000, FailureKind.EXCEPTION, "answered with the error -32000: not today. It may have happened in part."),
    ],
)
def test_errors_of_the_protocol_are_told_in_words_to_act_on(log: Log, code: int, kind: FailureKind, words: str) -> None:
    with faults(log) as server:
        answer = answer_of(ToolNode(server), "refuse", code=code)
    assert (kind_of(answer), words in answer.text) == (kind, True)


ASKS = '{"jsonrpc": "2.0", "id": "s1", "method": "METHOD", "params": PARAMS}\n'
FORM = '{"message": "Your password?", "requestedSchema": {"type": "object", "properties": {}}}'
WENT_ON = '{"jsonrpc": "2.0", "id": ID, "result": {"content": [{"type": "text", "text": "went on"}]}}'


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("sampling/createMessage", '{"messages": [], "maxTokens": 5}'),
        ("sampling/createMessage", '{"messages": 7}'),
        ("elicitation/create", FORM),
        ("elicitation/create", '{"mode": "url", "message": "x", "url": "https://a.example", "elicitationId": "1"}'),
        ("roots/list", "{}"),
        ("no/such", "{}"),
    ],
)
def test_a_server_that_asks_what_nobody_allowed_is_refused_and_nobody_waits(log: Log, method: str, params: str) -> None:
    asked = "raw:" + ASKS.replace("METHOD", method).replace("PARAMS", params)
    with faults(log, timeout=20) as server:
        assert answer_of(ToolNode(server), "echo", text=asked + WENT_ON).text == "went on"
        until(lambda: any('"s1"' in line and '"error"' in line for line in log.lines()))


@pytest.mark.parametrize("code", [-32600, -32601, -32602])
def test_a_call_that_ends_where_the_server_asked_in_vain_may_have_happened_in_part(log: Log, code: int) -> None:
    error = '{"jsonrpc": "2.0", "id": ID, "error": {"code": CODE, "message": "no elicitation"}}'
    asked = "raw:" + ASKS.replace("METHOD", "elicitation/create").replace("PARAMS", FORM)
    with faults(log, timeout=20) as server:
        answer = answer_of(ToolNode(server), "echo", text=asked + error.replace("CODE", str(code)))
    assert f"answered with the error {code}: no elicitation. It may have happened in part." in answer.text


def test_a_call_that_has_reported_progress_was_begun_whatever_its_error_says(log: Log) -> None:
    told = '{"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": ID, "progress": 1}}\n'
    error = '{"jsonrpc": "2.0", "id": ID, "error": {"code": -32601, "message": "gone"}}'
    with faults(log, timeout=20) as server:
        answer = answer_of(ToolNode(server), "echo", text="raw:" + told + error)
    assert "It may have happened in part." in answer.text


def test_odd_notifications_cost_nothing(log: Log) -> None:
    odd = [
        ("notifications/progress", '{"progressToken": 999, "progress": 1}'),
        ("notifications/progress", '{"progressToken": ID, "progress": "a lot"}'),
        ("notifications/cancelled", '{"requestId": ID}'),
        ("notifications/no_such", "[]"),
        ("notifications/message", "{}"),
    ]
    sent = "".join(f'{{"jsonrpc": "2.0", "method": "{method}", "params": {params}}}\n' for method, params in odd)
    with faults(log, timeout=20) as server:
        assert answer_of(ToolNode(server), "echo", text="raw:" + sent + WENT_ON).text == "went on"


def test_a_tool_that_goes_in_the_middle_of_a_turn_is_said_to_be_gone(log: Log) -> None:
    calls = [
        call("echo", call_id="1", text="-add"),
        call("slow", call_id="2", seconds=0.3),
        call("add", call_id="3", a=1, b=2),
    ]
    with faults(log, options={name: {"exclusive": True} for name in ("echo", "slow", "add")}) as server:
        node = ToolNode(server)
        first, second, third = node.invoke([AIMessage(tool_calls=calls)])
        assert (first.text, second.text) == ("changed", "done")
        assert "does not have the tool 'add' any more. Nothing was executed." in third.text
        assert kind_of(answer_of(node, "add", a=1, b=2)) is FailureKind.UNKNOWN_TOOL


@pytest.mark.parametrize("structured", ['{"n": "many"}', "[1]", '"text"', "null", None])
def test_data_that_breaks_the_servers_own_schema_is_kept_as_it_came(log: Log, structured: str | None) -> None:
    data = "" if structured is None else f', "structuredContent": {structured}'
    said = '"result": {"content": [{"type": "text", "text": "sent"}]' + data + "}}"
    with faults(log) as server:
        node = ToolNode(server)
        assert answer_of(node, "undeclared_form").artifact == {"structured_content": {"n": "many"}}
        answer = answer_of(node, "echo", text='raw:{"jsonrpc": "2.0", "id": ID, ' + said)
    assert (answer.status, answer.text) == ("success", "sent")
    kept = None if structured in (None, "null") else {"structured_content": json.loads(structured or "")}
    assert answer.artifact == kept


def test_what_a_server_says_about_its_use_is_there_for_those_who_want_it(log: Log) -> None:
    server = faults(log, "--instructions", "Ask before you wipe.")
    assert server.instructions is None
    with server:
        assert server.instructions == "Ask before you wipe."
    with faults(log) as silent:
        assert silent.instructions is None


def test_huge_results_are_cut_like_any(log: Log) -> None:
    with faults(log, options={"huge": {"max_output": 1_000}}) as server:
        answer = answer_of(ToolNode(server), "huge", size=3_000_000)
    assert len(answer.text) <= 1_000
    assert answer.artifact == "x" * 3_000_000


def test_several_servers_and_tools_of_the_program_are_one_set(log: Log, tmp_path: Path) -> None:
    @tool
    def own() -> str:
        "Mine."
        return "own"

    other = faulty("--log", tmp_path / "other", prefix="other", include=["echo"])
    with McpServers(faults(log, include=["echo"]), other, own) as servers:
        assert names(servers) == ["echo", "other_echo", "own"]
        node = ToolNode(servers)
        assert [answer_of(node, name, text="hi").text for name in ("echo", "other_echo")] == ["hi", "hi"]
        assert answer_of(node, "own").text == "own"
    assert not any(map(is_alive, Log(tmp_path / "other").pids()))


def test_two_servers_with_a_tool_of_one_name_are_refused(log: Log) -> None:
    with (
        pytest.raises(ToolDefinitionError, match=r"both have a tool of this name\. Give one of the servers a prefix"),
        McpServers(faults(log, name="one"), faults(log, name="two")),
    ):
        pass


def test_a_server_that_does_not_come_up_does_not_cost_a_turn_the_tools_of_the_others(log: Log) -> None:
    servers = McpServers(faults(log), McpServer.stdio("no-such-command-here"))
    assert answer_of(ToolNode(servers), "echo", text="hi").text == "hi"
    servers.close()


def test_both_doors_open_it(log: Log) -> None:
    async def main() -> list[str]:
        async with faults(log) as server:
            assert log.pids()
            return [found.name for found in await server.atools()]

    assert "echo" in asyncio.run(main())


@pytest.mark.parametrize(
    "make",
    [
        lambda: McpServer.stdio(""),
        lambda: McpServer.stdio("x", "args"),
        lambda: McpServer.stdio("x", env={"A": 1}),  # type: ignore[dict-item]
        lambda: McpServer.http("ftp://x"),
        lambda: McpServer.http("http://127.0.0.1", headers={"A": 1}),  # type: ignore[dict-item]
        lambda: McpServer.stdio("x", timeout=0),
        lambda: McpServer.stdio("x", start_timeout=-1),
        lambda: McpServer.stdio("x", prefix=""),
        lambda: McpServer.stdio("x", trust_hints="yes"),  # type: ignore[arg-type]
        lambda: McpServer.stdio("x", roots=["http://x"]),
        lambda: McpServer.stdio("x", sampling="no"),  # type: ignore[arg-type]
        lambda: McpServer.stdio("x", options={"a": {"timeuot": 1}}),
        McpServers,
    ],
)
def test_options_that_cannot_be_meant_are_refused(make: Any) -> None:
    with pytest.raises(OptionError):
        make()
