from __future__ import annotations

import pytest

from surehand.errors import InputError
from surehand.spec import ToolContext


def test_progress_goes_to_whoever_listens() -> None:
    heard: list[object] = []
    context = ToolContext(call_id="c", tool_name="t", on_progress=heard.append)

    context.progress(1)

    assert heard == [1]


def test_progress_and_heartbeat_without_a_listener_are_dropped() -> None:
    context = ToolContext(call_id="c", tool_name="t")

    context.progress(1)
    context.heartbeat()

    assert context.attempt == 1


def test_a_heartbeat_is_passed_on() -> None:
    beats: list[None] = []
    ToolContext(call_id="c", tool_name="t", on_heartbeat=lambda: beats.append(None)).heartbeat()

    assert beats == [None]


def test_interrupt_returns_the_answer() -> None:
    context = ToolContext(call_id="c", tool_name="t", on_interrupt=lambda value: f"{value}: yes")

    assert context.interrupt("sure?") == "sure?: yes"


def test_interrupt_where_nobody_can_be_asked_is_an_error() -> None:
    with pytest.raises(InputError, match="nobody can be asked"):
        ToolContext(call_id="c", tool_name="t").interrupt("sure?")
