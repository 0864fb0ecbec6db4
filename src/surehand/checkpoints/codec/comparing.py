"""A value as it was when it was stored, and how the next one differs from it.

A list is compared with the one before item by item. Messages are known by their identity, since nobody changes them;
items that might have been changed in place are known by their text, which is why a list of dicts costs its length at
each write and a conversation does not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from operator import is_
from typing import Any, Final, NamedTuple, TypeAlias, TypeGuard

from surehand.messages import WHOLE_KINDS, Message

__all__ = ["ALL", "NOTHING", "Seen", "Sizes", "Whole", "Written", "is_dict", "is_list", "seen_as", "shares"]

NOTHING: Final = object()
"""In place of a change: there is none."""
ALL: Final = object()
"""In place of a change: it cannot be said but by the whole value."""

Written: TypeAlias = Callable[[Any], str]
"""The text of a value."""
Sizes: TypeAlias = list[float]
"""About how many characters each part of a value takes in a text."""

_MESSAGES: Final = frozenset(WHOLE_KINDS.values())
_THEMSELVES: Final = _MESSAGES | {str, int, bool, type(None)}
_SMALL: Final = 20
_MIDDLING: Final = 200


class _Text(NamedTuple):
    """Stands for an item by what is written of it."""

    text: str


_Mark: TypeAlias = Message | str | int | _Text | None
"""What an item is known by: itself where it cannot change, else its text."""


def seen_as(value: Any, written: Written, sizes: Sequence[float] | None = None) -> Seen:
    """What is kept of a value to compare the next one with.

    Args:
        value: What is, or is about to be, stored.
        written: Gives the text of a value, or raises ``CheckpointError``.
        sizes: Those of its parts, where they are known already.
    """
    if is_list(value):
        # The look at the type is worth its repetition: it is taken at every message of a conversation in every step.
        return _Items([item if type(item) in _THEMSELVES else _mark(item, written) for item in value], sizes)
    if is_dict(value) and all(type(key) is str for key in value):
        return _Members({key: _mark(item, written) for key, item in value.items()}, sizes)
    return _Growing(value) if type(value) is str else Whole(written(value))


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether it is a list whose items are compared one by one."""
    return type(value) is list


def is_dict(value: Any) -> TypeGuard[dict[Any, Any]]:
    """Whether it is a dict whose values may be compared one by one."""
    return type(value) is dict


def shares(items: Iterable[Any], length: int) -> Sizes:
    """About how much of a text of this length each of the items takes that it was written of."""
    weights = [_weight(item) for item in items]
    scale = length / sum(weights) if weights else 0.0
    return [weight * scale for weight in weights]


def _weight(item: object) -> float:
    """How long an item's text is, beside that of others."""
    if isinstance(item, str):
        return len(item) + 2
    if isinstance(item, Message):
        return _MIDDLING + (len(item.content) if isinstance(item.content, str) else _MIDDLING)
    if isinstance(item, _Text):
        return len(item.text)
    return _SMALL if type(item) in _THEMSELVES else _MIDDLING


def _mark(item: object, written: Written) -> Any:
    kind = type(item)
    if kind in _THEMSELVES:
        return item
    return _Text(repr(item) if kind is float else written(item))


def _is_same(left: _Mark, right: _Mark, written: Written) -> bool:
    if left is right:
        return True
    if type(left) is not type(right):  # 1 and True are equal, and not the same
        return False
    return written(left) == written(right) if type(left) in _MESSAGES else left == right


class Seen(ABC):
    """What is kept of a value."""

    __slots__ = ()

    @property
    @abstractmethod
    def size(self) -> float:
        """About how many characters the whole value takes."""

    @abstractmethod
    def since(self, before: Seen, value: Any, written: Written) -> Any:
        """What makes this value of the one before, as ``patched`` takes it; or ALL or NOTHING."""

    @abstractmethod
    def weigh(self, length: int, *, anew: bool) -> None:
        """Learn how long the text is that was written of what is new, or of the whole value."""


class Whole(Seen):
    """A value of which no parts are known."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    @property
    def size(self) -> float:
        """The length of its text."""
        return len(self.text)

    def since(self, before: Seen, value: Any, written: Written) -> Any:
        """NOTHING where it has the same text."""
        return NOTHING if isinstance(before, Whole) and before.text == self.text else ALL

    def weigh(self, length: int, *, anew: bool) -> None:
        """Nothing to learn: the text is there."""


class _Growing(Seen):
    """A text, to which something may be added."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    @property
    def size(self) -> float:
        return len(self.text)

    def since(self, before: Seen, value: Any, written: Written) -> Any:
        if not isinstance(before, _Growing) or not self.text.startswith(before.text):
            return ALL
        added = self.text[len(before.text) :]
        return {"add": added} if added else NOTHING

    def weigh(self, length: int, *, anew: bool) -> None:
        pass


# -- dicts -----------------------------------------------------------------------------------------------------------


class _Members(Seen):
    """The values of a dict, by its keys."""

    __slots__ = ("marks", "new", "sizes")

    def __init__(self, marks: dict[str, _Mark], sizes: Sequence[float] | None) -> None:
        self.marks = marks
        self.sizes: dict[str, float] = {} if sizes is None else dict(zip(marks, sizes, strict=True))
        self.new: list[str] = []

    @property
    def size(self) -> float:
        return sum(self.sizes.values())

    def weigh(self, length: int, *, anew: bool) -> None:
        keys = list(self.marks) if anew else self.new
        self.sizes |= zip(keys, shares([self.marks[key] for key in keys], length), strict=True)

    def since(self, before: Seen, value: Any, written: Written) -> Any:
        if not isinstance(before, _Members):
            return ALL
        old, new = before.marks, self.marks
        kept = [key for key in old if key in new]
        if [*kept, *(key for key in new if key not in old)] != list(new):
            return ALL  # the order of the keys has changed
        self.new = [key for key in new if key not in old or not _is_same(old[key], new[key], written)]
        self.sizes = {key: before.sizes.get(key, 0.0) for key in new}
        dropped = [key for key in old if key not in new]
        if not self.new and not dropped:
            return NOTHING
        return {"set": {key: value[key] for key in self.new}, "drop": dropped}


# -- lists -----------------------------------------------------------------------------------------------------------


class _Items(Seen):
    """The items of a list."""

    __slots__ = ("marks", "new", "sizes")

    def __init__(self, marks: list[_Mark], sizes: Sequence[float] | None) -> None:
        self.marks = marks
        self.sizes: Sizes = [] if sizes is None else [*sizes]
        self.new: list[int] = []

    @property
    def size(self) -> float:
        return sum(self.sizes)

    def weigh(self, length: int, *, anew: bool) -> None:
        if anew:
            self.sizes = shares(self.marks, length)
            return
        for place, size in zip(self.new, shares([self.marks[place] for place in self.new], length), strict=True):
            self.sizes[place] = size

    def since(self, before: Seen, value: Any, written: Written) -> Any:
        if not isinstance(before, _Items):
            return ALL
        runs = _runs(before.marks, self.marks, written)
        if len(before.marks) == len(value) and runs == ([_Run(0, 0, len(value))] if value else []):
            self.sizes = before.sizes
            return NOTHING
        pieces: list[Any] = []
        place = 0
        for old, new, length in [*runs, _Run(0, len(value), 0)]:
            if place < new:
                pieces.append({"put": value[place:new]})
                self.sizes += [0.0] * (new - place)
                self.new += range(place, new)
            if length:
                pieces.append([old, old + length])
                self.sizes += before.sizes[old : old + length]
            place = new + length
        return pieces


class _Run(NamedTuple):
    """Items of the old list that stand in the new one, side by side as they did."""

    old: int
    """Where the first of them stood."""
    new: int
    """Where it stands now."""
    length: int


def _runs(old: list[_Mark], new: list[_Mark], written: Written) -> list[_Run]:
    """What the new list has of the old one, in the new order; no item of the old one twice."""
    # The usual case, an appended item, is left to code that takes no step of Python for an item.
    start = len(old) if len(old) <= len(new) and all(map(is_, old, new)) else _common(old, new)
    end = _common(reversed(old[start:]), reversed(new[start:]))
    found = _found(old[start : len(old) - end], new[start : len(new) - end], written)
    runs = [_Run(0, 0, start)]
    for place, known in enumerate(found, start):
        if known is not None:
            runs.append(_Run(known + start, place, 1))
    runs.append(_Run(len(old) - end, len(new) - end, end))
    return _joined(runs)


def _common(old: Iterable[_Mark], new: Iterable[_Mark]) -> int:
    """How many items both begin with, of messages those that are the very same objects."""
    count = 0
    for left, right in zip(old, new, strict=False):
        if left is not right:
            kind = type(left)
            if kind is not type(right) or kind in _MESSAGES or left != right:
                break
        count += 1
    return count


def _found(old: list[_Mark], new: list[_Mark], written: Written) -> list[int | None]:
    """For each item of the new list, where it stands in the old one."""
    places: dict[Any, list[int]] = {}
    for place in reversed(range(len(old))):
        places.setdefault(_key(old[place]), []).append(place)
    found = [known.pop() if (known := places.get(_key(mark))) else None for mark in new]
    fresh = [place for place, known in enumerate(found) if known is None and type(new[place]) in _MESSAGES]
    left = [place for known in places.values() for place in known if type(old[place]) in _MESSAGES]
    if fresh and left:  # messages that were built again are worth a look at what is written of them
        texts = {written(old[place]): place for place in left}
        for place in fresh:
            found[place] = texts.pop(written(new[place]), None)
    return found


def _key(mark: _Mark) -> object:
    return id(mark) if type(mark) in _MESSAGES else (type(mark), mark)


def _joined(runs: Iterable[_Run]) -> list[_Run]:
    joined: list[_Run] = []
    for run in runs:
        last = joined[-1] if joined else _Run(0, 0, 0)
        if joined and (last.old + last.length, last.new + last.length) == (run.old, run.new):
            joined[-1] = _Run(last.old, last.new, last.length + run.length)
        elif run.length:
            joined.append(run)
    return joined
