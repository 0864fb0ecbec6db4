"""The loop of model and tools: ask, run what was asked for, tell the model, until there is an answer or a limit.

    START -> model -> tools -> model -> … -> END

The loop never raises for what a model does: a call that cannot be read, a tool that is not there, a limit that is
reached all end as messages, and the state says in ``end_reason`` why it ended.
"""

from surehand.agent.create import Agent, create_agent
from surehand.agent.state import AgentState, EndReason

__all__ = ["Agent", "AgentState", "EndReason", "create_agent"]
