"""Whether anybody would hear of a call of one of LangChain's tools: a handler, a trace, a switch that prints.

LangChain asks the same things when it configures its callbacks; here they are asked before, because nearly all calls
have nobody who listens, and setting up the callbacks for nobody is the dearest part of such a call.
"""

# LangChain's own types are partly unknown, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from copy import copy
from typing import Any, Final, cast
from uuid import UUID, uuid4

from langchain_core.callbacks import AsyncCallbackManager, BaseCallbackManager, CallbackManager
from langchain_core.globals import get_debug
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.tracers import context as tracers
from langchain_core.utils.env import env_var_is_set
from langsmith.run_helpers import get_tracing_context
from langsmith.utils import tracing_is_enabled

__all__ = ["is_heard", "quiet_config"]

_OLD_TRACING: Final = ("LANGCHAIN_TRACING", "LANGCHAIN_HANDLER")
"""Switches that LangChain refuses; it is to say so itself."""
_COPIED: Final = ("tags", "metadata", "configurable")
"""Parts of a configuration that its owner may change."""
_HOOKS: Final[list[tuple[Any, bool, Any, str | None]] | None] = getattr(tracers, "_configure_hooks", None)
"""Handlers that are registered for all runs; None where this LangChain keeps them elsewhere, so that none are known."""


def is_heard(tool: BaseTool, config: RunnableConfig) -> bool:
    """Whether anybody would hear of the tool's run.

    Args:
        tool: LangChain's tool.
        config: The configuration of the run, complete.
    """
    return (
        _has_handlers(config.get("callbacks"))
        or bool(tool.callbacks or tool.verbose)
        or get_debug()
        or _is_traced()
        or _HOOKS is None
        or any(map(_is_hooked, _HOOKS))
    )


def quiet_config(config: RunnableConfig, *, run_id: UUID | None, is_async: bool) -> RunnableConfig:
    """The configuration of what runs inside of a tool that nobody hears of: its runs still have a parent.

    Args:
        config: The configuration of the tool's run, complete.
        run_id: The tool's run; None for a new one.
        is_async: Whether the tool's function is asynchronous.
    """
    around: Any = config.get("callbacks")
    kind: Any = AsyncCallbackManager if is_async else CallbackManager
    child = kind(handlers=[], parent_run_id=run_id or uuid4())
    if isinstance(around, BaseCallbackManager):
        child.add_tags(around.inheritable_tags)
        child.add_metadata(around.inheritable_metadata)
    child.add_tags(config.get("tags") or [])
    if metadata := config.get("metadata"):
        child.add_metadata(metadata)
    inner: Any = {**config, "callbacks": child}
    inner.pop("run_name", None)  # it is this run's alone
    inner.update({name: copy(config.get(name)) for name in _COPIED if name in config})
    return cast("RunnableConfig", inner)


def _has_handlers(callbacks: Any) -> bool:
    if not isinstance(callbacks, BaseCallbackManager):
        return bool(callbacks)
    return bool(callbacks.handlers or callbacks.inheritable_handlers)


def _is_traced() -> bool:
    around = get_tracing_context()
    return bool(
        around["parent"]
        or around["tags"]
        or around["metadata"]
        or tracers.tracing_v2_callback_var.get() is not None
        or tracing_is_enabled(around)
        or any(map(env_var_is_set, _OLD_TRACING))
    )


def _is_hooked(hook: tuple[Any, bool, Any, str | None]) -> bool:
    variable, _, kind, switch = hook
    return variable.get() is not None or (kind is not None and switch is not None and env_var_is_set(switch))
