"""Takes out of a text what a model must not read: secrets, host paths, stack frames, addresses.

Two kinds of evidence. *By value*: the secrets that the host names, and the values of environment variables whose name
says secret. That is certain, whatever the text around looks like. *By shape*: what tokens, keys, credentials in URLs,
paths and frames look like. That is a guess, and where the two errors weigh differently this module hides too much
rather than too little. It cannot find a secret that is neither known nor looks like one.

One thing is never hidden for its shape: what the model itself has sent. It would be told "no such file: [redacted]",
and have to guess which of its files is meant.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate, islice
from typing import Any, Final
from unicodedata import normalize
from urllib.parse import quote, quote_plus

from surehand.calls.redaction.encoded import hide_encoded
from surehand.calls.redaction.names import is_secret_name
from surehand.calls.redaction.shapes import (
    MIN_SECRET_LENGTH,
    MIN_WORD,
    REDACTED,
    hide_places,
    hide_secrets,
    url_passwords,
)
from surehand.shapes import is_object, items_of

__all__ = ["Redactor"]

_MAX_SECRETS: Final = 2_000
"""How many secrets are looked for in a text."""
_MAX_QUOTED: Final = 1_000
"""Longer secrets are no part of a URL."""
_MIN_LINE: Final = 16
"""Shorter lines of a secret may be found by chance."""
_MAX_LINES: Final = 200
_MAX_SENT: Final = 200
"""How many texts of a call's arguments are looked at, the shortest ones."""
_MAX_SENT_CHARS: Final = 50_000
"""The most characters of them: a path is looked for in all of them."""
_MAX_PLACES: Final = 200
"""How many different places of a text are looked for in what was sent; the others are hidden."""


class Redactor:
    """Replaces secrets, host paths, frames and addresses by ``[redacted]``.

    Args:
        secrets: Values to hide wherever they stand, also quoted, URL-quoted, escaped, or inside of base64 or
            hexadecimal digits; those of four to seven characters as whole words, shorter and blank ones not at all.
            They are gone through when the first text is to be redacted, and not before: most calls have none.
        sent: What the model has sent; what only looks like a secret or a path is not hidden if it stands there.
        environ: Where to look for values whose name says secret; None for the environment of the process, which is
            read anew for every text, so that a key that is set later is hidden too.
    """

    __slots__ = ("_environ", "_own", "_places", "_secrets", "_sent", "_sent_texts")

    def __init__(
        self, secrets: Iterable[str] = (), *, sent: Any = None, environ: Mapping[str, str] | None = None
    ) -> None:
        self._secrets = secrets
        self._own: _Known | None = None
        self._sent = sent
        self._sent_texts: list[str] | None = None
        self._places: dict[str, str] = {}
        self._environ = _process_environment if environ is None else _Environment(lambda: environ)

    def text(self, text: str) -> str:
        """The text without secrets; time proportional to its length."""
        if self._own is None:
            self._own = _Known(self._secrets)
        text = self._environ.secrets().hidden_in(self._own.hidden_in(text))
        return hide_places(hide_secrets(text, self._was_sent), self._hide_place)

    def _was_sent(self, text: str) -> bool:
        return any(text in sent for sent in self._texts_sent())

    def _texts_sent(self) -> list[str]:
        if self._sent_texts is None:
            self._sent_texts = _some_texts(self._sent)
        return self._sent_texts

    def _hide_place(self, place: str) -> str:
        """What stands for a place; the same each time, unless there are too many of them."""
        known = self._places.get(place)
        if known is None:
            if len(self._places) >= _MAX_PLACES:
                return REDACTED
            known = self._places[place] = self._as_sent(place)
        return known

    def _as_sent(self, place: str) -> str:
        """The place where the model has sent it; what it has sent of it where that is its end; else nothing of it."""
        if self._was_sent(place):
            return place
        texts = self._texts_sent()
        ends = [text for text in texts if len(text) >= MIN_WORD and place.endswith(("/" + text, "\\" + text))]
        return f"{REDACTED}{place[-len(max(ends, key=len)) - 1 :]}" if ends else REDACTED


def _some_texts(sent: Any) -> list[str]:
    """The texts of a call's arguments that are looked at: a path is a short one, a file's content a long one."""
    shortest = sorted(_texts(sent), key=len)[:_MAX_SENT]
    sizes = accumulate(map(len, shortest))
    return [text for text, size in zip(shortest, sizes, strict=True) if size <= _MAX_SENT_CHARS]


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

    __slots__ = ("_forms", "_secrets")

    def __init__(self, secrets: Iterable[str]) -> None:
        some = list(islice((secret for secret in secrets if secret.strip()), _MAX_SECRETS))
        some += [line for secret in some for line in _key_lines(secret)]
        forms = {form for secret in some for form in _spellings(secret) if len(form) >= MIN_WORD}
        self._forms = sorted(forms, key=len, reverse=True)
        self._secrets = [text.encode(errors="replace") for text in some if len(text) >= MIN_SECRET_LENGTH]

    def hidden_in(self, text: str) -> str:
        for form in self._forms:
            if form in text and form not in REDACTED:
                text = _replaced(text, form)
        return hide_encoded(text, self._secrets) if self._secrets else text


def _replaced(text: str, form: str) -> str:
    if len(form) >= MIN_SECRET_LENGTH:
        return text.replace(form, REDACTED)
    # The text itself stands first in the pattern, so that it is searched for at full speed.
    written = re.escape(form)
    return re.sub(rf"{written}(?!\w)(?<!\w{written})", REDACTED, text)


def _key_lines(secret: str) -> list[str]:
    """The lines of a secret of several lines, such as a private key, that are no words: each of them is a secret."""
    lines = map(str.strip, secret.splitlines()) if "\n" in secret else ()
    return [line for line in islice(lines, _MAX_LINES) if len(line) >= _MIN_LINE and not re.search(r"\s", line)]


def _spellings(secret: str) -> set[str]:
    spellings = {secret, secret.strip()}
    if not secret.isascii():
        composed = {secret, normalize("NFC", secret), normalize("NFD", secret)}
        return spellings.union(composed, *map(_escaped, composed), *map(_url_quoted, composed))
    if not secret.isalnum():
        spellings |= _url_quoted(secret)
    return spellings if secret.isprintable() and not _ESCAPED.search(secret) else spellings | _escaped(secret)


_ESCAPED: Final = re.compile(r"[\\'\"]")
"""The printable characters that are not written as they are between quotes."""


def _escaped(secret: str) -> set[str]:
    """The secret as it stands between the quotes of Python and JSON, also of JSON inside of JSON."""
    once = json.dumps(secret)[1:-1]
    raw = secret.encode(errors="replace")
    return {repr(secret)[1:-1], ascii(secret)[1:-1], repr(raw)[2:-1], once, json.dumps(once)[1:-1]}


def _url_quoted(secret: str) -> set[str]:
    """The secret as it stands in a URL, with capitals and without."""
    if len(secret) > _MAX_QUOTED:
        return set()
    quoted = {quote(secret, safe="", errors="replace"), quote(secret, errors="replace")}
    lowered = {re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), text) for text in quoted if "%" in text}
    return quoted | lowered | {quote_plus(secret, errors="replace")}


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
