"""A store in this process's memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

from surehand.errors import OptionError, StoreError, shown
from surehand.stores.json_copy import copy_of_object
from surehand.stores.protocol import Item, Namespace
from surehand.stores.reads import note_read

__all__ = ["InMemoryStore"]


class InMemoryStore:
    """Keeps JSON objects under a key, in namespaces that nest; gone when the program ends.

    Values are copied on the way in and on the way out, and have to be JSON, so that a program that works on this
    store works on a durable one. It may be used from several threads and loops.

    Example:
        >>> store = InMemoryStore()
        >>> store.put(("users", "u1"), "city", {"name": "Bergen"})
        >>> store.get(("users", "u1"), "city").value
        {'name': 'Bergen'}
    """

    def __init__(self) -> None:
        self._items: dict[tuple[Namespace, str], Item] = {}
        self._lock = threading.Lock()

    def put(self, namespace: Namespace, key: str, value: Mapping[str, Any]) -> None:
        """Store the value, in place of what was there.

        Raises:
            StoreError: The namespace, the key or the value cannot be stored.
        """
        place = _place(namespace, key)
        copy = copy_of_object(value)
        now = datetime.now(UTC)
        with self._lock:
            old = self._items.get(place)
            self._items[place] = Item(
                namespace=place[0],
                key=key,
                value=copy,
                created_at=now if old is None else old.created_at,
                updated_at=now,
            )

    def get(self, namespace: Namespace, key: str) -> Item | None:
        """The item with a copy of its value, or None."""
        # Without the lock: an item is a frozen record, and a dictionary gives the old one or the new.
        item = self._items.get(_place(namespace, key))
        return None if item is None else _own(item)

    def delete(self, namespace: Namespace, key: str) -> None:
        """Remove the item; nothing happens where there is none."""
        with self._lock:
            self._items.pop(_place(namespace, key), None)

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

        Raises:
            StoreError: The namespace is none.
            OptionError: ``limit`` or ``offset`` is no whole number from 0.
        """
        _check_page(limit=limit, offset=offset)
        found = self._matching(_namespace(namespace), filter or {})
        return [_own(item) for position, item in enumerate(found) if offset <= position < offset + limit]

    async def aput(self, namespace: Namespace, key: str, value: Mapping[str, Any]) -> None:
        """``put``, awaited."""
        self.put(namespace, key, value)

    async def aget(self, namespace: Namespace, key: str) -> Item | None:
        """``get``, awaited."""
        return self.get(namespace, key)

    async def adelete(self, namespace: Namespace, key: str) -> None:
        """``delete``, awaited."""
        self.delete(namespace, key)

    async def asearch(
        self,
        namespace: Namespace = (),
        *,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - LangGraph's spelling
        limit: int = 10,
        offset: int = 0,
    ) -> list[Item]:
        """``search``, awaited."""
        return self.search(namespace, filter=filter, limit=limit, offset=offset)

    def _matching(self, prefix: Namespace, fields: Mapping[str, Any]) -> Iterator[Item]:
        with self._lock:  # for the list only; comparing values is the host's code, and may take its time
            items = list(self._items.values())
        for item in items:
            if item.namespace[: len(prefix)] == prefix and _has(item.value, fields):
                yield item


def _own(item: Item) -> Item:
    note_read({item.key: item.value})
    return replace(item, value=copy_of_object(item.value))


def _has(value: Mapping[str, Any], fields: Mapping[str, Any]) -> bool:
    return all(name in value and value[name] == wanted for name, wanted in fields.items())


def _place(namespace: object, key: object) -> tuple[Namespace, str]:
    names = _namespace(namespace)
    if not names:
        raise StoreError(problem="The namespace is empty", remedy='Name at least one level, for example ("users",).')
    if not isinstance(key, str) or not key:
        raise StoreError(problem=f"A key is a text that is not empty, got {shown(key)}", remedy="Use str(key).")
    return names, key


def _namespace(namespace: object) -> Namespace:
    if not isinstance(namespace, tuple | list):
        raise StoreError(
            problem=f"A namespace is a tuple of texts, got {shown(namespace)}",
            remedy='Write ("users",) for a single level.',
        )
    names = tuple(cast("Sequence[object]", namespace))
    texts = tuple(name for name in names if isinstance(name, str) and name)
    if len(texts) != len(names):
        raise StoreError(
            problem=f"The names of a namespace are texts that are not empty, got {shown(names)}",
            remedy="Use str(name).",
        )
    return texts


def _check_page(**numbers: object) -> None:
    for option, value in numbers.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise OptionError(option=option, value=value, expected="a whole number from 0")
