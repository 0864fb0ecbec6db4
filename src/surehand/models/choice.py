"""One name for one model: ``provider:model``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from surehand.errors import OptionError
from surehand.models.anthropic import ChatAnthropic
from surehand.models.base import BaseChatModel
from surehand.models.google import ChatGoogle
from surehand.models.local import LocalModel
from surehand.models.openai import DEEPSEEK, OLLAMA, ChatOpenAI

__all__ = ["PROVIDERS", "init_chat_model"]


def _deepseek(model: str, **options: Any) -> ChatOpenAI:
    return ChatOpenAI(model, endpoint=DEEPSEEK, **options)


def _ollama(model: str, **options: Any) -> ChatOpenAI:
    return ChatOpenAI(model, endpoint=OLLAMA, **options)


PROVIDERS: Final[dict[str, Callable[..., BaseChatModel]]] = {
    "anthropic": ChatAnthropic,
    "deepseek": _deepseek,
    "google": ChatGoogle,
    "local": LocalModel,
    "ollama": _ollama,
    "openai": ChatOpenAI,
}
"""Provider -> what makes its models."""

_FAMILIES: Final = {
    "chatgpt-": "openai",
    "claude-": "anthropic",
    "deepseek-": "deepseek",
    "ft:gpt-": "openai",
    "gemini-": "google",
    "gpt-": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4-": "openai",
}
"""How a bare model name begins -> its provider."""


def init_chat_model(model: str, *, model_provider: str | None = None, **options: Any) -> BaseChatModel:
    """The chat model of this name; nothing is contacted and no key is read until it is called.

    Example:
        init_chat_model("deepseek:deepseek-v4-flash", temperature=0)
        init_chat_model("ollama:qwen3.5:9b")
        init_chat_model("my-model", model_provider="openai", base_url="http://gpu-7:8000/v1", api_key="none")

    Args:
        model: ``provider:model``, or a model name whose provider is plain (``gpt-…``, ``claude-…``, ``gemini-…``, …).
        model_provider: The provider, where the name does not say it; the name is then taken as it is.
        options: What the provider's class takes: ``temperature``, ``max_tokens``, ``base_url``, ``api_key`` and so on.

    Raises:
        OptionError: The provider is unknown or not said.
    """
    provider, name = (model_provider, model) if model_provider is not None else _split(model)
    make = PROVIDERS.get(provider)
    if make is None or not name:
        raise OptionError(
            option="model" if model_provider is None else "model_provider",
            value=model if model_provider is None else model_provider,
            expected=f"a model of one of the providers {', '.join(PROVIDERS)}, as 'provider:model'",
            remedy=(
                "Any server that speaks OpenAI's chat completions is reached with "
                "model_provider='openai' and base_url='http://host/v1'."
            ),
        )
    return make(name, **options)


def _split(model: str) -> tuple[str, str]:
    """Provider and name; the provider is empty where nothing tells it."""
    if not isinstance(model, str):  # pyright: ignore[reportUnnecessaryIsInstance] - hosts may not type-check
        return "", ""
    provider, separator, name = model.partition(":")
    if separator and provider in PROVIDERS:
        return provider, name
    return next((known for start, known in _FAMILIES.items() if model.startswith(start)), ""), model
