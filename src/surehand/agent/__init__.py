"""The loop of model and tools: ask, run what was asked for, tell the model, until there is an answer or a limit.

    START -> model -> tools -> model -> … -> END

The loop never raises for what a model does: a call that cannot be read, a tool that is not there, a limit that is
reached all end as messages, and the state says in ``end_reason`` why it ended. Middlewares stand before, after and
around its steps; ``response_format`` gives the answer a form.
"""

from surehand.agent.create import Agent, create_agent
from surehand.agent.decorators import (
    HookDecorator,
    after_agent,
    after_model,
    before_agent,
    before_model,
    dynamic_prompt,
    wrap_model_call,
    wrap_tool_call,
)
from surehand.agent.middleware import AgentMiddleware, ModelRequest, ModelResponse
from surehand.agent.state import AgentState, EndReason
from surehand.agent.strategies import ProviderStrategy, ToolStrategy

__all__ = [
    "Agent",
    "AgentMiddleware",
    "AgentState",
    "EndReason",
    "HookDecorator",
    "ModelRequest",
    "ModelResponse",
    "ProviderStrategy",
    "ToolStrategy",
    "after_agent",
    "after_model",
    "before_agent",
    "before_model",
    "create_agent",
    "dynamic_prompt",
    "wrap_model_call",
    "wrap_tool_call",
]
