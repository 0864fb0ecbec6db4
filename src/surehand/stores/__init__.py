"""Where tools and nodes keep what outlives a run: the protocol, and a store in memory."""

from surehand.stores.memory import InMemoryStore
from surehand.stores.protocol import Item, Namespace, Store
from surehand.stores.reads import Reads, note_read, watch_reads

__all__ = ["InMemoryStore", "Item", "Namespace", "Reads", "Store", "note_read", "watch_reads"]
