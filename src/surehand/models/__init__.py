"""Chat models: what they have in common, and the adapters to providers."""

from surehand.models.anthropic import ChatAnthropic
from surehand.models.base import BaseChatModel, ModelRequest
from surehand.models.choice import PROVIDERS, init_chat_model
from surehand.models.google import ChatGoogle
from surehand.models.local import LocalModel
from surehand.models.nudge import Nudge
from surehand.models.openai import DEEPSEEK, OLLAMA, OPENAI, ChatOpenAI, Endpoint
from surehand.models.protocol import ChatModel, ForeignModel, ModelInput, ToolChoice

__all__ = [
    "DEEPSEEK",
    "OLLAMA",
    "OPENAI",
    "PROVIDERS",
    "BaseChatModel",
    "ChatAnthropic",
    "ChatGoogle",
    "ChatModel",
    "ChatOpenAI",
    "Endpoint",
    "ForeignModel",
    "LocalModel",
    "ModelInput",
    "ModelRequest",
    "Nudge",
    "ToolChoice",
    "init_chat_model",
]
