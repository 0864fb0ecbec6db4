"""What the log says of calls, and what it leaves out."""

from __future__ import annotations

import linecache
import logging
import re
from functools import partial
from typing import Any, NoReturn

import pytest

from surehand import AIMessage, ToolNode, tool
from surehand.calls.announce import log_fault
from surehand.events import Event

SECRET = "hunter2-hunter2"


@tool
def fail() -> NoReturn:
    """Fail."""
    raise ConnectionError(SECRET)


@tool
async def fail_together() -> NoReturn:
    """Fail in two ways."""
    raise ExceptionGroup(SECRET, [_raised(KeyError(SECRET)), ValueError(SECRET)])


def _raised(error: Exception) -> Exception:
    """The exception with the traceback of having been raised here."""
    try:
        raise error
    except type(error) as caught:
        return caught


def _run(name: str, call_id: str = "c1", **options: Any) -> Any:
    turn = AIMessage(tool_calls=[{"id": call_id, "name": name, "args": {}}])
    return ToolNode([fail, fail_together], **options).invoke([turn])[0]


def test_a_failure_is_one_line_with_class_place_and_error_id(caplog: pytest.LogCaptureFixture) -> None:
    answer = _run("fail")

    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert re.fullmatch(
        rf"c1: tool fail ended as exception \(error {answer.outcome.error_id}\): "
        r"ConnectionError at .*test_announce\.py:\d+ in fail",
        record.getMessage(),
    )
    assert (vars(record)["tool_call_id"], vars(record)["tool"]) == ("c1", "fail")


def test_of_a_group_the_log_names_what_is_in_it_and_where_the_first_was_raised(
    caplog: pytest.LogCaptureFixture,
) -> None:
    _run("fail_together")
    assert re.search(r"ExceptionGroup\(KeyError, ValueError\) at .*test_announce\.py:\d+ in _raised", caplog.text)
    assert SECRET not in caplog.text


def test_what_a_model_made_up_cannot_write_a_line_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    _run("no\nWARNING such tool", call_id="c1\nERROR all is lost")

    (record,) = caplog.records
    assert "\n" not in record.getMessage()


def test_a_listener_is_named_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    def listen(key: str, event: Event) -> NoReturn:
        raise ValueError(key)

    _run("fail", listener=partial(listen, SECRET))
    assert "the listener test_a_listener_is_named_and_not_shown.<locals>.listen failed on CallFinished" in caplog.text
    assert SECRET not in caplog.text


def test_a_fault_is_told_in_full_at_debug_alone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="surehand")
    log_fault("something", _raised(ValueError(SECRET)))

    error, debug = caplog.records
    assert (error.levelno, SECRET in error.getMessage(), error.exc_info) == (logging.ERROR, False, None)
    assert debug.exc_info is not None


def test_an_exception_that_was_never_raised_has_no_place(caplog: pytest.LogCaptureFixture) -> None:
    log_fault("something", ValueError(SECRET))
    assert caplog.messages == ["something: ValueError"]


def test_a_class_that_is_made_of_any_text_writes_no_line_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    log_fault("something", type("A\nERROR: forged", (Exception,), {})())
    assert caplog.messages == ["something: A\\nERROR: forged"]


def test_an_exception_that_hides_its_traceback_has_its_place(caplog: pytest.LogCaptureFixture) -> None:
    error = _raised(type("Hiding", (Exception,), {"__traceback__": property(lambda _: 1 / 0)})())
    log_fault("something", error)
    assert re.fullmatch(r"something: Hiding at .*test_announce.py:\d+ in _raised", caplog.messages[0])


def test_no_source_file_is_read_to_name_a_place(caplog: pytest.LogCaptureFixture) -> None:
    linecache.clearcache()
    log_fault("something", _raised(ValueError()))
    assert "in _raised" in caplog.messages[0]
    assert __file__ not in linecache.cache


@pytest.mark.parametrize("is_run_again", [True, False])
def test_a_call_id_writes_no_line_of_its_own_where_a_middleware_errs(
    caplog: pytest.LogCaptureFixture, *, is_run_again: bool
) -> None:
    def erring(request: Any, run: Any) -> Any:
        run(request)
        return run(request) if is_run_again else None

    _run("fail", call_id="c\nERROR: forged", middleware=[erring])
    assert len(caplog.messages) > 1
    assert not [line for line in caplog.messages if "\n" in line]
