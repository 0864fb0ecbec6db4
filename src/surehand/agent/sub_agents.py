"""An agent as a tool of another one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, cast

from surehand.agent.state import EndReason
from surehand.control import RunConfig, current_runtime
from surehand.errors import ToolException
from surehand.messages import AIMessage, HumanMessage, Message, ToolMessage
from surehand.shapes import mapping_of
from surehand.spec import DidNotHappen, DoubtfulCall, ToolContext
from surehand.tools import Tool
from surehand.wording import clipped

__all__ = ["Run", "agent_tool"]

Run = Callable[..., Awaitable[Any]]
"""Runs an agent inside of a node: its ``ainvoke_inside``."""

_ANSWERED: Final[frozenset[EndReason]] = frozenset({"answer", "return_direct", "structured_response"})
"""The ends of a run that come with an answer."""
_PASSED_ON: Final = ("max_concurrency", "timeout", "tags", "metadata")
"""What holds for the run inside too; its limit of steps and its place in a store are its own."""
_LAST_WORDS: Final = 2_000
"""The most characters of what an agent said before it stopped."""


def agent_tool(run: Run, *, name: str, description: str, options: Mapping[str, Any]) -> Tool:
    """A tool that gives an agent a request, and answers with what it comes to."""

    async def ask(request: str, context: ToolContext) -> Any:
        state = await _run_inside(run, request, context)
        return _answer_of(name, state)

    given: dict[str, Any] = {"reconcile": _reconcile, **options}
    return Tool.from_function(ask, name=name, description=description, **given)


async def _reconcile(_: DoubtfulCall) -> DidNotHappen | None:
    """What to do about a call that was cut off: begin it again, where the run inside then goes on where it stopped."""
    runtime = current_runtime()
    return DidNotHappen() if runtime is not None and runtime.keeping is not None else None


async def _run_inside(run: Run, request: str, context: ToolContext) -> Mapping[str, Any]:
    """Run the agent within a call.

    Its conversation begins with the request and holds nothing else: what the calling agent was told, its system prompt
    and its state included, is for the calling agent. Where the run around is kept, so is this one, under the call.

    Raises:
        Interrupted: The agent asks a question, which is then asked by the run around it.
    """
    place = context.idempotency_key or context.call_id
    given = {"messages": [HumanMessage(request)]}
    state: Mapping[str, Any] = await run(given, place, _config_inside(context, place), context=context.context)
    return state


def _config_inside(context: ToolContext, place: str) -> RunConfig:
    """The configuration of the run inside, with a thread of its own: the same whenever this very call is run again."""
    runtime = current_runtime()
    config = cast("Mapping[str, Any]", {} if runtime is None else runtime.config)
    inside: dict[str, Any] = {key: config[key] for key in _PASSED_ON if key in config}
    given = {key: value for key, value in mapping_of(config.get("configurable")).items() if not _is_place(key)}
    inside["configurable"] = {**given, "thread_id": f"{context.thread_id}/{context.tool_name}/{place}"}
    return cast("RunConfig", inside)


def _is_place(key: str) -> bool:
    return key == "thread_id" or key.startswith("checkpoint")


def _answer_of(name: str, state: Mapping[str, Any]) -> Any:
    """What the agent came to.

    Raises:
        ToolException: It ended without an answer.
    """
    reason = state.get("end_reason")
    messages: list[Message] = state.get("messages", [])
    if reason not in _ANSWERED:
        said = next((each.text for each in reversed(messages) if isinstance(each, AIMessage) and each.text.strip()), "")
        words = f" Its last words: {clipped(said, _LAST_WORDS)}" if said else ""
        raise ToolException(f"The agent {name!r} ended without an answer ({reason}).{words}")
    if reason == "structured_response":
        return state.get("structured_response")
    if reason == "return_direct":
        return _direct_results(messages)
    return messages[-1].text


def _direct_results(messages: list[Message]) -> Any:
    """The results that are the answer: that of the one call, or those of all calls of the last turn."""
    results: list[str] = []
    for message in reversed(messages):
        if not isinstance(message, ToolMessage):
            break
        results.append(message.text)
    return results[0] if len(results) == 1 else "\n\n".join(reversed(results))
