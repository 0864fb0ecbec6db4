"""Secrets are planted wherever a call could pick one up; none comes out where people or models read.

Each plant is a call that fails, or nearly so, with a secret at hand. Looked at is everything that leaves: the tool
messages with their outcomes and artifacts, their stored form, events as they are printed, every log line from WARNING
up, of whatever logger, what is written to the terminal, and the spans. The developer still finds the failure: the log
names its class, its place and the error id that the model was told.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, NoReturn

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import AfterValidator, BaseModel, SecretStr

from support.secret_tools import PROCESS_SECRET, failing_apart
from surehand import (
    AIMessage,
    InjectedState,
    InjectedStore,
    InjectedToolArg,
    InMemoryStore,
    MemoryJournal,
    RetryPolicy,
    Store,
    Tell,
    ToolContext,
    ToolException,
    ToolMessage,
    ToolNode,
    message_to_dict,
    tool,
)
from surehand.events import CallFinished, Event, LateResult
from surehand.integrations.otel import OpenTelemetry
from surehand.testing import FakeClock

HERE = "test_secrets_stay_inside.py"


@dataclass(kw_only=True)
class Scene:
    """A call, and what stands around it."""

    tool: Any
    args: dict[str, Any] = field(default_factory=dict[str, Any])
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    """Of the node."""
    state: dict[str, Any] = field(default_factory=dict[str, Any])
    context: Any = None
    environ: dict[str, str] = field(default_factory=dict[str, str])
    listener: Callable[[Event], None] | None = None
    raises: str | None = "ValueError"
    """The class that the log has to name; None where nothing was raised, or not by the host's code."""
    place: str = HERE
    """The file that the log has to name."""
    is_success: bool = False
    release: threading.Event | None = None
    """Lets a body go on that has been given up; its end is waited for."""


Plant = Callable[[str], Scene]
PLANTS: dict[str, tuple[str, Plant]] = {}


def plant(secret: str) -> Callable[[Plant], Plant]:
    """Note a scene under its name, with the secret that is planted in it."""

    def note(make: Plant) -> Plant:
        PLANTS[make.__name__] = (secret, make)
        return make

    return note


def _raising(error: Callable[[], BaseException], **options: Any) -> Any:
    """A tool that raises."""

    @tool("work", description="Work.", **options)
    def work() -> NoReturn:
        raise error()

    return work


def _said(text: str, **scene: Any) -> Scene:
    """A scene in which a body raises a ValueError with a text."""
    return Scene(tool=_raising(partial(ValueError, text)), **scene)


# -- what the host injects --------------------------------------------------------------------------------------------


@plant("Liv Ullmann-Norby")
def an_injected_argument(secret: str) -> Scene:
    @tool
    def work(who: Annotated[str, InjectedToolArg]) -> NoReturn:
        """Work."""
        raise ValueError(f"no account of {who}")

    return Scene(tool=work, context={"who": secret})


@plant("Storgata 15, 0184")
def a_text_inside_an_injected_argument(secret: str) -> Scene:
    @tool
    def work(who: Annotated[dict[str, Any], InjectedToolArg]) -> NoReturn:
        """Work."""
        raise ValueError(f"cannot reach {who}")

    return Scene(tool=work, context={"who": {"addresses": [{"line": secret}]}})


@plant("tenant-0042-north")
def a_field_of_the_state(secret: str) -> Scene:
    @tool
    def work(tenant: Annotated[str, InjectedState("tenant")]) -> NoReturn:
        """Work."""
        raise ValueError(f"{tenant} is locked")

    return Scene(tool=work, state={"tenant": secret})


@plant("correct horse battery")
def a_secret_in_the_state(secret: str) -> Scene:
    @tool
    def work(state: Annotated[dict[str, Any], InjectedState]) -> NoReturn:
        """Work."""
        raise ValueError(f"state was {dict(state['login'])}")

    return Scene(tool=work, state={"login": {"db_password": secret}})


@dataclass
class Deps:
    """The host's own object."""

    api_token: str
    settings: Any = None

    @property
    def session_secret(self) -> str:
        """Made when it is asked for."""
        return self.api_token[::-1]


@plant("tkn.opaque.value.of.the.host")
def a_secret_of_the_context(secret: str) -> Scene:
    @tool
    def work(context: ToolContext[Deps]) -> NoReturn:
        """Work."""
        raise ValueError(f"refused {context.context.api_token}")

    return Scene(tool=work, context=Deps(secret))


@plant("drow.terces.a.si.siht")
def a_secret_that_the_context_makes(secret: str) -> Scene:
    @tool
    def work(context: ToolContext[Deps]) -> NoReturn:
        """Work."""
        raise ValueError(f"refused {context.context.session_secret}")

    return Scene(tool=work, context=Deps(secret[::-1]))


@plant("nested opaque value")
def a_secret_deep_in_the_context(secret: str) -> Scene:
    @tool
    def work(context: ToolContext[Deps]) -> NoReturn:
        """Work."""
        raise ValueError(f"refused {context.context.settings['mail']['smtp_password']}")

    return Scene(tool=work, context=Deps("x", settings={"mail": {"smtp_password": secret}}))


def _store(secret: str) -> InMemoryStore:
    store = InMemoryStore()
    store.put(("users", "bob"), "login", {"refresh_token": secret, "city": "Bergen"})
    return store


@plant("opaque value of the store")
def a_secret_in_the_store(secret: str) -> Scene:
    @tool
    def work(store: Annotated[Store, InjectedStore]) -> NoReturn:
        """Work."""
        item = store.get(("users", "bob"), "login")
        raise ValueError(f"refused {item}")

    return Scene(tool=work, options={"store": _store(secret)})


@plant("another value of the store")
def a_secret_in_the_store_of_the_context(secret: str) -> Scene:
    @tool
    async def work(context: ToolContext) -> NoReturn:
        """Work."""
        (item,) = await context.store.asearch(("users",))
        raise ValueError(f"refused {item.value['refresh_token']}")

    return Scene(tool=work, options={"store": _store(secret)})


# -- what the model sends, and must not be repeated -------------------------------------------------------------------


@plant("opensesame")
def a_secret_argument(secret: str) -> Scene:
    @tool
    def work(password: SecretStr) -> NoReturn:
        """Work."""
        raise ValueError(f"{password.get_secret_value()} is wrong")

    return Scene(tool=work, args={"password": secret})


class Logins(BaseModel):
    """Nested arguments."""

    pins: list[SecretStr]


@plant("4711x")
def a_short_secret_deep_in_the_arguments(secret: str) -> Scene:
    @tool
    def work(logins: Logins) -> NoReturn:
        """Work."""
        raise ValueError(f"pin {logins.pins[1].get_secret_value()} is wrong")

    return Scene(tool=work, args={"logins": {"pins": ["0000x", secret]}})


@plant("hunter2-of-the-validator")
def a_secret_in_the_words_of_a_validator(secret: str) -> Scene:
    def check(value: str) -> str:
        raise ValueError(f"not in postgresql://app:{secret}@db/main")

    @tool
    def work(city: Annotated[str, AfterValidator(check)]) -> None:
        """Work."""

    return Scene(tool=work, args={"city": "Bergen"}, raises=None)


@plant("hunter2-of-the-crash")
def a_secret_in_a_validator_that_fails(secret: str) -> Scene:
    def check(value: str) -> str:
        raise KeyError(secret)

    @tool
    def work(city: Annotated[str, AfterValidator(check)]) -> None:
        """Work."""

    return Scene(tool=work, args={"city": "Bergen"}, raises="KeyError")


# -- what lies about in the process -----------------------------------------------------------------------------------


@plant("value without a shape")
def a_secret_of_the_environment(secret: str) -> Scene:
    return _said(f"401 for {secret}", environ={"BILLING_API_KEY": secret})


@plant("pw.of.the.database")
def a_password_in_a_url_of_the_environment(secret: str) -> Scene:
    url = f"postgresql://app:{secret}@db/main"
    return _said(f"authentication failed for app with {secret}", environ={"DATABASE_URL": url})


@plant("alice.lidell")
def a_path_of_the_host(secret: str) -> Scene:
    return Scene(
        tool=_raising(partial(FileNotFoundError, 2, "No such file", f"/home/{secret}/app/settings.py")),
        raises="FileNotFoundError",
    )


# -- what looks like a secret -----------------------------------------------------------------------------------------


@plant("s3cr3t-of-the-url")
def a_password_in_a_url(secret: str) -> Scene:
    return _said(f"redis://:{secret}@cache:6379/0 refused")


@plant("AZa9_tokenTokenToken")
def a_bearer_token(secret: str) -> Scene:
    return _said(f"{{'Authorization': 'Bearer {secret}', 'Accept': '*/*'}} was refused")


@plant("b3BhcXVlLXZhbHVl")
def a_header_as_a_client_prints_it(secret: str) -> Scene:
    return _said(f"Request(headers=[(b'x-api-key', b'{secret}'), (b'accept', b'*/*')])")


@plant("38afes7a8-session")
def a_cookie(secret: str) -> Scene:
    return _said(f"Set-Cookie: sid={secret}; Path=/; HttpOnly")


@plant("sk-proj-Abcdefgh12345678Abcdefgh")
def a_key_of_a_model_provider(secret: str) -> Scene:
    return _said(f"Incorrect API key provided: {secret}.")


@plant("ghp_abcdefghijklmnopqrstuvwx1234")
def a_token_of_a_forge(secret: str) -> Scene:
    return _said(f"remote: bad credentials ({secret})")


@plant("AKIAIOSFODNN7EXAMPLE")
def a_key_of_a_cloud(secret: str) -> Scene:
    return _said(f"InvalidAccessKeyId {secret}")


@plant("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl")
def a_signed_token(secret: str) -> Scene:
    return _said(f"jwt expired: {secret}")


@plant("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC")
def a_private_key(secret: str) -> Scene:
    return _said(f"cannot load -----BEGIN PRIVATE KEY-----\n{secret}\n-----END PRIVATE KEY-----")


@plant("Zm9vYmFyYmF6cXV4Zm9vYmFy")
def a_connection_string(secret: str) -> Scene:
    return _said(f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={secret}==;EndpointSuffix=x")


@plant("a1B2c3d4e5f6signature")
def a_signed_url(secret: str) -> Scene:
    return _said(f"403 for https://a.blob.example.com/c?sv=2026&sig={secret}&se=2030")


class Client:
    """Prints what it was made with."""

    def __init__(self, key: str) -> None:
        self.key = key

    def __repr__(self) -> str:
        return f"Client(api_key={self.key!r})"


@plant("repr-of-a-client")
def an_object_that_shows_what_it_holds(secret: str) -> Scene:
    return _said(f"{Client(secret)} is closed")


# -- where exceptions carry more than their text ----------------------------------------------------------------------


@plant("text of the cause")
def the_cause_of_an_exception(secret: str) -> Scene:
    def error() -> BaseException:
        made = ValueError("the upload failed")
        made.__cause__ = OSError(secret)
        return made

    return Scene(tool=_raising(error))


@plant("text of the context")
def the_context_of_an_exception(secret: str) -> Scene:
    @tool
    def work() -> NoReturn:
        """Work."""
        try:
            raise OSError(secret)
        except OSError:
            raise ToolException("the upload failed")  # noqa: B904 - the context is what is tested

    return Scene(tool=work, raises="ToolException")


@plant("text of a note")
def a_note_of_an_exception(secret: str) -> Scene:
    def error() -> BaseException:
        made = ValueError("the upload failed")
        made.add_note(secret)
        return made

    return Scene(tool=_raising(error))


@plant("pw-in-a-leaf-of-a-group")
def an_exception_group(secret: str) -> Scene:
    @tool
    async def work() -> None:
        """Work."""

        async def fail() -> None:
            raise ConnectionError(f"amqp://app:{secret}@mq refused")

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(fail())

    return Scene(tool=work, raises="ExceptionGroup(ConnectionError)")


@plant("text of the group itself")
def the_text_of_an_exception_group(secret: str) -> Scene:
    def error() -> BaseException:
        return ExceptionGroup(secret, [ValueError("a"), KeyError("b")])

    return Scene(tool=_raising(error), raises="ExceptionGroup(ValueError, KeyError)")


class Reply(BaseModel):
    """What a service answers."""

    order: int


@plant("what the service answered")
def an_answer_that_a_body_cannot_validate(secret: str) -> Scene:
    @tool
    def work() -> NoReturn:
        """Work."""
        Reply.model_validate({"order": secret})
        raise AssertionError

    return Scene(tool=work, raises="ValidationError", place="main.py")


@plant("text told by its class alone")
def an_exception_of_which_the_class_alone_is_told(secret: str) -> Scene:
    policy = RetryPolicy(max_attempts=2, retry_on=ValueError)
    return Scene(
        tool=_raising(partial(ValueError, secret), retry=policy, read_only=True),
        options={"handle_tool_errors": {ValueError: Tell.CLASS_ONLY}, "clock": FakeClock()},
    )


# -- attempts, time, progress -----------------------------------------------------------------------------------------


@plant("pw-of-the-first-attempt")
def the_errors_of_earlier_attempts(secret: str) -> Scene:
    attempts: list[int] = []

    @tool(retry=RetryPolicy(max_attempts=2, retry_on=ConnectionError), read_only=True)
    def work(context: ToolContext) -> str:
        """Work."""
        attempts.append(context.attempt)
        if len(attempts) == 1:
            raise ConnectionError(f"redis://:{secret}@cache refused")
        return "done"

    return Scene(tool=work, options={"clock": FakeClock()}, is_success=True, raises=None)


@plant("tkn.in.partial.output")
def what_a_body_produced_before_its_time_was_over(secret: str) -> Scene:
    @tool(timeout=0.05)
    async def work(context: ToolContext[Deps]) -> Any:
        """Work."""
        yield f"connected with {context.context.api_token}"
        await asyncio.Event().wait()

    return Scene(tool=work, context=Deps(secret), raises=None)


@plant("progress nobody asked for")
def the_progress_of_a_body(secret: str) -> Scene:
    @tool
    def work(context: ToolContext) -> NoReturn:
        """Work."""
        context.progress({"with": secret})
        raise ValueError("halfway")

    return Scene(tool=work)


@plant("result that came too late")
def a_late_result(secret: str) -> Scene:
    release = threading.Event()

    @tool(timeout=0.3)  # so that its thread has begun by then
    def work() -> str:
        """Work."""
        release.wait(10)
        return secret

    return Scene(tool=work, raises=None, release=release)


@plant("exception that came too late")
def a_late_exception(secret: str) -> Scene:
    release = threading.Event()

    @tool(timeout=0.3)  # so that its thread has begun by then
    def work() -> str:
        """Work."""
        release.wait(10)
        raise ValueError(secret)

    return Scene(tool=work, raises=None, release=release)


@plant("exception while being stopped")
def an_exception_of_a_body_that_is_stopped(secret: str) -> Scene:
    @tool(timeout=0.02)
    async def work() -> None:
        """Work."""
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError(secret)

    return Scene(tool=work)


@plant(PROCESS_SECRET)
def an_exception_in_a_process_of_its_own(secret: str) -> Scene:
    return Scene(tool=failing_apart, context={"who": secret[::-1]}, place="processes.py")


# -- the host's own code ----------------------------------------------------------------------------------------------


@tool
def fine() -> str:
    """Work."""
    return "done"


def _failing(secret: str) -> Callable[..., Any]:
    """Code of the host's that was made with a secret, and fails with it."""

    def fail(key: str, *_: Any, **__: Any) -> NoReturn:
        raise ValueError(f"failed with {key}")

    return partial(fail, secret)


@plant("secret of the listener")
def a_listener_that_fails(secret: str) -> Scene:
    return Scene(tool=fine, listener=_failing(secret), is_success=True)


@plant("secret of the middleware")
def a_middleware_that_fails(secret: str) -> Scene:
    return Scene(tool=fine, options={"middleware": [_failing(secret)]})


@plant("secret of the approver")
def an_approver_that_fails(secret: str) -> Scene:
    return Scene(tool=fine.with_config(requires_approval=True), options={"approve": _failing(secret)})


@plant("secret of the rule")
def a_rule_about_approvals_that_fails(secret: str) -> Scene:
    return Scene(tool=fine.with_config(requires_approval=_failing(secret)))


@plant("secret of the lock")
def a_function_of_exclusive_that_fails(secret: str) -> Scene:
    return Scene(tool=fine.with_config(exclusive=_failing(secret)))


@plant("secret of the handler")
def a_handler_of_errors_that_fails(secret: str) -> Scene:
    return Scene(
        tool=_raising(partial(ValueError, "no")), options={"handle_tool_errors": {ValueError: _failing(secret)}}
    )


@plant("secret of retry_on")
def a_retry_rule_that_fails(secret: str) -> Scene:
    policy = RetryPolicy(retry_on=_failing(secret))
    return Scene(tool=_raising(partial(ValueError, "no"), retry=policy, read_only=True))


class BrokenJournal(MemoryJournal):
    """Fails with what it was made with."""

    def __init__(self, secret: str, method: str) -> None:
        super().__init__()
        self._secret = secret
        self._method = method

    def __repr__(self) -> str:
        return f"BrokenJournal({self._secret!r})"

    async def begin(self, key: Any, after: int | None) -> bool:
        """Fail, if it is this method that does."""
        if self._method == "begin":
            raise ValueError(self._secret)
        return True

    async def finish(self, key: Any, answer: ToolMessage, command: Any = None, *, was_raised: bool = False) -> None:
        """Fail, if it is this method that does."""
        if self._method == "finish":
            raise ValueError(self._secret)


@plant("secret of the journal")
def a_journal_that_fails_before(secret: str) -> Scene:
    return Scene(tool=fine, options={"journal": BrokenJournal(secret, "begin")})


@plant("secret of the journal too")
def a_journal_that_fails_afterwards(secret: str) -> Scene:
    return Scene(tool=fine, options={"journal": BrokenJournal(secret, "finish")}, is_success=True)


class Unreadable:
    """A result that fails when it is read."""

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def __getattribute__(self, name: str) -> Any:
        raise ValueError(object.__getattribute__(self, "_secret"))

    def __repr__(self) -> str:
        raise ValueError(object.__getattribute__(self, "_secret"))


@plant("secret of the result")
def a_result_that_fails_when_it_is_read(secret: str) -> Scene:
    @tool
    def work() -> Unreadable:
        """Work."""
        return Unreadable(secret)

    return Scene(tool=work, is_success=True, raises=None)


# -- looking ----------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Seen:
    """Everything that left."""

    answer: ToolMessage
    printed: str
    spans: str

    def texts(self) -> dict[str, str]:
        """What is looked at, by name; the artifact of a success is the tool's own value and no business of ours."""
        answer = self.answer
        found = {
            "content": answer.text,
            "outcome": f"{answer.outcome!r} {json.dumps(answer.outcome.to_dict()) if answer.outcome else ''}",
            "events": self.printed,
            "spans": self.spans,
        }
        if answer.status == "error":
            found |= {"message": f"{answer!r} {answer} {answer.artifact!r}", "stored": str(message_to_dict(answer))}
        return found


@pytest.fixture
def exporter() -> Iterator[tuple[TracerProvider, InMemorySpanExporter]]:
    """A tracer provider, and where its spans go."""
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    yield provider, kept
    provider.shutdown()


def _play(scene: Scene, traces: tuple[TracerProvider, InMemorySpanExporter], *, is_async: bool) -> Seen:
    provider, kept = traces
    spans = OpenTelemetry(tracer_provider=provider)
    lines: list[str] = []
    over, late = threading.Event(), threading.Event()

    def listen(event: Event) -> None:
        lines.append(str(event))  # the way to print one
        spans.listen(event)
        (
            over if isinstance(event, CallFinished) else late if isinstance(event, LateResult) else threading.Event()
        ).set()
        if scene.listener is not None:
            scene.listener(event)

    options = dict(scene.options)
    middleware = [spans, *options.pop("middleware", [])]
    node = ToolNode([scene.tool], middleware=middleware, listener=listen, **options)
    turn = AIMessage(id="m", tool_calls=[{"id": "c1", "name": scene.tool.name, "args": scene.args}])
    state = {"messages": [turn], **scene.state}
    if is_async:
        update = asyncio.run(node.ainvoke(state, context=scene.context))
    else:
        update = node.invoke(state, context=scene.context)
    if scene.release is not None:
        scene.release.set()
        assert late.wait(20)
    (answer,) = update["messages"]
    assert over.is_set()
    finished = "\n".join(span.to_json() for span in kept.get_finished_spans())
    return Seen(answer=answer, printed="\n".join(lines), spans=finished)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("name", PLANTS)
def test_no_secret_comes_out_and_the_log_names_the_failure(
    name: str,
    exporter: tuple[TracerProvider, InMemorySpanExporter],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    *,
    is_async: bool,
) -> None:
    secret, make = PLANTS[name]
    scene = make(secret)
    for variable, value in scene.environ.items():
        monkeypatch.setenv(variable, value)
    caplog.set_level(logging.WARNING)

    seen = _play(scene, exporter, is_async=is_async)
    written = capfd.readouterr()

    places = {**seen.texts(), "log": caplog.text, "terminal": written.out + written.err}
    assert [place for place, text in places.items() if secret in text] == []
    assert seen.answer.status == ("success" if scene.is_success else "error")
    assert seen.answer.text.strip()
    if not scene.is_success:
        assert "execute_tool" in seen.spans
    if scene.raises is not None:
        assert re.search(rf"{re.escape(scene.raises)} at \S*{scene.place}:\d+ in \w+", caplog.text)
    if seen.answer.outcome is not None and seen.answer.outcome.error_id is not None:
        assert seen.answer.outcome.error_id in caplog.text
        assert seen.answer.outcome.error_id in seen.spans


def test_at_least_thirty_secrets_are_planted_and_no_two_are_alike() -> None:
    secrets = [secret for secret, _ in PLANTS.values()]
    assert len(set(secrets)) == len(secrets) >= 30


@pytest.mark.parametrize("name", PLANTS)
def test_the_whole_of_it_is_in_the_log_for_who_asks(
    name: str,
    exporter: tuple[TracerProvider, InMemorySpanExporter],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    secret, make = PLANTS[name]
    scene = make(secret)
    for variable, value in scene.environ.items():
        monkeypatch.setenv(variable, value)
    caplog.set_level(logging.DEBUG, logger="surehand")

    _play(scene, exporter, is_async=False)
    if scene.raises is not None and not scene.is_success:
        assert "Traceback (most recent call last)" in caplog.text


# -- what is no secret ------------------------------------------------------------------------------------------------

HARMLESS = [
    "order 3f2504e0-4f89-11d3-9a0c-0305e82c3301 does not exist",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 is not on main",
    "2026-03-01T12:00:00+01:00 is in the past, give a date after 2026-03-02",
    "the price is 1,299.00 EUR, the limit 1000.00",
    "report.pdf is no spreadsheet, send report.xlsx",
    "token limit 4096 exceeded by max_tokens=8192",
    "password must be 8 characters",
    "GET https://api.example.com/v1/orders/42?page=2 gave 404",
    'column "key" does not exist; did you mean "order_key"?',
    "订单 2026-001 不存在",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_the_model_needs_to_go_on_stays(text: str) -> None:
    (answer,) = ToolNode([_raising(partial(ValueError, text))]).invoke(
        [AIMessage(tool_calls=[{"id": "c1", "name": "work", "args": {}}])]
    )
    assert answer.text.startswith(f"ValueError: {text}")


def test_a_path_that_the_model_has_sent_is_named_to_it() -> None:
    @tool
    def read(path: str) -> str:
        """Read a file."""
        raise FileNotFoundError(2, "No such file or directory", path)

    call = {"id": "c1", "name": "read", "args": {"path": "/data/in/orders.csv"}}
    (answer,) = ToolNode([read]).invoke([AIMessage(tool_calls=[call])])
    assert "'/data/in/orders.csv'" in answer.text


def test_a_result_is_never_redacted() -> None:
    returned = "sk-proj-Abcdefgh12345678Abcdefgh for postgresql://app:hunter2@db in /home/alice/x.py"

    @tool
    def issue_key() -> str:
        """Issue a key: to hand it over is what the tool is for."""
        return returned

    (answer,) = ToolNode([issue_key]).invoke([AIMessage(tool_calls=[{"id": "c1", "name": "issue_key", "args": {}}])])
    assert answer.text == returned
