"""What changed is stored once, and every version comes back as it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from support.sameness import is_same
from surehand.checkpoints.codec import Change, Codec, Track
from surehand.errors import CheckpointError
from surehand.messages import (
    REMOVE_ALL_MESSAGES,
    AIMessage,
    HumanMessage,
    Message,
    RemoveMessage,
    ToolMessage,
    add_messages,
    message_to_dict,
)
from surehand.shapes import mapping_of

WHERE = "key 'k'"


class Counting(Codec):
    """Counts the messages that are written."""

    written = 0

    def dumps(self, value: Any, *, where: str) -> str:
        self.written += isinstance(value, Message)
        return super().dumps(value, where=where)

    def dumps_change(self, change: Any, *, where: str) -> str:
        self.written += sum(len(mapping_of(piece).get("put", ())) for piece in change)
        return super().dumps_change(change, where=where)


@dataclass
class History:
    """One key, its versions, and what is stored of them."""

    codec: Codec = field(default_factory=Counting)
    rows: dict[int, Change] = field(default_factory=dict[int, Change])
    version: int = 0

    def __post_init__(self) -> None:
        self.track = Track(self.codec, WHERE)

    def write(self, value: Any) -> Change | None:
        change = self.track.change(value, self.version + 1)
        if change is not None:
            self.version += 1
            self.rows[self.version] = change
        return change

    def chain(self, version: int | None = None) -> list[str]:
        texts: list[str] = []
        at: int | None = self.version if version is None else version
        while at is not None:
            texts.insert(0, self.rows[at].text)
            at = self.rows[at].previous
        return texts

    def value(self, version: int | None = None) -> Any:
        return Track.restored(self.codec, WHERE, self.chain(version), version or self.version).value

    def reopen(self, version: int | None = None) -> None:
        """Go on as another process would, from this version."""
        number = self.version if version is None else version
        self.track = Track.restored(self.codec, WHERE, self.chain(number), number)


def changes_of(*values: Any) -> list[Any]:
    """What is stored of values that follow one another, after the first: the change, or all of them."""
    history = History(Codec())
    found: list[Any] = []
    for value in values:
        change = history.write(value)
        assert is_same(history.value(), value)
        if change is None:
            found.append(None)
        else:
            found.append("all" if change.previous is None else history.codec.read(change.text, where=WHERE)[1])
    return found[1:]


def said(*numbers: int, size: int = 200) -> list[Message]:
    return [HumanMessage("x" * size, id=str(number)) for number in numbers]


# -- lists -----------------------------------------------------------------------------------------------------------

LONG = ["x" * 200, "y" * 200, "z" * 200]
SIX = said(*range(6))


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        (LONG, [*LONG, 1], [[0, 3], {"put": [1]}]),
        (LONG, LONG[:2], [[0, 2]]),
        (LONG, LONG[1:], [[1, 3]]),
        (LONG, [LONG[0], LONG[2]], [[0, 1], [2, 3]]),
        (LONG, [LONG[0], 5, LONG[2]], [[0, 1], {"put": [5]}, [2, 3]]),
        (LONG, [5, *LONG], [{"put": [5]}, [0, 3]]),
        (LONG, [LONG[1], LONG[0], LONG[2]], [[1, 2], [0, 1], [2, 3]]),
        (LONG, [*LONG, *LONG], [[0, 3], {"put": LONG}]),
        (LONG, [*LONG], None),
        (LONG, [], "all"),
        ([*LONG, 1], [*LONG, True], [[0, 3], {"put": [True]}]),
        ([*LONG, 1], [*LONG, 1.0], [[0, 3], {"put": [1.0]}]),
        ([*LONG, 0.0], [*LONG, -0.0], [[0, 3], {"put": [-0.0]}]),
        ([*LONG, 1.5], [*LONG, 1.5, 1.5], [[0, 4], {"put": [1.5]}]),
        ([*LONG, [1]], [*LONG, [True]], [[0, 3], {"put": [[True]]}]),
        ([*LONG, {"a": 1}], [{"a": 1}, *LONG], [[3, 4], [0, 3]]),
        ([*LONG, {"put": 1}], [*LONG, {"put": 1}, [0, 1]], [[0, 4], {"put": [[0, 1]]}]),
        ([*LONG, None], LONG, [[0, 3]]),
        (SIX, [*SIX, SIX[0]], [[0, 6], {"put": [SIX[0]]}]),
        (SIX, [SIX[5], SIX[0], SIX[3], SIX[4]], [[5, 6], [0, 1], [3, 5]]),
        (LONG, (1,), "all"),
        (LONG, None, "all"),
        ([], [1], [{"put": [1]}]),
        ([], [], None),
    ],
)
def test_change_of_a_list_says_what_was_kept(old: Any, new: Any, change: Any) -> None:
    assert changes_of(old, new) == [change]


def test_message_that_was_built_again_is_not_stored_again() -> None:
    assert changes_of(said(0, 1, 2), said(0, 1, 2), [*said(0, 1, 2), *said(3)]) == [None, [[0, 3], {"put": said(3)}]]


def test_message_that_differs_only_in_the_type_of_a_number_is_stored_again() -> None:
    def call(n: Any) -> AIMessage:
        return AIMessage(tool_calls=[{"id": "a", "name": "f", "args": {"n": n}}], id="1")

    one, other = [*said(0), call(1)], [*said(0), call(True)]
    assert one == other

    assert changes_of(one, other) == [[[0, 1], {"put": [other[1]]}]]


def test_messages_are_replaced_and_removed_by_what_was_kept() -> None:
    first = add_messages([], said(*range(30)))
    replaced = add_messages(first, [HumanMessage("new", id="4")])
    removed = add_messages(replaced, [RemoveMessage(id="2"), RemoveMessage(id="7"), HumanMessage("last", id="z")])
    anew = [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("summary", id="s"), *removed[2:]]
    emptied = add_messages(removed, anew)

    assert changes_of(first, replaced, removed, emptied) == [
        [[0, 4], {"put": [replaced[4]]}, [5, 30]],
        [[0, 2], [3, 7], [8, 30], {"put": [removed[-1]]}],
        [{"put": [emptied[0]]}, [2, 29]],
    ]


def test_message_of_a_sliding_window_is_written_once() -> None:
    codec = Counting()
    history = History(codec)
    messages = said(*range(100))
    for start in range(50):
        history.write(messages[start : start + 50])

    assert is_same(history.value(), messages[49:99])
    # Those that went and those that came are compared by their texts, two messages a step; all others never.
    assert codec.written <= 3 * 49


def test_item_that_was_changed_in_place_is_seen() -> None:
    items: list[Any] = [{"n": n, "text": "x" * 100} for n in range(5)]
    history = History()
    history.write(items)
    items[2]["n"] = "changed"

    change = history.write(items)

    assert change is not None
    assert change.previous == 1
    assert history.value()[2]["n"] == "changed"
    assert history.value(1)[2]["n"] == 2


def test_items_come_back_as_values_of_their_own() -> None:
    item = {"text": "x" * 300}
    history = History()
    history.write([item, 1])
    history.write([item, item, 1])

    first, second, _ = history.value()

    assert first == second
    assert first is not second


# -- dicts, texts, others --------------------------------------------------------------------------------------------

WIDE: dict[str, Any] = {"a": "x" * 300, "b": [1], "c": 1}


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        (WIDE, {**WIDE, "c": 2}, {"set": {"c": 2}, "drop": []}),
        (WIDE, {**WIDE, "c": True}, {"set": {"c": True}, "drop": []}),
        (WIDE, {**WIDE, "d": (1,)}, {"set": {"d": (1,)}, "drop": []}),
        (WIDE, {"a": WIDE["a"], "c": 1}, {"set": {}, "drop": ["b"]}),
        (WIDE, {"a": WIDE["a"], "c": 3, "d": 4}, {"set": {"c": 3, "d": 4}, "drop": ["b"]}),
        (WIDE, {"c": 1, "a": WIDE["a"], "b": [1]}, "all"),
        (WIDE, {**WIDE, "$a": {"$b": 1}}, {"set": {"$a": {"$b": 1}}, "drop": []}),
        (WIDE, {**WIDE}, None),
        (WIDE, {}, "all"),
        (WIDE, {1: 2, 3: WIDE}, "all"),
        ({1: "x" * 300}, dict[Any, Any]({True: "x" * 300}), "all"),
        ({1: 2}, {1: 2}, None),
        ("x" * 300, "x" * 300 + "yz", {"add": "yz"}),
        ("x" * 300, "x" * 300 + "\ud800", {"add": "\ud800"}),
        ("x" * 300, "x" * 299, "all"),
        ("x" * 300, "x" * 300, None),
        ("", "x", "all"),
        (None, None, None),
        (None, 0, "all"),
        (0, False, "all"),
        ((1,), (1,), None),
        ((1,), [1], "all"),
        ({1, 2}, {2, 1}, None),
        (float("nan"), float("nan"), None),
    ],
)
def test_change_of_other_values(old: Any, new: Any, change: Any) -> None:
    assert changes_of(old, new) == [change]


def test_first_version_is_whole_also_of_nothing() -> None:
    track = Track(Codec(), WHERE)

    assert track.version is None
    assert track.change(None, 7) == Change(None, '{"surehand":1,"value":null}')
    assert track.value is None
    assert track.change(None, 8) is None


def test_value_that_stays_keeps_its_version() -> None:
    track = Track(Codec(), WHERE)
    track.change(LONG, 3)

    assert track.change([*LONG], 4) is None
    assert track.version == 3
    assert track.change([*LONG, 1], 9) == Change(3, '{"surehand":1,"change":[[0,3],{"put":[1]}]}')


# -- growth ----------------------------------------------------------------------------------------------------------


def conversation(steps: int) -> list[list[Message]]:
    """The messages after each of so many steps of 10 KB."""
    messages: list[Message] = []
    after: list[list[Message]] = []
    for step in range(steps):
        call = {"id": f"c{step}", "name": "search", "args": {"query": "y" * 500}}
        answer = ToolMessage("x" * 9_500, tool_call_id=f"c{step}", artifact={"n": step})
        messages = add_messages(messages, [AIMessage("", tool_calls=[call]), answer])
        after.append(messages)
    return after


def test_conversation_is_stored_once() -> None:
    codec = Counting()
    history = History(codec)
    steps = conversation(200)
    for messages in steps:
        history.write(messages)

    own = sum(len(json.dumps(message_to_dict(message))) for message in steps[-1])
    stored = sum(len(row.text) for row in history.rows.values())
    assert stored <= 1.1 * own
    assert codec.written <= 2 * len(steps[-1])
    assert is_same(history.value(), steps[-1])
    assert is_same(history.value(100), steps[99])


def replaced(items: list[Any], n: int) -> list[Any]:
    return [*items[:-1], f"{n:03}" * 300]


def sliding(items: list[Any], n: int) -> list[Any]:
    return [*items[1:], f"{n:03}" * 300]


def small(items: list[Any], n: int) -> list[Any]:
    return [*items, n]


def cut(items: list[Any], n: int) -> list[Any]:
    return items[: len(items) // 2] if n % 20 == 0 else [*items, f"{n:03}" * 300]


@pytest.mark.parametrize("edit", [replaced, sliding, small, cut])
def test_chain_stays_in_proportion_to_its_value(edit: Callable[[list[Any], int], list[Any]]) -> None:
    history = History(Codec())
    items: list[Any] = ["x" * 1_000 for _ in range(10)]
    for n in range(1_000):
        history.write(items)
        whole = len(history.codec.dumps(items, where=WHERE))
        assert sum(map(len, history.chain())) <= 2.5 * whole + 2_000
        items = edit(items, n)

    # What is new at each step, and as much again for chains that began anew.
    assert sum(len(row.text) for row in history.rows.values()) <= 2.2 * 1_000 * 1_000


def test_large_items_that_are_gone_are_not_carried_along() -> None:
    history = History(Codec())
    large = said(*range(5), size=100_000)
    small = said(*range(5, 105), size=100)
    history.write([*large, *small])
    history.reopen()
    history.write([*large, *small, *said(200)])

    history.write([*small, *said(200)])

    assert len(history.chain()) == 1


# -- going on --------------------------------------------------------------------------------------------------------


def test_restored_track_goes_on_with_the_chain() -> None:
    history = History()
    history.write(said(*range(5)))
    history.write(said(*range(6)))
    history.reopen()

    assert history.track.version == 2
    assert is_same(history.track.value, said(*range(6)))
    change = history.write([*history.track.value, *said(6)])

    assert change is not None
    assert change.previous == 2
    assert is_same(history.value(), said(*range(7)))


def test_fork_goes_on_from_an_earlier_version() -> None:
    history = History()
    for n in range(1, 6):
        history.write(said(*range(n)))
    history.reopen(3)

    change = history.write([*history.track.value, *said(77)])

    assert change is not None
    assert change.previous == 3
    assert is_same(history.value(), said(0, 1, 2, 77))
    assert is_same(history.value(5), said(*range(5)))


def test_items_of_a_restored_list_that_are_changed_in_place_are_seen() -> None:
    history = History()
    history.write([{"n": 1, "text": "x" * 200}, {"n": 2}])
    history.reopen()
    value = history.track.value
    value[1]["n"] = 3

    assert history.write(value) is not None
    assert history.value()[1] == {"n": 3}


def test_value_that_cannot_be_stored_leaves_the_track_as_it_was() -> None:
    history = History(Codec())
    history.write(LONG)

    with pytest.raises(CheckpointError, match=r"key 'k': at \$\[3\]\.a, <object object"):
        history.track.change([*LONG, {"a": object()}], 2)
    with pytest.raises(CheckpointError, match=r"at \$\.b\[0\], <object object"):
        history.track.change({"b": [object()]}, 2)

    assert history.track.version == 1
    assert history.write([*LONG, 1]) == Change(1, '{"surehand":1,"change":[[0,3],{"put":[1]}]}')


def test_value_as_deep_as_can_be_stored_may_also_be_changed() -> None:
    deep: Any = []
    for _ in range(297):
        deep = [deep]

    assert changes_of(LONG, [*LONG, deep], [*LONG, deep, 1]) == ["all", [[0, 4], {"put": [1]}]]


# -- damage ----------------------------------------------------------------------------------------------------------


def texts(*changes: str, of: str = "[1,2]") -> list[str]:
    return [f'{{"surehand":1,"value":{of}}}', *(f'{{"surehand":1,"change":{change}}}' for change in changes)]


@pytest.mark.parametrize(
    "chain",
    [
        [],
        texts()[1:],
        texts() * 2,
        texts("[]")[1:],
        texts("5"),
        texts("{}"),
        texts("[5]"),
        texts("[[0,3]]"),
        texts("[[-1,1]]"),
        texts("[[1,0]]"),
        texts("[[true,2]]"),
        texts("[[0]]"),
        texts("[[0,2],[0,2]]"),
        texts('[{"put":5}]'),
        texts('[{"push":[]}]'),
        texts("[]", of="{}"),
        texts('{"set":[],"drop":[]}', of="{}"),
        texts('{"set":{}}', of="{}"),
        texts('{"set":{},"drop":["a"]}', of="{}"),
        texts('{"set":{},"drop":[[]]}', of="{}"),
        texts('{"add":5}', of='"a"'),
        texts('"b"', of='"a"'),
        texts("[]", of="5"),
        texts("[]", of="null"),
        ["damaged"],
        [*texts(), "damaged"],
    ],
)
def test_texts_that_are_no_chain_are_refused(chain: list[str]) -> None:
    with pytest.raises(CheckpointError, match=r"^key 'k': "):
        Track.restored(Codec(), WHERE, chain, 1)
