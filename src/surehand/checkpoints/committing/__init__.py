"""One thread that owns a connection to a database, and commits what others ask for in groups."""

from surehand.checkpoints.committing.committer import Committer
from surehand.checkpoints.committing.database import Database

__all__ = ["Committer", "Database"]
