"""OpenTelemetry: one span for each tool call.

    spans = OpenTelemetry()
    node = ToolNode([search], middleware=[spans], listener=spans.listen)

The names are those of OpenTelemetry's semantic conventions for generative AI, as of its own repository for them; all of
them are still marked as in development there. Names of our own begin with ``surehand.``.

A span says that a call happened, how it ended and how long it took, and nothing of what a tool, a model or a host
wrote: no exception's text, no stack, no argument, no result. More people read traces than logs, and they are kept for
longer.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

from surehand.calls import AsyncRun, ToolCallRequest, render_value, shorten
from surehand.calls.redaction import Redactor, secret_texts
from surehand.errors import MissingExtraError
from surehand.events import CallFinished, CallProgressed, CallRetried, Event
from surehand.messages import ToolMessage
from surehand.outcomes import FailureKind, Outcome
from surehand.policy import check_methods, flag
from surehand.wording import one_line

try:
    from opentelemetry import trace
    from opentelemetry.trace import Span, SpanKind, StatusCode, TracerProvider
except ImportError as error:
    raise MissingExtraError(feature="OpenTelemetry", package="opentelemetry-api", extra="otel") from error

__all__ = ["OpenTelemetry"]

_OPERATION: Final = "execute_tool"
_MAX_VALUE: Final = 10_000
"""The most characters of an argument or a result in a span."""
_NANOSECONDS: Final = 1_000_000_000

_Attributes: TypeAlias = dict[str, str | int | float]


@dataclass(frozen=True, slots=True)
class _Open:
    """A call's span, as it is found by what happens while the call runs."""

    call_id: str
    tool_name: str
    span: Span
    redactor: Redactor | None
    """Cleans what is recorded of the tool's values; None where nothing is."""

    def is_of(self, event: Event) -> bool:
        """Whether the event is about this call; a tool that runs calls of its own may be inside of another."""
        return (event.call_id, event.tool_name) == (self.call_id, self.tool_name)


_open: ContextVar[_Open | None] = ContextVar("surehand_otel_span", default=None)


class OpenTelemetry:
    """A middleware and a listener that make a span of each tool call.

    As a middleware it opens the span before the call is authorised and ends it with the answer. Meanwhile the span is
    the current one, on the loop and in the thread of a synchronous tool, so that spans which the tool opens are its
    children, and it is itself a child of its caller's. A tool in a process of its own does not see it.

    As a listener it adds an event for each retry and each progress, and a span for each call that never came as far as
    the middleware, such as one with invalid arguments.

    Put it first among the middlewares, so that the span holds what the others do.

    Args:
        tracer_provider: Makes the tracer; None for the global one.
        record_arguments: Whether the arguments of a call are put into its span, without known secrets.
        record_results: Whether results and progress are, without known secrets. What a failure says never is.

    Raises:
        OptionError: An option has a value that cannot be meant.
    """

    never_waits: ClassVar = True

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        record_arguments: bool = False,
        record_results: bool = False,
    ) -> None:
        check_methods("tracer_provider", tracer_provider, "get_tracer")
        self._tracer = trace.get_tracer("surehand", tracer_provider=tracer_provider)
        self._record_arguments = flag("record_arguments", record_arguments)
        self._record_results = flag("record_results", record_results)

    async def awrap_tool_call(self, request: ToolCallRequest, run: AsyncRun, /) -> ToolMessage:
        """The call's answer, with a span around its making."""
        call_id = request.tool_call["id"]
        redactor = self._redactor(request)
        attributes = _attributes(request.tool.name, call_id)
        if redactor is not None and self._record_arguments:
            attributes["gen_ai.tool.call.arguments"] = _written(request.tool_call["args"], redactor)
        with self._span(request.tool.name, attributes) as span:
            request.shared[self, call_id] = True  # the end is announced later, and elsewhere if the call is cancelled
            before = _open.get()
            _open.set(_Open(call_id, request.tool.name, span, redactor))
            try:
                answer = await run(request)
            finally:
                _open.set(before)
            self._describe(span, answer, redactor)
        return answer

    def listen(self, event: Event) -> None:
        """Take note of an event; give this to the node as its ``listener``, or call it from your own."""
        if isinstance(event, CallFinished):
            if (self, event.call_id) not in event.shared:
                self._tell_of(event)
            return
        found = _open.get()
        if found is not None and found.is_of(event) and found.span.is_recording():
            self._add_event(found, event)

    def _redactor(self, request: ToolCallRequest) -> Redactor | None:
        if not (self._record_arguments or self._record_results):
            return None
        injections, arguments = request.tool.injections, request.arguments
        return Redactor(secret_texts(injections, arguments, state=request.state, context=request.context))

    @contextmanager
    def _span(self, tool: str, attributes: _Attributes) -> Generator[Span]:
        """The current span for a while; of an exception that leaves it, it holds the class alone."""
        name = f"{_OPERATION} {tool}"
        with self._tracer.start_as_current_span(
            name, kind=SpanKind.INTERNAL, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield span
            except BaseException as error:
                _fail(span, _class_of(error))
                raise

    def _describe(self, span: Span, answer: ToolMessage, redactor: Redactor | None) -> None:
        outcome = answer.outcome or Outcome(kind=FailureKind.EXCEPTION if answer.status == "error" else None)
        span.set_attributes(_ending(outcome))
        if outcome.kind is not None:
            _fail(span, str(outcome.kind))
        elif redactor is not None and self._record_results:
            span.set_attribute("gen_ai.tool.call.result", _written(answer.text, redactor))

    def _tell_of(self, event: CallFinished) -> None:
        """Make a span of a call that is over."""
        outcome = event.outcome
        is_unknown = outcome.kind is FailureKind.UNKNOWN_TOOL
        # A name that the model made up would make a kind of span of its own.
        name = _OPERATION if is_unknown else f"{_OPERATION} {event.tool_name}"
        took = outcome.queued_s + outcome.duration_s
        span = self._tracer.start_span(
            name,
            kind=SpanKind.INTERNAL,
            attributes={**_attributes(event.tool_name, event.call_id), **_ending(outcome)},
            start_time=int((event.at - took) * _NANOSECONDS),
        )
        if outcome.kind is not None:
            _fail(span, str(outcome.kind))
        span.end(int(event.at * _NANOSECONDS))

    def _add_event(self, found: _Open, event: Event) -> None:
        if isinstance(event, CallRetried):
            attributes: _Attributes = {
                "surehand.attempt": event.attempt,
                "surehand.delay_s": event.delay_s,
                "error.type": _class_of(event.error),
            }
            found.span.add_event("surehand.retry", attributes)
        elif isinstance(event, CallProgressed):
            is_told = found.redactor is not None and self._record_results
            progress = _written(event.progress, found.redactor) if is_told and found.redactor else None
            found.span.add_event("surehand.progress", {} if progress is None else {"surehand.progress": progress})


def _attributes(tool: str, call_id: str) -> _Attributes:
    return {
        "gen_ai.operation.name": _OPERATION,
        "gen_ai.tool.name": one_line(tool),
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": one_line(call_id),
    }


def _ending(outcome: Outcome) -> _Attributes:
    attributes: _Attributes = {"surehand.attempts": outcome.attempts}
    return attributes if outcome.error_id is None else {**attributes, "surehand.error_id": outcome.error_id}


def _fail(span: Span, error_type: str) -> None:
    span.set_attribute("error.type", error_type)
    span.set_status(StatusCode.ERROR)


def _class_of(error: BaseException) -> str:
    return str(FailureKind.CANCELLED) if isinstance(error, asyncio.CancelledError) else type(error).__qualname__


def _written(value: Any, redactor: Redactor) -> str:
    content = render_value(value, max_output=None).content
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return shorten(redactor.text(shorten(text, _MAX_VALUE * 4)), _MAX_VALUE, advice="")
