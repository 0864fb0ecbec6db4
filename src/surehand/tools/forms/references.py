"""``$ref`` within one schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from surehand.shapes import is_object
from surehand.spec.places import pointed
from surehand.tools.forms.adaptation import Notes
from surehand.tools.forms.subschemas import rewritten

__all__ = ["Definitions", "inlined"]

_DEFINITIONS: Final = ("$defs", "definitions")


class Definitions:
    """Finds what a reference refers to: a JSON pointer into the same schema.

    Args:
        root: The whole schema.
        notes: Words a reference that cannot be followed.
    """

    def __init__(self, root: Mapping[str, Any], notes: Notes) -> None:
        self._root = root
        self._notes = notes

    def target(self, reference: str, place: str) -> Any:
        """The schema that is referred to.

        Raises:
            ToolDefinitionError: It is given by an anchor or by another document's address.
        """
        pointer = unquote(reference).removeprefix("#")
        if not reference.startswith("#"):
            raise self._lost(reference, place)
        try:
            return pointed(self._root, pointer)
        except LookupError:
            raise self._lost(reference, place) from None

    def _lost(self, reference: str, place: str) -> Exception:
        return self._notes.refusal(place, f"refers to {reference!r}", "Put the definition under $defs")


def inlined(root: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    """A copy of the schema with what is referred to in the place of each reference, and without definitions.

    Raises:
        ToolDefinitionError: A definition contains itself, or a reference cannot be followed.
    """
    return _Inliner(root, notes).schema(root, "$", ())


class _Inliner:
    def __init__(self, root: Mapping[str, Any], notes: Notes) -> None:
        self._definitions = Definitions(root, notes)
        self._notes = notes

    def schema(self, node: Mapping[str, Any], place: str, within: tuple[str, ...]) -> dict[str, Any]:
        """The schema without references; ``within`` are the references that led to it."""
        own = {key: value for key, value in node.items() if key not in _DEFINITIONS}

        def follow(inner: dict[str, Any], inner_place: str) -> dict[str, Any]:
            reference = inner.pop("$ref", None)
            if not isinstance(reference, str):
                return inner
            if reference in within or reference == "#":
                raise self._notes.refusal(inner_place, f"contains itself by way of {reference!r}", "Bound its depth")
            target = self._definitions.target(reference, inner_place)
            followed = self.schema(target, inner_place, (*within, reference)) if is_object(target) else {}
            return _joined(followed, inner)

        made: dict[str, Any] = rewritten(own, follow, place)
        return made


def _joined(target: dict[str, Any], beside: dict[str, Any]) -> dict[str, Any]:
    """What a reference leads to, and what stood beside it; both hold, and of two descriptions the nearer."""
    clash = {key for key in beside if key in target and beside[key] != target[key]} - {
        "title",
        "description",
        "default",
    }
    return {"allOf": [target], **beside} if clash else {**target, **beside}
