"""Where runs are kept between their steps: what is stored, in which form, and by whom."""

from surehand.checkpoints.protocol import Checkpointer
from surehand.checkpoints.records import CallRow, CallState, ChannelRow, CheckpointRow, LoadedCheckpoint, WriteRow

__all__ = ["CallRow", "CallState", "ChannelRow", "CheckpointRow", "Checkpointer", "LoadedCheckpoint", "WriteRow"]
