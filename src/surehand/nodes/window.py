"""What a function may see of a state: read-only, and only the keys that it declared.

A key that was not declared raises wherever it is asked for, also by ``in`` and ``get``: to say that it is absent would
send the function another way without a word, and hide that its declaration is wrong.
"""

# States of any type are read here, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel

from surehand.errors import NodeError
from surehand.freeze import FrozenDict, freeze

__all__ = ["fields_of", "window"]


def fields_of(state: Any) -> dict[str, Any] | None:
    """The state's keys and values; None where it is no state."""
    if isinstance(state, Mapping):
        items: Mapping[Any, Any] = state
        return {str(key): value for key, value in items.items()}
    if isinstance(state, BaseModel):
        return {**state.__dict__, **(state.__pydantic_extra__ or {})}
    if is_dataclass(state) and not isinstance(state, type):
        return {field.name: getattr(state, field.name) for field in fields(state) if hasattr(state, field.name)}
    return None


def window(state: Any, *, reads: frozenset[str] | None, node: str) -> Any:
    """The state as a function may see it; a key outside of ``reads`` is an error that names the node and the key."""
    if isinstance(state, Mapping):
        items: Mapping[str, Any] = state
        if reads is None:
            return freeze(dict(items))
        seen = freeze({key: value for key, value in items.items() if key in reads})
        return _Window(seen, reads=reads, node=node)
    if reads is None:
        return freeze(state)
    return _narrowed(freeze(state), hidden=frozenset(fields_of(state) or ()) - reads, node=node)


def _forbidden(node: str, key: object) -> NodeError:
    return NodeError(
        node=node,
        problem=f"it read the state's key {key!r}, which its reads= does not declare",
        remedy=f"Add {key!r} to reads=.",
    )


class _Window(FrozenDict):
    """A read-only mapping that does not know, and says so, of keys that were not declared.

    Going through it shows the declared keys only: a function that copies what it was given reads nothing by that.
    """

    __slots__ = ("_node", "_reads")

    def __init__(self, items: Mapping[str, Any], *, reads: frozenset[str], node: str) -> None:
        super().__init__(items)
        self.place = ""
        self._reads = reads
        self._node = node

    def __missing__(self, key: Any) -> Any:
        raise KeyError(key) if key in self._reads else _forbidden(self._node, key)

    def __contains__(self, key: object) -> bool:
        return super().__contains__(self._declared(key))

    def get(self, key: Any, default: Any = None, /) -> Any:
        """The value of a declared key; the default where the state does not have it."""
        return super().get(self._declared(key), default)

    def _declared(self, key: Any) -> Any:
        if key not in self._reads:
            raise _forbidden(self._node, key)
        return key


def _narrowed(frozen: Any, *, hidden: frozenset[str], node: str) -> Any:
    """A read-only dataclass or model whose undeclared fields cannot be asked for."""
    kind: Any = type(frozen)

    def look(self: Any, name: str) -> Any:
        if name in hidden:
            raise _forbidden(node, name)
        return kind.__getattribute__(self, name)

    namespace: dict[str, Any] = {"__slots__": (), "__module__": kind.__module__, "__getattribute__": look}
    narrow: Any = type(kind)(kind.__name__, (kind,), namespace)
    # Not by assignment: a read-only instance answers to ``__class__`` with the class it was made from.
    vars(object)["__class__"].__set__(frozen, narrow)
    return frozen
