"""Runs kept in a SQLite file."""

from surehand.checkpoints.sqlite.saver import SqliteSaver

__all__ = ["SqliteSaver"]
