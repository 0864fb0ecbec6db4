"""Calls of Gemini's, whole or in pieces.

Most come as one part each. Where a request asked for it, the arguments are streamed: a part names the call, others
bring values, each with the JSON path of its place, and the call ends with a part that does not announce another. A text
may come in several values. Nothing that has not ended counts as whole, and neither does what does not fit together:
what is written for such a call is cut off, so that whoever reads the arguments refuses them.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final, TypeAlias, cast

from surehand.dialects.streams import call_piece
from surehand.messages import ToolCallChunk
from surehand.shapes import is_array, is_object, items_of, mapping_of

__all__ = ["CallReader", "call_in", "field_of", "has_call", "is_models"]

_Path: TypeAlias = tuple[str | int, ...]

_MODEL: Final = frozenset({"model", "assistant"})
_MOST_STEPS: Final = 100
"""How deep a value may lie; what is deeper is no argument that a tool takes."""
_STEP: Final = re.compile(
    r"""\.(?P<name>[^.\[\]'"]+)|\[(?P<place>\d{1,9})\]|\[(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]"""
)
_QUOTES: Final = re.compile(r"\\.|\"")
_OF_PIECES: Final = frozenset({"partialArgs", "partial_args", "willContinue", "will_continue"})


@functools.cache
def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda capital: f"_{capital.group().lower()}", name)


def field_of(fields: Mapping[str, Any], name: str) -> Any:
    """A field by the API's own name, also where it is spelled in snake case, as Google's SDKs dump it."""
    value = fields.get(name)
    return fields.get(_snake(name)) if value is None else value


def has_call(part: Mapping[str, Any]) -> bool:
    """Whether a part is a call, or a piece of one, which may hold nothing."""
    return "functionCall" in part or "function_call" in part


def is_models(content: Mapping[str, Any]) -> bool:
    """Whether a content is what a model said: by its role, or where that is left out by the calls in it."""
    role = content.get("role")
    return role in _MODEL or (not role and any(has_call(mapping_of(part)) for part in items_of(content.get("parts"))))


def call_in(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """The call in a part; an empty mapping where there is none."""
    return mapping_of(field_of(part, "functionCall"))


class CallReader:
    """Reads the parts of one reply that are calls."""

    def __init__(self) -> None:
        self.count = 0
        """How many calls have begun."""
        self._part: dict[str, Any] = {}
        self._id: Any = None
        self._arguments: _Arguments | None = None

    def feed(self, part: Mapping[str, Any]) -> tuple[dict[str, Any] | None, list[ToolCallChunk]]:
        """Take in a part; the part that stands for the call, if it begins here, and the pieces that it brings.

        The former is made whole when the call ends.
        """
        call = call_in(part)
        begun, pieces = None, list[ToolCallChunk]()
        if self._arguments is None or not self._is_more(call):
            pieces += self.end()
            if not call:  # ends what has ended already
                return None, pieces
            begun = self._begin(part, call)
        else:
            self._part.update({key: value for key, value in part.items() if key not in self._part})
        arguments = cast("_Arguments", self._arguments)
        for value in items_of(field_of(call, "partialArgs")):
            arguments.add(mapping_of(value))
        is_over = field_of(call, "willContinue") is not True
        if is_over or begun is not None:
            args = self._ended(arguments.text()) if is_over else ""
            pieces.append(self._piece(args, {} if begun is None else call))
        return begun, pieces

    def end(self) -> list[ToolCallChunk]:
        """The reply is over: a call that has not ended will not."""
        return [] if self._arguments is None else [self._piece(self._ended(self._arguments.cut_off()), {})]

    def refused(self, name: str, text: str) -> tuple[dict[str, Any], list[ToolCallChunk]]:
        """A call that the API did not let through, as its part and its pieces; the text is what is known of it."""
        part = self._begin({}, {"name": name})
        return part, [self._piece(self._ended(text), {"name": name})]

    def more(self, text: str) -> ToolCallChunk:
        """A piece that goes on with the last call's arguments."""
        return self._piece(text, {})

    def _is_more(self, call: Mapping[str, Any]) -> bool:
        """Whether it goes on with the open call; a name begins another, unless the ids say that they are one."""
        call_id = call.get("id")
        return call_id == self._id if call_id else not call.get("name")

    def _begin(self, part: Mapping[str, Any], call: Mapping[str, Any]) -> dict[str, Any]:
        begun = {key: value for key, value in call.items() if key not in _OF_PIECES}
        rest = {key: value for key, value in part.items() if key not in ("functionCall", "function_call")}
        self._part, self._id = {"functionCall": begun, **rest}, call.get("id")
        self._arguments = _Arguments(call.get("args"))
        self.count += 1
        return self._part

    def _ended(self, text: str) -> str:
        if self._arguments is not None and "args" not in self._part["functionCall"]:
            self._part["functionCall"] = {**self._part["functionCall"], "args": self._arguments.value()}
        self._arguments = None
        return text

    def _piece(self, args: str, call: Mapping[str, Any]) -> ToolCallChunk:
        return call_piece(args, index=self.count - 1, call_id=call.get("id"), name=call.get("name"))


class _Text:
    """A text that may go on."""

    def __init__(self, start: str, *, is_open: bool) -> None:
        self._parts = [start]
        self.is_open = is_open

    def add(self, part: str, *, is_open: bool) -> bool:
        """Go on with it; always True."""
        self._parts.append(part)
        self.is_open = is_open
        return True

    def value(self) -> str:
        return "".join(self._parts)


class _Arguments:
    """The arguments of a call, as far as they have come."""

    def __init__(self, start: object) -> None:
        self._start: Any = {} if start is None else start
        self._root: dict[str, Any] = dict(mapping_of(self._start))
        self._texts: dict[_Path, _Text] = {}
        self._announced: set[_Path] = set()
        self._fits = True

    def add(self, partial: Mapping[str, Any]) -> None:
        """Put a value in its place."""
        path = _steps(field_of(partial, "jsonPath"))
        self._fits = self._fits and path is not None and self._is_placed(path, partial)

    def value(self) -> Any:
        """The arguments so far."""
        return _plain(self._root) if self._root or not self._start else self._start

    def text(self) -> str:
        """The same as the text of the call, which has ended; cut off where a value has not, or does not fit."""
        is_whole = self._fits and not self._announced and not any(text.is_open for text in self._texts.values())
        value = self.value() if is_whole else None
        if value is None:
            return self.cut_off()
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)

    def cut_off(self) -> str:
        """The text of a call that has not ended: no reader takes it for one that has."""
        return json.dumps(_plain(self._root), ensure_ascii=False, default=str)[:-1]

    def _is_placed(self, path: _Path, partial: Mapping[str, Any]) -> bool:
        """Whether the value fits to what is there, which it changes then."""
        is_open = field_of(partial, "willContinue") is True
        values = _values(partial)
        if (known := self._texts.get(path)) is not None:
            text = values[0] if values else ""
            is_part = known.is_open and len(values) <= 1 and isinstance(text, str)
            return is_part and known.add(text, is_open=is_open)
        if not values:
            self._announced.add(path)
            return is_open
        value = values[0]
        if isinstance(value, str):
            value = self._texts[path] = _Text(value, is_open=is_open)
        elif is_open:
            return False
        self._announced.discard(path)
        return len(values) == 1 and _is_put(self._root, path, value)


_VALUES: Final = ("stringValue", "numberValue", "boolValue", "nullValue")


def _values(partial: Mapping[str, Any]) -> list[Any]:
    """What a piece holds, one value if it is sound; JSON's null stands for itself or is spelled out."""
    found = [name if name in partial else _snake(name) for name in _VALUES]
    return [None if name in ("nullValue", "null_value") else partial[name] for name in found if name in partial]


def _steps(path: object) -> _Path | None:
    """The steps of a JSON path from the root (RFC 9535); None for a path that names no single place."""
    if not isinstance(path, str) or not path.startswith("$"):
        return None
    steps: list[str | int] = []
    place = 1
    while place < len(path):
        step = _STEP.match(path, place)
        if step is None or len(steps) == _MOST_STEPS:
            return None
        place = step.end()
        try:
            steps.append(_key(step))
        except ValueError:  # no text in quotes
            return None
    return tuple(steps) or None


def _key(step: re.Match[str]) -> str | int:
    if (name := step["name"]) is not None:
        return name
    if (place := step["place"]) is not None:
        return int(place)
    quoted = step["quoted"]
    if quoted.startswith("'"):  # JSON's own escapes, in other quotes
        escapes = {"\\'": "'", '"': '\\"'}
        quoted = f'"{_QUOTES.sub(lambda found: escapes.get(found.group(), found.group()), quoted[1:-1])}"'
    return str(json.loads(quoted, strict=False))


def _is_put(root: dict[str, Any], path: _Path, value: object) -> bool:
    """Whether there is a free place at the path, where the value is then."""
    node: Any = root
    for key, following in pairwise(path):
        inner = _at(node, key, list if isinstance(following, int) else dict)
        if inner is None:
            return False
        node = inner
    key = path[-1]
    if is_array(node) and key == len(node):
        node.append(value)
        return True
    if type(node) is dict and isinstance(key, str) and key not in node:
        node[key] = value
        return True
    return False


def _at(node: Any, key: str | int, kind: type[Any]) -> Any:
    """What is at the key, made if nothing is; None where something of another kind is."""
    inner: Any = None
    if is_array(node) and isinstance(key, int):
        if key == len(node):
            node.append(kind())
        inner = node[key] if key < len(node) else None
    elif type(node) is dict and isinstance(key, str):
        inner = cast("dict[str, Any]", node).setdefault(key, kind())
    return inner if isinstance(inner, kind) else None


def _plain(value: Any) -> Any:
    """The value with its texts as texts."""
    if isinstance(value, _Text):
        return value.value()
    if is_object(value):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if is_array(value) else value
