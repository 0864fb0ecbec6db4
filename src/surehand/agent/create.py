"""Building an agent, and running it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any, Final, cast

from surehand.agent.loop import Loop
from surehand.agent.offers import BoundModels
from surehand.agent.state import AgentState
from surehand.calls import Approve, ResultShelf, ToolCallMiddleware
from surehand.concurrency import SYSTEM_CLOCK, Clock, run_sync
from surehand.control import END, START, RunConfig
from surehand.errors import OptionError
from surehand.events import Listener
from surehand.graph import CompiledGraph, StateGraph
from surehand.messages import SystemMessage
from surehand.models import ChatModel, ToolChoice, init_chat_model
from surehand.nodes import ToolNode, ToolSetFunction
from surehand.policy import (
    DEFAULT_NO_PROGRESS,
    UNSET,
    ErrorRule,
    Limits,
    NoProgress,
    Unset,
    count,
    instance,
    text,
)
from surehand.shapes import is_object, is_same
from surehand.tools import BaseTool, as_tools

__all__ = ["Agent", "create_agent"]

_NO_LIMITS: Final = Limits(corrections=None)


def create_agent(
    model: str | ChatModel,
    tools: Sequence[Any] | ToolSetFunction | ToolNode | None = None,
    *,
    system_prompt: str | SystemMessage | None = None,
    max_iterations: int = 25,
    handle_tool_errors: ErrorRule = True,
    tool_choice: ToolChoice = None,
    limits: Limits | None = None,
    no_progress: NoProgress | None = DEFAULT_NO_PROGRESS,
    retry_budget: int | None = 20,
    fatal: type[Exception] | tuple[type[Exception], ...] = (),
    groups: Mapping[str, int] | None = None,
    middleware: Sequence[ToolCallMiddleware] = (),
    shelf: ResultShelf | Unset | None = UNSET,
    store: Any = None,
    approve: Approve | None = None,
    listener: Listener | None = None,
    clock: Clock = SYSTEM_CLOCK,
    name: str = "agent",
) -> Agent:
    """An agent: a model that may use tools until it has an answer.

    Example:
        agent = create_agent("deepseek:deepseek-v4-flash", [get_weather], system_prompt="Answer in one sentence.")
        agent.invoke({"messages": "Is it raining in Hangzhou?"})["messages"][-1].text

    Args:
        model: A chat model, or its name for ``init_chat_model``.
        tools: What the model may use: tools or plain functions, or a function that gives them anew for each turn (see
            ``ToolNode``). None and an empty list offer nothing. A ``ToolNode`` is used as it is: with it come all its
            options, and none of them is given here.
        system_prompt: Stands before the conversation in each request; it is not part of the state.
        max_iterations: How often the model may be asked in one run. When it still wants tools then, nothing is raised:
            the open calls are answered ``limit``.
        handle_tool_errors: What becomes of an exception that a tool raises; see ``ToolNode``.
        tool_choice: Forces tools in the first request; later ones leave it to the model, or it would never answer.
        limits: What one run may use up; None is ``Limits()``. When nothing is left, the open calls are answered
            ``limit``, and the model is asked once more, without tools, for its last words.
        no_progress: What happens when the same call brings the same result again and again; None for nothing.
        retry_budget: How many retries the calls of one turn may make together; None for no limit.
        fatal: Exception types that end the run at once, whatever ``handle_tool_errors`` says; see ``ToolNode``.
        groups: How many calls of a group of tools (their option ``group``) may run at a time.
        middleware: Run around every call that is ready to run; the first one is the outermost.
        shelf: Keeps the results that are too long, for the built-in tool ``read_tool_result``, which the model is
            offered once there is one. The agent has a shelf of its own unless it is given one; None keeps none.
        store: For tools that ask for a store.
        approve: Asked before a call that needs a human's approval; see ``ToolNode``.
        listener: Told about every call; see ``surehand.events``.
        clock: Time, for tests.
        name: The agent's name as a node of a graph.

    Raises:
        OptionError: An option cannot be meant, or the model has tools bound that are not among ``tools``.
        ToolDefinitionError: Something among the tools is none, or two have one name.
    """
    chat = init_chat_model(model) if isinstance(model, str) else _as_model(model)
    bounds = instance("limits", limits, Limits) or Limits()
    of_node: dict[str, Any] = {
        "handle_tool_errors": handle_tool_errors,
        "limits": _of_calls(bounds),
        "no_progress": no_progress,
        "retry_budget": retry_budget,
        "fatal": fatal,
        "groups": groups,
        "middleware": middleware,
        "shelf": shelf,
        "store": store,
        "approve": approve,
        "listener": listener,
        "clock": clock,
    }
    node = _node_of(tools, of_node)
    registered = [] if node is None else list(node.tools_by_name.values())
    if node is None or registered:
        _check_bound(chat, registered)
        _check_choice(tool_choice, registered)
    if node is not None:
        bounds = _with_calls(bounds, node.limits)
    loop = Loop(
        models=BoundModels(chat, tool_choice, registered),
        tools=node,
        system=_as_system(system_prompt),
        max_iterations=min(count("max_iterations", max_iterations), bounds.turns or max_iterations),
        limits=bounds,
        no_progress=no_progress if node is None else node.no_progress,
        clock=clock if node is None else node.clock,
    )
    return _agent_of(loop, store=store, name=text("name", name))


class Agent(CompiledGraph):
    """A model and its tools, as a graph that is ready to run; made by ``create_agent``.

    One agent may be used from several threads and event loops at a time. As a node of another graph it works on the
    conversation of that graph.
    """

    def invoke(self, input: Any, config: RunConfig | None = None, *, context: Any = None) -> dict[str, Any]:
        """Run to the end and return ``{"messages": […], "end_reason": …}``.

        Args:
            input: ``{"messages": …}``, or the messages alone, in any form that ``convert_to_messages`` takes.
            config: The run's configuration.
            context: The host's own object, for tools that ask for it.

        Raises:
            InputError: The input cannot be read as messages.
            ModelError: The model could not be asked; ``state`` on it is what was reached.
            Exception: What a tool raised, where ``handle_tool_errors`` lets it out.
        """
        # Both nodes need an event loop: one way through the door for the whole run, and not one for each step.
        return run_sync(lambda: self.ainvoke(input, config, context=context))

    def _given(self, given: object) -> object:
        """The input as a state, with the counters of a new run."""
        state = given if is_object(given) and "messages" in given else {"messages": given}
        return {**state, "end_reason": None, "model_calls": 0}

    def _reached(self, state: Any) -> Any:
        """The state without what only the loop needs."""
        return {key: value for key, value in cast("Mapping[str, Any]", state).items() if key != "model_calls"}


def _agent_of(loop: Loop, *, store: Any, name: str) -> Agent:
    """The loop as a graph, with room for every step that its own limit allows."""
    graph = StateGraph(AgentState)
    graph.add_node("model", loop.ask)
    graph.add_node("tools", loop.run_tools)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", _after("tools"), ["tools", END])
    graph.add_conditional_edges("tools", _after("model"), ["model", END])
    plan = graph.compile(store=store, name=name).plan
    # Two steps a turn and one for the entry: the loop's own limit always comes first, and ends in an answer.
    return Agent(replace(plan, recursion_limit=2 * loop.max_iterations + 1))


def _as_model(model: ChatModel) -> ChatModel:
    can_be_asked = all(callable(getattr(model, method, None)) for method in ("ainvoke", "bind_tools"))
    if isinstance(model, type) or not can_be_asked:
        raise OptionError(
            option="model",
            value=model,
            expected="a chat model or its name as 'provider:model'",
            remedy="A model has ainvoke and bind_tools; see surehand.models.",
        )
    return model


def _as_system(prompt: object) -> SystemMessage | None:
    if prompt is None or isinstance(prompt, SystemMessage):
        return prompt
    if not isinstance(prompt, str):
        raise OptionError(option="system_prompt", value=prompt, expected="text, a SystemMessage or None")
    return SystemMessage(prompt)


def _node_of(tools: Sequence[Any] | ToolSetFunction | ToolNode | None, options: Mapping[str, Any]) -> ToolNode | None:
    """The node that runs the tools; None where there are none.

    Raises:
        OptionError: An option of the node is given beside a node, or cannot be meant.
    """
    if isinstance(tools, ToolNode):
        unless_given = signature(create_agent).parameters
        given = [name for name, value in options.items() if not is_same(value, unless_given[name].default)]
        if given:
            raise OptionError(
                option=given[0],
                value=options[given[0]],
                expected="nothing beside a ToolNode",
                remedy=f"Give {given[0]}= to the ToolNode.",
            )
        return tools
    made: dict[str, Any] = {
        **options,
        "shelf": ResultShelf() if isinstance(options["shelf"], Unset) else options["shelf"],
    }
    is_computed = callable(tools) and not isinstance(tools, type | BaseTool) and not hasattr(tools, "__iter__")
    registered: Any = tools if is_computed else as_tools(cast("Sequence[Any]", () if tools is None else tools))
    # Without tools there is nothing to run, but what cannot be meant is refused all the same.
    node = ToolNode(registered or _no_tools, **made)
    return node if registered else None


def _no_tools(_: object) -> list[BaseTool]:
    """The tools of an agent that has none."""
    return []


def _with_calls(limits: Limits, of_calls: Limits | None) -> Limits:
    """The limits of the loop and those of the node as one."""
    return limits if of_calls is None else replace(of_calls, turns=limits.turns, corrections=limits.corrections)


def _of_calls(limits: Limits) -> Limits | None:
    """The limits that hold for calls; None where there are none. The others are the loop's."""
    of_calls = replace(limits, turns=None, corrections=None)
    return None if of_calls == _NO_LIMITS else of_calls


def _check_choice(choice: ToolChoice, tools: Sequence[BaseTool]) -> None:
    if not tools and choice not in (None, "auto", "none"):
        raise OptionError(option="tool_choice", value=choice, expected="None for an agent without tools")


def _check_bound(model: ChatModel, tools: Sequence[BaseTool]) -> None:
    """Refuse a model that offers tools which nobody here can run."""
    bound = [tool.spec.name for tool in cast("Sequence[BaseTool]", getattr(model, "tools", None) or ())]
    names = {tool.spec.name for tool in tools}
    strangers = [name for name in bound if name not in names]
    if strangers:
        raise OptionError(
            option="tools",
            value=sorted(names),
            expected=f"the tools that are bound to the model too: {', '.join(strangers)}",
            remedy="Add them to tools=, or pass the model without bound tools.",
        )


def _after(other: str) -> Callable[[AgentState], str]:
    """Where to go: to the other node, until there is a reason to end."""

    def route(state: AgentState) -> str:
        return other if state.get("end_reason") is None else END

    return route
