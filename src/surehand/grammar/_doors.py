"""The two ways in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from surehand.errors import MalformedArguments
from surehand.grammar import relaxations
from surehand.grammar._documents import read_object, read_value
from surehand.grammar._faults import Fault, malformed
from surehand.grammar._kinds import is_object, kind_of
from surehand.grammar._mappings import copy_mapping, is_plain
from surehand.grammar._plain import NOT_PLAIN, read_plain
from surehand.grammar.limits import MAX_LENGTH

__all__ = ["ParsedArguments", "parse_arguments", "parse_value"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ParsedArguments:
    """The arguments of a call as an object."""

    value: dict[str, Any]
    """The object; nobody else holds it."""
    repairs: tuple[str, ...] = ()
    """What had to be forgiven to read it, as words from `surehand.grammar.relaxations`; empty for plain JSON."""


def parse_arguments(raw: object) -> ParsedArguments:
    """The object that the arguments of a call are, whatever they arrived as.

    Args:
        raw: Text, UTF-8 bytes, a mapping (copied), or None for no arguments.

    Raises:
        MalformedArguments: ``raw`` is not exactly one object, not even after the lossless relaxations.
            Nothing else is raised.

    Example:
        >>> parse_arguments("{'city': 'Paris', 'days': 3,}")
        ParsedArguments(value={'city': 'Paris', 'days': 3}, repairs=('single_quotes', 'trailing_commas'))
    """
    if issubclass(type(raw), str):
        # An exact str: a subclass may have its own idea of slices.
        text = str.__str__(cast("str", raw))
        if not text:  # what many providers send for a tool without parameters
            return ParsedArguments({}, (relaxations.NO_ARGUMENTS,))
        value = read_plain(text) if len(text) <= MAX_LENGTH else NOT_PLAIN
        if is_object(value):
            return ParsedArguments(value)
        return _guarded(lambda: _from_text(text), text)
    if is_plain(raw):
        return ParsedArguments(raw.copy())
    return _guarded(lambda: _from_object(raw), "")


def parse_value(text: str) -> tuple[Any, tuple[str, ...]]:
    """The one value of any kind that ``text`` is, and what had to be forgiven to read it.

    Raises:
        MalformedArguments: ``text`` is not exactly one value. Nothing else is raised.
    """

    def read() -> tuple[Any, tuple[str, ...]]:
        _check_length(text)
        repairs: dict[str, None] = {}
        value = read_value(text, repairs=repairs)
        return value, tuple(repairs)

    return _guarded(read, text)


def _guarded(read: Callable[[], T], text: str) -> T:
    """What ``read`` gives, with every way it can fail as the one public error."""
    try:
        return read()
    except Fault as fault:
        raise malformed(fault, text) from None
    except (RecursionError, MemoryError) as error:
        raise MalformedArguments(
            reason="they are too large or too deeply nested to be read here", length=len(text)
        ) from error


def _from_text(text: str) -> ParsedArguments:
    _check_length(text)
    repairs: dict[str, None] = {}
    value = read_object(text, repairs=repairs)
    return ParsedArguments(value, tuple(repairs))


def _from_object(raw: object) -> ParsedArguments:
    if raw is None:
        return ParsedArguments({}, (relaxations.NO_ARGUMENTS,))
    try:
        if isinstance(raw, bytes | bytearray | memoryview):
            return parse_arguments(_decoded(bytes(raw)))  # pyright: ignore[reportUnknownArgumentType] - any view
        if isinstance(raw, Mapping):
            repairs: dict[str, None] = {}
            copy = copy_mapping(raw, repairs=repairs)  # pyright: ignore[reportUnknownArgumentType] - any mapping
            return ParsedArguments(copy, tuple(repairs))
        kind = kind_of(raw)
    except (Fault, MalformedArguments, RecursionError):
        raise
    except Exception as error:  # a mapping is somebody else's code, and this function promises one kind of error
        raise MalformedArguments(reason=f"the value could not be read ({type(error).__name__})") from error
    raise Fault(f"they must be an object, got {kind}", at=None)


def _check_length(text: str) -> None:
    if len(text) > MAX_LENGTH:
        raise Fault(f"a text of {len(text)} characters is too long, at most {MAX_LENGTH} are read", at=None)


def _decoded(raw: bytes) -> str:
    size = len(raw)
    if size > 4 * MAX_LENGTH:
        raise Fault(f"a text of {size} bytes is too long, at most {MAX_LENGTH} characters are read", at=None)
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise MalformedArguments(reason="the bytes are not UTF-8 text", position=error.start, length=size) from error
