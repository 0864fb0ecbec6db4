"""The texts that must not leave with a word about a call: what the host injected, and secrets among what it showed.

What a host puts into one parameter is meant for the tool alone: all of its text is kept inside. A whole state, the
host's own object, what was read from a store hold what a model may well be told, and only what has a secret's name is
kept inside. ``SecretStr`` and the like are secrets wherever they stand.
"""

# Values of any type are read here, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from itertools import chain, islice
from types import FunctionType, MethodType, ModuleType
from typing import Any, Final, NamedTuple
from uuid import UUID

from surehand.calls.redaction.names import is_secret_name
from surehand.calls.redaction.shapes import MIN_SECRET_LENGTH, MIN_WORD, url_passwords
from surehand.messages import Message
from surehand.shapes import is_object
from surehand.spec import Injection, InjectionKind

__all__ = ["secret_texts"]

_KEY_LENGTH: Final = 16
"""A field that is called ``key`` holds a secret if its text is as long as this, and has digits."""
_MAX_DEPTH: Final = 5
_MAX_VALUES: Final = 2_000
"""How far is searched: whoever nests secrets deeper hides them from us too."""
_OPAQUE: Final = (str, bytes, bytearray, int, float, complex, type, FunctionType, MethodType, ModuleType, UUID)
"""What has nothing in it to go through."""
_LEAVES: Final = frozenset({str, int, float, bool, type(None)})
_PLAIN: Final = _LEAVES | {dict, list, tuple, set, frozenset}
"""The types of most values; they reveal nothing, and their classes are quicker to look up than to ask."""


def secret_texts(
    injections: Iterable[Injection], arguments: Mapping[str, Any], *, state: Any, context: Any, read: Iterable[Any] = ()
) -> Iterator[str]:
    """The texts to keep inside; found while they are gone through.

    Args:
        injections: What the tool is given beside its arguments.
        arguments: The typed arguments.
        state: The state of the node.
        context: The host's own object.
        read: What the tool has read from a store.
    """
    for text in _found(tuple(injections), arguments, state, context, read):
        yield text
        yield from url_passwords(text)


def _found(
    injections: tuple[Injection, ...], arguments: Mapping[str, Any], state: Any, context: Any, read: Iterable[Any]
) -> Iterator[str]:
    yield from _revealed(dict(arguments))
    for injection in injections:
        match injection.kind, injection.key:
            case InjectionKind.HOST, key:
                yield from _all_of(_entry(context, key or injection.parameter))
            case InjectionKind.STATE, str(key):
                yield from _all_of(_entry(state, key))
            case InjectionKind.STATE, _:
                yield from _named(state)
            case InjectionKind.CONTEXT, _:
                yield from _named(state)
                yield from _named(context)
            case _:
                pass
    for value in read:
        yield from _named(value)


def _all_of(value: Any) -> Iterator[str]:
    """Every text in data that was injected by itself; of a service that was, such as a client, what is named so."""
    for part in _parts(value):
        yield from _revealed_in(part.value)
        text = _as_text(part.value)
        is_long_enough = len(text) >= MIN_SECRET_LENGTH or _is_no_word(text)
        if (part.is_data or part.is_secret) and is_long_enough:
            yield text


def _named(value: Any) -> Iterator[str]:
    """What has a secret's name, in a value that also holds what is none."""
    for part in _parts(value, by_name=True):
        yield from _revealed_in(part.value)
        text = _as_text(part.value)
        if part.is_secret and len(text) >= MIN_SECRET_LENGTH:
            yield text


def _revealed(value: Any) -> Iterator[str]:
    for part in _parts(value):
        yield from _revealed_in(part.value)


def _revealed_in(value: Any) -> Iterator[str]:
    """The text of a ``SecretStr`` or the like."""
    if type(value) in _PLAIN or isinstance(value, _OPAQUE):
        return
    text = ""
    with suppress(Exception):  # the value's own code
        text = _as_text(value.get_secret_value())
    if len(text) >= MIN_WORD:
        yield text


def _as_text(value: Any) -> str:
    """The text that a plain value is printed as; empty where it has none of its own."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode(errors="replace")
    return str(value) if isinstance(value, int | UUID) and not isinstance(value, bool) else ""


def _is_no_word(text: str) -> bool:
    """Whether a short text is a code of some kind, which does not turn up by chance: ``u-42x``."""
    return len(text) >= MIN_WORD and any(map(str.isdigit, text)) and any(map(str.isalpha, text))


class _Part(NamedTuple):
    """A value that stands somewhere in another."""

    value: Any
    is_secret: bool = False
    """Whether its name, or that of the container it stands in, says secret."""
    is_data: bool = True
    """Whether nothing but containers and records lies above it."""


def _parts(value: Any, *, by_name: bool = False) -> Iterator[_Part]:
    """The value and what is in it, what is near first; messages are left out: the conversation is known to the model.

    Args:
        value: What is gone through.
        by_name: Whether only names make a secret: texts of other names are left out then, and an object is also asked
            for what only shows when asked, its properties with a secret's name.
    """
    asked = [_Part(_entry(value, name), is_secret=True) for name in _properties(value)] if by_name else []
    return islice(_level_by_level([_Part(value), *asked], by_name=by_name), _MAX_VALUES)


def _level_by_level(parts: list[_Part], *, by_name: bool) -> Iterator[_Part]:
    for _ in range(_MAX_DEPTH + 1):
        yield from parts
        below = chain.from_iterable(_below(part, by_name=by_name) for part in parts)
        parts = list(islice(below, _MAX_VALUES))


def _below(part: _Part, *, by_name: bool) -> Iterator[_Part]:
    """What is directly in a part."""
    if isinstance(part.value, _OPAQUE):
        return
    is_data = part.is_data and _is_data(part.value)
    with suppress(Exception):  # containers and objects of the host's
        for name, value in _entries(part.value):
            is_secret = part.is_secret or _is_secret(name, value)
            is_left_out = isinstance(value, Message) or (by_name and not is_secret and type(value) in _LEAVES)
            if not is_left_out:
                yield _Part(value, is_secret, is_data)


def _is_data(value: Any) -> bool:
    kind: type = type(value)
    is_record = hasattr(kind, "__dataclass_fields__") or hasattr(kind, "__pydantic_fields__")
    return is_record or isinstance(value, Mapping | list | tuple | AbstractSet)


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    """The names and values directly in a container or object."""
    if is_object(value):
        yield from ((str(name), inner) for name, inner in value.items())
    elif isinstance(value, list | tuple | AbstractSet):
        yield from (("", inner) for inner in value)
    else:
        slots = (name for cls in type(value).__mro__ for name in _slots(cls))
        yield from ((name, getattr(value, name, None)) for name in slots)
        yield from getattr(value, "__dict__", {}).items()


def _slots(cls: type) -> tuple[str, ...]:
    slots = vars(cls).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(name for name in slots if not name.startswith("__"))


def _properties(value: Any) -> list[str]:
    """The properties of an object whose name says secret."""
    if value is None or is_object(value) or isinstance(value, _OPAQUE):
        return []
    kind: type = type(value)
    return [name for name in dir(kind) if is_secret_name(name) and not name.startswith("__")]


def _is_secret(name: str, value: Any) -> bool:
    if not is_secret_name(name):
        return False
    if name.casefold() != "key":
        return True
    return isinstance(value, str) and len(value) >= _KEY_LENGTH and any(map(str.isdigit, value))


def _entry(source: Any, name: str) -> Any:
    try:
        return source.get(name) if is_object(source) else getattr(source, name, None)
    except Exception:  # noqa: BLE001 - a property of the host's own object may raise anything
        return None
