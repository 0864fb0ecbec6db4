"""ToolNode, the seven steps: requirements N1–N12 and N14 (N5's values: test_n_rendering)."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import threading
import time
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from surehand import (
    AIMessage,
    Command,
    HumanMessage,
    InjectedState,
    OptionError,
    RetryPolicy,
    ToolException,
    ToolMessage,
    ToolNode,
    tool,
)
from surehand.errors import InputError, ToolDefinitionError

FAST = RetryPolicy(initial_interval=0.001, jitter=False)


def _turn(*calls: tuple[str, Any]) -> AIMessage:
    return AIMessage(
        tool_calls=[{"id": f"c{index}", "name": name, "args": args} for index, (name, args) in enumerate(calls)]
    )


def _answers(node: ToolNode, *calls: tuple[str, Any]) -> list[ToolMessage]:
    answers: list[ToolMessage] = node.invoke([_turn(*calls)])
    return answers


@tool
def weather(city: str = "nowhere", days: int = 1) -> str:
    """Look up the weather."""
    return f"{city} {days}"


@tool
def crash(text: str = "boom") -> str:
    """Crash."""
    raise RuntimeError(text)


NODE = ToolNode([weather, crash])


def _one(args: Any, name: str = "weather") -> ToolMessage:
    return _answers(NODE, (name, args))[0]


@pytest.mark.parametrize("args", [None, "", "  \n", "null", {}, "{}"])
def test_N1_nothing_is_an_empty_object(args: Any) -> None:
    assert _one(args).content == "nowhere 1"


def test_N1_arguments_may_be_text_or_a_mapping_and_extra_keys_of_the_call_are_ignored() -> None:
    raw = {"id": "x", "name": "weather", "arguments": '{"city": "Beijing"}', "confidence": 0.95}
    (answer,) = NODE.invoke([AIMessage(tool_calls=[raw])])
    assert (answer.content, answer.tool_call_id) == ("Beijing 1", "x")


@pytest.mark.parametrize("args", ["{city: Beijing}", "city=Beijing", '{"city": "Bei', "[1]", "3", 3, ["a"], '"text"'])
def test_N1_what_is_no_object_runs_nothing_and_is_answered(args: Any) -> None:
    answer = _one(args)
    assert answer.status == "error"
    assert answer.outcome is not None
    assert answer.outcome.kind == "malformed"
    assert "Nothing was executed" in str(answer.content)


def test_N1_fenced_arguments_that_are_cut_off_are_refused_and_complete_ones_read() -> None:
    assert _one('```json\n{"city": "Paris"}\n```').content == "Paris 1"
    assert _one('```json\n{"city": "Par').status == "error"


class _Search(BaseModel):
    query: str = Field(min_length=1, max_length=5)
    limit: int = Field(default=10, ge=1, le=100)


@tool(args_schema=_Search)
def search(query: str, limit: int) -> str:
    """Search."""
    return f"{query}/{limit}"


def test_N2_types_are_coerced_and_defaults_filled() -> None:
    assert _answers(ToolNode([search]), ("search", {"query": "q", "limit": "7"}))[0].content == "q/7"
    assert _answers(ToolNode([search]), ("search", {"query": "q"}))[0].content == "q/10"


def test_N2_all_errors_of_a_call_are_told_at_once_with_field_and_rule() -> None:
    (answer,) = _answers(ToolNode([search]), ("search", {"query": "too long", "limit": 0}))
    text = str(answer.content)
    assert "$.query" in text
    assert "$.limit" in text
    assert "5" in text
    assert answer.outcome is not None
    assert answer.outcome.kind == "invalid_arguments"


def test_N2_unknown_arguments_are_dropped_with_a_note() -> None:
    (answer,) = _answers(NODE, ("weather", {"city": "Rome", "mood": "good"}))
    assert answer.content == "Rome 1"
    assert answer.outcome is not None
    assert any("mood" in repair for repair in answer.outcome.repairs)


def test_N2_unknown_arguments_are_refused_where_the_schema_forbids_them_or_the_tool_destroys() -> None:
    class Strict(BaseModel):
        model_config = ConfigDict(extra="forbid")
        path: str

    @tool(args_schema=Strict)
    def read(path: str) -> str:
        """Read."""
        return path

    @tool(destructive=True)
    def delete(path: str) -> str:
        """Delete."""
        return path

    for name in ("read", "delete"):
        (answer,) = _answers(ToolNode([read, delete]), (name, {"path": "/a", "force": True}))
        assert answer.status == "error"
        assert "force" in str(answer.content)


def test_N3_the_tool_runs_with_typed_arguments() -> None:
    seen: list[Any] = []

    @tool
    def take(args: _Search) -> str:
        """Take a model."""
        seen.append(args)
        return "ok"

    _answers(ToolNode([take]), ("take", {"args": {"query": "q"}}))
    assert seen == [_Search(query="q", limit=10)]


def _flaky(failures: int, error: Exception) -> Any:
    attempts: list[int] = []

    @tool(retry=FAST)
    def flaky() -> str:
        """Fail some times."""
        attempts.append(1)
        if len(attempts) <= failures:
            raise error
        return f"after {len(attempts)}"

    return flaky


def test_N4_a_retryable_failure_is_tried_again_without_the_model() -> None:
    (answer,) = _answers(ToolNode([_flaky(2, ToolException("busy", retryable=True))]), ("flaky", {}))
    assert answer.content == "after 3"
    assert answer.outcome is not None
    assert answer.outcome.attempts == 3


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ToolException("no", retryable=False), "tool_error"),
        (ValueError("no"), "exception"),
        (TimeoutError("no"), "timeout"),
    ],
)
def test_N4_no_other_failure_is_tried_again(error: Exception, kind: str) -> None:
    (answer,) = _answers(ToolNode([_flaky(1, error)]), ("flaky", {}))
    assert answer.outcome is not None
    assert (answer.outcome.attempts, answer.outcome.kind) == (1, kind)


def test_N4_when_attempts_run_out_the_last_failure_is_told() -> None:
    (answer,) = _answers(ToolNode([_flaky(9, ToolException("busy", retryable=True))]), ("flaky", {}))
    assert (answer.content, answer.status) == ("busy", "error")


def test_N5_the_answer_is_text_with_id_name_and_status() -> None:
    @tool
    def report() -> dict[str, Any]:
        """Report."""
        return {"results": [{"id": "R1", "标题": "指南"}]}

    (answer,) = _answers(ToolNode([report]), ("report", {}))
    assert answer.content == '{"results": [{"id": "R1", "标题": "指南"}]}'
    assert (answer.tool_call_id, answer.name, answer.status) == ("c0", "report", "success")


def test_N6_only_messages_are_returned() -> None:
    state = {"messages": [_turn(("weather", {}))], "user_input": "x", "retry_count": 2}
    update = NODE.invoke(state)
    assert set(update) == {"messages"}


def test_N6_a_tool_cannot_change_the_state_it_is_shown() -> None:
    @tool
    def meddle(state: Annotated[dict[str, Any], InjectedState]) -> str:
        """Try to write the state."""
        state["last"] = "written"
        return "written"

    state = {"messages": [_turn(("meddle", {}))], "last": "before", "nested": {"a": [1]}}
    (answer,) = ToolNode([meddle]).invoke(state)["messages"]
    assert answer.status == "error"
    assert state["last"] == "before"


def test_N6_a_command_is_handed_to_the_graph_where_the_node_allows_it() -> None:
    @tool
    def go() -> Command:
        """Go elsewhere."""
        return Command(goto="other", update={"k": 1})

    first, second = ToolNode([go], commands=True).invoke({"messages": [_turn(("go", {}))]})
    assert [message.tool_call_id for message in first.update["messages"]] == ["c0"]
    assert (second.goto, second.update) == ("other", {"k": 1})

    (answer,) = ToolNode([go]).invoke([_turn(("go", {}))])
    assert answer.outcome.kind == "internal"


def test_N7_the_new_messages_come_back_in_the_form_of_the_input() -> None:
    message = _turn(("weather", {}))

    assert isinstance(NODE.invoke([HumanMessage("hi"), message]), list)
    assert list(NODE.invoke({"messages": [message]})) == ["messages"]
    assert list(ToolNode([weather], messages_key="chat").invoke({"chat": [message]})) == ["chat"]


def test_N8_every_call_is_answered_whatever_fails_on_the_way() -> None:
    class Rude(Exception):
        def __str__(self) -> str:
            raise ValueError

    @tool
    def rude() -> str:
        """Raise what cannot be told."""
        raise Rude

    calls: list[tuple[str, Any]] = [
        ("rude", {}),
        ("crash", {}),
        ("nosuch", {}),
        ("weather", "{"),
        ("weather", {"days": "x"}),
        ("weather", {}),
    ]
    answers = _answers(ToolNode([weather, crash, rude]), *calls)
    assert [answer.tool_call_id for answer in answers] == [f"c{i}" for i in range(6)]
    assert [answer.status for answer in answers] == ["error"] * 5 + ["success"]
    assert all(answer.content for answer in answers)


def test_N8_a_listener_or_handler_that_fails_costs_no_answer() -> None:
    def listener(_: object) -> None:
        raise RuntimeError

    def handler(_: Exception) -> str:
        raise RuntimeError

    node = ToolNode([crash], listener=listener, handle_tool_errors=handler)
    assert _answers(node, ("crash", {}))[0].status == "error"


def test_N9_true_tells_the_model() -> None:
    answer = _one({"text": "kaput"}, "crash")
    assert "RuntimeError: kaput" in str(answer.content)
    assert answer.outcome is not None
    assert answer.outcome.kind == "exception"


def test_N9_false_lets_the_tools_own_exception_out_after_the_others_have_ended() -> None:
    error = ToolException("stop")
    done = threading.Event()

    @tool
    def stop() -> str:
        """Stop."""
        raise error

    @tool
    def slow() -> str:
        """Take a little."""
        time.sleep(0.02)
        done.set()
        return "done"

    node = ToolNode([stop, slow], handle_tool_errors=False)
    with pytest.raises(ToolException) as caught:
        _answers(node, ("stop", {}), ("slow", {}))
    assert caught.value is error
    assert done.is_set()
    assert [m.content for m in caught.value.tool_messages] == ["stop", "done"]  # type: ignore[attr-defined]


def test_N9_false_still_answers_what_the_model_did_wrong() -> None:
    node = ToolNode([weather], handle_tool_errors=False)
    answers = _answers(node, ("nosuch", {}), ("weather", "{"), ("weather", {"days": "x"}))
    assert [answer.status for answer in answers] == ["error"] * 3


def _saw(error: BaseException) -> str:
    return f"saw {error}"


@pytest.mark.parametrize(
    ("rule", "told"),
    [("fixed", "fixed"), (_saw, "saw boom")],
)
def test_N9_a_text_or_a_function_makes_the_words(rule: Any, told: str) -> None:
    assert _answers(ToolNode([crash], handle_tool_errors=rule), ("crash", {}))[0].content == told


def test_N9_exception_types_limit_the_telling() -> None:
    assert "boom" in str(_answers(ToolNode([crash], handle_tool_errors=RuntimeError), ("crash", {}))[0].content)
    with pytest.raises(RuntimeError):
        _answers(ToolNode([crash], handle_tool_errors=(KeyError,)), ("crash", {}))


@pytest.mark.parametrize("rule", [5, None, "", (), (int,), BaseException, ["a"]])
def test_N9_a_rule_that_is_none_is_refused_when_the_node_is_built(rule: Any) -> None:
    with pytest.raises(OptionError, match="handle_tool_errors"):
        ToolNode([weather], handle_tool_errors=rule)


def test_N9_a_node_needs_a_tool_and_names_are_unique() -> None:
    with pytest.raises(OptionError, match="at least one tool"):
        ToolNode([])
    with pytest.raises(ToolDefinitionError, match="two tools have this name"):
        ToolNode([weather, weather])


def test_N9_name_tags_and_tools_can_be_asked_for() -> None:
    node = ToolNode([weather], name="t", tags=["a"])
    assert (node.name, node.tags, list(node.tools_by_name)) == ("t", ("a",), ["weather"])


def test_N10_an_unknown_name_is_answered_with_near_names_and_the_list() -> None:
    text = str(_one({}, "wether").content)
    assert "'weather'" in text
    assert "crash" in text


def test_N10_the_list_of_names_is_bounded() -> None:
    tools = [tool(f"tool_{index}")(lambda: "x") for index in range(100)]
    (answer,) = _answers(ToolNode(tools), ("nothing_like_it", {}))
    assert "and 80 more" in str(answer.content)
    assert len(str(answer.content)) < 1_000


@pytest.mark.parametrize("name", ["weather ", " Weather", "functions.weather", "WEATHER"])
def test_N10_harmless_noise_in_a_name_is_read_and_recorded(name: str) -> None:
    answer = _one({"city": "Rome"}, name)
    assert (answer.content, answer.name) == ("Rome 1", "weather")
    assert answer.outcome is not None
    assert answer.outcome.repairs


def test_N10_a_destructive_tool_runs_by_its_exact_name_only() -> None:
    @tool(destructive=True)
    def wipe_disk() -> str:
        """Wipe."""
        return "gone"

    assert _answers(ToolNode([wipe_disk]), ("Wipe-Disk", {}))[0].status == "error"


def test_N11_calls_run_in_parallel_and_answers_keep_call_order() -> None:
    barrier = threading.Barrier(3)

    @tool
    def meet(n: int) -> int:
        """Wait for the others."""
        barrier.wait(5)
        return n

    answers = _answers(ToolNode([meet]), *[("meet", {"n": n}) for n in (3, 1, 2)])
    assert [answer.content for answer in answers] == ["3", "1", "2"]


def test_N11_an_exclusive_tool_runs_alone() -> None:
    running: list[str] = []
    log: list[tuple[str, tuple[str, ...]]] = []

    async def body(name: str) -> str:
        running.append(name)
        await asyncio.sleep(0.005)
        log.append((name, tuple(running)))
        running.remove(name)
        return name

    @tool
    async def free(name: str) -> str:
        """Run with others."""
        return await body(name)

    @tool(exclusive=True)
    async def alone(name: str) -> str:
        """Run alone."""
        return await body(name)

    order = [("free", "a"), ("free", "b"), ("alone", "x"), ("free", "c"), ("free", "d")]
    answers = _answers(ToolNode([free, alone]), *[(name, {"name": value}) for name, value in order])
    assert [answer.content for answer in answers] == ["a", "b", "x", "c", "d"]
    assert ("x", ("x",)) in log
    assert [name for name, _ in log].index("x") == 2


@pytest.mark.parametrize("where", ["node", "config", "tool"])
def test_N11_the_number_that_run_at_a_time_can_be_limited(where: str) -> None:
    running = 0
    peak = 0

    @tool(concurrency=2 if where == "tool" else None)
    async def work(n: int) -> int:
        """Work."""
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0.002)
        running -= 1
        return n

    node = ToolNode([work], max_concurrency=2 if where == "node" else None)
    turn = _turn(*[("work", {"n": n}) for n in range(7)])
    answers = node.invoke([turn], {"max_concurrency": 2} if where == "config" else None)
    assert [answer.content for answer in answers] == [str(n) for n in range(7)]
    assert peak == 2


def test_N12_ids_are_copied_and_only_made_where_they_are_missing_or_repeated() -> None:
    calls = [
        {"id": "same", "name": "weather", "args": {"city": "A"}},
        {"id": "same", "name": "weather", "args": {"city": "B"}},
        {"id": None, "name": "weather", "args": {"city": "C"}},
        {"id": "other", "name": "weather", "args": {"city": "D"}},
    ]
    message = AIMessage(tool_calls=calls)
    answers = NODE.invoke([message])
    assert [answer.content for answer in answers] == ["A 1", "B 1", "C 1", "D 1"]
    assert [answer.tool_call_id for answer in answers] == [call["id"] for call in message.tool_calls]
    assert answers[0].tool_call_id == "same"
    assert answers[3].tool_call_id == "other"
    assert len({answer.tool_call_id for answer in answers}) == 4


def test_N12_calls_that_are_answered_already_are_not_run_again() -> None:
    runs: list[str] = []

    @tool
    def pay(to: str) -> str:
        """Pay."""
        runs.append(to)
        return f"paid {to}"

    turn = _turn(("pay", {"to": "a"}), ("pay", {"to": "b"}))
    answers = ToolNode([pay]).invoke([turn, ToolMessage("paid a", tool_call_id="c0")])
    assert runs == ["b"]
    assert [answer.tool_call_id for answer in answers] == ["c1"]


@pytest.mark.parametrize("is_async", [False, True])
def test_N13_a_slow_tool_is_answered_in_time(*, is_async: bool) -> None:
    release = threading.Event()

    @tool(timeout=0.05)
    def hang() -> str:
        """Hang."""
        release.wait(20)
        return "late"

    @tool("hang", timeout=0.05)
    async def ahang() -> str:
        """Hang."""
        await asyncio.sleep(20)
        return "late"

    started = time.perf_counter()
    hanging, fine = _answers(ToolNode([ahang if is_async else hang, weather]), ("hang", {}), ("weather", {}))
    release.set()
    assert time.perf_counter() - started < 15
    assert hanging.outcome is not None
    assert hanging.outcome.kind == "timeout"
    assert "0.05 seconds" in str(hanging.content)
    assert ("still be running" in str(hanging.content)) is not is_async
    assert fine.content == "nowhere 1"


def test_N14_every_attempt_can_be_found_in_the_log_by_the_calls_id(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="surehand")
    _answers(ToolNode([_flaky(2, ToolException("busy", retryable=True)), weather]), ("flaky", {}), ("weather", {}))
    mine = [record for record in caplog.records if getattr(record, "tool_call_id", "") == "c0"]
    assert [record.getMessage() for record in mine if "attempt" in record.getMessage()] == [
        f"c0: attempt {number} of tool flaky" for number in (1, 2, 3)
    ]


def test_N14_at_the_default_level_a_failure_is_logged_with_class_place_and_error_id_but_no_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @tool
    def log_in() -> str:
        """Log in, with a password that the model does not know."""
        raise RuntimeError("password=hunter2")

    (answer,) = _answers(ToolNode([log_in]), ("log_in", {}))
    (record,) = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert answer.outcome is not None
    assert str(answer.outcome.error_id) in record.getMessage()
    assert "RuntimeError at " in record.getMessage()
    assert "hunter2" not in caplog.text
    assert "hunter2" not in str(answer.content)


@dataclasses.dataclass
class _State:
    messages: list[Any]


class _ModelState(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    messages: list[Any]


@pytest.mark.parametrize("kind", [_State, _ModelState])
def test_N7_states_may_be_dataclasses_and_models(kind: Any) -> None:
    update = NODE.invoke(kind(messages=[_turn(("weather", {}))]))
    assert [message.content for message in update["messages"]] == ["nowhere 1"]


@pytest.mark.parametrize("state", [[], {}, {"messages": []}, {"messages": [HumanMessage("hi")]}, 3, "text", None])
def test_N7_an_input_without_an_ai_message_is_refused(state: Any) -> None:
    with pytest.raises(InputError):
        NODE.invoke(state)
