"""Providers' payloads in and out: pure functions over plain JSON, no provider's package needed.

Each dialect is a module: ``read_reply`` and a stream class read what a provider sends, ``write_messages`` writes what
it accepts. ``dialect_of`` finds out which one a host's messages speak, so that answers can be given in it.
"""

from __future__ import annotations

from surehand.dialects.detect import Dialect, dialect_of

__all__ = ["Dialect", "dialect_of"]
