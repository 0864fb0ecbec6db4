"""Takes out of a text what a model must not read: secrets, host paths, stack frames, addresses.

Two kinds of evidence. *By value*: the secrets that the host names, and the values of environment variables whose name
says secret. That is certain, whatever the text around looks like. *By shape*: what tokens, keys, credentials in URLs,
paths and frames look like. That is a guess, and where the two errors weigh differently this module hides too much
rather than too little. It cannot find a secret that is neither known nor looks like one.

One thing is never hidden: a path that the model itself has sent. It would be told "no such file: [redacted]", and have
to guess which of its files is meant.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final
from urllib.parse import quote, unquote

from pydantic import ValidationError

from surehand.calls.secret_shapes import REDACTED, hide_places, hide_secrets
from surehand.calls.text import MAX_LISTED, listed, shorten, well_formed, without_links
from surehand.shapes import is_object, items_of

__all__ = ["MAX_DESCRIPTION", "REDACTED", "Redactor", "describe_exception", "is_secret_name", "leaf_errors"]

MIN_SECRET_LENGTH: Final = 8
"""Environment values shorter than this are no secrets: ``DEBUG_KEY=1`` must not blank every 1."""
MIN_WORD: Final = 4
"""Secrets shorter than this are not looked for, and those up to seven characters only as whole words."""
_MAX_SECRETS: Final = 2_000
"""How many secrets are looked for in a text."""
_MAX_QUOTED: Final = 1_000
"""Longer secrets are no part of a URL."""
_MAX_SENT: Final = 200
"""How many texts of a call's arguments are looked at."""
MAX_DESCRIPTION: Final = 2_000
"""The most characters of an exception that a model is told."""
MAX_READ: Final = 200_000
"""The most characters of a message that are searched; of a longer one the head and the tail."""

_SECRET_NAME: Final = re.compile(
    r"(?:^|[_.\-])(?:key|apikey|tokens?|secrets?|password|passwd|passphrase|pwd|credentials?|dsn|auth|cookie)(?:$|[_.\-\d])"
    r"|(?:secret|password|passwd|credential|token|api_?key)",
    re.IGNORECASE,
)
_COUNTS_TOKENS: Final = re.compile(
    r"(?:max|min|num|n|total|prompt|completion|input|output|used)_?tokens?|tokens?_?(?:count|limit|usage|type|budget)"
    r"|tokeniz?s?er",
    re.IGNORECASE,
)


_NAMES_A_FIELD: Final = re.compile(
    r"(?:primary|foreign|sort|partition|public|cache|group|index|row|object|lookup|natural|composite|join|idempotency"
    r"|translation)_?keys?",
    re.IGNORECASE,
)


@lru_cache(maxsize=4_096)
def is_secret_name(name: str) -> bool:
    """Whether something of this name is probably a secret: ``API_KEY``, ``db_password``; not ``max_tokens``."""
    is_harmless = _COUNTS_TOKENS.search(name) or _NAMES_A_FIELD.search(name)
    return _SECRET_NAME.search(name) is not None and not is_harmless


def url_passwords(text: str) -> list[str]:
    """The passwords in URLs, as they are written there and as they are meant."""
    if "://" not in text or "@" not in text:
        return []
    written = [match[1] for match in _URL_PASSWORD.finditer(text)]
    return [form for password in written for form in {password, unquote(password)} if len(form) >= MIN_SECRET_LENGTH]


_URL_PASSWORD: Final = re.compile(r"://[^\s/?#:@'\"]{0,200}:([^\s/?#'\"]{1,500})@")


class Redactor:
    """Replaces secrets, host paths, frames and addresses by ``[redacted]``.

    Args:
        secrets: Values to hide wherever they stand, also quoted, URL-quoted or escaped; those of four to seven
            characters as whole words, shorter and blank ones not at all. They are gone through when the first text is
            to be redacted, and not before: most calls have none.
        sent: What the model has sent; paths in it are not hidden.
        environ: Where to look for values whose name says secret; None for the environment of the process, which is
            read anew for every text, so that a key that is set later is hidden too.
    """

    __slots__ = ("_environ", "_own", "_secrets", "_sent", "_sent_texts")

    def __init__(
        self, secrets: Iterable[str] = (), *, sent: Any = None, environ: Mapping[str, str] | None = None
    ) -> None:
        self._secrets = secrets
        self._own: _Known | None = None
        self._sent = sent
        self._sent_texts: list[str] | None = None
        self._environ = _process_environment if environ is None else _Environment(lambda: environ)

    def text(self, text: str) -> str:
        """The text without secrets; time proportional to its length."""
        if self._own is None:
            self._own = _Known(self._secrets)
        text = self._environ.secrets().hidden_in(self._own.hidden_in(text))
        return hide_places(hide_secrets(text), self._hide_place)

    def _hide_place(self, place: str) -> str:
        """What stands for a place: itself where the model has sent it; what it has sent of it where that is its end."""
        if self._sent_texts is None:
            self._sent_texts = list(islice(_texts(self._sent), _MAX_SENT))
        if any(place in text for text in self._sent_texts):
            return place
        ends = [
            text for text in self._sent_texts if len(text) >= MIN_WORD and place.endswith(("/" + text, "\\" + text))
        ]
        return f"{REDACTED}{place[-len(max(ends, key=len)) - 1 :]}" if ends else REDACTED


def _texts(value: Any) -> Iterator[str]:
    """The texts in JSON data."""
    if isinstance(value, str):
        yield value
    for item in value.values() if is_object(value) else items_of(value):
        yield from _texts(item)


class _Known:
    """Secrets that are known, in the ways they are written; the longest first, so that none hides half of one.

    One pattern of them all would be quicker to search with, and far slower to make: it is used for one text.
    """

    __slots__ = ("_forms",)

    def __init__(self, secrets: Iterable[str]) -> None:
        some = islice((secret for secret in secrets if secret.strip()), _MAX_SECRETS)
        forms = {form for secret in some for form in _spellings(secret) if len(form) >= MIN_WORD}
        self._forms = sorted(forms, key=len, reverse=True)

    def hidden_in(self, text: str) -> str:
        for form in self._forms:
            if form in text and form not in REDACTED:
                text = _replaced(text, form)
        return text


def _replaced(text: str, form: str) -> str:
    if len(form) >= MIN_SECRET_LENGTH:
        return text.replace(form, REDACTED)
    return re.sub(rf"(?<!\w){re.escape(form)}(?!\w)", REDACTED, text)


def _spellings(secret: str) -> set[str]:
    spellings = {secret, secret.strip()}
    if secret.isascii() and secret.isalnum():
        return spellings
    spellings |= {repr(secret)[1:-1], json.dumps(secret)[1:-1]}
    if len(secret) <= _MAX_QUOTED:
        spellings |= {quote(secret, safe="", errors="replace"), quote(secret, errors="replace")}
    return spellings


class _Environment:
    """The secrets of an environment, looked for again only when it has changed: most redactors live for one text."""

    __slots__ = ("_read", "_state")

    def __init__(self, read: Callable[[], Mapping[str, str]]) -> None:
        self._read = read
        # One tuple, so that threads never see the snapshot of one moment with the secrets of another.
        self._state: tuple[dict[str, str], _Known] = ({}, _Known(()))

    def secrets(self) -> _Known:
        environ = dict(self._read())
        seen, known = self._state
        if environ != seen:
            secrets = [
                value for name, value in environ.items() if len(value) >= MIN_SECRET_LENGTH and is_secret_name(name)
            ]
            passwords = [password for value in environ.values() for password in url_passwords(value)]
            known = _Known([*secrets, *passwords])
            self._state = (environ, known)
        return known


_process_environment: Final = _Environment(lambda: os.environ)


# -- exceptions ------------------------------------------------------------------------------------------------------

_PLAIN_WORDS: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (TimeoutError, "it took too long"),
    (ConnectionRefusedError, "the connection was refused"),
    (ConnectionError, "the connection failed"),
    (FileNotFoundError, "a file was not found"),
    (PermissionError, "permission was denied"),
    (KeyError, "a key was not found"),
    (IndexError, "a position is out of range"),
    (NotImplementedError, "this is not supported"),
    (AssertionError, "an internal check failed"),
    (ZeroDivisionError, "a division by zero"),
    (MemoryError, "there was not enough memory"),
    (RecursionError, "the computation went too deep"),
    (StopIteration, "there was nothing left to read"),
    (StopAsyncIteration, "there was nothing left to read"),
)
"""What to say where an exception says nothing; the first type that fits."""


def describe_exception(error: BaseException, redactor: Redactor) -> str:
    """``ClassName: message`` for a model: redacted, bounded, never blank, never a traceback; never raises.

    Of an exception group it describes the causes, not the group. An exception's ``__cause__`` and its notes are the
    developer's, and left out.
    """
    leaves = leaf_errors(error)
    told = [_described(leaf, redactor) for leaf in leaves[:MAX_LISTED]]
    return shorten(listed(told, total=len(leaves)), MAX_DESCRIPTION, advice="")


def leaf_errors(error: BaseException, *, limit: int = 1_000) -> list[BaseException]:
    """The exceptions inside a group, in order, nested groups opened; the exception itself where it is none."""
    leaves: list[BaseException] = []
    waiting = [error]
    for _ in range(limit):
        if not waiting:
            break
        current = waiting.pop()
        inner = _inner_errors(current)
        if inner:
            waiting += reversed(inner)
        else:
            leaves.append(current)
    return leaves or [error]


def _inner_errors(error: BaseException) -> list[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return []
    # By way of the base class, whatever a subclass does to the attribute.
    return list(vars(BaseExceptionGroup)["exceptions"].__get__(error))


def _described(error: BaseException, redactor: Redactor) -> str:
    name = type(error).__name__
    message = well_formed(without_links(_message(error))).strip()
    if len(message) > MAX_READ:
        message = f"{message[: MAX_READ // 2]} … {message[-MAX_READ // 2 :]}"
    message = redactor.text(message).strip()
    if not message:
        return f"{name}: {_plain_words(error)}."
    return shorten(f"{name}: {message}", MAX_DESCRIPTION, advice="")


def _message(error: BaseException) -> str:
    try:
        if isinstance(error, KeyError) and len(error.args) == 1:
            return _missing_key(error.args[0])
        if isinstance(error, ValidationError):
            return _without_inputs(error)
        return str.__str__(str(error))
    except Exception:  # noqa: BLE001 - the exception's own code
        return "its message could not be read"


def _without_inputs(error: ValidationError) -> str:
    """What is wrong where, without the values: they are no arguments of the model's, which are checked before."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}".removeprefix(": ") for problem in problems]
    return "\n".join((f"{len(problems)} validation errors for {error.title}", *lines))


def _missing_key(key: object) -> str:
    """``KeyError('x')`` says only ``'x'``; a sentence as the key is a message already."""
    if isinstance(key, str) and " " in key.strip():
        return str.__str__(key)
    return "" if key == "" else f"the key {key!r} was not found"


def _plain_words(error: BaseException) -> str:
    for kind, words in _PLAIN_WORDS:
        if isinstance(error, kind):
            return words
    return "it gave no further details"
