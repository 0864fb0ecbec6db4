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
        is_computed: Whether the tools are not known beforehand: one that is chosen may then be missing among them.
    """

    def __init__(self, model: ChatModel, choice: ToolChoice, *, is_computed: bool) -> None:
        self._model = model
        self._choice = choice if choice is not None else getattr(model, "tool_choice", None)
        self._is_computed = is_computed
        self._made: dict[tuple[int, ...], Offer] = {}
        self._lock = Lock()

    def of(self, tools: Sequence[BaseTool]) -> Offer:
        """The model with these tools; the same one for the same tools, and as it was given where there are none.

        Raises:
            OptionError: The choice names none of the tools.
            ToolDefinitionError: A provider could not tell two of the tools apart.
        """
        key = tuple(map(id, tools))  # what is kept keeps its tools: no other gets the number of one of them
        made = self._made.get(key)
        return made if made is not None else self._keep(key, self._bound(tuple(tools)))

    def _keep(self, key: tuple[int, ...], made: Offer) -> Offer:
        with self._lock:
            self._made[key] = made
            while len(self._made) > _KEPT:
                del self._made[next(iter(self._made))]
        return made

    def _bound(self, tools: tuple[BaseTool, ...]) -> Offer:
        is_bare = not tools and not getattr(self._model, "tools", None)
        # Some providers refuse an empty list of tools, so that a model without any is better left as it is.
        free = self._model if is_bare else self._model.bind_tools(tools)
        return Offer(
            tools=tools,
            names=frozenset(tool.spec.name for tool in tools),
            direct=frozenset(tool.spec.name for tool in tools if tool.spec.return_direct),
            free=free,
            first=self._model.bind_tools(tools, tool_choice=self._choice) if self._is_forced(tools) else free,
        )

    def _is_forced(self, tools: tuple[BaseTool, ...]) -> bool:
        if self._choice is None or not tools:
            return False
        is_name = isinstance(self._choice, str) and self._choice not in _MODES
        return not (is_name and self._is_computed) or self._choice in [tool.spec.name for tool in tools]
