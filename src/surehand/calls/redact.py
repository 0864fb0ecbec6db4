"""Takes out of a text what a model must not read: secrets, host paths, stack frames, addresses.

Two kinds of evidence. *By value*: the secrets that the host names, and the values of environment variables whose name
says secret. That is certain, whatever the text around looks like. *By shape*: what tokens, keys, credentials in URLs,
paths and frames look like. That is a guess, and where the two errors weigh differently this module hides too much
rather than too little. It cannot find a secret that is neither known nor looks like one.

Every pattern runs in time proportional to the text: none starts a search inside a run it has already searched, and
open-ended parts are bounded.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final
from urllib.parse import quote, unquote

from pydantic import ValidationError

from surehand.calls.text import MAX_LISTED, listed, shorten, well_formed, without_links

__all__ = ["MAX_DESCRIPTION", "REDACTED", "Redactor", "describe_exception", "is_secret_name", "leaf_errors"]

REDACTED: Final = "[redacted]"
MIN_SECRET_LENGTH: Final = 8
"""Environment values shorter than this are no secrets: ``DEBUG_KEY=1`` must not blank every 1."""
MIN_WORD: Final = 4
"""Secrets shorter than this are not looked for, and those up to seven characters only as whole words."""
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
        environ: Where to look for values whose name says secret; None for the environment of the process, which is
            read anew for every text, so that a key that is set later is hidden too.
    """

    __slots__ = ("_environ", "_own", "_secrets")

    def __init__(self, secrets: Iterable[str] = (), *, environ: Mapping[str, str] | None = None) -> None:
        self._secrets: Iterable[str] | None = secrets
        self._own: re.Pattern[str] | None = None
        self._environ = _process_environment if environ is None else _Environment(lambda: environ)

    def text(self, text: str) -> str:
        """The text without secrets; time proportional to its length."""
        if self._secrets is not None:
            self._own = _any_of(secret for secret in self._secrets if secret.strip())
            self._secrets = None
        for known in (self._own, self._environ.secrets()):
            if known is not None:
                text = known.sub(REDACTED, text)
        for shape in _SHAPES:
            text = shape(text)
        return text


class _Environment:
    """The secrets of an environment, looked for again only when it has changed: most redactors live for one text."""

    __slots__ = ("_read", "_state")

    def __init__(self, read: Callable[[], Mapping[str, str]]) -> None:
        self._read = read
        # One tuple, so that threads never see the snapshot of one moment with the secrets of another.
        self._state: tuple[dict[str, str], re.Pattern[str] | None] = ({}, None)

    def secrets(self) -> re.Pattern[str] | None:
        environ = dict(self._read())
        seen, pattern = self._state
        if environ != seen:
            secrets = [
                value for name, value in environ.items() if len(value) >= MIN_SECRET_LENGTH and is_secret_name(name)
            ]
            passwords = [password for value in environ.values() for password in url_passwords(value)]
            pattern = _any_of([*secrets, *passwords])
            self._state = (environ, pattern)
        return pattern


_process_environment: Final = _Environment(lambda: os.environ)


def _any_of(secrets: Iterable[str]) -> re.Pattern[str] | None:
    """One pattern for all the secrets and the ways they are written; longest first, so that none hides half of one."""
    forms = {form for secret in secrets for form in _spellings(secret) if len(form) >= MIN_WORD}
    if not forms:
        return None
    return re.compile("|".join(map(_as_pattern, sorted(forms, key=len, reverse=True))))


def _as_pattern(form: str) -> str:
    escaped = re.escape(form)
    return escaped if len(form) >= MIN_SECRET_LENGTH else rf"(?<!\w){escaped}(?!\w)"


def _spellings(secret: str) -> set[str]:
    spellings = {secret, secret.strip(), repr(secret)[1:-1], json.dumps(secret)[1:-1]}
    return spellings | {quote(secret, safe="", errors="replace"), quote(secret, errors="replace")}


# -- shapes ----------------------------------------------------------------------------------------------------------

Shape = Callable[[str], str]


def _shape(pattern: str, to: str = REDACTED, *, only_with: str = "", flags: int = 0) -> Shape:
    """A replacement by pattern; without the text ``only_with``, which is cheap to find, the pattern cannot match."""
    compiled = re.compile(pattern, flags)

    def replace(text: str) -> str:
        return compiled.sub(to, text) if only_with in text else text

    return replace


_ROOTS: Final = (
    "home|root|Users|usr|var|etc|opt|tmp|srv|mnt|media|private|proc|sys|dev|app|work|workspace|lib|lib64|bin|sbin|run"
    "|Library|Applications|Volumes|nix|snap|boot|code|data|builds?"
)
"""First segments of host paths. A path under another root counts when its last segment has an extension, so that the
route in ``GET /v1/users: 404`` stays."""
_NO_ROUTE: Final = r"(?<!GET )(?<!PUT )(?<!POST )(?<!HEAD )(?<!PATCH )(?<!DELETE )(?<!OPTIONS )"
"""After a verb of HTTP stands a route of some service, whatever it begins with."""
_NAMES: Final = (
    r"(?<!expected )"  # an unexpected token is one of a grammar
    r"(?:pass(?:word|wd|phrase)|pwd|secret|token|credentials?|dsn|auth(?:orization|entication)?(?![A-Za-z])"
    r"|(?:api|access|account|private|signing|encryption|master|service|shared|client)[_ -]?key"
    r"|shared[_-]?access[_-]?(?:key|signature))"
)
_NAME_END: Final = r"(?!s\b|[_-]?(?:count|limit|usage|type|budget|names?|ids?)\b)[A-Za-z0-9_-]{0,32}"
_SCHEME: Final = r"(?:Bearer|Basic|Token|Digest|ApiKey|Key)"
_HARMLESS: Final = frozenset(
    {
        *("none", "null", "nil", "undefined", "unset", "empty", "missing", "required", "optional", "true", "false"),
        *("yes", "no", "on", "off", "ok", "valid", "invalid", "expired", "revoked", "unknown", "wrong", "incorrect"),
        *("rejected", "denied", "failed", "disabled", "enabled", "str", "string", "int", "bearer", "basic", "digest"),
    }
)
"""What may follow the name of a secret and is none: ``token: expired``, ``has_password=False``."""


def _hide_value(match: re.Match[str]) -> str:
    # A value ends before a bracket, so that one which is hidden already was found without its own closing bracket.
    value = match["value"]
    plain = value.strip("\\\"'.!?")
    is_none = plain.casefold() in _HARMLESS or not any(map(str.isalnum, plain))
    return match[0] if is_none or REDACTED[:-1] in value else f"{match['name']}{REDACTED}"


_ASSIGNED: Final = re.compile(
    rf"""(?P<name>{_NAMES}{_NAME_END}\\?["']?[ \t]{{0,4}}=>?[ \t]{{0,4}})"""
    rf"""(?P<value>"[^"\n]{{1,2000}}"|'[^'\n]{{1,2000}}'|(?:{_SCHEME} )?["']?[^\s,;&)}}\]"']+["']?)""",
    re.IGNORECASE,
)
_LABELLED: Final = re.compile(
    rf"""(?P<name>{_NAMES}{_NAME_END}\\?["']?[ \t]{{0,4}}:[ \t]{{0,4}})"""
    # After a colon prose may follow ("password: must be long"): a bare word counts only when it is no plain word, or
    # when nothing follows it.
    rf"""(?P<value>\\?"[^"\n]{{1,2000}}"|'[^'\n]{{1,2000}}'|{_SCHEME} [^\s,;"'\[]{{4,2000}}|(?:{_SCHEME} )?"""
    r"""(?=[^\s,;&)}\]]{0,200}[\d$!@#%^*+/])[^\s,;&)}\]]+"""
    r"""|[^\s,;&)}\]"']+(?=[ \t]{0,4}(?:$|[\r\n,;&)}\]])))""",
    re.IGNORECASE,
)
_NAMED: Final = re.compile(
    # "password 'hunter2' is wrong": quoted, it is a password; unquoted, only what no word looks like is a key.
    r"""(?P<name>\b(?:pass(?:word|wd|phrase)|pwd)[ ](?=['"]))(?P<value>"[^"\n]{1,200}"|'[^'\n]{1,200}')"""
    r"""|(?P<label>\b(?:tokens?|secret|key|credentials?)[ ]['"]?)"""
    r"""(?P<key>(?=[^\s\d]{0,100}\d)(?=[^\sA-Za-z]{0,100}[A-Za-z])[A-Za-z0-9_+/=-]{20,500})""",
    re.IGNORECASE,
)
_PAIR: Final = re.compile(
    # ('authorization', 'Bearer …'): how clients print the headers of a request.
    r"""(?P<name>["'](?:[\w-]{0,40}(?:authorization|cookie|token|secret|password|api-?key))["'],[ ]b?)"""
    r"""(?P<value>"[^"\n]{1,4000}"|'[^'\n]{1,4000}')""",
    re.IGNORECASE,
)
_COOKIE: Final = re.compile(
    r"""(?P<name>\bcookie["']?[ ]{0,4}[:=][ ]{0,4}["']?)(?P<value>[^\s'"=;]{1,200}=[^\n'"]{1,4000})""", re.IGNORECASE
)


def _hide_named(match: re.Match[str]) -> str:
    return f"{match['name'] or match['label']}{REDACTED}"


def _hide_assigned(text: str) -> str:
    if "ookie" in text or "OOKIE" in text:
        text = _COOKIE.sub(_hide_value, text)
    if "', " in text or '", ' in text:
        text = _PAIR.sub(_hide_value, text)
    if "=" in text:
        text = _ASSIGNED.sub(_hide_value, text)
    if ":" in text:
        text = _LABELLED.sub(_hide_value, text)
    return _NAMED.sub(_hide_named, text)


_SHAPES: Final[tuple[Shape, ...]] = (
    _shape(
        r"-----BEGIN [A-Z0-9 ]{1,40}-----.*?(?:-----END [A-Z0-9 ]{1,40}-----|\Z)",
        only_with="-----BEGIN ",
        flags=re.DOTALL,
    ),
    _shape(r"Traceback \(most recent call last\):(?:\r?\n[ \t]+[^\n]*)*", only_with="Traceback"),
    _shape(r'File "[^"\n]{1,1000}", line \d+(?:, in [^\s]{1,200})?', only_with='File "'),
    # The whole of a URL's user information, up to the last @ of the authority; then passwords with a slash in them.
    _shape(r"://[^\s/?#'\"<>]{1,1000}@", f"://{REDACTED}@", only_with="@"),
    _shape(r"://[^\s/?#'\"<>:@]{1,200}:(?!\d{1,5}/)[^\s'\"<>@]{1,200}@", f"://{REDACTED}@", only_with="@"),
    _shape(r"([?&][\w-]{0,30}sig(?:nature)?=)[^&\s'\"<>]+", rf"\1{REDACTED}", only_with="=", flags=re.IGNORECASE),
    _shape(r"(?<=[?&]key=)(?=[^&\s\d]{0,200}\d)[^&\s'\"<>]{12,}", only_with="key="),
    _shape(r"(?<=hooks\.slack\.com/services/)[^\s'\"<>]+", only_with="hooks.slack.com"),
    _shape(r"(?<=/api/webhooks/)\d{5,30}/[\w-]+", only_with="/api/webhooks/"),
    _shape(
        r"\b(Bearer|Basic)[ \t]+(?=[^\s]{0,200}[\d=])[A-Za-z0-9+/=._~-]{8,}", rf"\1 {REDACTED}", flags=re.IGNORECASE
    ),
    _shape(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{2,}(?:\.[A-Za-z0-9_-]*)?", only_with="eyJ"),
    _shape(  # what could be the words of a slug has to hold a digit
        r"(?<![A-Za-z0-9])(?:[spr]k[-_]|gsk_|xai-|pplx-|nvapi-|tvly-|whsec_|glsa_|r8_|pypi-|dckr_pat_|sbp_|lsv2_|do[opr]_v1_"
        r"|shp(?:at|ca|pa|ss)_|hvs\.)(?=[A-Za-z_-]{0,100}\d)[A-Za-z0-9_-]{16,}"
    ),
    _shape(
        r"(?<![A-Za-z0-9])(?:gh[a-z]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}"
        r"|glpat-[A-Za-z0-9_-]{16,}|xox[a-z]-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{8,}|(?:AKIA|ASIA)[A-Z0-9]{16}"
        r"|(?:LTAI|AKID|AKLT)[A-Za-z0-9]{16,}|(?:bot)?\d{8,10}:AA[A-Za-z0-9_-]{30,}|AGE-SECRET-KEY-1[A-Z0-9]{20,}"
        r"|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{16,}|npm_[A-Za-z0-9]{16,}|SG\.[A-Za-z0-9_.-]{16,})"
    ),
    _hide_assigned,
    _shape(r"\bfile://[^\s'\"<>]+", only_with="file://", flags=re.IGNORECASE),
    _shape(
        r"(?<=')[A-Za-z]:[\\/](?!/)[^'\n]{0,1000}(?=')|(?<=\")[A-Za-z]:[\\/](?!/)[^\"\n]{0,1000}(?=\")"
        r"|(?<![A-Za-z0-9])[A-Za-z]:[\\/](?!/)[^\s'\"<>|:*?;,)\]}]*",
        only_with=":",
    ),
    _shape(rf"(?<=')/(?:{_ROOTS})/[^'\n]{{0,1000}}(?=')|(?<=\")/(?:{_ROOTS})/[^\"\n]{{0,1000}}(?=\")", only_with="/"),
    _shape(rf"(?<![\w.@+/~-]){_NO_ROUTE}/(?:{_ROOTS})(?:/[^\s'\"<>|:;,)\]}}]*)", only_with="/"),
    _shape(rf"(?<![\w.@+:/~-]){_NO_ROUTE}/(?:[\w.@+-]+/)+[\w.@+-]*\.[A-Za-z]\w{{0,5}}\b", only_with="/"),
    _shape(r"(?<![\w~])~(?:[A-Za-z][\w.-]{0,63})?/[^\s'\"<>|;,)\]}]+", only_with="~"),
    _shape(r"(?<![\\\w])\\{2,4}[\w.-]{1,200}\\[^\s'\"<>|:*?;,)\]}]+", only_with="\\\\"),
    # Where an object lies; a number of fewer digits may be an error's code.
    _shape(r"(?<=\bat )0x[0-9a-fA-F]{6,16}\b|\b0x[0-9a-fA-F]{10,16}\b", only_with="0x"),
)
"""In this order: what contains other shapes goes first."""


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
