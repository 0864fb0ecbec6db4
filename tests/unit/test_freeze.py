"""Read-only copies: they read like the original and refuse every change."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import FrozenInstanceError, dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
from pydantic import BaseModel

from surehand.freeze import FrozenDict, FrozenList, FrozenSet, ReadOnlyError, freeze, thaw
from surehand.messages import AIMessage, HumanMessage


@dataclass
class Record:
    a: int = 1
    items: list[int] = field(default_factory=lambda: [1])


@dataclass(slots=True)
class SlottedRecord:
    a: int = 1
    items: list[int] = field(default_factory=lambda: [1])


class Model(BaseModel):
    a: int = 1
    items: list[int] = [1]


class Pair(NamedTuple):
    left: Any
    right: Any


class Plain:
    def __init__(self) -> None:
        self.items = [1]


CHANGES: list[Callable[[Any], Any]] = [
    lambda s: s.update(a=1),
    lambda s: s.setdefault("new", 1),
    lambda s: s.pop("items"),
    lambda s: s.clear(),
    lambda s: s.__setitem__("a", 2),
    lambda s: s.__delitem__("items"),
    lambda s: s.__ior__({"a": 1}),
    lambda s: s["items"].append(1),
    lambda s: s["items"].extend([1]),
    lambda s: s["items"].insert(0, 1),
    lambda s: s["items"].sort(),
    lambda s: s["items"].reverse(),
    lambda s: s["items"].remove(2),
    lambda s: s["items"].__iadd__([1]),
    lambda s: s["items"].__imul__(2),
    lambda s: s["items"].__setitem__(slice(None), []),
    lambda s: s["items"].__delitem__(0),
    lambda s: s["deep"][0]["x"].append(1),
    lambda s: s["tuple"][0].append(1),
    lambda s: s["set"].add(3),
    lambda s: s["set"].discard(1),
    lambda s: s["set"].update([3]),
    lambda s: s["set"].__ior__({3}),
]


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_refused(change: Callable[[Any], Any]) -> None:
    state: dict[str, Any] = {"items": [2, 1], "deep": [{"x": []}], "tuple": ([],), "set": {1}}
    before = copy.deepcopy(state)
    with pytest.raises(ReadOnlyError):
        change(freeze(state))
    assert state == before


def test_the_refusal_names_the_key_the_act_and_the_way_out() -> None:
    with pytest.raises(ReadOnlyError) as caught:
        freeze({"items": [[1]]})["items"][0].append(2)
    assert str(caught.value) == (
        "The state's 'items' is read-only here: 'append' is not possible. "
        "Copy what you need, and return the change as an update."
    )
    assert (caught.value.place, caught.value.act) == ("items", "append")


def test_a_frozen_value_equals_its_original_and_is_written_like_it() -> None:
    value: dict[str, Any] = {"a": [1, {"b": {2}}], "c": (1, [2])}
    frozen = freeze(value)
    assert frozen == value
    assert json.dumps(freeze({"a": [1, {"b": None}]})) == '{"a": [1, {"b": null}]}'
    assert (type(frozen), type(frozen["a"]), type(frozen["a"][1]["b"])) == (FrozenDict, FrozenList, FrozenSet)


def test_a_later_change_of_the_original_is_not_seen() -> None:
    state = {"items": [1]}
    frozen = freeze(state)
    state["items"].append(2)
    assert frozen["items"] == [1]


@pytest.mark.parametrize("atom", [1, "x", None, 2.5, b"x", int, (1, 2), frozenset({1})])
def test_a_value_that_cannot_change_stays_itself(atom: Any) -> None:
    assert freeze(atom) == atom


def test_a_cycle_stays_a_cycle() -> None:
    value: dict[str, Any] = {}
    value["self"] = [value]
    frozen = freeze(value)
    assert frozen["self"][0] is frozen


def test_messages_are_read_only_to_the_last_dict() -> None:
    message = AIMessage("x", tool_calls=[{"id": "1", "name": "t", "args": {"a": [1]}}], additional_kwargs={"k": 1})
    frozen: Any = freeze([message, HumanMessage("hi")])
    assert frozen == [message, HumanMessage("hi")]
    with pytest.raises(ReadOnlyError):
        frozen[0].additional_kwargs["k"] = 2
    with pytest.raises(ReadOnlyError):
        frozen[0].tool_calls[0]["args"]["a"].append(2)


@pytest.mark.parametrize("make", [Record, SlottedRecord, Model])
def test_records_keep_their_type_and_refuse_assignment(make: Callable[[], Any]) -> None:
    record = make()
    frozen = freeze(record)
    assert isinstance(frozen, type(record))
    assert frozen == record
    assert repr(frozen) == repr(record)
    with pytest.raises(ReadOnlyError, match="'a' is read-only"):
        frozen.a = 2
    with pytest.raises(ReadOnlyError):
        frozen.items.append(2)


def test_extra_fields_of_a_model_are_read_only_too() -> None:
    class Open(BaseModel, extra="allow"):
        a: int = 1

    model = Open.model_validate({"more": [1]})
    frozen: Any = freeze(model)
    with pytest.raises(ReadOnlyError):
        frozen.more.append(2)
    assert frozen.model_dump() == {"a": 1, "more": [1]}


def test_a_frozen_dataclass_stays_one_with_frozen_fields() -> None:
    @dataclass(frozen=True, slots=True)
    class Value:
        items: list[int]

    frozen = freeze(Value([1]))
    with pytest.raises(FrozenInstanceError):
        frozen.items = []  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ReadOnlyError):
        frozen.items.append(2)


def test_a_named_tuple_stays_one() -> None:
    frozen = freeze(Pair([1], 2))
    assert isinstance(frozen, Pair)
    with pytest.raises(ReadOnlyError):
        frozen.left.append(2)


def test_a_mapping_proxy_is_read_deeply() -> None:
    with pytest.raises(ReadOnlyError):
        freeze(MappingProxyType({"a": [1]}))["a"].append(2)


def test_an_array_is_copied_and_cannot_be_written() -> None:
    array = np.array([1, 2])
    frozen = freeze(array)
    with pytest.raises(ValueError, match="read-only"):
        frozen[0] = 5
    array[0] = 7
    assert frozen[0] == 1


def test_any_other_object_is_a_copy() -> None:
    plain = Plain()
    freeze(plain).items.append(2)
    assert plain.items == [1]


def test_what_cannot_be_copied_is_shown_as_it_is() -> None:
    lock = threading.Lock()
    assert freeze({"lock": lock})["lock"] is lock


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, pickled])
@pytest.mark.parametrize("value", [{"a": 1}, [1, 2], {1, 2}, Record(), SlottedRecord(), Model()])
def test_copies_and_pickles_are_ordinary_again(clone: Callable[[Any], Any], value: Any) -> None:
    twin = clone(freeze(value))
    assert type(twin) is type(value)
    assert twin == value


def test_a_deep_copy_can_be_changed() -> None:
    twin = copy.deepcopy(freeze({"a": [1]}))
    twin["a"].append(2)
    assert twin == {"a": [1, 2]}


def test_a_model_copy_can_be_changed() -> None:
    twin = freeze(Model()).model_copy(deep=True)
    twin.a = 5
    assert twin.a == 5


def test_the_copy_method_gives_an_ordinary_container() -> None:
    frozen: dict[str, Any] = freeze({"d": {"a": 1}, "l": [1], "s": {1}})
    assert [type(part.copy()) for part in frozen.values()] == [dict, list, set]


def test_thaw_makes_containers_ordinary_at_any_depth() -> None:
    thawed: dict[str, Any] = thaw({"x": freeze({"a": [1, {2}]}), "y": (freeze([1]),)})
    assert thawed == {"x": {"a": [1, {2}]}, "y": ([1],)}
    thawed["x"]["a"].append(3)
    thawed["y"][0].append(2)


def test_thaw_gives_back_the_same_object_where_nothing_is_frozen() -> None:
    value = {"a": [1, (2, {3})]}
    assert thaw(value) is value


@pytest.mark.parametrize("make", [Record, SlottedRecord, Model])
def test_thaw_makes_records_ordinary_again(make: Callable[[], Any]) -> None:
    [thawed] = thaw([freeze(make())])
    thawed.a = 5
    thawed.items.append(2)
    assert type(thawed) is make
    assert (thawed.a, thawed.items) == (5, [1, 2])


def test_a_mapping_proxy_that_holds_itself_is_frozen_once() -> None:
    inside: dict[str, Any] = {}
    proxy = MappingProxyType(inside)
    inside["itself"] = proxy

    frozen: Any = freeze({"proxy": proxy})["proxy"]

    assert frozen["itself"] is frozen


class Made(Mapping[str, list[int]]):
    """A mapping that makes its values anew for each look."""

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def __getitem__(self, key: str) -> list[int]:
        return [self._number]

    def __iter__(self) -> Iterator[str]:
        return iter("ab")

    def __len__(self) -> int:
        return 2


def test_values_that_a_mapping_makes_anew_are_not_taken_for_one_another() -> None:
    frozen: Any = freeze([Made(number) for number in range(50)])

    assert [item["a"] for item in frozen] == [[number] for number in range(50)]
