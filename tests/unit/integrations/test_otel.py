"""One span for each tool call, in its place among the caller's spans, and with nothing in it that anybody wrote."""

from __future__ import annotations

import asyncio
import contextvars
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import SecretStr

from support.process_tools import double
from support.programs import run_python
from surehand import (
    AIMessage,
    InjectedToolArg,
    MissingExtraError,
    OptionError,
    RetryPolicy,
    ToolContext,
    ToolException,
    ToolMessage,
    ToolNode,
    ToolReturn,
    create_agent,
    tool,
)
from surehand.events import Event
from surehand.integrations.otel import OpenTelemetry
from surehand.testing import FakeClock, ScriptedModel

SECRET = "hunter2-hunter2"


class Traces:
    """A tracer provider that keeps its spans in memory."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = self.provider.get_tracer("test")

    def node(self, *tools: Any, record: bool = False, **options: Any) -> ToolNode:
        """A node whose calls are traced."""
        spans = OpenTelemetry(tracer_provider=self.provider, record_arguments=record, record_results=record)
        return ToolNode(tools, middleware=[spans], listener=spans.listen, **options)

    def spans(self) -> list[ReadableSpan]:
        """The spans that have ended, in the order of their ends."""
        return list(self._exporter.get_finished_spans())

    def one(self) -> ReadableSpan:
        """The only span."""
        (span,) = self.spans()
        return span

    def named(self, name: str) -> list[ReadableSpan]:
        """The spans of a name."""
        return [span for span in self.spans() if span.name == name]


@pytest.fixture
def traces() -> Iterator[Traces]:
    yield (made := Traces())
    made.provider.shutdown()


def _turn(*calls: tuple[str, dict[str, Any]]) -> AIMessage:
    return AIMessage(tool_calls=[{"id": f"c{i}", "name": name, "args": args} for i, (name, args) in enumerate(calls)])


def _attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def _everything(spans: list[ReadableSpan]) -> str:
    return "\n".join(span.to_json() for span in spans)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
async def fail(text: str) -> str:
    """Fail."""
    raise ConnectionError(f"postgresql://app:{SECRET}@db refused {text}")


def test_a_span_has_the_names_of_the_conventions(traces: Traces) -> None:
    traces.node(add).invoke([_turn(("add", {"a": 2, "b": 3}))])

    span = traces.one()
    assert (span.name, span.kind, span.status.status_code) == (
        "execute_tool add",
        trace.SpanKind.INTERNAL,
        trace.StatusCode.UNSET,
    )
    assert _attributes(span) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "add",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "c0",
        "surehand.attempts": 1,
    }


def test_a_failure_is_known_by_its_kind_and_its_error_id_alone(traces: Traces) -> None:
    (answer,) = traces.node(fail).invoke([_turn(("fail", {"text": "the word"}))])

    span = traces.one()
    assert span.status.status_code is trace.StatusCode.ERROR
    assert _attributes(span)["error.type"] == "exception"
    assert _attributes(span)["surehand.error_id"] == answer.outcome.error_id
    assert [word for word in (SECRET, "the word", "refused", "Traceback") if word in _everything([span])] == []
    assert not span.events


def test_an_exception_that_is_let_out_leaves_its_class_alone(traces: Traces) -> None:
    with pytest.raises(ConnectionError):
        traces.node(fail, handle_tool_errors=False).invoke([_turn(("fail", {"text": "x"}))])

    assert _attributes(traces.one())["error.type"] == "ConnectionError"
    assert SECRET not in _everything(traces.spans())


@pytest.mark.parametrize(
    ("name", "args", "span_name", "kind"),
    [
        ("add", {"a": "two"}, "execute_tool add", "invalid_arguments"),
        ("made_up", {}, "execute_tool", "unknown_tool"),
    ],
)
def test_a_call_that_was_not_run_has_a_span_too(
    traces: Traces, name: str, args: dict[str, Any], span_name: str, kind: str
) -> None:
    traces.node(add).invoke([_turn((name, args))])

    span = traces.one()
    assert (span.name, _attributes(span)["error.type"], _attributes(span)["surehand.attempts"]) == (span_name, kind, 0)


def test_a_call_that_another_middleware_answers_has_a_span_too(traces: Traces) -> None:
    spans = OpenTelemetry(tracer_provider=traces.provider)

    def answered(request: Any, run: Any) -> str:
        return "from elsewhere"

    ToolNode([add], middleware=[answered, spans], listener=spans.listen).invoke([_turn(("add", {"a": 1, "b": 2}))])
    assert _attributes(traces.one())["surehand.attempts"] == 0


def test_every_call_of_a_turn_has_one_span_whatever_becomes_of_it(traces: Traces) -> None:
    calls = [("add", {"a": n, "b": 1}) for n in range(20)] + [("add", {}), ("nobody", {}), ("fail", {"text": "x"})]
    traces.node(add, fail).invoke([_turn(*calls)])

    ids = [_attributes(span)["gen_ai.tool.call.id"] for span in traces.spans()]
    assert sorted(ids) == sorted(f"c{n}" for n in range(len(calls)))


@tool
async def waiting() -> None:
    """Wait until it is cancelled."""
    await asyncio.Event().wait()


@tool(timeout=0.02)
async def stubborn() -> str:
    """Swallow the first cancellation, and go on for longer than anybody waits."""
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await asyncio.sleep(0)
    return "late"


def test_calls_that_a_fatal_exception_cancels_have_one_span_each(traces: Traces) -> None:
    both = asyncio.Barrier(2)

    @tool
    async def waiting() -> None:
        """Wait until it is cancelled."""
        await both.wait()
        await asyncio.Event().wait()

    @tool
    async def deadly() -> None:
        """End the turn."""
        await both.wait()
        raise PermissionError(SECRET)

    with pytest.raises(PermissionError):
        traces.node(waiting, deadly, fatal=PermissionError).invoke([_turn(("waiting", {}), ("deadly", {}))])

    kinds = {span.name: _attributes(span)["error.type"] for span in traces.spans()}
    assert len(traces.spans()) == 2
    assert kinds == {"execute_tool waiting": "cancelled", "execute_tool deadly": "PermissionError"}


def test_a_body_that_swallows_its_cancellation_has_one_span_too(traces: Traces) -> None:
    traces.node(stubborn).invoke([_turn(("stubborn", {}))])
    assert len(traces.spans()) == 1


def test_a_tool_in_a_process_of_its_own_has_a_span(traces: Traces) -> None:
    apart = double.with_config(isolation="process")
    (answer,) = traces.node(apart).invoke([_turn(("double", {"number": 4}))])
    assert (answer.text, traces.one().name) == ("8", "execute_tool double")


def _opening(traces: Traces, *, is_async: bool, **options: Any) -> Any:
    """A tool that opens a span of its own."""

    def sync_body() -> str:
        with traces.tracer.start_as_current_span("inside"):
            return threading.current_thread().name

    async def async_body() -> str:
        with traces.tracer.start_as_current_span("inside"):
            await asyncio.sleep(0)
        return ""

    return tool("opening", description="Open a span.", **options)(async_body if is_async else sync_body)


def _is_inside(span: ReadableSpan, outer: ReadableSpan) -> bool:
    return span.parent is not None and outer.context is not None and span.parent.span_id == outer.context.span_id


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    ("is_async", "options"), [(True, {}), (False, {}), (False, {"timeout": None}), (True, {"timeout": None})]
)
@pytest.mark.parametrize("is_caller_async", [False, True])
def test_a_tools_own_spans_are_inside_its_callss_and_that_is_inside_the_callers(
    traces: Traces, count: int, *, is_async: bool, options: dict[str, Any], is_caller_async: bool
) -> None:
    node = traces.node(_opening(traces, is_async=is_async, **options))
    calls: list[tuple[str, dict[str, Any]]] = [("opening", {})] * count
    turn = [_turn(*calls)]

    async def main() -> None:
        with traces.tracer.start_as_current_span("caller"):
            await node.ainvoke(turn)

    if is_caller_async:
        asyncio.run(main())
    else:
        with traces.tracer.start_as_current_span("caller"):
            node.invoke(turn)

    (caller,) = traces.named("caller")
    opened, inner = traces.named("execute_tool opening"), traces.named("inside")
    assert (len(opened), len(inner)) == (count, count)
    assert all(_is_inside(call, caller) for call in opened)
    assert all(any(_is_inside(span, call) for call in opened) for span in inner)
    assert len({span.parent.span_id for span in inner if span.parent}) == count


def test_the_callers_current_span_is_what_it_was_before(traces: Traces) -> None:
    with traces.tracer.start_as_current_span("caller") as caller:
        traces.node(add).invoke([_turn(("add", {"a": 1, "b": 2}))])
        assert trace.get_current_span() is caller
    assert not trace.get_current_span().get_span_context().is_valid


def test_an_agents_calls_are_inside_of_what_runs_it(traces: Traces) -> None:
    spans = OpenTelemetry(tracer_provider=traces.provider)
    model = ScriptedModel([_turn(("add", {"a": 1, "b": 2})), AIMessage("3")])
    with traces.tracer.start_as_current_span("caller"):
        create_agent(model, [add], middleware=[spans]).invoke("1 + 2?")

    assert _is_inside(traces.named("execute_tool add")[0], traces.named("caller")[0])


def test_an_agent_as_a_tool_has_its_calls_inside_its_own(traces: Traces) -> None:
    spans = OpenTelemetry(tracer_provider=traces.provider)

    @tool
    def helper(question: str) -> str:
        """Ask another agent, whose calls have the same ids."""
        inner = ToolNode([add], middleware=[spans], listener=spans.listen)
        inner.invoke([_turn(("add", {"a": 1, "b": "x"}))])
        return str(inner.invoke([_turn(("add", {"a": 1, "b": 2}))])[0].content)

    outer = ToolNode([helper], middleware=[spans], listener=spans.listen)
    outer.invoke([_turn(("helper", {"question": "?"}))])
    assert len(traces.named("execute_tool add")) == 2
    assert all(_is_inside(span, traces.named("execute_tool helper")[0]) for span in traces.named("execute_tool add"))


def test_retries_and_progress_are_events_of_the_span(traces: Traces) -> None:
    attempts: list[int] = []

    @tool(retry=RetryPolicy(max_attempts=2, initial_interval=1, jitter=False))
    async def flaky(context: ToolContext) -> str:
        """Fail once."""
        attempts.append(context.attempt)
        context.progress(f"at {SECRET}")
        if len(attempts) == 1:
            raise ToolException(f"busy {SECRET}", retryable=True)
        return "ok"

    traces.node(flaky, clock=FakeClock()).invoke([_turn(("flaky", {}))])
    span = traces.one()
    assert [event.name for event in span.events] == ["surehand.progress", "surehand.retry", "surehand.progress"]
    assert dict(span.events[1].attributes or {}) == {
        "surehand.attempt": 1,
        "surehand.delay_s": 1.0,
        "error.type": "ToolException",
    }
    assert _attributes(span)["surehand.attempts"] == 2
    assert SECRET not in _everything([span])


@tool
def login(user: str, password: SecretStr, token: Annotated[str, InjectedToolArg], context: ToolContext) -> Any:
    """Log in, and tell more than it should."""
    context.progress({"user": user, "by": password.get_secret_value()})
    return ToolReturn({"user": user, "seen": [password.get_secret_value(), token]})


def test_arguments_results_and_progress_are_recorded_when_asked_for_and_without_known_secrets(traces: Traces) -> None:
    arguments = {"user": "ada", "password": SECRET}
    node = traces.node(login, record=True)
    (answer,) = node.invoke([_turn(("login", arguments))], context={"token": "tok-0123456789"})

    span = traces.one()
    assert SECRET in answer.text  # what a tool returns is its own affair
    assert json.loads(_attributes(span)["gen_ai.tool.call.arguments"]) == {"user": "ada", "password": "[redacted]"}
    assert json.loads(_attributes(span)["gen_ai.tool.call.result"]) == {"user": "ada", "seen": ["[redacted]"] * 2}
    assert json.loads(str((span.events[0].attributes or {})["surehand.progress"]))["by"] == "[redacted]"


def test_what_is_recorded_is_bounded(traces: Traces) -> None:
    @tool
    def long(text: str) -> str:
        """Say it all."""
        return text * 20

    traces.node(long, record=True).invoke([_turn(("long", {"text": "word " * 10_000}))])
    span = traces.one()
    assert len(_attributes(span)["gen_ai.tool.call.arguments"]) <= 10_000
    assert len(_attributes(span)["gen_ai.tool.call.result"]) <= 10_000


def test_a_failures_text_is_never_recorded(traces: Traces) -> None:
    traces.node(fail, record=True).invoke([_turn(("fail", {"text": "x"}))])
    assert "gen_ai.tool.call.result" not in _attributes(traces.one())
    assert SECRET not in _everything(traces.spans())


def test_a_cancelled_call_has_a_span_that_says_so(traces: Traces) -> None:
    started = asyncio.Event()

    @tool
    async def forever() -> None:
        """Wait."""
        started.set()
        await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.ensure_future(traces.node(forever).ainvoke([_turn(("forever", {}))]))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert _attributes(traces.one())["error.type"] == "cancelled"


def test_progress_after_the_end_is_no_event_of_a_span_that_is_over(
    traces: Traces, caplog: pytest.LogCaptureFixture
) -> None:
    kept: list[ToolContext] = []

    @tool
    def keep(context: ToolContext) -> str:
        """Keep the context."""
        kept.append(context)
        return "kept"

    spans = OpenTelemetry(tracer_provider=traces.provider)
    contexts: list[contextvars.Context] = []

    def listener(event: Event) -> None:
        contexts.append(contextvars.copy_context())
        spans.listen(event)

    ToolNode([keep], middleware=[spans], listener=listener).invoke([_turn(("keep", {}))])
    for context in contexts[:]:
        context.run(kept[0].progress, "late")
    assert not traces.one().events
    assert caplog.text == ""


def test_used_as_a_listener_alone_it_makes_spans_that_are_as_long_as_the_calls(traces: Traces) -> None:
    spans = OpenTelemetry(tracer_provider=traces.provider)

    @tool
    async def slow() -> str:
        """Take a while."""
        await asyncio.sleep(0.02)
        return "done"

    ToolNode([slow], listener=spans.listen).invoke([_turn(("slow", {}))])
    span = traces.one()
    assert span.start_time is not None
    assert span.end_time is not None
    assert span.end_time - span.start_time >= 15_000_000


def test_it_costs_nothing_where_nobody_records() -> None:
    spans = OpenTelemetry()
    (answer,) = ToolNode([add], middleware=[spans], listener=spans.listen).invoke([_turn(("add", {"a": 1, "b": 2}))])
    assert isinstance(answer, ToolMessage)
    assert answer.content == "3"


@pytest.mark.parametrize(
    "options", [{"tracer_provider": 3}, {"record_arguments": "yes"}, {"record_results": None}], ids=str
)
def test_options_that_cannot_be_meant_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        OpenTelemetry(**options)


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.delitem(sys.modules, "surehand.integrations.otel")
    with pytest.raises(MissingExtraError, match=r"surehand\[otel\]"):
        __import__("surehand.integrations.otel")


def test_surehand_imports_opentelemetry_only_when_asked_to(tmp_path: Path) -> None:
    program = "import sys; from surehand import *; import surehand.testing; print('opentelemetry' in sys.modules)"
    assert run_python("-c", program, cwd=tmp_path).stdout == "False\n"
