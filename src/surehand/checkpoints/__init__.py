"""Where runs are kept between their steps: what is stored, in which form, and by whom."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from surehand.checkpoints.protocol import Checkpointer
from surehand.checkpoints.records import CallRow, CallState, ChannelRow, CheckpointRow, LoadedCheckpoint, WriteRow

if TYPE_CHECKING:
    from surehand.checkpoints.memory import MemorySaver
    from surehand.checkpoints.sqlite import SqliteSaver

__all__ = [
    "CallRow",
    "CallState",
    "ChannelRow",
    "CheckpointRow",
    "Checkpointer",
    "LoadedCheckpoint",
    "MemorySaver",
    "SqliteSaver",
    "WriteRow",
]

_HOME_OF: Final = {"MemorySaver": "surehand.checkpoints.memory", "SqliteSaver": "surehand.checkpoints.sqlite"}
"""Name -> module: a saver is imported when it is first asked for, so that only its users pay for it."""


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
