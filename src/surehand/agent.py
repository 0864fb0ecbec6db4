"""The loop of model and tools: ask, run what was asked for, tell the model, until there is an answer or a limit.

    START -> model -> tools -> model -> … -> END

The loop never raises for what a model does: a call that cannot be read, a tool that is not there, a limit that is
reached all end as messages, and the state says in ``end_reason`` why it ended.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, TypeAlias, TypedDict, cast

from surehand.calls import Approve
from surehand.concurrency import run_sync
from surehand.control import END, START, RunConfig
from surehand.dialects import text_calls
from surehand.errors import InputError, OptionError
from surehand.events import Listener
from surehand.graph import CompiledGraph, StateGraph
from surehand.messages import (
    REMOVE_ALL_MESSAGES,
    AIMessage,
    HumanMessage,
    Message,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    add_messages,
    check_transcript,
    close_call,
    repair_transcript,
    unanswered_calls,
)
from surehand.models import ChatModel, ToolChoice, init_chat_model
from surehand.nodes import ToolNode
from surehand.outcomes import FailureKind
from surehand.policy import ErrorRule, check_error_rule, check_function, count, text
from surehand.shapes import is_object
from surehand.tools import BaseTool, as_tools

__all__ = ["Agent", "AgentState", "EndReason", "create_agent"]

logger = logging.getLogger("surehand.agent")

EndReason: TypeAlias = Literal["answer", "return_direct", "max_iterations", "truncated", "empty_reply", "text_call"]
"""Why an agent ended.

``answer``: the model answered without a call. ``return_direct``: the results of the last calls are the answer.
``max_iterations``: the model still wanted tools when it had been asked as often as allowed. ``truncated``: the answer
was cut off by the output limit or a content filter. ``empty_reply``: the provider lost the reply, and lost it again
when asked anew. ``text_call``: the answer looks like a call that the model wrote as text (see ``text_calls=`` of the
models).
"""

MAX_RE_ASKS: Final = 2
"""How often a reply that the provider lost is asked for again."""

_LOST: Final = "Your last reply did not arrive: it was empty. Please give it again."
_LIMIT: Final = "The call was not executed: the limit of this run is reached, and there will be no further turn."
_NO_TOOLS: Final = "The call was not executed: there are no tools here. Answer without calling one."


class AgentState(TypedDict, total=False):
    """What an agent knows while it runs."""

    messages: Annotated[list[Message], add_messages]
    """The conversation."""
    end_reason: EndReason | None
    """Why the run ended; None while it goes on."""
    model_calls: int
    """How often the model was asked in this run."""


def create_agent(
    model: str | ChatModel,
    tools: Sequence[Any] | None = None,
    *,
    system_prompt: str | SystemMessage | None = None,
    max_iterations: int = 25,
    handle_tool_errors: ErrorRule = True,
    tool_choice: ToolChoice = None,
    store: Any = None,
    approve: Approve | None = None,
    listener: Listener | None = None,
    name: str = "agent",
) -> Agent:
    """An agent: a model that may use tools until it has an answer.

    Example:
        agent = create_agent("deepseek:deepseek-v4-flash", [get_weather], system_prompt="Answer in one sentence.")
        agent.invoke({"messages": "Is it raining in Hangzhou?"})["messages"][-1].text

    Args:
        model: A chat model, or its name for ``init_chat_model``.
        tools: What the model may use: tools or plain functions. None and an empty list offer nothing.
        system_prompt: Stands before the conversation in each request; it is not part of the state.
        max_iterations: How often the model may be asked in one run. When it still wants tools then, nothing is raised:
            the open calls are answered ``limit``.
        handle_tool_errors: What becomes of an exception that a tool raises; see ``ToolNode``.
        tool_choice: Forces tools in the first request; later ones leave it to the model, or it would never answer.
        store: For tools that ask for a store.
        approve: Asked before a call that needs a human's approval; see ``ToolNode``.
        listener: Told about every call; see ``surehand.events``.
        name: The agent's name as a node of a graph.

    Raises:
        OptionError: An option cannot be meant, or the model has tools bound that are not among ``tools``.
        ToolDefinitionError: Something among the tools is none, or two have one name.
    """
    chat = init_chat_model(model) if isinstance(model, str) else _as_model(model)
    check_error_rule(handle_tool_errors)
    check_function("approve", approve)
    check_function("listener", listener)
    registered = as_tools(() if tools is None else tools)
    _check_bound(chat, registered)
    free, first = _bound(chat, registered, tool_choice)
    node = (
        ToolNode(registered, handle_tool_errors=handle_tool_errors, store=store, approve=approve, listener=listener)
        if registered
        else None
    )
    loop = _Loop(
        first=first,
        later=free,
        names=frozenset(tool.spec.name for tool in registered),
        direct=frozenset(tool.spec.name for tool in registered if tool.spec.return_direct),
        system=_as_system(system_prompt),
        max_iterations=count("max_iterations", max_iterations),
        tools=node,
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


def _agent_of(loop: _Loop, *, store: Any, name: str) -> Agent:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loop:
    """The two nodes of the loop, and what they need."""

    first: ChatModel
    """Asked first: its choice of tools may be forced."""
    later: ChatModel
    names: frozenset[str]
    direct: frozenset[str]
    """The tools whose results end the run."""
    system: SystemMessage | None
    max_iterations: int
    tools: ToolNode | None

    async def ask(self, state: AgentState, config: RunConfig) -> dict[str, Any]:
        """The model's turn; where it is the last one, the calls it makes are closed."""
        messages, update = _mended(state)
        try:
            reply, asked = await self._reply(messages, state.get("model_calls", 0), config)
        except Exception as error:  # whatever the model raises goes on as it is, with the conversation as evidence
            _attach(error, {"messages": messages, "end_reason": None})
            raise
        reason = self._reason_to_end(reply, asked)
        if reason == "text_call":
            reply = _marked(reply)
        closed = [close_call(call, FailureKind.LIMIT, _LIMIT) for call in reply.tool_calls] if reason else []
        return {"messages": [*update, reply, *closed], "end_reason": reason, "model_calls": asked}

    async def run_tools(self, state: AgentState, config: RunConfig) -> dict[str, Any]:
        """The tools' turn: one answer per call."""
        answers = await self._answers(state, config)
        reason: EndReason | None = None
        # One failure among them, and the model is asked: it has to tell the user, or to correct the call.
        if all(answer.status == "success" and answer.name in self.direct for answer in answers):
            reason = "return_direct"
        elif state.get("model_calls", 0) >= self.max_iterations:
            reason = "max_iterations"
        return {"messages": answers, "end_reason": reason}

    async def _reply(self, messages: list[Message], asked: int, config: RunConfig) -> tuple[AIMessage, int]:
        """The model's reply and how often it was asked by then; a lost reply is asked for again, a few times."""
        model = self.first if asked == 0 else self.later
        # What asks again is said to the model only: the state keeps the conversation as the user had it.
        request = [*([self.system] if self.system else []), *messages]
        again = [*request, HumanMessage(_LOST)]
        limit = min(self.max_iterations, asked + 1 + MAX_RE_ASKS)
        while True:
            reply = _checked(await model.ainvoke(request, config))
            asked += 1
            if not _is_lost(reply) or asked >= limit:
                return reply, asked
            logger.warning("the reply was empty (finish reason %r); asking again", reply.finish_reason)
            request = again

    async def _answers(self, state: AgentState, config: RunConfig) -> list[ToolMessage]:
        if self.tools is None:
            _, calls = unanswered_calls(state.get("messages", []))
            return [close_call(call, FailureKind.UNKNOWN_TOOL, _NO_TOOLS) for call in calls]
        update = await self.tools.ainvoke(state, config)
        return cast("list[ToolMessage]", update["messages"])

    def _reason_to_end(self, reply: AIMessage, asked: int) -> EndReason | None:
        if reply.tool_calls:
            # Results of return_direct tools are the answer: such calls are run though the model may not be asked again.
            needs_another_turn = not all(call["name"] in self.direct for call in reply.tool_calls)
            return "max_iterations" if asked >= self.max_iterations and needs_another_turn else None
        if _is_lost(reply):
            return "empty_reply"
        if reply.finish_reason in ("length", "content_filter"):
            return "truncated"
        is_call = bool(self.names) and bool(text_calls.read_text_calls(reply.text, self.names))
        return "text_call" if is_call else "answer"


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


def _bound(model: ChatModel, tools: Sequence[BaseTool], tool_choice: ToolChoice) -> tuple[ChatModel, ChatModel]:
    """The model with the tools: once with the choice left to it, once as it is to be asked first."""
    if not tools:
        if tool_choice not in (None, "auto", "none"):
            raise OptionError(option="tool_choice", value=tool_choice, expected="None for an agent without tools")
        return model, model
    forced = tool_choice if tool_choice is not None else getattr(model, "tool_choice", None)
    # A choice may have been bound to the model beforehand. It holds for the first request too, and no longer: a model
    # that is forced to call a tool each time never answers.
    free = model.bind_tools(tools)
    return free, free if forced is None else model.bind_tools(tools, tool_choice=forced)


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


def _mended(state: AgentState) -> tuple[list[Message], list[Message]]:
    """The conversation as it may be sent, and what the state has to take in for it.

    A conversation that was loaded may hold calls that nobody answered. During a run that cannot happen.
    """
    messages = state.get("messages", [])
    if state.get("model_calls", 0) or not check_transcript(messages):
        return messages, []
    mended = repair_transcript(messages)
    return mended, [RemoveMessage(id=REMOVE_ALL_MESSAGES), *mended]


def _checked(reply: object) -> AIMessage:
    if isinstance(reply, AIMessage):
        return reply
    raise InputError(
        problem="The model's reply is no AIMessage", value=reply, remedy="Return a surehand AIMessage from ainvoke."
    )


def _is_lost(reply: AIMessage) -> bool:
    """Whether the provider says that something else than an answer happened, and nothing came."""
    is_empty = not reply.tool_calls and (
        not reply.content if isinstance(reply.content, list) else not reply.text.strip()
    )
    # Nothing at all with "stop" is an answer too: after a tool's result, models do say nothing.
    return is_empty and reply.finish_reason not in (None, "stop")


def _marked(reply: AIMessage) -> AIMessage:
    logger.warning("the answer looks like a tool call written as text; text_calls=True on the model reads such calls")
    return reply.replace(response_metadata={**reply.response_metadata, "suspicious": "text_call"})


def _attach(error: Exception, state: dict[str, Any]) -> None:
    """Put what was reached on the error, unless it has a state of its own or cannot carry one."""
    if getattr(error, "state", None) is None:
        try:
            error.state = state  # type: ignore[attr-defined]  # evidence for whoever goes on
        except AttributeError:
            logger.debug("a %s cannot carry the agent's state", type(error).__name__)
