"""Whatever a state holds comes back the same, at every version; whatever happens to a text is told as one error."""

from __future__ import annotations

import datetime as dt
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from support.sameness import is_same
from surehand.checkpoints.codec import Change, Codec, Track
from surehand.control import Command, Send
from surehand.errors import CheckpointError
from surehand.interrupts import Answer
from surehand.messages import AIMessage, HumanMessage, Message, RemoveMessage, ToolMessage, add_messages
from surehand.outcomes import FailureKind, Outcome


class Color(Enum):
    RED = 1
    GREEN = "green"


class Pair(NamedTuple):
    left: Any
    right: Any = None


@dataclass
class Record:
    value: Any
    more: Any = ()


@dataclass(frozen=True, slots=True)
class Frozen:
    value: Any


class Model(BaseModel):
    value: Any
    n: int = 0


CODEC = Codec([Color, Pair, Record, Frozen, Model])
WHERE = "key 'k'"

# Surrogates as well, which st.text leaves out.
TEXTS = (
    st.text(max_size=8) | st.text(st.characters(), max_size=4) | st.text(st.sampled_from("\ud83d\ude00$ax"), max_size=4)
)
OFFSETS = st.none() | st.timedeltas(dt.timedelta(hours=-23), dt.timedelta(hours=23)).map(dt.timezone)
LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=-(10**30), max_value=10**30),
    st.floats(),
    st.complex_numbers(),
    TEXTS,
    st.binary(max_size=8),
    st.decimals(allow_nan=False) | st.just(Decimal("NaN")),  # a signaling one cannot stand in a set
    st.uuids(),
    st.dates(),
    st.datetimes(timezones=OFFSETS),
    st.times(),
    st.timedeltas(),
    st.sampled_from(Color),
    st.sampled_from(FailureKind),
    TEXTS.map(PurePosixPath).filter(lambda path: "\x00" not in str(path)),
)
KEYS = TEXTS | st.sampled_from(["$tuple", "$dict", "$message", "$record", "$", "surehand", "value", "change", "put"])
HASHABLE: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3) | st.builds(Frozen, inner),
    max_leaves=4,
)


def command(update: Any, goto: list[str]) -> Command:
    return Command(update=update, goto=goto)


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, max_size=3)
    return st.one_of(
        lists,
        lists.map(tuple),
        lists.map(deque),
        st.dictionaries(KEYS, inner, max_size=3),
        st.dictionaries(KEYS, inner, min_size=1, max_size=1),
        st.dictionaries(HASHABLE, inner, max_size=3),
        st.dictionaries(KEYS, inner, max_size=3).map(OrderedDict),
        st.dictionaries(KEYS, st.integers(), max_size=3).map(Counter),
        st.sets(HASHABLE, max_size=3),
        st.frozensets(HASHABLE, max_size=3),
        st.builds(Pair, inner, inner),
        st.builds(Record, inner, inner),
        st.builds(Model, value=inner, n=st.integers()),
        st.builds(Send, st.text(max_size=3), inner),
        st.builds(Answer, value=inner, given_at=st.floats(allow_nan=False)),
        st.builds(command, inner, st.lists(st.text(max_size=3), max_size=2)),
        messages(inner),
    )


def messages(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Message]:
    ids = st.none() | st.sampled_from("abc")
    extras = st.dictionaries(KEYS, inner, max_size=2)
    contents = TEXTS | st.lists(TEXTS | st.dictionaries(KEYS, inner, max_size=2), max_size=2)
    args = st.dictionaries(st.text(max_size=3), inner, max_size=2) | TEXTS | inner
    calls = st.lists(st.fixed_dictionaries({"id": ids, "name": st.text(max_size=3), "args": args}), max_size=2)
    outcomes = st.none() | st.builds(Outcome, kind=st.none() | st.sampled_from(FailureKind), text=TEXTS)
    return st.one_of(
        st.builds(HumanMessage, contents, id=ids, name=st.none() | TEXTS, additional_kwargs=extras),
        st.builds(
            AIMessage, contents, id=ids, tool_calls=calls, response_metadata=extras, usage_metadata=st.none() | extras
        ),
        st.builds(ToolMessage, contents, tool_call_id=st.just("c"), artifact=inner, outcome=outcomes),
        st.builds(RemoveMessage, id=st.sampled_from("abc")),
    )


VALUES = st.recursive(LEAVES, containers, max_leaves=12)


@given(VALUES)
@settings(max_examples=400, deadline=None)
def test_value_comes_back_the_same(value: Any) -> None:
    text = CODEC.dumps(value, where=WHERE)

    text.encode()
    found = CODEC.loads(text, where=WHERE)
    assert is_same(found, value)


# -- versions --------------------------------------------------------------------------------------------------------

Edit = Callable[[Any], Any]


def edits_of_lists(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Edit]:
    """Insertions, removals, replacements, moves and repetitions, anywhere."""
    places = st.integers(0, 8)

    def edit(kind: str, start: int, length: int, new: list[Any]) -> Edit:
        def apply(old: list[Any]) -> list[Any]:
            end = start + length
            return {
                "insert": [*old[:start], *new, *old[start:]],
                "append": [*old, *new],
                "remove": [*old[:start], *old[end:]],
                "replace": [*old[:start], *new, *old[end:]],
                "move": [*old[:start], *old[end:], *old[start:end]],
                "repeat": [*old, *old[start:end]],
                "reverse": old[::-1],
                "window": [*old[length:], *new],
                "nothing": [*old],
            }[kind][:30]

        return apply

    kinds = ["insert", "append", "append", "remove", "replace", "move", "repeat", "reverse", "window", "nothing"]
    return st.builds(edit, st.sampled_from(kinds), places, places, st.lists(items, max_size=3))


def edits_of_dicts(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Edit]:
    keys = st.sampled_from(["a", "b", "c", "$tuple", "put", ""])

    def setting(new: dict[Any, Any]) -> Edit:
        return lambda old: {**old, **new}

    def dropping(gone: set[Any]) -> Edit:
        return lambda old: {key: value for key, value in old.items() if key not in gone}

    def backwards(old: dict[Any, Any]) -> dict[Any, Any]:
        return dict(reversed(old.items()))

    return st.one_of(
        st.dictionaries(keys, items, max_size=3).map(setting),
        st.sets(keys, max_size=2).map(dropping),
        st.just(backwards),
        st.dictionaries(st.integers(0, 2), items, max_size=1).map(setting),
    )


def edits_of_texts() -> st.SearchStrategy[Edit]:
    def adding(new: str) -> Edit:
        return lambda old: old + new

    def cutting(end: int) -> Edit:
        return lambda old: old[:end]

    return TEXTS.map(adding) | st.integers(0, 5).map(cutting)


def check_versions(first: Any, edits: list[Edit], reopened: set[int]) -> None:
    """Every version comes back as it was, whoever goes on at whichever of them."""
    track = Track(CODEC, WHERE)
    rows: dict[int, Change] = {}
    values: dict[int, Any] = {}
    value, version = first, 0

    def chain(at: int | None) -> list[str]:
        texts: list[str] = []
        while at is not None:
            texts.insert(0, rows[at].text)
            at = rows[at].previous
        return texts

    for step, edit in enumerate([lambda old: old, *edits], 1):
        value = edit(value)
        change = track.change(value, step)
        if change is None:
            assert is_same(values[version], value)
            continue
        version = step
        rows[version], values[version] = change, value
        if step in reopened:
            # From the newest one, or from a version long before it, as a fork does.
            version = version if step % 2 else min(rows)
            track = Track.restored(CODEC, WHERE, chain(version), version)
            value = track.value
    for at, stored in values.items():
        assert is_same(Track.restored(CODEC, WHERE, chain(at), at).value, stored)


REOPENED = st.sets(st.integers(1, 12), max_size=4)
ITEMS = st.one_of(
    st.sampled_from([0, 1, True, False, 1.0, 0.0, -0.0, None, "", "a", "x" * 300, float("nan")]),
    st.sampled_from([[1], [True], {"put": [1]}, {"a": "x" * 300}, (1,), [0, 2]]),
    VALUES,
)
# From a few objects, so that the same ones stand there again and again, as they do in a conversation.
SAID: list[Message] = [
    *(HumanMessage("x" * 100 * n, id=f"h{n}") for n in range(4)),
    *(AIMessage(tool_calls=[{"id": "c", "name": "f", "args": {"n": n}}], id="same") for n in (1, True, 1.0)),
    HumanMessage("x" * 100, id="h1"),
]


@given(st.lists(ITEMS, max_size=6), st.lists(edits_of_lists(ITEMS), max_size=12), REOPENED)
@settings(max_examples=300, deadline=None)
def test_every_version_of_a_list_comes_back(first: list[Any], edits: list[Edit], reopened: set[int]) -> None:
    check_versions(first, edits, reopened)


@given(st.lists(edits_of_lists(st.sampled_from(SAID)), max_size=12), REOPENED)
@settings(max_examples=300, deadline=None)
def test_every_version_of_a_conversation_comes_back(edits: list[Edit], reopened: set[int]) -> None:
    check_versions(SAID[:3], edits, reopened)


@given(st.lists(st.lists(st.sampled_from(SAID[:5]), max_size=3), max_size=12), REOPENED)
@settings(deadline=None)
def test_every_version_that_the_messages_reducer_makes_comes_back(
    writes: list[list[Message]], reopened: set[int]
) -> None:
    def merging(new: list[Message]) -> Edit:
        def merge(old: list[Message]) -> list[Message]:
            known = {message.id for message in old}
            removed = [RemoveMessage(id=message.id) for message in new[:1] if message.id in known and message.id]
            return add_messages(old, [*removed, *new[len(removed) :]])

        return merge

    check_versions([], [merging(new) for new in writes], reopened)


@given(st.dictionaries(KEYS, ITEMS, max_size=3), st.lists(edits_of_dicts(ITEMS), max_size=12), REOPENED)
@settings(max_examples=200, deadline=None)
def test_every_version_of_a_dict_comes_back(first: dict[str, Any], edits: list[Edit], reopened: set[int]) -> None:
    check_versions(first, edits, reopened)


@given(TEXTS, st.lists(edits_of_texts(), max_size=12), REOPENED)
@settings(deadline=None)
def test_every_version_of_a_text_comes_back(first: str, edits: list[Edit], reopened: set[int]) -> None:
    check_versions(first * 100, edits, reopened)


@given(st.lists(ITEMS, min_size=1, max_size=12), REOPENED)
@settings(deadline=None)
def test_every_version_of_a_key_that_changes_its_kind_comes_back(values: list[Any], reopened: set[int]) -> None:
    def becoming(new: Any) -> Edit:
        return lambda _: new

    check_versions(None, [becoming(value) for value in values], reopened)


# -- damage ----------------------------------------------------------------------------------------------------------

DAMAGE = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255) | st.none()), min_size=1, max_size=4)


def damaged(text: str, damage: list[tuple[float, int | None]]) -> str:
    """Bytes of a text replaced by others, or lost."""
    raw = bytearray(text.encode())
    for place, byte in damage:
        at = int(place * len(raw))
        raw[at : at + 1] = b"" if byte is None else bytes([byte])
    return raw.decode("utf-8", "surrogateescape")


@given(VALUES, DAMAGE)
@settings(max_examples=500, deadline=None)
def test_damaged_bytes_are_an_error_of_the_codec_or_another_value(
    value: Any, damage: list[tuple[float, int | None]]
) -> None:
    # Damage that leaves a text as it should be, such as another digit, cannot be told from what was written.
    text = CODEC.dumps(value, where=WHERE)
    mark = text[: text.index('"value":') + 8]
    changed = damaged(text, damage)
    try:
        CODEC.loads(changed, where=WHERE)
    except CheckpointError:
        return
    assert changed.startswith(mark)


@given(
    st.lists(ITEMS, min_size=1, max_size=4), st.lists(edits_of_lists(ITEMS), min_size=1, max_size=5), DAMAGE, st.data()
)
@settings(max_examples=300, deadline=None)
def test_damaged_chain_is_an_error_of_the_codec_or_another_value(
    first: list[Any], edits: list[Edit], damage: list[tuple[float, int | None]], data: st.DataObject
) -> None:
    track = Track(CODEC, WHERE)
    texts: list[str] = []
    value = first
    for step, edit in enumerate([lambda old: old, *edits], 1):
        value = edit(value)
        change = track.change(value, step)
        if change is not None:
            texts = [change.text] if change.previous is None else [*texts, change.text]
    at = data.draw(st.integers(0, len(texts) - 1))
    texts[at] = damaged(texts[at], damage)
    if data.draw(st.booleans()):
        del texts[data.draw(st.integers(0, len(texts) - 1))]
    try:
        Track.restored(CODEC, WHERE, texts, len(texts))
    except CheckpointError:
        return


@given(st.text(max_size=40) | st.text(st.sampled_from('{}[]",:0123456789$surehandvalue-.eE\\'), max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_value_or_an_error_of_the_codec(rest: str) -> None:
    for text in (rest, f'{{"surehand":1,"value":{rest}}}', f'{{"surehand":1,"value":{{"${rest}":[]}}}}'):
        try:
            CODEC.loads(text, where=WHERE)
        except CheckpointError:
            continue
