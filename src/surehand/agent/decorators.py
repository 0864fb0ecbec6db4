"""Middlewares of one function each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, overload

from surehand.agent.hooks import HookName
from surehand.agent.middleware import AgentMiddleware, ModelRequest
from surehand.callables import is_async_callable, name_of

__all__ = [
    "HookDecorator",
    "after_agent",
    "after_model",
    "before_agent",
    "before_model",
    "dynamic_prompt",
    "wrap_model_call",
    "wrap_tool_call",
]


_Hooked: TypeAlias = Callable[[Any, Any], Any]


class HookDecorator:
    """Makes a middleware of a function, which becomes the one hook that it has; the function may be asynchronous.

    Example:
        @before_model
        def shorten(state, runtime):
            return {"messages": [RemoveMessage(id=message.id) for message in state["messages"][:-20]]}

        create_agent(model, tools, middleware=[shorten])
    """

    def __init__(self, hook: HookName) -> None:
        self._hook: HookName = hook

    @overload
    def __call__(
        self,
        function: _Hooked,
        /,
        *,
        name: str | None = None,
        tools: Sequence[Any] = (),
        state_schema: type | None = None,
    ) -> AgentMiddleware[Any]: ...
    @overload
    def __call__(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        tools: Sequence[Any] = (),
        state_schema: type | None = None,
    ) -> Callable[[_Hooked], AgentMiddleware[Any]]: ...
    def __call__(
        self,
        function: _Hooked | None = None,
        /,
        *,
        name: str | None = None,
        tools: Sequence[Any] = (),
        state_schema: type | None = None,
    ) -> AgentMiddleware[Any] | Callable[[_Hooked], AgentMiddleware[Any]]:
        """The middleware, or what makes one of a function.

        Args:
            function: Takes what the hook takes.
            name: The middleware's name; None for the function's own.
            tools: Tools that the agent has besides its own.
            state_schema: A TypedDict of keys that the agent's state has besides its own.
        """

        def decorate(decorated: _Hooked) -> AgentMiddleware[Any]:
            made = _made(self._hook, decorated, name=name or _name_of(decorated))
            made.tools, made.state_schema = tools, state_schema
            return made

        return decorate if function is None else decorate(function)

    def __repr__(self) -> str:
        return self._hook


before_agent: Final = HookDecorator("before_agent")
before_model: Final = HookDecorator("before_model")
wrap_model_call: Final = HookDecorator("wrap_model_call")
after_model: Final = HookDecorator("after_model")
wrap_tool_call: Final = HookDecorator("wrap_tool_call")
after_agent: Final = HookDecorator("after_agent")


def dynamic_prompt(function: Callable[[ModelRequest], Any]) -> AgentMiddleware[Any]:
    """A middleware of a function of a ``ModelRequest`` that gives the system prompt of each request.

    Example:
        @dynamic_prompt
        def prompt(request: ModelRequest) -> str:
            return f"You speak with {request.runtime.context.user}."
    """

    def wrap(request: ModelRequest, handler: Any) -> Any:
        return handler(request.override(system_prompt=function(request)))

    async def awrap(request: ModelRequest, handler: Any) -> Any:
        return await handler(request.override(system_prompt=await function(request)))

    return _made("wrap_model_call", awrap if is_async_callable(function) else wrap, name=_name_of(function))


def _made(hook: HookName, function: Callable[..., Any], *, name: str) -> AgentMiddleware[Any]:
    """A middleware with this one hook."""
    made: AgentMiddleware[Any] = AgentMiddleware()
    made.name = name
    setattr(made, hook, function)
    return made


def _name_of(function: Callable[..., Any]) -> str:
    """The function's own name, without those of the functions around it."""
    return name_of(function).rpartition(".")[2]
