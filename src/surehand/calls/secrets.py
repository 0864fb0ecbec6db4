"""The texts that must not leave with a word about a call: what the host injected, and secrets among the arguments."""

# Values of any type are read here, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from surehand.calls.redact import is_secret_name
from surehand.shapes import is_object
from surehand.spec import Injection, InjectionKind

__all__ = ["secret_texts"]

_SECRET_LENGTH: Final = 8
"""Shorter texts are no secrets: they would turn up by chance."""
_MAX_DEPTH: Final = 5
_MAX_VALUES: Final = 1_000
"""How far the arguments are searched: whoever nests secrets deeper hides them from us too."""


def secret_texts(
    injections: Iterable[Injection], arguments: Mapping[str, Any], *, state: Any, context: Any
) -> list[str]:
    """Every injected text, what has a secret's name in the state and context a tool is shown, and all ``SecretStr``.

    Args:
        injections: What the tool is given beside its arguments.
        arguments: The typed arguments.
        state: The state of the node.
        context: The host's own object.
    """
    values = [value for injection in injections for value in _injected(injection, state, context)]
    texts = [value for value in values if isinstance(value, str)]
    texts += _revealed([values, dict(arguments)])
    return [text for text in texts if len(text) >= _SECRET_LENGTH]


def _injected(injection: Injection, state: Any, context: Any) -> list[Any]:
    match injection.kind, injection.key:
        case InjectionKind.HOST, key:
            return [_entry(context, key or injection.parameter)]
        case InjectionKind.STATE, str(key):
            return [_entry(state, key)]
        case InjectionKind.STATE, _:
            return _named_secrets(state)
        case InjectionKind.CONTEXT, _:
            return [*_named_secrets(state), *_named_secrets(context)]
        case _:
            return []


def _named_secrets(source: Any) -> list[Any]:
    """The values in a state or the host's own object whose name says secret."""
    names: Iterable[Any] = list(source) if is_object(source) else dir(source)
    return [_entry(source, name) for name in names if isinstance(name, str) and is_secret_name(name)]


def _entry(source: Any, name: str) -> Any:
    try:
        return source.get(name) if is_object(source) else getattr(source, name, None)
    except Exception:  # noqa: BLE001 - a property of the host's own object may raise anything
        return None


def _revealed(value: Any) -> list[str]:
    """The texts in every ``SecretStr`` or the like, wherever it stands in the value."""
    texts: list[str] = []
    for part in islice(_parts(value, _MAX_DEPTH), _MAX_VALUES):
        with suppress(Exception):  # the value's own code
            secret = getattr(part, "get_secret_value", str)()
            texts += [secret] if isinstance(secret, str) else []
    return texts


def _parts(value: Any, depth: int) -> Iterator[Any]:
    """The value and what is in it: items of containers, fields of models and other objects."""
    yield value
    if depth == 0 or isinstance(value, str | bytes | type):
        return
    inner: Iterable[Any] = ()
    if is_object(value):
        inner = value.values()
    elif isinstance(value, list | tuple | set | frozenset):
        inner = value
    elif hasattr(value, "__dict__"):
        inner = vars(value).values()
    for item in inner:
        yield from _parts(item, depth - 1)
