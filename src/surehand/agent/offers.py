"""A model with the tools that it is offered in a turn, bound once for each set of tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final

from surehand.models import ChatModel, ToolChoice
from surehand.tools import BaseTool

__all__ = ["BoundModels", "Offer"]

_KEPT: Final = 32
"""How many sets of tools the model is kept bound to."""
_MODES: Final = frozenset({"auto", "none", "required", "any"})
"""Choices that name no tool."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Offer:
    """What a model is offered in one turn."""

    tools: tuple[BaseTool, ...]
    names: frozenset[str]
    direct: frozenset[str]
    """The tools whose results end the run."""
    free: ChatModel
    """The model with the tools, and the choice left to it."""
    first: ChatModel
    """The model as it is to be asked first: its choice may be forced."""


class BoundModels:
    """One model, bound to whatever tools it is offered.

    A choice of tools, also one that was bound to the model beforehand, holds for the first request and no longer: a
    model that is forced to call a tool each time never answers.

    Args:
        model: The model as the host gave it.
        choice: The choice that is forced in the first request; None for the model's own.
        tools: All tools there are; none where they are computed.

    Raises:
        OptionError: The choice names none of the tools.
        ToolDefinitionError: A provider could not tell two of the tools apart.
    """

    def __init__(self, model: ChatModel, choice: ToolChoice, tools: Sequence[BaseTool]) -> None:
        self._model = model
        self._choice = choice if choice is not None else getattr(model, "tool_choice", None)
        self._made: dict[tuple[int, ...], Offer] = {}
        self._lock = Lock()
        self.known = self._keep(self._bound(tuple(tools), choice=self._choice))
        """The model with all tools, as long as nothing is used up or hidden."""

    def of(self, tools: Sequence[BaseTool]) -> Offer:
        """The model with these tools; the same one for the same tools, and as it was given where there are none.

        A choice of a tool that is not among them, because it is used up or hidden, is left open.

        Raises:
            ToolDefinitionError: A provider could not tell two of the tools apart.
        """
        made = self._made.get(_key(tools))
        if made is not None:
            return made
        names = [tool.spec.name for tool in tools]
        is_open = isinstance(self._choice, str) and self._choice not in _MODES and self._choice not in names
        return self._keep(self._bound(tuple(tools), choice=None if is_open else self._choice))

    def _keep(self, made: Offer) -> Offer:
        with self._lock:
            self._made[_key(made.tools)] = made
            while len(self._made) > _KEPT:
                del self._made[next(iter(self._made))]
        return made

    def _bound(self, tools: tuple[BaseTool, ...], *, choice: ToolChoice) -> Offer:
        is_bare = not tools and not getattr(self._model, "tools", None)
        # Some providers refuse an empty list of tools, so that a model without any is better left as it is.
        free = self._model if is_bare else self._model.bind_tools(tools)
        return Offer(
            tools=tools,
            names=frozenset(tool.spec.name for tool in tools),
            direct=frozenset(tool.spec.name for tool in tools if tool.spec.return_direct),
            free=free,
            first=free if choice is None or not tools else self._model.bind_tools(tools, tool_choice=choice),
        )


def _key(tools: Sequence[BaseTool]) -> tuple[int, ...]:
    """By identity: what is kept keeps its tools, so that no other can get the number of one of them."""
    return tuple(map(id, tools))
