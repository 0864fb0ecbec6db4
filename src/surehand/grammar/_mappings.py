"""Arguments that arrive as a mapping already: copied, so that nobody else's object can change under a call."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final, TypeGuard, cast

from surehand.grammar import relaxations
from surehand.grammar._faults import Fault, clipped
from surehand.grammar._kinds import is_list
from surehand.grammar._plain import is_well_formed
from surehand.grammar.limits import MAX_DEPTH, MAX_DIGITS, MAX_LENGTH

__all__ = ["copy_mapping", "is_plain"]

_MAX_BITS: Final = MAX_DIGITS * 10 // 3
_FEW: Final = 100
_SMALL: Final = 2**63


def copy_mapping(raw: Mapping[Any, Any], *, repairs: dict[str, None]) -> dict[str, Any]:
    """A copy of ``raw`` down to its leaves, or Fault; objects that JSON does not have stay the same objects."""
    return _Copying(repairs).members(raw)


def is_plain(raw: object) -> TypeGuard[dict[str, Any]]:
    """Whether there is nothing to look into: a dict of ASCII texts, small integers, booleans and nulls.

    Most calls are; the answer costs a fifth of the walk.
    """
    kind: type[Any] = type(raw)
    if kind is not dict:
        return False
    items = cast("dict[Any, Any]", raw)
    if len(items) > _FEW:
        return False
    for key, value in items.items():  # noqa: SIM110 - a generator expression costs half as much again
        if type(key) is not str or not key.isascii() or not _is_small(value):
            return False
    return True


def _is_small(value: Any) -> bool:
    if type(value) is str:
        return value.isascii()
    if type(value) is int:
        return -_SMALL < value < _SMALL
    return value is None or type(value) is bool


class _Copying:
    """One copy on its way: `outer` are the containers round the current value, `count` the values so far."""

    __slots__ = ("count", "outer", "repairs")

    def __init__(self, repairs: dict[str, None]) -> None:
        self.repairs = repairs
        self.outer: set[int] = set()
        self.count = 0

    def members(self, raw: Mapping[Any, Any]) -> dict[str, Any]:
        self._enter(raw)
        copy: dict[str, Any] = {}
        for key, value in raw.items():
            if not isinstance(key, str):
                raise Fault(f"the key {clipped(repr(key))} is no text", at=None)
            self._check_text(key)
            copy[key] = self._value(value)
        self.outer.discard(id(raw))
        return copy

    def _items(self, raw: list[Any] | tuple[Any, ...]) -> list[Any]:
        self._enter(raw)
        copy = [self._value(item) for item in raw]
        self.outer.discard(id(raw))
        return copy

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            self._check_text(value)
        elif isinstance(value, Mapping):
            return self.members(value)  # pyright: ignore[reportUnknownArgumentType] - JSON
        elif is_list(value):
            return self._items(value)
        elif type(value) is tuple:
            self.repairs[relaxations.TUPLES] = None
            return self._items(value)  # pyright: ignore[reportUnknownArgumentType] - any tuple
        elif isinstance(value, float):
            if not isfinite(value):
                raise Fault(f"{value!r} is no JSON number", at=None)
        elif isinstance(value, int) and value.bit_length() > _MAX_BITS:
            raise Fault(f"an integer of {value.bit_length()} bits is too long", at=None)
        self._count()
        return value

    def _enter(self, container: object) -> None:
        self._count()
        if id(container) in self.outer:
            raise Fault("a container holds itself", at=None)
        if len(self.outer) >= MAX_DEPTH:
            raise Fault(f"the containers are nested more than {MAX_DEPTH} deep", at=None)
        self.outer.add(id(container))

    def _count(self) -> None:
        self.count += 1
        if self.count > MAX_LENGTH:
            raise Fault(f"there are more than {MAX_LENGTH} values", at=None)

    def _check_text(self, text: str) -> None:
        if not is_well_formed(text):
            raise Fault("a text holds half a surrogate pair, which is no character", at=None)
