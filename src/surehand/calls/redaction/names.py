"""Which names say that what they stand for is a secret."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

__all__ = ["is_secret_name"]

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
