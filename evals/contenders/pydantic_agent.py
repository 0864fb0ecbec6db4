"""Pydantic AI's agent with its defaults."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from evals.contenders import PATIENCE
from evals.world import Idiom, Offer

__all__ = ["idiom", "run"]


class _Words:
    def __init__(self) -> None:
        self._exception: type[Exception] = importlib.import_module("pydantic_ai").ModelRetry

    def refusal(self, text: str) -> Exception:
        return self._exception(text)

    def busy(self, text: str) -> Exception:
        return self._exception(text)


def idiom() -> Idiom:
    """How the author of a tool speaks to the model here."""
    return _Words()


async def run(offers: Sequence[Offer], request: str, url: str) -> str:
    """The final answer of an agent with these tools."""
    package = importlib.import_module("pydantic_ai")
    models = importlib.import_module("pydantic_ai.models.openai")
    providers = importlib.import_module("pydantic_ai.providers.openai")
    clients = importlib.import_module("openai")
    client = clients.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", timeout=PATIENCE)
    model = models.OpenAIChatModel("local", provider=providers.OpenAIProvider(openai_client=client))
    tools: list[Any] = [
        package.Tool(offer.function) if offer.timeout is None else package.Tool(offer.function, timeout=offer.timeout)
        for offer in offers
    ]
    result = await package.Agent(model, tools=tools).run(request)
    return str(result.output)
