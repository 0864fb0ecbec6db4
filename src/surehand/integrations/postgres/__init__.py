"""PostgreSQL: a checkpointer for programs on several machines.

This package imports without psycopg, so that ``surehand``'s names can be listed anywhere; what needs it is imported
when a saver is made.
"""

from surehand.integrations.postgres.saver import PostgresSaver

__all__ = ["PostgresSaver"]
