"""Read-only copies: what a function may look at and cannot change.

A state that is shown to a tool or a node is copied once, deeply, into containers that read like ``dict``, ``list`` and
``set`` (they are subclasses: JSON, pydantic and ``==`` see no difference) and refuse every change by name. A lazy view
was considered and left: C code reads past the methods of a ``dict`` or ``list`` subclass, so a view would hand out what
it is to protect.
"""

# Values of any type are read here, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import copy
import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cache
from pathlib import PurePath
from types import MemberDescriptorType
from typing import Any, Final, NoReturn, TypeVar, cast
from uuid import UUID

from surehand.errors import RunError

__all__ = ["FrozenDict", "FrozenList", "FrozenSet", "ReadOnlyError", "freeze", "thaw"]

T = TypeVar("T")


class ReadOnlyError(RunError, TypeError):
    """Somebody tried to change a value that is shown read-only."""

    code = "read_only"

    act: str
    """What was tried, as the name of the method or ``=``."""
    place: str
    """The key of the state the value belongs to; empty where it is the state itself."""

    def __init__(self, *, act: str, place: str = "") -> None:
        what = f"The state's {place!r}" if place else "The state"
        super().__init__(
            f"{what} is read-only here: {act!r} is not possible. "
            "Copy what you need, and return the change as an update.",
            act=act,
            place=place,
        )


def _refusing(act: str) -> Callable[..., NoReturn]:
    def refuse(self: Any, *_: Any, **__: Any) -> NoReturn:
        raise ReadOnlyError(act=act, place=getattr(self, "place", ""))

    refuse.__name__ = act
    return refuse


class FrozenDict(dict[Any, Any]):
    """A dict that cannot be changed. Copies of it are ordinary dicts."""

    __slots__ = ("place",)
    place: str
    """The key of the state that it belongs to."""

    __setitem__ = _refusing("[]=")
    __delitem__ = _refusing("del")
    __ior__ = _refusing("|=")
    clear = _refusing("clear")
    pop = _refusing("pop")
    popitem = _refusing("popitem")
    setdefault = _refusing("setdefault")
    update = _refusing("update")

    def copy(self) -> dict[Any, Any]:
        """An ordinary dict of the same items."""
        return dict(self)

    def __copy__(self) -> dict[Any, Any]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[Any, Any]:
        return {key: copy.deepcopy(value, memo) for key, value in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class FrozenList(list[Any]):
    """A list that cannot be changed. Copies of it are ordinary lists."""

    __slots__ = ("place",)
    place: str
    """The key of the state that it belongs to."""

    __setitem__ = _refusing("[]=")
    __delitem__ = _refusing("del")
    __iadd__ = _refusing("+=")
    __imul__ = _refusing("*=")
    append = _refusing("append")
    clear = _refusing("clear")
    extend = _refusing("extend")
    insert = _refusing("insert")
    pop = _refusing("pop")
    remove = _refusing("remove")
    reverse = _refusing("reverse")
    sort = _refusing("sort")

    def copy(self) -> list[Any]:
        """An ordinary list of the same items."""
        return list(self)

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [copy.deepcopy(value, memo) for value in self]

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


class FrozenSet(set[Any]):
    """A set that cannot be changed. Copies of it are ordinary sets."""

    __slots__ = ("place",)
    place: str
    """The key of the state that it belongs to."""

    __iand__ = _refusing("&=")
    __ior__ = _refusing("|=")
    __isub__ = _refusing("-=")
    __ixor__ = _refusing("^=")
    add = _refusing("add")
    clear = _refusing("clear")
    difference_update = _refusing("difference_update")
    discard = _refusing("discard")
    intersection_update = _refusing("intersection_update")
    pop = _refusing("pop")
    remove = _refusing("remove")
    symmetric_difference_update = _refusing("symmetric_difference_update")
    update = _refusing("update")

    def copy(self) -> set[Any]:
        """An ordinary set of the same items."""
        return set(self)

    def __copy__(self) -> set[Any]:
        return set(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> set[Any]:
        return set(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return set, (list(self),)


_ATOMS: Final = (
    *(str, bytes, bool, int, float, complex, type(None), type(...), type, range, frozenset),
    *(dt.date, dt.time, dt.timedelta, dt.tzinfo, Decimal, UUID, PurePath, Enum),
)
"""Types whose values cannot be changed."""
_ATOM_TYPES: Final = frozenset({str, bool, int, float, type(None)})
"""The commonest of them, for one look at the type."""
_KEPT: Final = 0
"""Under this key, which is no object's id, stands what was made while freezing and has to live until it is done."""


def freeze(value: T, *, place: str = "") -> T:
    """A deep copy of the value that cannot be changed and does not change with the original.

    Dicts, lists, sets and tuples are copied into read-only ones; messages and other values that refuse assignment,
    dataclasses and pydantic models likewise, field by field. Any other object is deep-copied, so that a change to it
    stays in the copy; one that cannot be copied (a connection, a lock) is shown as it is.

    Args:
        value: What is to be shown.
        place: The key of the state that the value is taken from, for the words of ``ReadOnlyError``. For a mapping
            without it, every value's own key is its place.
    """
    return cast("T", _frozen(value, place, {}))


def _frozen(value: Any, place: str, done: dict[int, Any]) -> Any:  # noqa: PLR0911 - one line a kind of value
    kind: Any = type(value)
    if kind in _ATOM_TYPES:
        return value
    # One copy of an object that stands in several places, and an end for one that holds itself. An id says which object
    # it is only while that lives: originals do until all is frozen, and what is made on the way is kept in `done`.
    known = done.get(id(value))
    if known is not None:
        return known
    if isinstance(value, dict):
        return _frozen_dict(value, value, place, done)
    if isinstance(value, list):
        return _frozen_list(value, place, done)
    if isinstance(value, _ATOMS):
        return value
    if isinstance(value, tuple):
        items = [_frozen(item, place, done) for item in value]
        return kind._make(items) if hasattr(kind, "_make") else tuple(items)
    if isinstance(value, set):
        frozen = FrozenSet(value)  # its members can be hashed, and so are not changed by anybody
        frozen.place = place
        return frozen
    return _frozen_object(value, place, done)


def _frozen_dict(value: Any, items: dict[Any, Any], place: str, done: dict[int, Any]) -> FrozenDict:
    frozen = FrozenDict()
    frozen.place = place
    done[id(value)] = frozen  # before its items, one of which may hold it
    put = super(FrozenDict, frozen).__setitem__  # the class itself refuses
    for key, item in items.items():
        put(key, item if type(item) in _ATOM_TYPES else _frozen(item, place or str(key), done))
    return frozen


def _frozen_list(value: list[Any], place: str, done: dict[int, Any]) -> FrozenList:
    frozen = FrozenList()
    frozen.place = place
    done[id(value)] = frozen
    super(FrozenList, frozen).extend([_frozen(item, place, done) for item in value])
    return frozen


# -- objects with fields ---------------------------------------------------------------------------------------------


def _frozen_object(value: Any, place: str, done: dict[int, Any]) -> Any:
    kind: Any = type(value)
    if isinstance(value, Mapping) and not hasattr(value, "__dict__"):  # a mapping proxy and its like
        items = dict(value)  # its own code may make the items anew for each look
        done[_KEPT] = (items, done.get(_KEPT))
        return _frozen_dict(value, items, place, done)
    try:
        # A value that refuses assignment by itself, without a __dict__ to get round it, needs frozen fields only.
        if not kind.__dictoffset__ and _refuses_assignment(kind):
            return _frozen_value(value, kind, place, done)
        # Records are what people write states with: they get a class that refuses, so that a change is told at once.
        if is_dataclass(kind) or hasattr(kind, "__pydantic_fields__"):
            return _frozen_record(value, kind, place, done)
        # Other slotted objects may be built by filling their slots, unless their class has ideas of its own about it.
        if not kind.__dictoffset__ and _slots_of(kind) and kind.__new__ is object.__new__:
            return _frozen_value(value, kind, place, done)
        # Of anything else nobody knows what a change is. A copy keeps it from the state, which is what counts.
        return _unwritable(copy.deepcopy(value, dict(done)))
    except Exception:  # noqa: BLE001 - copying runs the object's own code; what cannot be copied is shown as it is
        return value


def _refuses_assignment(kind: Any) -> bool:
    own: Any = kind.__setattr__
    return own is not object.__setattr__


def _frozen_value(value: Any, kind: Any, place: str, done: dict[int, Any]) -> Any:
    """A slotted value, such as a message: the same with frozen fields. Messages refuse assignment by themselves."""
    frozen = _empty(kind)
    done[id(value)] = frozen
    for slot in _slots_of(kind):
        if hasattr(value, slot):
            object.__setattr__(frozen, slot, _frozen(getattr(value, slot), place, done))
    return frozen


def _frozen_record(value: Any, kind: Any, place: str, done: dict[int, Any]) -> Any:
    """A dataclass or pydantic model as an instance of a subclass that refuses assignment."""
    read_only = _read_only_class(kind)
    frozen = _twin(value, read_only)
    done[id(value)] = frozen
    names = [field.name for field in fields(kind)] if is_dataclass(kind) else list(vars(value))
    for name in (*names, *_slots_of(kind)):  # pydantic keeps extra and private values in slots
        if hasattr(value, name):
            object.__setattr__(frozen, name, _frozen(getattr(value, name), place or name, done))
    return frozen


_ORIGINAL: Final = "__surehand_original__"
"""The attribute of a read-only class that holds the class it was made from."""


@cache
def _read_only_class(kind: Any) -> type:
    """A subclass of the same name and layout whose instances cannot be assigned to.

    ``__class__`` tells the original, so that such an instance equals the one it was made from.
    """

    def refuse(_: Any, name: str, *__: Any) -> NoReturn:
        raise ReadOnlyError(act=f".{name} =", place=name)

    def original(_: Any) -> Any:
        return kind

    def twin(self: Any) -> Any:
        return _twin(self, kind)

    def deep_twin(self: Any, memo: dict[int, Any] | None = None) -> Any:
        return copy.deepcopy(_twin(self, kind), memo)

    def reduced_twin(self: Any, protocol: Any) -> Any:
        return _twin(self, kind).__reduce_ex__(protocol)

    namespace: dict[str, Any] = {
        "__slots__": (),
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__class__": property(original),
        _ORIGINAL: kind,
        "__setattr__": refuse,
        "__delattr__": refuse,
        "__copy__": twin,
        "__deepcopy__": deep_twin,
        "__reduce_ex__": reduced_twin,
    }
    made: type = type(kind)(kind.__name__, (kind,), namespace)
    return made


def _empty(kind: Any) -> Any:
    return kind.__new__(kind)


def _twin(value: Any, kind: Any) -> Any:
    """An instance of ``kind`` with the same fields as the value."""
    twin = _empty(kind)
    for slot in _slots_of(kind):
        if hasattr(value, slot):
            object.__setattr__(twin, slot, getattr(value, slot))
    if hasattr(value, "__dict__"):
        twin.__dict__.update(vars(value))
    return twin


def _unwritable(value: Any) -> Any:
    """A copied numpy array refuses writes by itself, once it is told so."""
    if type(value).__module__ == "numpy" and hasattr(value, "setflags"):
        value.setflags(write=False)
    return value


@cache
def _slots_of(kind: Any) -> tuple[str, ...]:
    """The names of all slots of a class, as they are in its namespace (a private one is mangled there)."""
    return tuple(
        name for base in kind.__mro__ for name, member in vars(base).items() if isinstance(member, MemberDescriptorType)
    )


# -- and back --------------------------------------------------------------------------------------------------------


def thaw(value: T) -> T:
    """The value with ordinary containers and records in place of read-only ones; the same object where there are none.

    A function may return a part of what it was shown; what goes into the state is ordinary again.
    """
    return cast("T", _thawed(value))


def _thawed(value: Any) -> Any:
    kind: Any = type(value)
    if kind in _ATOM_TYPES:
        return value
    if kind in (FrozenDict, dict):
        items = {key: _thawed(item) for key, item in value.items()}
        return items if kind is FrozenDict or _differ(items.values(), value.values()) else value
    if kind in (FrozenList, list, tuple):
        members = [_thawed(item) for item in value]
        if kind is not FrozenList and not _differ(members, value):
            return value
        return tuple(members) if kind is tuple else members
    if kind is FrozenSet:
        return set(value)
    original = getattr(kind, _ORIGINAL, None)
    return value if original is None else _thawed_record(value, original)


def _thawed_record(value: Any, original: Any) -> Any:
    twin = _twin(value, original)
    for name in (*getattr(twin, "__dict__", ()), *_slots_of(original)):
        if hasattr(twin, name):
            object.__setattr__(twin, name, _thawed(getattr(twin, name)))
    return twin


def _differ(left: Iterable[Any], right: Iterable[Any]) -> bool:
    return any(a is not b for a, b in zip(left, right, strict=True))
