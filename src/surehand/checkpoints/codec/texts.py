"""Values as versioned JSON, and back: lossless, or refused when they are written."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable
from typing import Any, Final, NoReturn, cast

from typing_extensions import is_typeddict

from surehand.checkpoints.codec.classes import ENUM, OWN, TAGS, family_of, full_name, refusal
from surehand.checkpoints.codec.family import Family
from surehand.checkpoints.codec.reading import Damaged, list_of, object_of, text_of
from surehand.checkpoints.codec.standard import READERS, WRITERS
from surehand.checkpoints.codec.types import types_in
from surehand.checkpoints.codec.writing import Unstorable, Write, Writer
from surehand.control import Command, Send
from surehand.errors import CheckpointError, OptionError, shown
from surehand.interrupts import Answer, Interrupt
from surehand.messages import WHOLE_KINDS, Message, message_of, parts_of
from surehand.outcomes import FailureKind, Outcome
from surehand.stores import Item
from surehand.wording import clipped, did_you_mean

__all__ = ["VERSION", "Codec"]

logger = logging.getLogger("surehand.checkpoints")

VERSION: Final = 1
"""The version of the form; a reader refuses later ones."""

_MARKS: Final = {kind: f'{{"surehand":{VERSION},"{kind}":' for kind in ("value", "change")}
"""How a text begins."""
_VERSION_MARK: Final = re.compile(r'\{"surehand":([0-9]{1,9}),')
_MAX_DIGITS: Final = 20
"""Digits of an integer that is written as one."""

_BEGINNING: Final = 60
"""Characters of a foreign text that are shown."""

_RESTORE: Final = "Restore it from a copy, or go on from an earlier checkpoint."
_OWN: Final[dict[str, tuple[type[Any], Family]]] = {
    **{f"surehand.{kind.__name__}": (kind, OWN) for kind in (Send, Command, Interrupt, Answer, Outcome, Item)},
    "surehand.FailureKind": (FailureKind, ENUM),
}
"""Classes of ours, by names that stay though modules move."""


def _message(writer: Writer, value: Message, depth: int) -> Any:
    return {"$message": {name: writer.part(name, part, depth + 2) for name, part in parts_of(value).items()}}


_WRITERS: Final[dict[type[Any], Write]] = {
    **WRITERS,
    **dict.fromkeys(WHOLE_KINDS.values(), _message),
    **{kind: family.writer(name) for name, (kind, family) in _OWN.items()},
}


def _ambiguous(name: str) -> Write:
    """Refuses to write a name that does not say which class it is."""

    def write(_: Writer, value: Any, __: int) -> Any:
        raise Unstorable(value, f"is of one of two classes that are both called {name}", "Rename one of them.")

    return write


class Codec:
    """Turns values into texts and texts into the same values; usable from several threads at a time.

    What JSON has keeps its type, and so do the standard library's values (tuples, sets, bytes, dates, decimals, UUIDs,
    paths, and the like), dicts with keys of any of these, Surehand's messages, ``Send``, ``Command``, ``Interrupt``,
    ``Answer``, ``Outcome`` and ``Item``. Enums, dataclasses, pydantic models and named tuples do where their class is
    one of those given: a text names its class, the name is looked up among these, and nothing is ever imported by it.

    Which object two places share is not kept: they come back as two equal values.
    """

    def __init__(self, types: Iterable[type[Any]] = ()) -> None:
        """Know these classes, and those that their fields are annotated with (see ``types_in``).

        Raises:
            OptionError: One is no class that can be stored.
        """
        self._classes = dict(_OWN)
        self._writers = dict(_WRITERS)
        for kind in _checked(types):
            for found in sorted(types_in(kind), key=full_name):
                self._learn(found)
        self._encode = json.JSONEncoder(
            ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")
        ).encode
        self._decode = json.JSONDecoder(
            object_pairs_hook=self._object, parse_int=_integer, parse_constant=_constant
        ).decode

    def _learn(self, kind: type[Any]) -> None:
        family = family_of(kind)
        if family is None or kind in self._writers:
            return
        name = full_name(kind)
        namesake, _ = self._classes.setdefault(name, (kind, family))
        if namesake is kind:
            self._writers[kind] = family.writer(name)
        else:
            self._writers[kind] = self._writers[namesake] = _ambiguous(name)

    # Writing

    def dumps(self, value: Any, *, where: str) -> str:
        """The value as a text: compact JSON, without characters that UTF-8 does not have.

        What stands in a message is never refused: of an artifact, of arguments, of what a provider sent beside, what
        cannot be stored is stored as what comes nearest, and a warning is logged.

        Args:
            value: What is stored; it is not changed and not kept.
            where: What it is, for errors: ``key 'plan'``.

        Raises:
            CheckpointError: It, or something in it, would not come back as it is; the message shows which and where.
        """
        return f"{_MARKS['value']}{self._json(value, where)}}}"

    def dumps_change(self, change: Any, *, where: str) -> str:
        """A value that says how another one changed; ``loads`` does not take it for that other value.

        Raises:
            CheckpointError: As ``dumps``.
        """
        return f"{_MARKS['change']}{self._json(change, where)}}}"

    def _json(self, value: Any, where: str) -> str:
        writer = Writer(self._writers, refusal)
        try:
            text = self._encode(writer.form(value, 1))
        except Unstorable as refused:
            raise CheckpointError(
                problem=f"at {refused.path}, {shown(refused.value)} {refused.problem}",
                remedy=refused.remedy,
                where=where,
            ) from refused.__cause__
        except RecursionError as error:
            raise CheckpointError(
                problem="the value is nested too deeply to be written from here",
                remedy="Store a flatter value.",
                where=where,
            ) from error
        except RuntimeError as error:  # a dict or set that another thread changes
            raise CheckpointError(
                problem=f"the value changed while it was written ({error})",
                remedy="Do not keep what was returned to the graph, or copy it.",
                where=where,
            ) from error
        for loss in writer.losses:
            words = "%s: in a message, at %s, a value %s; what comes nearest to it is stored. %s"
            logger.warning(words, where, loss.path, loss.problem, loss.remedy)
        return text

    # Reading

    def loads(self, text: str, *, where: str) -> Any:
        """The value of a text.

        Takes time and memory in proportion to the text, whatever it holds.

        Raises:
            CheckpointError: It is damaged, another program's, a later version's, or of a class that is not known here.
        """
        kind, value = self.read(text, where=where)
        if kind != "value":
            raise _unreadable("the text is a change of another one", _RESTORE, where)
        return value

    def read(self, text: str, *, where: str) -> tuple[str, Any]:
        """``value`` and the value of a text, or ``change`` and what it says has changed.

        Raises:
            CheckpointError: As ``loads``.
        """
        kind = _kind_of(text, where)
        try:
            whole = self._decode(text)
        except Damaged as damage:
            raise _unreadable(damage.problem, damage.remedy or _RESTORE, where) from damage.__cause__
        except json.JSONDecodeError as error:
            problem = f"the text is damaged at character {error.pos} of {len(text)}: {error.msg}"
            raise _unreadable(problem, _RESTORE, where) from None  # the error holds the whole text
        except RecursionError as error:
            raise _unreadable("the text is nested too deeply to be read", _RESTORE, where) from error
        if type(whole) is not dict or whole.keys() != {"surehand", kind}:
            raise _unreadable("the text is damaged: its version stands beside something else", _RESTORE, where)
        return kind, cast("dict[str, Any]", whole)[kind]

    def _object(self, pairs: list[tuple[str, Any]]) -> Any:
        """What a JSON object is: a dict, or the value that its one key tags."""
        if len(pairs) == 1 and pairs[0][0][:1] == "$":
            return self._tagged(*pairs[0])
        made = dict(pairs)
        if len(made) != len(pairs):
            raise Damaged("the text is damaged: a key stands twice in one object")
        return made

    def _tagged(self, tag: str, stored: Any) -> Any:
        try:
            if tag in READERS:
                return READERS[tag](stored)
            if tag == "$message":
                return message_of(object_of(stored))
            if tag in TAGS:
                return self._instance(tag, list_of(stored))
        except Damaged:
            raise
        except Exception as error:  # the host's validators may raise anything, and so may the library for nonsense
            what = f"{tag} cannot be made of {shown(stored)} ({type(error).__name__}: {clipped(str(error), 200)})"
            raise Damaged(what) from error
        raise Damaged(f"the text is damaged: {shown(tag)} is no kind of value")

    def _instance(self, tag: str, stored: list[Any]) -> Any:
        name, *parts = stored
        known = self._classes.get(text_of(name))
        if known is None:
            raise Damaged(
                f"its class {shown(name)} is not among the types that are known here",
                "Name it in the state's annotations or in types=(…) of compile(), and leave it its name."
                f"{did_you_mean(name, self._classes)}",
            )
        kind, family = known
        if family.tag != tag:
            raise Damaged(f"{name} was a class of another kind ({tag}) when this was written")
        return family.made(kind, parts)


def _checked(types: Iterable[Any]) -> list[Any]:
    """The types, each of which something can be stored of."""
    if isinstance(types, type) or not isinstance(types, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped hosts
        raise OptionError(option="types", value=types, expected="several classes", remedy="Write types=(Plan,).")
    kinds = list(types)
    for kind in kinds:
        is_known = isinstance(kind, type) and kind in _WRITERS
        if not is_known and not types_in(kind) and not is_typeddict(kind):
            raise OptionError(
                option="types", value=kind, expected="enums, dataclasses, pydantic models and named tuples"
            )
    return kinds


def _kind_of(text: object, where: str) -> str:
    """What a text begins with; a text of another version is not looked into."""
    if not isinstance(text, str):
        raise _unreadable(f"expected a text, got {shown(text)}", _RESTORE, where)
    for kind, mark in _MARKS.items():
        if text.startswith(mark):
            return kind
    version = _VERSION_MARK.match(text)
    if version is not None and int(version[1]) > VERSION:
        problem = f"the text is of version {version[1]}, and this reader knows up to {VERSION}"
        raise _unreadable(problem, "Read it with the version of Surehand that wrote it.", where)
    problem = f"the text is damaged or another program's: expected it to begin with {_MARKS['value']}"
    raise _unreadable(f"{problem}, got {shown(text[:_BEGINNING])}", _RESTORE, where)


def _unreadable(problem: str, remedy: str, where: str) -> CheckpointError:
    return CheckpointError(problem=problem, remedy=remedy, where=where)


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise Damaged(f"the text is damaged: it has a number of {len(digits)} digits")
    return int(digits)


def _constant(name: str) -> NoReturn:
    raise Damaged(f"the text is damaged: {name} is no JSON")
