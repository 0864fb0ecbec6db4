"""Who watches is told what was read, in its own context and no other."""

from __future__ import annotations

import contextvars

from surehand import InMemoryStore
from surehand.stores import note_read, watch_reads


def _watched() -> list[object]:
    reads = watch_reads()
    store = InMemoryStore()
    store.put(("users",), "bob", {"token": "t"})
    store.get(("users",), "bob")
    store.get(("users",), "nobody")
    store.search(())
    return list(reads)


def test_what_a_store_hands_out_is_noted_under_its_key() -> None:
    assert contextvars.copy_context().run(_watched) == [{"bob": {"token": "t"}}] * 2


def test_without_a_watch_nothing_is_noted() -> None:
    contextvars.copy_context().run(_watched)
    note_read("x")
    assert list(contextvars.copy_context().run(watch_reads)) == []


def test_a_watch_can_be_taken_up_again() -> None:
    def twice() -> list[object]:
        reads = watch_reads()
        note_read(1)
        assert watch_reads(reads) is reads
        note_read(2)
        return list(reads)

    assert contextvars.copy_context().run(twice) == [1, 2]


def test_the_newest_are_kept() -> None:
    def many() -> list[object]:
        reads = watch_reads()
        for number in range(1_000):
            note_read(number)
        return list(reads)

    kept = contextvars.copy_context().run(many)
    assert (len(kept), kept[-1]) == (200, 999)
