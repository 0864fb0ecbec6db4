"""The checks of ``check_checkpointer``: one function for each promise of a checkpointer."""

from surehand.testing.savers import awaiting, calls, closing, forgetting, reading, values, writers, writes
from surehand.testing.savers.closing import what_was_put_outlives_the_saver

__all__ = ["CHECKS", "what_was_put_outlives_the_saver"]

CHECKS = (
    *reading.CHECKS,
    *writers.CHECKS,
    *writes.CHECKS,
    *calls.CHECKS,
    *forgetting.CHECKS,
    *values.CHECKS,
    *awaiting.CHECKS,
    *closing.CHECKS,
)
"""Each is given a saver that holds nothing, and may leave it closed."""
