"""Where tools and nodes keep what outlives a run: the protocol, and a store in memory."""

from surehand.stores.memory import InMemoryStore
from surehand.stores.protocol import Item, Namespace, Store

__all__ = ["InMemoryStore", "Item", "Namespace", "Store"]
