"""How values are stored: as versioned JSON that comes back as what it was, or as what changed since the last time."""

from surehand.checkpoints.codec.deltas import Change, Track
from surehand.checkpoints.codec.texts import VERSION, Codec
from surehand.checkpoints.codec.types import types_in

__all__ = ["VERSION", "Change", "Codec", "Track", "types_in"]
