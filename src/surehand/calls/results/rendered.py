"""A result as the model is given it."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Rendered"]


class Rendered(NamedTuple):
    """A result as the model is given it.

    A named tuple and not a dataclass because one is built for every call, at a third of the cost.
    """

    content: str | list[dict[str, Any]]
    """Never empty, always well-formed."""
    artifact: Any = None
    """The value as it was returned, where the content does not show all of it."""
    has_artifact: bool = False
    """Whether ``artifact`` says anything."""
    notes: tuple[str, ...] = ()
    """What was lost or changed, each with its JSON path."""

    def with_note(self, note: str) -> Rendered:
        """The same with a note below it, for the model."""
        if isinstance(self.content, str):
            return self._replace(content=f"{self.content}\n\n{note}")
        return self._replace(content=[*self.content, {"type": "text", "text": note}])
