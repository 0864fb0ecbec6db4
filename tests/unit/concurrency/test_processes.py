"""A function in a process of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from support import process_bodies as bodies
from support.liveness import children, is_alive, soon
from support.process_tools import double
from surehand.concurrency import ProcessTarget, process_target, processes, run_in_process
from surehand.errors import ProcessDied, RemoteError, ToolDefinitionError, ToolException
from surehand.policy import is_ambiguous, is_transient


@pytest.fixture(autouse=True)
def no_process_is_left() -> Generator[None]:
    """Nothing that a test started is there when it ends, not even as a zombie."""
    before = children()
    yield
    assert soon(lambda: children() <= before, within=10)


def run(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return asyncio.run(run_in_process(process_target(function), args, **options))


def raised(function: Callable[..., Any], *args: Any) -> BaseException:
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - the tests look at it
        run(function, *args)
    return caught.value


def own(value: Any) -> Any:
    """A function of this very module, which the import system does not find by its name."""
    return [value, os.getpid()]


def test_a_function_gets_its_arguments_and_returns_its_result() -> None:
    value, pid = run(own, {"a": (1, b"\0", None)})
    assert value == {"a": (1, b"\0", None)}
    assert pid != os.getpid()


def test_a_tool_stands_for_its_function_and_arguments_go_by_name_too() -> None:
    assert asyncio.run(run_in_process(process_target(double.func), kwargs={"number": 4})) == 8


def test_a_coroutine_is_run_to_its_end_and_large_values_pass() -> None:
    large = "x" * 3_000_000
    assert run(bodies.echo_async, large) == large


@pytest.mark.parametrize(
    ("function", "result"),
    [(bodies.counting, [0, 1]), (bodies.counting_to, "up to 2"), (bodies.counting_async, [0, 1])],
)
def test_items_of_a_generator_are_sent_as_they_come(function: Callable[..., Iterator[int]], result: Any) -> None:
    messages: list[Any] = []
    assert run(function, 2, on_message=messages.append) == result
    assert messages == [("item", 0), ("item", 1)]


def test_what_a_coroutine_hands_back_to_be_awaited_is_awaited() -> None:
    assert run(bodies.handing_back, "value") == "value"


def test_a_generator_without_an_end_is_ended() -> None:
    items = run(bodies.without_end, max_items=10)
    assert next(items) == 0
    assert list(items) == list(range(1, 11))


def test_signs_of_life_come_after_the_start_and_in_order() -> None:
    told: list[Any] = []
    assert run(bodies.reporting, on_start=lambda: told.append("start"), on_message=told.append) == "ready"
    assert told == ["start", ("heartbeat",), ("progress", {"done": 1})]


def test_a_listener_that_fails_ends_the_process_and_is_heard_of() -> None:
    def refuse(message: Any) -> None:
        raise ValueError("listener")

    with pytest.raises(ValueError, match="listener"):
        run(bodies.without_end, on_message=refuse)


# -- exceptions ------------------------------------------------------------------------------------------------------


def test_an_author_s_exception_comes_back_as_it_was_with_its_traceback_as_a_note() -> None:
    error = raised(bodies.raising, "author")
    assert isinstance(error, ToolException)
    assert (str(error), error.retryable, error.retry_after) == ("busy", True, 2)
    assert "process_bodies.py" in error.__notes__[0]


def test_what_an_exception_was_raised_from_comes_with_it() -> None:
    error = raised(bodies.raising, "cause")
    assert isinstance(error, LookupError)
    assert isinstance(error.__cause__, ConnectionResetError)
    assert is_ambiguous(error)


def test_an_exception_that_cannot_be_pickled_is_known_by_its_name_and_its_plain_values() -> None:
    error = raised(bodies.raising, "refused")
    assert isinstance(error, RemoteError)
    assert (type(error).__name__, str(error)) == ("Refused", "refused with 503")
    assert is_transient(error)
    assert "Refused" in error.traceback_text


class Ending(Exception):
    """One whose text wants to end the process."""

    def __str__(self) -> str:
        raise SystemExit(3)


def ending() -> None:
    """Raise it."""
    raise Ending


def test_an_exception_that_wants_to_end_its_process_when_it_is_read_comes_back() -> None:
    assert type(raised(ending)).__name__ == "Ending"


@pytest.mark.parametrize(("how", "words"), [("exit", "exit code 7"), ("SIGSEGV", "SIGSEGV")])
def test_a_process_that_dies_says_of_what(how: str, words: str) -> None:
    error = raised(bodies.dying, how)
    assert isinstance(error, ProcessDied)
    assert words in str(error)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.timeout(100)
@pytest.mark.parametrize("is_apart", [False, True])
def test_the_death_of_a_process_is_noticed_though_a_copy_of_it_lives_on(*, is_apart: bool) -> None:
    told: list[Any] = []
    target = process_target(bodies.dying_beside_a_fork)
    with pytest.raises(ProcessDied, match="exit code 7"):
        asyncio.run(run_in_process(target, kwargs={"is_apart": is_apart}, on_message=told.append))
    ((_, copy),) = told
    if is_apart:  # it has left the group
        assert is_alive(copy)
        os.kill(copy, signal.SIGKILL)
    assert soon(lambda: not is_alive(copy), within=5)


@pytest.mark.parametrize(
    ("what", "name"), [("Ctrl-C", "KeyboardInterrupt"), ("several", "BaseExceptionGroup")], ids=["alone", "in a group"]
)
def test_what_ends_the_program_of_a_process_does_not_end_that_of_its_parent(what: str, name: str) -> None:
    error = raised(bodies.raising, what)
    assert isinstance(error, RemoteError)
    assert type(error).__name__ == name


def test_a_result_that_cannot_be_pickled_is_named() -> None:
    error = raised(bodies.unpicklable)
    assert isinstance(error, TypeError)
    assert str(error).startswith("The result, <unlocked _thread.lock")


def test_an_argument_that_cannot_be_pickled_is_named_and_nothing_starts() -> None:
    with pytest.raises(ToolDefinitionError, match="'lock' cannot be taken to a process of its own"):
        asyncio.run(run_in_process(process_target(bodies.echo), (1,), {"lock": threading.Lock()}))
    with pytest.raises(ToolDefinitionError, match="'number 2' cannot"):
        run(bodies.echo, 1, threading.Lock())


# -- the end ---------------------------------------------------------------------------------------------------------


def open_files() -> list[str]:
    """The descriptors of this process; none where nobody can tell."""
    folder = Path("/proc/self/fd")
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_cancelled_body_is_killed_with_all_it_started_though_it_ignores_signals() -> None:
    pids: list[int] = []
    before = open_files()

    async def cancel() -> None:
        has_told = asyncio.Event()

        def hear(message: tuple[Any, ...]) -> None:
            pids.extend(message[1])
            has_told.set()

        task = asyncio.ensure_future(run_in_process(process_target(bodies.hanging), on_message=hear))
        await has_told.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert len(pids) == 2
    assert soon(lambda: not any(map(is_alive, pids)), within=20)
    assert soon(lambda: open_files() == before, within=20)


def test_a_body_that_is_cancelled_before_its_process_is_up_leaves_nothing() -> None:
    async def cancel() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run_in_process(process_target(bodies.echo)), 0.001)

    asyncio.run(cancel())


@pytest.mark.timeout(200)
def test_threads_that_a_body_leaves_behind_do_not_keep_its_process() -> None:
    began = time.monotonic()
    assert run(bodies.leaving_threads) == "done"
    assert time.monotonic() - began < 150


def test_what_a_body_prints_goes_where_the_program_s_own_output_goes(capfd: pytest.CaptureFixture[str]) -> None:
    run(bodies.printing)
    out, err = capfd.readouterr()
    assert out == "to stdout\nraw\n"
    assert err.endswith("to stderr\n")


def test_without_a_standard_output_prints_go_to_standard_error(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_own_stdout", lambda: None)  # as where none can be handed on
    run(bodies.printing)
    out, err = capfd.readouterr()
    assert out == ""
    assert {"to stdout", "raw", "to stderr"} <= set(err.splitlines())


def test_many_run_at_once_from_several_loops() -> None:
    results: list[int] = []

    async def two(first: int) -> None:
        target = process_target(bodies.echo)
        async with asyncio.TaskGroup() as tasks:
            started = [tasks.create_task(run_in_process(target, (number,))) for number in (first, first + 1)]
        results.extend(task.result()[0][0] for task in started)

    threads = [threading.Thread(target=asyncio.run, args=(two(first),)) for first in (0, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [0, 1, 2, 3]


def test_a_module_that_hangs_while_it_is_imported_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "endless.py").write_text("import time\ntime.sleep(30)\ndef f(): ...\n", encoding="utf-8")
    monkeypatch.setattr(processes, "START_SECONDS", 0.3)
    target = ProcessTarget(tool="t", module="endless", qualname="f", file=str(tmp_path / "endless.py"))
    with pytest.raises(ToolDefinitionError, match="not ready within 0"):
        asyncio.run(run_in_process(target))


def test_a_function_that_is_gone_by_then_is_missed_in_words(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("", encoding="utf-8")
    target = ProcessTarget(tool="t", module="empty", qualname="f", file=str(tmp_path / "empty.py"))
    with pytest.raises(ToolDefinitionError, match="its process could not find it"):
        asyncio.run(run_in_process(target))
