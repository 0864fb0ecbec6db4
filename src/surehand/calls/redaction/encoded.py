"""Secrets that stand in a text as base64 or hexadecimal digits, perhaps inside of something longer.

What is decoded is the text and not what is encoded the secret: that depends on what stands before it, as in the user's
name and password of ``Authorization: Basic …``.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from typing import Final

from surehand.calls.redaction.shapes import REDACTED

__all__ = ["hide_encoded"]

_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{11,}={0,2}")
"""Eleven characters of base64 are eight bytes, and no shorter secret is looked for."""
_HEX: Final = re.compile(rb"[0-9A-Fa-f]{16,}")
_URL_SAFE: Final = bytes.maketrans(b"-_", b"+/")
_BETWEEN: Final = b"\xff"
"""In no secret: those are UTF-8."""


def hide_encoded(text: str, secrets: Sequence[bytes]) -> str:
    """The text without the runs of digits that stand for one of the secrets.

    Args:
        text: The text.
        secrets: What is looked for, in UTF-8; each at least eight bytes long.
    """
    runs = {run: _BETWEEN.join(_decoded(run)) for run in set(_RUN.findall(text))}
    everything = _BETWEEN.join(runs.values())
    found = [secret for secret in secrets if secret in everything]
    if not found:
        return text
    hidden = {run for run, decoded in runs.items() if any(secret in decoded for secret in found)}
    # Each where it stands: one run may be a part of another, which holds a second secret.
    return _RUN.sub(lambda match: REDACTED if match[0] in hidden else match[0], text)


def _decoded(run: str) -> Iterator[bytes]:
    """What the run may stand for: nobody knows at which of its characters the digits begin."""
    plain = run.rstrip("=").encode().translate(_URL_SAFE)
    for start in range(4):
        digits = plain[start:]
        digits = digits[:-1] if len(digits) % 4 == 1 else digits
        yield base64.b64decode(digits + b"=" * (-len(digits) % 4))
    for digits in _HEX.findall(plain):
        yield binascii.unhexlify(digits[: len(digits) // 2 * 2])
        yield binascii.unhexlify(digits[1 : 1 + (len(digits) - 1) // 2 * 2])
