"""From values to JSON: one walk over a value, which ends at the first thing that would not come back as it is.

JSON has texts, numbers, booleans, null, lists and objects with texts as keys. Everything else becomes an object with
one key that begins with ``$`` and names what it is, ``{"$tuple": [1, 2]}``; a dict of the host's that looks like one
becomes ``{"$dict": …}`` itself, so that no value is ever taken for another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from surehand.errors import shown
from surehand.freeze import thaw
from surehand.messages import json_form
from surehand.wording import clipped

__all__ = ["MAX_DEPTH", "OUT_OF_STATE", "Unstorable", "Write", "Writer", "is_tag", "is_unicode"]

MAX_DEPTH: Final = 300
"""JSON containers inside containers, beyond which a value is refused: Python's own reader ends at about a thousand."""
_PATH: Final = 120
"""Characters of a path in a message."""
_PREVIEW: Final = 200
"""Characters of a value that is only shown."""
OUT_OF_STATE: Final = (
    "Put plain data, a dataclass or a pydantic model in its place, or keep it out of the state, as in context=."
)


class Unstorable(Exception):
    """A value that would not come back as it is."""

    def __init__(self, value: object, problem: str, remedy: str = OUT_OF_STATE) -> None:
        super().__init__(problem)
        self.value = value
        self.problem = problem
        self.remedy = remedy
        self.steps: list[str] = []
        """The way to the value, the innermost step first."""

    @property
    def path(self) -> str:
        """The way to the value from the one that was to be stored, which is ``$``."""
        return clipped("".join(["$", *reversed(self.steps)]), _PATH)


class Writer:
    """Turns one value into JSON; for one text, by one thread."""

    __slots__ = ("_is_in_message", "_is_lenient", "_kinds", "_refuse", "losses")

    def __init__(self, kinds: Mapping[type, Write], refuse: Callable[[Any], Unstorable]) -> None:
        self._kinds = kinds
        self._refuse = refuse
        self._is_in_message = False
        self._is_lenient = False
        self.losses: list[Unstorable] = []
        """What was stored as what comes nearest, since it stands in a message."""

    def form(self, value: object, depth: int) -> Any:
        """The value as JSON.

        Raises:
            Unstorable: It would not come back as it is.
        """
        write = self._kinds.get(type(value))
        return self._other(value, depth) if write is None else write(self, value, depth)

    def items(self, values: Iterable[object], depth: int) -> list[Any]:
        """Values as a JSON list."""
        _check_depth(values, depth)
        kinds = self._kinds
        form: list[Any] = []
        try:
            for value in values:
                # Spelled out, not `form`: half the time, and half of Python's stack for what is nested deeply.
                write = kinds.get(type(value))
                form.append(self._other(value, depth + 1) if write is None else write(self, value, depth + 1))
        except Unstorable as refusal:
            refusal.steps.append(f"[{len(form)}]")
            raise
        return form

    def members(self, values: Mapping[Any, object], depth: int) -> dict[str, Any]:
        """A mapping as a JSON object; where its keys are no texts, or it looks like a tag, as a list of pairs."""
        _check_depth(values, depth)
        kinds = self._kinds
        form: dict[str, Any] = {}
        key: Any = None
        try:
            for key, value in values.items():
                if type(key) is not str or not is_unicode(key):
                    break
                write = kinds.get(type(value))
                form[key] = self._other(value, depth + 1) if write is None else write(self, value, depth + 1)
        except Unstorable as refusal:
            refusal.steps.append(_step(key))
            raise
        return self._pairs(values, depth) if len(form) != len(values) or is_tag(form) else form

    def _pairs(self, values: Mapping[Any, object], depth: int) -> dict[str, Any]:
        pairs: list[list[Any]] = []
        key: Any = None
        try:
            for key, value in values.items():
                pairs.append([self.form(key, depth + 3), self.form(value, depth + 3)])
        except Unstorable as refusal:
            refusal.steps.append(_step(key))
            raise
        return {"$dict": pairs}

    def part(self, name: str, value: object, depth: int) -> Any:
        """A part of a message: of these nothing is refused, and what comes nearest is stored in its place.

        A tool returns whatever it likes beside its text, and a model sends what it likes; neither is to end the run.
        """
        if self._is_in_message:  # a message inside of another one is a value of that one like any other
            return self.form(value, depth)
        self._is_in_message = True
        try:
            return self.form(value, depth)
        except Unstorable as refusal:
            refusal.steps.append(f".{name}")
            self.losses.append(refusal)
            return self._nearest(value, depth)
        finally:
            self._is_in_message = self._is_lenient = False

    def _nearest(self, value: object, depth: int) -> Any:
        self._is_lenient = True
        try:
            return self.form(value, depth)
        except Unstorable:  # nested too deeply, or it holds itself
            return {"$nearest": self.form(shown(value, _PREVIEW), depth)}

    def _other(self, value: object, depth: int) -> Any:
        """A value of a class that is not known: perhaps the read-only copy of one that is."""
        plain = thaw(value)
        if plain is not value:
            return self.form(plain, depth)
        if not self._is_lenient:
            raise self._refuse(value)
        nearest = json_form(value)
        if type(nearest) not in self._kinds:  # a float of a class of its own stays one
            nearest = shown(value, _PREVIEW)
        return {"$nearest": self.form(nearest, depth + 1)}


Write: TypeAlias = Callable[[Writer, Any, int], Any]
"""Turns a value of one class into JSON that stands inside of so many containers."""


def is_tag(form: Mapping[str, Any]) -> bool:
    """Whether a JSON object would be read as something else than a dict."""
    return len(form) == 1 and next(iter(form)).startswith("$")


def _check_depth(value: object, depth: int) -> None:
    if depth >= MAX_DEPTH:
        raise Unstorable(value, f"is nested deeper than {MAX_DEPTH} levels, or holds itself", "Store a flatter value.")


def is_unicode(text: str) -> bool:
    """Whether UTF-8 has all its characters, which it has not for half a surrogate pair."""
    if text.isascii():
        return True
    try:
        text.encode("utf-16-le")  # fails where UTF-8 does, and is several times as fast
    except UnicodeEncodeError:
        return False
    return True


def _step(key: Any) -> str:
    return f".{key}" if type(key) is str and key.isidentifier() else f"[{shown(key, 40)}]"
