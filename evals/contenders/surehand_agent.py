"""Surehand's agent with its defaults."""

from __future__ import annotations

from collections.abc import Sequence

from evals.contenders import PATIENCE
from evals.world import Idiom, Offer
from surehand import BaseTool, ChatOpenAI, ToolException, create_agent, tool

__all__ = ["idiom", "run"]


class _Words:
    def refusal(self, text: str) -> Exception:
        return ToolException(text)

    def busy(self, text: str) -> Exception:
        return ToolException(text, retryable=True)


def idiom() -> Idiom:
    """How the author of a tool speaks to the model here."""
    return _Words()


async def run(offers: Sequence[Offer], request: str, url: str) -> str:
    """The final answer of an agent with these tools."""
    model = ChatOpenAI("local", base_url=f"{url}/v1", api_key="none", timeout=PATIENCE)
    agent = create_agent(model, [_tool(offer) for offer in offers])
    state = await agent.ainvoke({"messages": [("user", request)]})
    return str(state["messages"][-1].text)


def _tool(offer: Offer) -> BaseTool:
    return tool(offer.function) if offer.timeout is None else tool(timeout=offer.timeout)(offer.function)
