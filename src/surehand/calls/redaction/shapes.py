"""What secrets and places of a host look like: tokens, keys, credentials in URLs and headers, paths, frames, addresses.

Every pattern runs in time proportional to the text: none starts a search inside a run it has already searched, and
open-ended parts are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import unquote

__all__ = ["MIN_SECRET_LENGTH", "MIN_WORD", "REDACTED", "hide_places", "hide_secrets", "url_passwords"]

REDACTED: Final = "[redacted]"
MIN_SECRET_LENGTH: Final = 8
"""Shorter texts are secrets only where somebody said so: ``DEBUG_KEY=1`` must not blank every 1."""
MIN_WORD: Final = 4
"""Secrets shorter than this are not looked for, and those up to seven characters only as whole words."""

Known = Callable[[str], bool]
"""Whether the reader of a text has written a part of it."""
Shape = Callable[[str, Known], str]
Place = Callable[[str, Callable[[str], str]], str]


def hide_secrets(text: str, is_known: Known = lambda _: False) -> str:
    """The text without what looks like a secret, except for what is known to its reader anyway."""
    for shape in _SHAPES:
        text = shape(text, is_known)
    return text


def hide_places(text: str, hide: Callable[[str], str]) -> str:
    """The text with every place of a host replaced by what ``hide`` makes of it."""
    for place in _PLACES:
        text = place(text, hide)
    return text


_URL_PASSWORD: Final = re.compile(r"://[^\s/?#:@'\"]{0,200}:([^\s/?#'\"]{1,500})@")


def url_passwords(text: str) -> list[str]:
    """The passwords in URLs, as they are written there and as they are meant."""
    if "://" not in text or "@" not in text:
        return []
    written = [match[1] for match in _URL_PASSWORD.finditer(text)]
    return [form for password in written for form in {password, unquote(password)} if len(form) >= MIN_SECRET_LENGTH]


def _shape(pattern: str, to: str = REDACTED, *, only_with: str = "", flags: int = 0) -> Shape:
    """A replacement by pattern; without the text ``only_with``, which is cheap to find, the pattern cannot match."""
    compiled = re.compile(pattern, flags)

    def replace(text: str, is_known: Known) -> str:
        if only_with not in text:
            return text
        return compiled.sub(lambda match: match[0] if is_known(match[0]) else match.expand(to), text)

    return replace


def _place(pattern: str, *, only_with: str, flags: int = 0) -> Place:
    compiled = re.compile(pattern, flags)

    def replace(text: str, hide: Callable[[str], str]) -> str:
        return compiled.sub(lambda match: hide(match[0]), text) if only_with in text else text

    return replace


_NAMES: Final = (
    r"(?<!expected )"  # an unexpected token is one of a grammar
    r"(?:pass(?:word|wd|phrase|code)|pwd|(?:(?<![A-Za-z])pw|_pass)(?![A-Za-z])|secret|token|credentials?|dsn"
    r"|auth(?:orization|entication)?(?![A-Za-z])"
    r"|(?:api|access|account|private|signing|encryption|master|service|shared|client)[_ -]?key"
    r"|shared[_-]?access[_-]?(?:key|signature))"
)
_NAME_END: Final = (
    r"(?!s\b|ary|[A-Za-z]{0,24}(?:error|exception|fault|failure|notfound)\b"
    r"|[_-]?(?:count|length|limit|usage|type|budget|policy|names?|ids?)\b)[A-Za-z0-9_-]{0,32}"
)
_SCHEME: Final = r"(?:Bearer|Basic|Token|Digest|ApiKey|Key)"
_QUOTE: Final = r"""(?:\\{0,7}["'])?"""
"""Perhaps a quote, escaped as often as texts are quoted inside of others."""
_QUOTED: Final = r"""\\{1,7}"[^"\n]{1,2000}"|"(?:\\.|[^"\\\n]){1,2000}+"|'(?:\\.|[^'\\\n]){1,2000}+'"""
_OPENED: Final = r"""(?:[A-Za-z_.]{0,40}[(\[{]{1,3}(?=["']))?"""
"""What stands before the first text of a list or a call: ``['…']``, ``SecretStr('…')``."""
_HARMLESS: Final = frozenset(
    {
        *("none", "null", "nil", "undefined", "unset", "empty", "missing", "required", "optional", "true", "false"),
        *("yes", "no", "on", "off", "ok", "valid", "invalid", "expired", "revoked", "unknown", "wrong", "incorrect"),
        *("rejected", "denied", "failed", "pending", "disabled", "enabled", "str", "string", "int"),
        *("bearer", "basic", "digest", "oauth", "oauth2", "jwt", "saml", "ldap", "sso"),
    }
)
"""What may follow the name of a secret and is none: ``token: expired``, ``has_password=False``."""


_OPEN: Final = REDACTED[:-1]
"""How a value that is hidden already ends where the value is taken to end before a bracket."""
_URL: Final = re.compile(rf"[A-Za-z][\w+.-]{{0,30}}://{re.escape(_OPEN)}(?:\]\S*)?")
"""A URL without its user information."""


def _hide_value(match: re.Match[str], is_known: Known) -> str:
    """The name with its value hidden; the match as it is where the value is no secret, or nothing but hidden."""
    value = match["value"]
    end = REDACTED if not value.endswith(_OPEN) else _OPEN
    plain = value.removesuffix(_OPEN).replace(REDACTED, " ").strip("\\\"'.!? ")
    is_none = all(word in _HARMLESS for word in plain.casefold().split()) or not any(map(str.isalnum, plain))
    is_none = is_none or _URL.fullmatch(value.strip("\\\"'")) is not None
    # The value alone may be a guess of the reader's, and what he guessed right he must not learn here.
    return match[0] if is_none or is_known(match[0]) else f"{match['name']}{end}"


_ASSIGNED: Final = re.compile(
    rf"""(?P<name>{_NAMES}{_NAME_END}{_QUOTE}"""
    rf"""(?:[ \t]{{0,4}}:?=>?[ \t]{{0,4}}|(?:%22)?%3[AD](?:%20)?(?:%22)?){_OPENED})"""
    rf"""(?P<value>{_QUOTED}|(?:{_SCHEME} )?["']?[^\s,;&)}}\]"']+["']?)""",
    re.IGNORECASE,
)
_LABELLED: Final = re.compile(
    rf"""(?P<name>{_NAMES}{_NAME_END}{_QUOTE}[ \t]{{0,4}}:[ \t]{{0,4}}{_OPENED})"""
    # After a colon prose may follow ("password: must be long"): a bare word counts only when it is no plain word, or
    # when nothing follows it. No word has two hundred letters, and a longer run is taken whole, so that none of the
    # names in it starts another search to its end.
    rf"""(?P<value>{_QUOTED}|{_SCHEME} [^\s,;"'\[]{{4,2000}}|(?:{_SCHEME} )?"""
    r"""(?=[^\s,;&)}\]]{0,200}[\d$!@#%^*+/])[^\s,;&)}\]]+"""
    r"""|[^\s,;&)}\]"']{200,}|[^\s,;&)}\]"']{1,199}+(?=[ \t]{0,4}(?:$|[\r\n,;&)}\]])))""",
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
_ELEMENT: Final = re.compile(  # <wsse:Password Type="…">hunter2</wsse:Password>
    rf"""(?P<name><(?:[\w.-]{{1,60}}:)?[\w.-]{{0,40}}?{_NAMES}{_NAME_END}(?:\s[^<>]{{0,300}})?>)"""
    r"""(?P<value>[^<>]{1,2000})(?=</)""",
    re.IGNORECASE,
)
_FLAG: Final = re.compile(  # mysqldump --password hunter2
    rf"""(?P<name>(?<![\w-])--[\w-]{{0,40}}?{_NAMES}{_NAME_END}[ ])(?P<value>{_QUOTED}|[^\s'"-][^\s'"]{{0,2000}})""",
    re.IGNORECASE,
)
_COOKIE: Final = re.compile(
    r"""(?P<name>\bcookie["']?[ ]{0,4}[:=][ ]{0,4}["']?)(?P<value>[^\s'"=;]{1,200}=[^\n'"]{1,4000})""", re.IGNORECASE
)


_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_MIXED: Final = re.compile(r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{8,}")
"""A run of letters and digits that no name is made of: of ``customer_id_2024_archive`` none is one."""


def _hide_named(match: re.Match[str], is_known: Known) -> str:
    key = match["key"]
    if is_known(key or match[0]) or (key and (_UUID.fullmatch(key) or not _MIXED.search(key))):
        return match[0]
    return f"{match['name'] or match['label']}{REDACTED}"


def _hide_assigned(text: str, is_known: Known) -> str:
    def hide_value(match: re.Match[str]) -> str:
        return _hide_value(match, is_known)

    if "', " in text or '", ' in text:
        text = _PAIR.sub(hide_value, text)
    if "</" in text:
        text = _ELEMENT.sub(hide_value, text)
    if "--" in text:
        text = _FLAG.sub(hide_value, text)
    if "=" in text or "%3" in text:
        text = _ASSIGNED.sub(hide_value, text)
    if ":" in text:
        text = _LABELLED.sub(hide_value, text)
    text = _NAMED.sub(lambda match: _hide_named(match, is_known), text)
    # Cookies end with the line or at a quote: what is named in the same line is hidden before its name goes with them.
    return _COOKIE.sub(hide_value, text) if "ookie" in text or "OOKIE" in text else text


_ESCAPED: Final = r"(?:\\{1,8}r)?\\{1,8}n"
"""The end of a line in a text that is quoted inside of another."""
_TRACEBACK: Final = (
    r"Traceback \(most recent call last\):(?:(?:\r?\n[ \t]+[^\n]*)+"
    # Quoted: all lines end as the first one does; what is escaped once more stands in the code that is shown.
    rf"|(?P<end>{_ESCAPED})[ \t]+(?:(?!(?<!\\)(?P=end))[^\n])*(?:(?P=end)[ \t]+(?:(?!(?<!\\)(?P=end))[^\n])*)*)?"
)
_FOREIGN_FRAMES: Final = (  # of Java, JavaScript and .NET
    rf"(?:(?P<end>\r?\n|{_ESCAPED})(?:[ \t]|\\{{1,8}}t){{1,20}}(?:"
    r"at [^\s(][^\n(]{0,300}\((?:[^\n()]{0,500}:\d+|Native Method|Unknown Source)\)"
    r"|at [^\s(][^\n(]{0,300}\([^\n()]{0,500}\) in [^\n]{1,500}?:line \d+"
    r"|at (?:async )?(?:node:|file:|/|[A-Za-z]:\\)[^\s]{1,500}:\d+:\d+"
    r"|\.\.\. \d{1,6} more\b))+"
)

_SHAPES: Final[tuple[Shape, ...]] = (
    _shape(
        r"-----BEGIN [A-Z0-9 ]{1,40}-----.*?(?:-----END [A-Z0-9 ]{1,40}-----|\Z)",
        only_with="-----BEGIN ",
        flags=re.DOTALL,
    ),
    _shape(_TRACEBACK, only_with="Traceback"),
    _shape(_FOREIGN_FRAMES, rf"\g<end>{REDACTED}", only_with="at "),
    # A colon behind the number is no frame's: 'File "a.csv", line 3: expected 2 columns'.
    _shape(r'File \\{0,7}"[^"\n]{1,1000}", line \d+(?:, in [^\s]{1,200}|(?![:,.\d]| \w))', only_with="File "),
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
)
"""In this order: what contains other shapes goes first."""

_ROOTS: Final = (
    "home|root|Users|usr|var|etc|opt|tmp|srv|mnt|media|private|proc|sys|dev|app|work|workspace|lib|lib64|bin|sbin|run"
    "|Library|Applications|Volumes|nix|snap|boot|code|data|builds?"
)
"""First segments of host paths. A path under another root counts when its last segment has an extension, so that the
route in ``GET /v1/users: 404`` stays."""
_NO_POINTER: Final = r"(?!data/(?:\d+/)?(?:attributes|relationships|id|type)\b)"
"""Where JSON:API says what is wrong: ``/data/attributes/title``."""
_NO_ROUTE: Final = r"(?<!GET )(?<!PUT )(?<!POST )(?<!HEAD )(?<!PATCH )(?<!DELETE )(?<!OPTIONS )"
"""After a verb of HTTP stands a route of some service, whatever it begins with."""

_PLACES: Final[tuple[Place, ...]] = (
    _place(r"\bfile://[^\s'\"<>]+", only_with="file://", flags=re.IGNORECASE),
    _place(
        r"(?<=')[A-Za-z]:[\\/](?!/)[^'\n]{0,1000}(?=')|(?<=\")[A-Za-z]:[\\/](?!/)[^\"\n]{0,1000}(?=\")"
        r"|(?<![A-Za-z0-9])[A-Za-z]:[\\/](?!/)[^\s'\"<>|:*?;,)\]}]*",
        only_with=":",
    ),
    _place(
        rf"(?<=')/{_NO_POINTER}(?:{_ROOTS})/[^'\n]{{0,1000}}(?=')|(?<=\")/{_NO_POINTER}(?:{_ROOTS})/[^\"\n]{{0,1000}}(?=\")",
        only_with="/",
    ),
    _place(rf"(?<![\w.@+/~-]){_NO_ROUTE}/{_NO_POINTER}(?:{_ROOTS})(?:/[^\s'\"<>|:;,)\]}}]*)", only_with="/"),
    _place(rf"(?<![\w.@+:/~-]){_NO_ROUTE}/(?:[\w.@+-]+/)+[\w.@+-]*\.[A-Za-z]\w{{0,5}}\b", only_with="/"),
    _place(r"(?<![\w~])~(?:[A-Za-z][\w.-]{0,63})?/[^\s'\"<>|;,)\]}]+", only_with="~"),
    _place(r"(?<![\\\w])\\{2,4}[\w.-]{1,200}\\[^\s'\"<>|:*?;,)\]}]+", only_with="\\\\"),
    # Where an object lies; a number of fewer digits may be an error's code.
    _place(r"(?<=\bat )0x[0-9a-fA-F]{6,16}\b|\b0x[0-9a-fA-F]{10,16}\b", only_with="0x"),
)
