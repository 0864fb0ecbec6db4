"""What is told otherwise than the tool's own schema says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from surehand.errors import ToolDefinitionError

__all__ = ["Adaptation", "Effect", "Notes"]

Effect: TypeAlias = Literal["same", "wider", "narrower", "closed"]
"""What an adaptation does to the values that a model may send.

``same``: none is won or lost. ``wider``: some more, which the tool's own schema still refuses. ``narrower``: the model
cannot send something that the tool would take. ``closed``: it cannot send keys that nobody declared.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptation:
    """One difference between a tool's own schema and what a provider is told."""

    place: str
    """Where in the schema: ``$`` is the whole, ``$.p`` a property, ``$.p[]`` its items, ``$Name`` a definition."""
    what: str
    """What is told otherwise, as a clause without its subject."""
    why: str
    """Why, as a sentence without its stop."""
    effect: Effect


class Notes:
    """Takes down the adaptations while a declaration is made, and words what cannot be adapted.

    Args:
        tool: The tool's name.
        form: Whose form is made, as the subject of a sentence.
        way_out: What else could be asked for, as the end of a sentence that begins with a remedy.
    """

    def __init__(self, *, tool: str, form: str, way_out: str = "") -> None:
        self.form = form
        self._made: dict[Adaptation, None] = {}
        self._tool = tool
        self._way_out = way_out

    @property
    def adaptations(self) -> tuple[Adaptation, ...]:
        """What was taken down, in order."""
        return tuple(self._made)

    def add(self, place: str, what: str, effect: Effect, *, why: str = "") -> None:
        """Take down an adaptation, once; without a reason it is that the form does not know the construct."""
        made = Adaptation(place=place, what=what, why=why or f"{self.form} does not know it", effect=effect)
        self._made[made] = None

    def refusal(self, place: str, problem: str, remedy: str) -> ToolDefinitionError:
        """The error for a construct without which the model could not send what the tool needs."""
        return ToolDefinitionError(
            tool=self._tool,
            problem=f"{place} {problem}, which {self.form} cannot carry",
            remedy=f"{remedy}{self._way_out}.",
        )
