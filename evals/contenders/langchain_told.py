"""LangChain's agent with the middleware that its documentation shows for errors of tools."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from evals.contenders.langchain_agent import answer_of, idiom
from evals.world import Offer

__all__ = ["idiom", "run"]


async def run(offers: Sequence[Offer], request: str, url: str) -> str:
    """The final answer of an agent with these tools."""
    return await answer_of(offers, request, url, middleware=[_told()])


def _told() -> Any:
    """Middleware that tells the model of every exception."""
    message = importlib.import_module("langchain.messages").ToolMessage

    async def handle_tool_errors(request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        try:
            return await handler(request)
        except Exception as error:  # noqa: BLE001 - every exception is what it is about
            return message(
                content=f"Tool error: Please check your input and try again. ({error})",
                tool_call_id=request.tool_call["id"],
            )

    return importlib.import_module("langchain.agents.middleware").wrap_tool_call(handle_tool_errors)
