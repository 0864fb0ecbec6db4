"""LangChain's agent with its defaults; it has no place for a tool's timeout."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from evals.contenders import PATIENCE
from evals.world import Idiom, Offer

__all__ = ["answer_of", "idiom", "run"]


class _Words:
    def __init__(self) -> None:
        self._exception: type[Exception] = importlib.import_module("langchain_core.tools").ToolException

    def refusal(self, text: str) -> Exception:
        return self._exception(text)

    def busy(self, text: str) -> Exception:
        return self._exception(text)


def idiom() -> Idiom:
    """How the author of a tool speaks to the model here."""
    return _Words()


async def run(offers: Sequence[Offer], request: str, url: str) -> str:
    """The final answer of an agent with these tools."""
    return await answer_of(offers, request, url, middleware=[])


async def answer_of(offers: Sequence[Offer], request: str, url: str, *, middleware: list[Any]) -> str:
    """The final answer of an agent with these tools and this middleware."""
    agents = importlib.import_module("langchain.agents")
    models = importlib.import_module("langchain_openai")
    model = models.ChatOpenAI(model="local", base_url=f"{url}/v1", api_key="none", timeout=PATIENCE)
    agent = agents.create_agent(model, [offer.function for offer in offers], middleware=middleware)
    state = await agent.ainvoke({"messages": [("user", request)]})
    return str(state["messages"][-1].text)
