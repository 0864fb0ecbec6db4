from __future__ import annotations

from surehand.spec import ToolContext


def test_progress_goes_to_whoever_listens() -> None:
    heard: list[object] = []
    context = ToolContext(call_id="c", tool_name="t", on_progress=heard.append)

    context.progress(1)

    assert heard == [1]


def test_progress_without_a_listener_is_dropped() -> None:
    context = ToolContext(call_id="c", tool_name="t")

    context.progress(1)

    assert context.attempt == 1
