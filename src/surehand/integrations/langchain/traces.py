"""Calls of our own tools, told to LangChain's callbacks as those of its tools are: to traces and to streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from langchain_core.callbacks import AsyncCallbackManager, CallbackManager
from langchain_core.runnables.config import patch_config

from surehand.calls import Call, Through
from surehand.concurrency import entered_by_sync_door
from surehand.integrations.langchain.frames import current_frame, entered
from surehand.shapes import mapping_of
from surehand.spec import ToolSpec

__all__ = ["traced"]


async def traced(call: Call, through: Through, *, spec: ToolSpec, written: Callable[[Call], Any]) -> Call:
    """The call at its end, after whoever listens has heard of its start and its end.

    Args:
        call: A call of a tool that is not LangChain's.
        through: Brings it to its end.
        spec: The tool.
        written: Writes its end in words of LangChain's.
    """
    frame = current_frame()
    if frame is None or not frame.config.get("callbacks"):
        return await through(call)
    config, is_sync = frame.config, entered_by_sync_door()
    manager: Any = (CallbackManager if is_sync else AsyncCallbackManager).configure(
        config.get("callbacks"),
        None,
        False,
        config.get("tags"),
        [*spec.tags],
        config.get("metadata"),
        {**spec.metadata},
    )
    args = dict(mapping_of(call.raw))
    named = {"name": spec.name, "description": spec.description}
    run = manager.on_tool_start(named, str(args), inputs=args, tool_call_id=frame.call_id)
    run = run if is_sync else await run
    own = replace(frame, config=patch_config(config, callbacks=run.get_child()))
    try:
        with entered(own):
            ended = await through(call)
    except BaseException as error:
        await _heard(run.on_tool_error(error, tool_call_id=frame.call_id), is_sync=is_sync)
        raise
    raised = ended.raises or ended.asks
    if raised is not None:
        await _heard(run.on_tool_error(raised, tool_call_id=frame.call_id), is_sync=is_sync)
    else:
        await _heard(run.on_tool_end(written(ended), name=spec.name), is_sync=is_sync)
    return ended


async def _heard(telling: Any, *, is_sync: bool) -> None:
    if not is_sync:
        await telling
