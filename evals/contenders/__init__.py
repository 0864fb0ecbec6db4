"""The frameworks, each with its defaults: one module per framework, imported only in the process that runs it."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, cast

from evals.world import Idiom, Offer

__all__ = ["CONTENDERS", "PATIENCE", "Contender", "Runner", "runner_of"]

PATIENCE: Final = 1800.0
"""Seconds that a framework's client waits for the model, which may take long on a small machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A framework in one configuration."""

    name: str
    title: str
    module: str
    packages: tuple[str, ...]
    """The distributions whose versions count."""


class Runner(Protocol):
    """What a contender's module holds."""

    def idiom(self) -> Idiom:
        """How the author of a tool speaks to the model here."""
        ...

    async def run(self, offers: Sequence[Offer], request: str, url: str) -> str:
        """The final answer of an agent with these tools; the model is at ``url``."""
        ...


CONTENDERS: Final[dict[str, Contender]] = {
    contender.name: contender
    for contender in (
        Contender(
            name="surehand",
            title="Surehand `create_agent`",
            module="evals.contenders.surehand_agent",
            packages=("surehand", "openai"),
        ),
        Contender(
            name="langchain",
            title="LangChain `create_agent`",
            module="evals.contenders.langchain_agent",
            packages=("langchain", "langgraph", "langchain-core", "langchain-openai", "openai"),
        ),
        Contender(
            name="langchain-told",
            title="LangChain `create_agent`, every exception told",
            module="evals.contenders.langchain_told",
            packages=("langchain", "langgraph", "langchain-core", "langchain-openai", "openai"),
        ),
        Contender(
            name="pydantic-ai",
            title="Pydantic AI `Agent`",
            module="evals.contenders.pydantic_agent",
            packages=("pydantic-ai-slim", "openai"),
        ),
    )
}
"""All of them, by name, in the order of the table."""


def runner_of(contender: Contender) -> Runner:
    """The contender's module, imported."""
    return cast("Runner", importlib.import_module(contender.module))
