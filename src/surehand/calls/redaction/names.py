"""Which names say that what they stand for is a secret."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

__all__ = ["is_secret_name"]

_SECRET_NAME: Final = re.compile(
    r"(?:^|[_.\-])(?:key|apikey|tokens?|secrets?|password|passwd|passphrase|pass(?:code|key)s?|pwd|credentials?|creds?|dsn"
    r"|auth|authorization|bearer|jwts?|cookie)(?:$|[_.\-\d])"
    r"|[_.\-](?:pass|pw|pat)$"  # SMTP_PASS, DB_PW, GH_PAT
    r"|(?:secret|password|passwd|credential|token|conn(?:ection)?_?str(?:ing)?$"
    r"|(?:api|access|account|private|signing|encryption|master|service|shared|client)[_\-]?keys?(?:$|[_.\-\d]))",
    re.IGNORECASE,
)
_COUNTS_TOKENS: Final = re.compile(
    r"(?:max|min|num|n|total|prompt|completion|input|output|used)_?tokens?|tokens?_?(?:count|limit|usage|type|budget)"
    r"|tokeniz?s?er",
    re.IGNORECASE,
)
_IS_A_ROUND: Final = re.compile(
    r"(?:low|high|band|all|by|first|second|last|one|two|single|multi|next|num|n|forward|backward|test|com)_?pass$",
    re.IGNORECASE,
)
_NAMES_A_FIELD: Final = re.compile(
    r"(?:primary|foreign|sort|partition|public|cache|group|index|row|object|lookup|natural|composite|join|idempotency"
    r"|translation)_?keys?",
    re.IGNORECASE,
)
_HUMP: Final = re.compile(r"(?<=[a-z\d])(?=[A-Z])")
"""Where a word begins in ``privateKey``."""


@lru_cache(maxsize=4_096)
def is_secret_name(name: str) -> bool:
    """Whether something of this name is probably a secret: ``API_KEY``, ``dbPassword``; not ``max_tokens``."""
    name = _HUMP.sub("_", name)
    is_harmless = _COUNTS_TOKENS.search(name) or _NAMES_A_FIELD.search(name) or _IS_A_ROUND.search(name)
    return _SECRET_NAME.search(name) is not None and not is_harmless
