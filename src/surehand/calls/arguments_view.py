"""The arguments of a call, as functions of the host are given them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from surehand.freeze import freeze, thaw

__all__ = ["Arguments", "copied_values"]


class Arguments(Mapping[str, Any]):
    """The typed arguments of a call, to be looked at: ``args["path"]`` or ``args.path``.

    A list or a model among them is a copy: whatever is done to it, the tool gets what was checked.

    An argument that is called like a method of mappings (``items``, ``keys``, ``values``, ``get``) is read by its key.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Any:
        return _copied(self._values[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"The call has no argument {name!r}; it has {', '.join(self._values)}.") from None

    def __repr__(self) -> str:
        return f"Arguments({', '.join(self._values)})"


def copied_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The typed arguments as a dict of their own, for whoever may do with it as he likes."""
    return {name: _copied(value) for name, value in values.items()}


def _copied(value: Any) -> Any:
    return thaw(freeze(value))
