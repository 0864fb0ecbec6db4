"""Whether any text and number comes back, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from surehand.checkpoints import Checkpointer
from surehand.errors import CheckpointError
from surehand.testing.savers.scripts import (
    EPOCH,
    Script,
    call,
    change,
    expect,
    expect_equal,
    expect_raises,
    row_of,
    texts_of,
    write,
    writes_of,
)

__all__ = ["CHECKS"]


def _any_text_comes_back(saver: Checkpointer) -> None:
    texts = [
        "",
        " ",
        "'\";--%_\\",
        "\t\r\n\x01\x7f\x85\u2028",
        "zwölf Boxkämpfer",
        "e\u0301 é",
        "שלום عالم",
        "😀👩‍🚀\U0010ffff",
    ]
    for number, text in enumerate(texts):
        name = f"{number}{text}"
        script = Script(saver, name, f"n{text}")
        script.put(change(f"k{text}", 1, text), body=text)
        saver.put_writes(name, f"n{text}", script.rows[0].id, [write(text, text, 0, text)])
        saver.save_call(name, call(f"k{text}", text=text), after=None)
        loaded = saver.load(name, f"n{text}", script.rows[0].id)
        expect_equal(f"a row with {text!r} comes back", loaded and loaded.row, script.rows[0])
        expect_equal(f"a key and a version {text!r} come back", loaded and dict(loaded.channels), {f"k{text}": (text,)})
        expect_equal(f"a write {text!r} comes back", loaded and loaded.writes, (write(text, text, 0, text),))
        expect_equal(f"a call {text!r} comes back", saver.load_call(name, f"k{text}"), call(f"k{text}", text=text))


def _names_that_look_alike_are_others(saver: Checkpointer) -> None:
    names = ["a", "A", "a ", " a", "á", "a\u0301", "ａ", "%", "_", "a%", "a\\", "0", "00"]
    for name in names:
        saver.save_call(name, call("k", text=f'"{name}"'), after=None)
        saver.save_call("keys", call(name), after=None)
    expect_equal("threads of names that look alike are others", saver.threads(), sorted([*names, "keys"]))
    found = [row.text if row else None for row in (saver.load_call(name, "k") for name in names)]
    expect_equal("each has its own call", found, [f'"{name}"' for name in names])
    expect_equal("keys that look alike are others", [row.key for row in saver.calls("keys")], names)


def _large_texts_come_back(saver: Checkpointer) -> None:
    large = "ü😀x" * 1_000_000
    script = Script(saver)
    script.put(change("a", 1, large))
    script.put(change("a", 2, "small", previous=1), body=large)
    saver.save_call("thread", call("k", text=large), after=None)
    saver.put_writes("thread", "", script.rows[1].id, [write("a", text=large)])
    expect("texts of some MB come back", texts_of(saver)["a"] == (large, "small"))
    expect("a body of some MB comes back", row_of(saver, script.rows[1].id).body == large)
    expect("a call of some MB comes back", saver.load_call("thread", "k") == call("k", text=large))
    expect("a write of some MB comes back", writes_of(saver, script.rows[1].id) == (write("a", text=large),))


def _numbers_come_back_exactly(saver: Checkpointer) -> None:
    script = Script(saver)
    created = [EPOCH, 0.0, 1e10 + 0.1, -1.5]
    for at in created:
        script.put(created_at=at)
    expect_equal("times come back exactly", [row.created_at for row in reversed(saver.history("thread"))], created)
    huge = write("a", number=2**53 + 1)
    saver.put_writes("thread", "", script.rows[0].id, [huge, write("b", number=2**63 - 1)])
    expect_equal("numbers up to 2**63 - 1 come back exactly", writes_of(saver, script.rows[0].id)[0], huge)


def _what_no_database_takes_is_refused(saver: Checkpointer) -> None:
    script = Script(saver)
    (first,) = script.steps(1)
    for text in ("a\0b", "half \ud83d"):
        acts: dict[str, Callable[[], object]] = {
            "a thread": partial(saver.save_call, text, call("k"), after=None),
            "a call": partial(saver.save_call, "thread", call("k", text=text), after=None),
            "a key of a call": partial(saver.load_call, "thread", text),
            "a version": partial(saver.put, script.row({"a": 2}), [change("a", 2, text)], after=first.id),
            "a body": partial(saver.put, script.row(body=text), [], after=first.id),
            "a write": partial(saver.put_writes, "thread", "", first.id, [write("a", text=text)]),
            "a namespace": partial(saver.load, "thread", text),
        }
        for name, act in acts.items():
            expect_raises(f"{name} with {text!r} is refused", CheckpointError, act)
    for number in (2**63, -1):
        put = partial(saver.put_writes, "thread", "", first.id, [write("a", number=number)])
        expect_raises(f"a number {number} is refused", CheckpointError, put)
    for at in (float("nan"), float("inf")):
        put_at = partial(saver.put, script.row(created_at=at), [], after=first.id)
        expect_raises(f"created_at={at} is refused", CheckpointError, put_at)
    for id_ in ("", "a/b", "a:b"):
        put_id = partial(saver.put, script.row(id=id_), [], after=first.id)
        expect_raises(f"the id {id_!r} is refused", CheckpointError, put_id)
    expect_equal("what was refused does not hold", (saver.threads(), saver.newest("thread")), (["thread"], first))


def _a_missing_version_is_an_error(saver: Checkpointer) -> None:
    script = Script(saver)
    saver.put(script.row({"a": 1}), [], after=None)
    error = expect_raises("a version that was never put is an error", CheckpointError, partial(saver.load, "thread"))
    expect_equal("the error names the thread", error.thread_id, "thread")
    expect("the error names the checkpoint", script.row().id in str(error))


CHECKS: Final[tuple[Callable[[Checkpointer], None], ...]] = (
    _any_text_comes_back,
    _names_that_look_alike_are_others,
    _large_texts_come_back,
    _numbers_come_back_exactly,
    _what_no_database_takes_is_refused,
    _a_missing_version_is_an_error,
)
