"""Building an agent, and running it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any, Final, cast

from typing_extensions import Unpack

from surehand.agent.asking import Asker, check_model
from surehand.agent.assembly import assemble, steps_of
from surehand.agent.hooks import read_stack
from surehand.agent.loop import Loop
from surehand.agent.middleware import AgentMiddleware, as_system
from surehand.agent.offers import BoundModels
from surehand.agent.state import state_of
from surehand.agent.structured import read_format
from surehand.agent.sub_agents import agent_tool
from surehand.agent.tool_nodes import (
    AgentTools,
    known_tools,
    limits_of_calls,
    node_of,
    with_limits_of_calls,
    with_own,
)
from surehand.agent.verdicts import Verdicts
from surehand.calls import Approve, ResultShelf, ToolCallMiddleware
from surehand.checkpoints import Checkpointer
from surehand.concurrency import SYSTEM_CLOCK, Clock, run_sync
from surehand.control import RunConfig, is_command
from surehand.events import Listener
from surehand.foreign import as_own_model
from surehand.graph import CompiledGraph
from surehand.graph.plan import Plan
from surehand.messages import SystemMessage
from surehand.models import ChatModel, ForeignModel, ToolChoice, init_chat_model
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
from surehand.shapes import is_object
from surehand.tools import Tool
from surehand.tools.options import OptionArguments

__all__ = ["Agent", "create_agent"]

_OF_LOOP: Final = frozenset({"model_calls", "jump_to"})
"""The keys of the state that no result holds."""


def create_agent(
    model: str | ChatModel | ForeignModel,
    tools: AgentTools = None,
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
    middleware: Sequence[AgentMiddleware[Any] | ToolCallMiddleware] = (),
    response_format: Any = None,
    checkpointer: Checkpointer | None = None,
    types: Iterable[type] = (),
    interrupt_before: Iterable[str] = (),
    interrupt_after: Iterable[str] = (),
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
        model: A chat model, also one of LangChain's, or a name for ``init_chat_model``.
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
        middleware: Runs around the steps of the loop (``AgentMiddleware``), or around every call that is ready to run
            (functions, and what ``ToolNode`` takes); the first one is the outermost.
        response_format: The form of the answer, which then is ``structured_response`` of the state: a pydantic model, a
            dataclass, a TypedDict, a JSON Schema, or one of these in a ``ToolStrategy`` or ``ProviderStrategy``. None
            for words.
        checkpointer: Keeps every run under the thread that its configuration names: a later input goes on with the
            conversation, and a run that was stopped goes on where it stopped; see ``StateGraph.compile``.
        types: Classes of values that the state may hold, besides those that its annotations name; for checkpoints.
        interrupt_before: Nodes before which a run stops, such as ``tools`` or ``<middleware>.before_model``; an input
            of None goes on.
        interrupt_after: Nodes after which a run stops.
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
    chat = _as_model(model)
    bounds = instance("limits", limits, Limits) or Limits()
    stack, form = read_stack(middleware), read_format(response_format)
    of_node: dict[str, Any] = {
        "handle_tool_errors": handle_tool_errors,
        "limits": limits_of_calls(bounds),
        "no_progress": no_progress,
        "retry_budget": retry_budget,
        "fatal": fatal,
        "groups": groups,
        "middleware": stack.around_calls,
        "shelf": shelf,
        "store": store,
        "approve": approve,
        "listener": listener,
        "clock": clock,
    }
    defaults = {name: parameter.default for name, parameter in signature(create_agent).parameters.items()}
    node = node_of(with_own(tools, stack.tools), of_node, defaults=defaults)
    registered = known_tools(node, chat, tool_choice, form)
    bounds = bounds if node is None else with_limits_of_calls(bounds, node.limits)
    schema = state_of(stack.schemas, response=() if form is None else form.kinds)
    rules = Verdicts(
        max_iterations=min(count("max_iterations", max_iterations), bounds.turns or max_iterations),
        limits=bounds,
        no_progress=no_progress if node is None else node.no_progress,
        form=form,
    )
    loop = Loop(
        asker=Asker(
            models=BoundModels(chat, tool_choice, registered, form),
            system=as_system(system_prompt),
            around=stack.around_model,
            form=form,
            max_iterations=rules.max_iterations,
            keys=frozenset(schema.__annotations__),
        ),
        tools=node,
        form=form,
        verdicts=rules,
        clock=clock if node is None else node.clock,
        judges_later=bool(stack.hooks["after_model"]),
        has_hooks=stack.steps > 0,
    )
    graph = assemble(loop, stack, schema).compile(
        checkpointer,
        store=store,
        types=types,
        interrupt_before=interrupt_before,
        interrupt_after=interrupt_after,
        name=text("name", name),
    )
    plan = replace(graph.plan, recursion_limit=steps_of(stack, rules.max_iterations))
    return Agent(plan, is_structured=form is not None)


class Agent(CompiledGraph):
    """A model and its tools, as a graph that is ready to run; made by ``create_agent``.

    One agent may be used from several threads and event loops at a time. As a node of another graph it works on the
    conversation of that graph.
    """

    def __init__(self, plan: Plan, *, is_structured: bool = False) -> None:
        super().__init__(plan)
        self._is_structured = is_structured

    def invoke(self, input: Any, config: RunConfig | None = None, *, context: Any = None) -> dict[str, Any]:
        """Run to the end and return ``{"messages": […], "end_reason": …}``, and ``structured_response`` if asked for.

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

    def as_tool(self, *, description: str, name: str | None = None, **options: Unpack[OptionArguments]) -> Tool:
        """The agent as a tool of another one: it is given a request in words, and its answer is the result.

        Each call is a conversation of its own, which knows nothing of the one around it but the request. The agent's
        own limits hold, and the tool's timeout (300 s by default) for all of its run. Where the agent ends without an
        answer, the calling model is told so, with the reason and its last words.

        Args:
            description: When the calling model is to use it, and what to say in the request.
            name: What it is called by; None for the agent's name.
            **options: The options of ``@tool``.

        Raises:
            ToolDefinitionError: The name cannot be that of a tool.
            OptionError: An option has a value that cannot be meant.

        Example:
            researcher = create_agent(model, [search], name="researcher")
            create_agent(model, [researcher.as_tool(description="Find facts. Say what is to be found out.")])
        """
        return agent_tool(self.ainvoke_inside, name=name or self.name, description=description, options=options)

    def _given(self, given: object) -> object:
        """The input as a state, with the counters of a new run; what continues a run begins none."""
        if given is None or is_command(given):
            return given
        state = given if is_object(given) and "messages" in given else {"messages": given}
        fresh: dict[str, Any] = {"end_reason": None, "model_calls": 0}
        return {**state, **fresh, "structured_response": None} if self._is_structured else {**state, **fresh}

    def _reached(self, state: Any) -> Any:
        """The state without what only the loop needs."""
        return {key: value for key, value in cast("Mapping[str, Any]", state).items() if key not in _OF_LOOP}


def _as_model(model: object) -> ChatModel:
    if isinstance(model, str):
        return init_chat_model(model)
    own = as_own_model(model)
    check_model(own)
    return cast("ChatModel", own)
