"""What a host puts around an agent's loop: hooks before and after its steps, wrappers around model and tools.

    before_agent   once, when the run begins
    before_model   before each request
    wrap_model_call  around each request
    after_model    after each reply
    wrap_tool_call   around each call that is ready to run
    after_agent    once, when the run ends

The first middleware of an agent is the outermost: its ``before_`` hooks run first, its ``after_`` hooks last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from surehand.agent.strategies import ProviderStrategy, ToolStrategy
from surehand.control import Runtime
from surehand.errors import OptionError
from surehand.messages import AIMessage, Message, SystemMessage
from surehand.models import ChatModel, ForeignModel, ToolChoice
from surehand.policy import UNSET, Unset
from surehand.tools import BaseTool

__all__ = ["AgentMiddleware", "ModelRequest", "ModelResponse", "as_system"]

StateT = TypeVar("StateT", default=Any)


class AgentMiddleware(Generic[StateT]):
    """Subclass it, and write the hooks that you need; those that you leave out cost nothing.

    Each hook may be a function or a coroutine function. With an asynchronous twin of its name after an ``a``
    (``before_model`` and ``abefore_model``), the twin runs where the agent is awaited. A synchronous hook runs on a
    thread. A hook of ``before_`` or ``after_`` is a step of the agent's graph of its own. It returns None, or a
    mapping of state keys to write; with ``"jump_to"`` among them, or as ``Command(goto=…)``, it leads elsewhere:

        ``before_agent``  to ``"end"``, ``"model"`` (the other hooks are left out) or ``"tools"``
        ``before_model``  to ``"end"`` or ``"tools"``
        ``after_model``   to ``"end"``, ``"model"`` (it is asked again) or ``"tools"``
        ``after_agent``   to ``"model"`` (it is asked again)

    Calls that a jump leaves behind are answered as not executed. What a hook raises gets out, with a note that names
    the middleware.

    Example:
        class Counted(AgentMiddleware):
            def after_model(self, state, runtime):
                reply = state["messages"][-1]
                metrics.count("tokens", reply.usage_metadata["total_tokens"])
    """

    name: str
    """What steps, errors and drawings call it by; the class's name by default. No two of an agent may have one name."""
    tools: Sequence[Any] = ()
    """Tools that the agent has besides its own."""
    state_schema: type | None = None
    """A TypedDict of keys that the agent's state has besides its own, with their reducers; None for none."""

    def before_agent(self, state: StateT, runtime: Runtime, /) -> Any:
        """Run once, before anything else of a run; not again when it is resumed."""

    def before_model(self, state: StateT, runtime: Runtime, /) -> Any:
        """Run before each request to the model."""

    def wrap_model_call(self, request: ModelRequest, handler: Any, /) -> Any:
        """Run in place of a request: ``handler(request)`` asks the model and gives a ``ModelResponse``.

        It returns that, another one, or an AIMessage; it may ask several times, or not at all. A coroutine function
        awaits the handler.
        """

    def after_model(self, state: StateT, runtime: Runtime, /) -> Any:
        """Run after each reply of the model, before its calls do."""

    def wrap_tool_call(self, request: Any, run: Any, /) -> Any:
        """Run in place of a call: ``run(request)`` runs it and gives its answer; see ``ToolCallMiddleware``."""

    def after_agent(self, state: StateT, runtime: Runtime, /) -> Any:
        """Run once, when the run has come to its end; not where an exception ends it."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    if not TYPE_CHECKING:  # a checker that saw this would let every misspelt attribute pass

        def __getattr__(self, attribute: str) -> Any:
            """What the class left out: its name."""
            if attribute == "name":
                return type(self).__name__
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {attribute!r}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelRequest:
    """One request of an agent to its model, as ``wrap_model_call`` is given it."""

    model: ChatModel
    """The model, without tools."""
    messages: list[Message]
    """The conversation, and what is said to the model in this request only."""
    system_message: SystemMessage | None = None
    """Stands before the conversation; None for none."""
    tools: tuple[BaseTool, ...] = ()
    """What is offered; the tool of a structured answer comes besides."""
    tool_choice: ToolChoice = None
    """Forces tools in this request; None leaves it to the model."""
    response_format: ToolStrategy | ProviderStrategy | None = None
    """The form of the agent's answer; None for words."""
    state: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    """The agent's state before the request, to be looked at."""
    runtime: Runtime = field(default_factory=Runtime, repr=False)
    """What the graph hands to its nodes: configuration, store, the host's own object."""

    @property
    def system_prompt(self) -> str | None:
        """The text of the system message; None without one."""
        return None if self.system_message is None else self.system_message.text

    def override(
        self,
        *,
        model: ChatModel | ForeignModel | Unset = UNSET,
        messages: Sequence[Message] | Unset = UNSET,
        system_prompt: str | SystemMessage | Unset | None = UNSET,
        system_message: SystemMessage | Unset | None = UNSET,
        tools: Sequence[Any] | Unset = UNSET,
        tool_choice: ToolChoice | Unset = UNSET,
        response_format: ToolStrategy | ProviderStrategy | Unset | None = UNSET,
    ) -> ModelRequest:
        """The same request with something else in it; the original is untouched.

        Args:
            model: Another model.
            messages: Other messages; the state keeps its own.
            system_prompt: Another system prompt; None for none.
            system_message: The same.
            tools: Some of the tools of the agent, or other descriptions of them.
            tool_choice: ``auto``, ``none``, ``required``, a tool's name; None leaves it to the model.
            response_format: None asks for no structured answer this time.

        Raises:
            OptionError: The system prompt is no text.
        """
        system = system_prompt if isinstance(system_message, Unset) else system_message
        changes: dict[str, Any] = {
            "model": model,
            "messages": messages if isinstance(messages, Unset) else list(messages),
            "system_message": system if isinstance(system, Unset) else as_system(system),
            "tools": tools if isinstance(tools, Unset) else tuple(tools),
            "tool_choice": tool_choice,
            "response_format": response_format,
        }
        return replace(self, **{name: value for name, value in changes.items() if not isinstance(value, Unset)})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelResponse:
    """What a request came to."""

    message: AIMessage
    """The reply."""
    update: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What to write into the state besides, by key."""

    @property
    def result(self) -> list[Message]:
        """The reply as a list."""
        return [self.message]


def as_system(prompt: object) -> SystemMessage | None:
    """A system prompt as a message.

    Raises:
        OptionError: It is neither text nor a message of its kind.
    """
    if prompt is None or isinstance(prompt, SystemMessage):
        return prompt
    if not isinstance(prompt, str):
        raise OptionError(option="system_prompt", value=prompt, expected="text, a SystemMessage or None")
    return SystemMessage(prompt)
