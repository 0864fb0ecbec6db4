"""Where runs are kept between their steps: what is stored, in which form, and by whom."""

from typing import TYPE_CHECKING, Any

from surehand.checkpoints.memory import MemorySaver
from surehand.checkpoints.protocol import Checkpointer
from surehand.checkpoints.records import CallRow, CallState, ChannelRow, CheckpointRow, LoadedCheckpoint, WriteRow

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    if name != "SqliteSaver":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from surehand.checkpoints.sqlite import SqliteSaver  # noqa: PLC0415 - only its users pay for SQLite

    return SqliteSaver
