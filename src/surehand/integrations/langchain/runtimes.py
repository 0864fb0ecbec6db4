"""LangGraph's ``ToolRuntime``, for tools that ask for one."""

from __future__ import annotations

import importlib
from dataclasses import fields
from typing import Any

from langchain_core.runnables import RunnableConfig

from surehand.control import current_runtime
from surehand.integrations.langchain.frames import Frame, current_frame
from surehand.spec import ToolContext

__all__ = ["config_for", "runtime_of", "tool_runtime"]


def config_for(context: ToolContext) -> RunnableConfig:
    """The configuration that a LangChain tool runs with."""
    frame = current_frame()
    if frame is not None:
        return frame.config
    runtime = current_runtime()
    known: Any = {} if runtime is None else dict(runtime.config)
    if context.thread_id:
        known["configurable"] = {"thread_id": context.thread_id, **known.get("configurable", {})}
    config: RunnableConfig = known
    return config


def tool_runtime(context: ToolContext) -> Any:
    """The runtime of the running call; in a graph of ours, as much of it as there is.

    Raises:
        ImportError: There is no LangGraph.
    """
    frame = current_frame()
    if frame is None:
        return _made(
            state=context.state,
            context=context.context,
            config=config_for(context),
            stream_writer=context.progress,
            tool_call_id=context.call_id,
            store=context.store,
            tools=[],
        )
    return runtime_of(frame)


def runtime_of(frame: Frame) -> Any:
    """The runtime of a call in a LangGraph node."""
    return _made(
        state=frame.state,
        context=frame.context,
        config=frame.config,
        stream_writer=frame.write or _nowhere,
        tool_call_id=frame.call_id,
        store=frame.store,
        tools=list(frame.tools),
        **frame.details,
    )


def _made(**known: Any) -> Any:
    """A ``ToolRuntime`` with what the installed version of it has."""
    kind: Any = importlib.import_module("langgraph.prebuilt.tool_node").ToolRuntime
    names = {field.name for field in fields(kind)}
    return kind(**{name: value for name, value in known.items() if name in names})


def _nowhere(_: Any) -> None:
    """Stands where nobody reads the graph's stream."""
