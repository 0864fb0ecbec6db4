"""What a store is: JSON objects under a key, in namespaces that nest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeAlias, runtime_checkable

__all__ = ["Item", "Namespace", "Store"]

Namespace: TypeAlias = tuple[str, ...]
"""A path of texts, such as ``("users", "u1")``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One stored value, as it was when it was read."""

    namespace: Namespace
    key: str
    value: dict[str, Any]
    """The reader's own copy: changing it changes nothing in the store."""
    created_at: datetime
    """When the key was first written, in UTC."""
    updated_at: datetime
    """When the key was last written, in UTC."""


@runtime_checkable
class Store(Protocol):
    """Keeps JSON objects under ``(namespace, key)``; usable from several threads and loops at a time.

    Every method raises ``StoreError`` for a namespace, a key or a value that cannot be stored.
    """

    def put(self, namespace: Namespace, key: str, value: Mapping[str, Any]) -> None:
        """Store the value, in place of what was there."""
        ...

    def get(self, namespace: Namespace, key: str) -> Item | None:
        """The item, or None."""
        ...

    def delete(self, namespace: Namespace, key: str) -> None:
        """Remove the item; nothing happens where there is none."""
        ...

    def search(
        self,
        namespace: Namespace = (),
        *,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - LangGraph's spelling
        limit: int = 10,
        offset: int = 0,
    ) -> list[Item]:
        """Items at or below a namespace, in the order of their first writing.

        Args:
            namespace: The beginning of the namespaces to look in; ``()`` is everything.
            filter: Fields that the value has to have, with these very values.
            limit: The most items to return.
            offset: How many matching items to pass over first.
        """
        ...

    async def aput(self, namespace: Namespace, key: str, value: Mapping[str, Any]) -> None:
        """``put``, awaited."""
        ...

    async def aget(self, namespace: Namespace, key: str) -> Item | None:
        """``get``, awaited."""
        ...

    async def adelete(self, namespace: Namespace, key: str) -> None:
        """``delete``, awaited."""
        ...

    async def asearch(
        self,
        namespace: Namespace = (),
        *,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - LangGraph's spelling
        limit: int = 10,
        offset: int = 0,
    ) -> list[Item]:
        """``search``, awaited."""
        ...
