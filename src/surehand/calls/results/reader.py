"""Reads one value of any type, however hostile, into plain JSON data."""

# Values of any type are read here, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from math import isfinite
from typing import Any, Final

from surehand.calls.results.renderers import Renderer, Renderers
from surehand.calls.results.strict_json import MAX_VALUES, encode
from surehand.calls.results.text import well_formed
from surehand.wording import clipped

__all__ = ["CUT", "MAX_DEPTH", "MAX_NOTES", "NOT_MINE", "Form", "Path", "Reader", "renderer_failed", "type_name"]

MAX_DEPTH: Final = 100
"""How deep a value that is no plain JSON is read; plain JSON may be as deep as the interpreter's stack allows."""
MAX_NOTES: Final = 20
"""The most notes on one value."""
_MAX_STEPS: Final = 8
"""The most steps of a path that a note shows at its start, and as many at its end."""
_MAX_STEP: Final = 80
"""The most characters of one step."""
CUT: Final = "…"
"""Stands for what was not read."""
_SMALL: Final = 2**63
"""Integers below it are written in decimal digits without a further look."""

Path = tuple[str | int, ...]
Form = Callable[["Reader", Any, Path], Any]


class NotMine:
    """What a form answers for a value that is not its own."""


NOT_MINE: Final = NotMine()


class Reader:
    """Brings one value to plain JSON data, and keeps the notes on what that cost.

    Args:
        forms: Tried in order; the first that knows a value decides, and the last has to know every value.
        renderers: Asked before the forms; what a renderer returns is read in the value's place.
        is_binary_kept: Whether bytes are written as base64 in any case, as content blocks need them.
    """

    __slots__ = (
        "_depth",
        "_forms",
        "_last",
        "_left",
        "_more",
        "_notes",
        "_open",
        "_renderers",
        "is_binary_kept",
        "is_cut",
    )

    def __init__(
        self, forms: Sequence[Form], *, renderers: Renderers | None = None, is_binary_kept: bool = False
    ) -> None:
        self.is_binary_kept = is_binary_kept
        self.is_cut = False
        self._renderers = renderers or None
        self._forms = forms
        self._left = MAX_VALUES
        self._depth = 0
        self._open: set[int] = set()
        self._notes: list[str] = []
        self._last: tuple[Path, str] | None = None
        self._more = 0

    def note(self, path: Path, what: str) -> None:
        """Keeps a note on the value at the path."""
        if len(self._notes) < MAX_NOTES:
            self.remark(f"{_shown_path(path)}: {what}")
        elif (path, what) != self._last:  # a value with a hundred thousand of them need not wait for their words
            self._more += 1
        self._last = (path, what)

    def remark(self, text: str) -> None:
        """Keeps a note on the result as a whole."""
        if text in self._notes:
            return
        if len(self._notes) < MAX_NOTES:
            self._notes.append(text)
        else:
            self._more += 1

    def cut(self, path: Path, what: str) -> None:
        """Keeps a note that a part of the value was not read."""
        self.is_cut = True
        self.note(path, what)

    def all_notes(self) -> tuple[str, ...]:
        """The notes in order; the last one counts those that were too many."""
        return (*self._notes, f"and {self._more} more") if self._more else tuple(self._notes)

    def plain(self, value: Any, path: Path, *, without: Renderer | None = None) -> Any:
        """The value as plain JSON data; nothing that the value raises gets out but ``KeyboardInterrupt``.

        Args:
            value: The value.
            path: Where it stands in the result.
            without: A renderer that is not asked for the value itself, because the value is its answer.
        """
        if _is_scalar(value):
            return value
        if id(value) in self._open:
            self.note(path, "the value contains itself, the repetition was cut")
            return CUT
        if self._depth >= MAX_DEPTH or self._left <= 0:
            self.cut(path, "the value is too deep or too large, the rest was cut")
            return CUT
        self._open.add(id(value))
        self._depth += 1
        try:
            return self._form(value, path, without)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - any code of the value may run here, and a result is always shown
            self.note(path, f"reading it raised {type(error).__name__}, only its type is shown")
            return {"type": type_name(type(value))}
        finally:
            self._depth -= 1
            self._open.discard(id(value))

    @property
    def has_renderers(self) -> bool:
        """Whether the host has a say in how any type is written."""
        return self._renderers is not None

    def renderer_of(self, value: Any) -> Renderer | None:
        """The host's own function for the value; None where there is none."""
        return None if self._renderers is None else self._renderers.find(type(value))

    def _form(self, value: Any, path: Path, without: Renderer | None) -> Any:
        render = self.renderer_of(value)
        if render is None or render is without:
            return self._built_in(value, path)
        try:
            shown = render(value)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the host's own code
            self.note(path, renderer_failed(error))
            return self._built_in(value, path)
        return self._built_in(value, path) if shown is value else self.plain(shown, path, without=render)

    def _built_in(self, value: Any, path: Path) -> Any:
        return next(data for form in self._forms if (data := form(self, value, path)) is not NOT_MINE)

    def mapping(self, items: Iterable[tuple[Any, Any]], path: Path) -> dict[str, Any]:
        """The pairs as a mapping with text keys."""
        data: dict[str, Any] = {}
        for key, value in self._within_budget(items, path, limit=MAX_VALUES):
            name = self._key(key, path)
            if name in data:
                self.note(path, f"two keys read {name!r}, the later one was given a mark")
                name = f"{name}′{len(data)}"
            data[name] = value if _is_scalar(value) else self.plain(value, (*path, name))
        return data

    def items(self, values: Iterable[Any], path: Path, *, limit: int = MAX_VALUES) -> list[Any]:
        """At most ``limit`` of the values as a list."""
        taken = enumerate(self._within_budget(values, path, limit=limit))
        return [value if _is_scalar(value) else self.plain(value, (*path, index)) for index, value in taken]

    def _within_budget(self, values: Iterable[Any], path: Path, *, limit: int) -> Iterator[Any]:
        """The values up to the limit and to what is left for the whole result: any of them may be endless."""
        for count, value in enumerate(values):
            if count >= limit or self._left <= 0:
                self.cut(path, f"only the first {count:,} items were read")
                return
            self._left -= 1
            yield value

    def _key(self, key: Any, path: Path) -> str:
        if isinstance(key, str):
            name = key.value if isinstance(key, Enum) else str.__str__(key)
            return well_formed(str.__str__(name))
        data = self.plain(key, path)
        self.note(path, "keys that are not text were turned into text")
        return well_formed(data if isinstance(data, str) else encode(data))


def _is_scalar(value: Any) -> bool:
    """Whether the value is a JSON scalar of exactly that type, with nothing to be said about it."""
    kind = type(value)
    if kind is int:
        return bool(-_SMALL < value < _SMALL)
    if kind is float:
        return isfinite(value)
    return value is None or kind is str or kind is bool


def renderer_failed(error: BaseException) -> str:
    """The note on a value whose renderer raised."""
    return f"its renderer raised {type(error).__name__}, it is shown without it"


def type_name(kind: type) -> str:
    """The type's name with its module, ``pkg.Class``; never raises."""
    try:
        module, name = str(kind.__module__), kind.__qualname__.replace("<locals>.", "")
    except Exception:  # noqa: BLE001 - a metaclass of the host's may do anything
        return "object"
    return name if module == "builtins" else f"{module}.{name}"


def _shown_path(path: Path) -> str:
    left_out = len(path) - 2 * _MAX_STEPS
    if left_out <= 0:
        return "$" + "".join(map(_shown_step, path))
    head, tail = path[:_MAX_STEPS], path[-_MAX_STEPS:]
    return f"${''.join(map(_shown_step, head))}…{left_out} more…{''.join(map(_shown_step, tail))}"


def _shown_step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    short = clipped(step, _MAX_STEP)
    return f".{short}" if short.isidentifier() else f"[{short!r}]"
