from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from surehand.errors import OptionError, StoreError
from surehand.stores import InMemoryStore, Item, Store

USERS = ("users",)


def found(store: InMemoryStore, *namespace: str, **fields: Any) -> list[str]:
    return [item.key for item in store.search(namespace, filter=fields)]


def test_a_value_comes_back_under_its_namespace_and_key() -> None:
    store = InMemoryStore()
    store.put(("users", "u1"), "city", {"name": "Bergen"})
    item = store.get(("users", "u1"), "city")
    assert item is not None
    assert (item.namespace, item.key, item.value) == (("users", "u1"), "city", {"name": "Bergen"})


def test_a_missing_key_is_none() -> None:
    assert InMemoryStore().get(USERS, "nobody") is None


def test_the_same_key_in_another_namespace_is_another_item() -> None:
    store = InMemoryStore()
    store.put(("a",), "k", {"v": 1})
    store.put(("b",), "k", {"v": 2})
    items = [store.get((namespace,), "k") for namespace in ("a", "b")]
    assert [item.value["v"] for item in items if item is not None] == [1, 2]


def test_putting_again_replaces_the_value_and_keeps_the_first_time() -> None:
    store = InMemoryStore()
    store.put(USERS, "k", {"v": 1})
    first = store.get(USERS, "k")
    store.put(USERS, "k", {"v": 2})
    second = store.get(USERS, "k")
    assert first is not None
    assert second is not None
    assert second.value == {"v": 2}
    assert second.created_at == first.created_at
    assert second.updated_at >= first.updated_at


def test_deleting_removes_and_deleting_again_does_nothing() -> None:
    store = InMemoryStore()
    store.put(USERS, "k", {})
    store.delete(USERS, "k")
    store.delete(USERS, "k")
    assert store.get(USERS, "k") is None


def test_neither_the_writer_nor_a_reader_can_change_what_is_stored() -> None:
    store = InMemoryStore()
    given: dict[str, Any] = {"tags": ["a"]}
    store.put(USERS, "k", given)
    given["tags"].append("b")
    read = store.get(USERS, "k")
    assert read is not None
    read.value["tags"].append("c")
    again = store.get(USERS, "k")
    assert again is not None
    assert again.value == {"tags": ["a"]}


def test_search_looks_at_and_below_a_namespace_in_the_order_of_writing() -> None:
    store = InMemoryStore()
    for namespace, key in ((("users", "b"), "k1"), (USERS, "k2"), (("users", "a"), "k3"), (("usersx",), "k4")):
        store.put(namespace, key, {})
    assert found(store, "users") == ["k1", "k2", "k3"]
    assert found(store) == ["k1", "k2", "k3", "k4"]


def test_search_filters_by_the_fields_of_the_value() -> None:
    store = InMemoryStore()
    store.put(USERS, "ann", {"city": "Bergen", "age": None})
    store.put(USERS, "bob", {"city": "Oslo"})
    assert found(store, city="Oslo") == ["bob"]
    assert found(store, age=None) == ["ann"]


def test_search_returns_pages() -> None:
    store = InMemoryStore()
    for number in range(15):
        store.put(USERS, str(number), {})
    assert len(store.search(USERS)) == 10
    assert [item.key for item in store.search(USERS, limit=2, offset=13)] == ["13", "14"]
    assert store.search(USERS, limit=0) == []


@pytest.mark.parametrize("option", [{"limit": -1}, {"offset": -1}, {"limit": True}])
def test_a_page_that_cannot_be_meant_is_refused(option: dict[str, int]) -> None:
    with pytest.raises(OptionError, match="expected a whole number from 0"):
        InMemoryStore().search(USERS, limit=option.get("limit", 1), offset=option.get("offset", 0))


@pytest.mark.parametrize("namespace", ["users", (), ("",), (1,), None])
def test_a_namespace_that_is_none_is_refused(namespace: Any) -> None:
    with pytest.raises(StoreError, match="namespace"):
        InMemoryStore().put(namespace, "k", {})


@pytest.mark.parametrize("key", ["", 1, None])
def test_a_key_that_is_no_text_is_refused(key: Any) -> None:
    with pytest.raises(StoreError, match="key is a text"):
        InMemoryStore().get(USERS, key)


@pytest.mark.parametrize(
    ("value", "spot"),
    [
        ({"a": [1, {"b": {1, 2}}]}, r"at \$\.a\[1\]\.b"),
        ({"a": float("nan")}, r"at \$\.a"),
        ({"a": {1: "x"}}, r"at \$\.a"),
        ({"a": object()}, r"at \$\.a"),
        ([1], "expected a dict"),
        ("text", "expected a dict"),
    ],
)
def test_what_json_cannot_carry_is_refused_with_its_place(value: Any, spot: str) -> None:
    with pytest.raises(StoreError, match=spot):
        InMemoryStore().put(USERS, "k", value)


def test_a_value_that_holds_itself_is_refused() -> None:
    value: dict[str, Any] = {}
    value["self"] = value
    with pytest.raises(StoreError, match="holds itself"):
        InMemoryStore().put(USERS, "k", value)


def test_tuples_come_back_as_lists_as_from_any_store_of_json() -> None:
    store = InMemoryStore()
    store.put(USERS, "k", {"pair": (1, 2)})
    item = store.get(USERS, "k")
    assert item is not None
    assert item.value == {"pair": [1, 2]}


def test_the_awaited_methods_see_the_same_items() -> None:
    store = InMemoryStore()

    async def work() -> tuple[Item | None, list[Item], Item | None]:
        await store.aput(USERS, "k", {"v": 1})
        read, listed = await store.aget(USERS, "k"), await store.asearch(USERS, filter={"v": 1})
        await store.adelete(USERS, "k")
        return read, listed, await store.aget(USERS, "k")

    read, listed, gone = asyncio.run(work())
    assert listed == [read]
    assert gone is None


def test_threads_may_write_at_the_same_time() -> None:
    store = InMemoryStore()

    def write(worker: int) -> None:
        for number in range(100):
            store.put(USERS, f"{worker}-{number}", {"n": number})
            store.search(USERS)

    threads = [threading.Thread(target=write, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.search(USERS, limit=1_000)) == 400


def test_it_is_a_store() -> None:
    store: Store = InMemoryStore()
    assert isinstance(store, Store)
