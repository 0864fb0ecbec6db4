"""What tools and nodes say to a graph."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, get_args, get_type_hints

import pytest

from surehand import Command, Send, StateGraph, current_runtime
from surehand.control import START


class _State(TypedDict):
    n: int


def test_a_return_annotation_can_name_where_a_command_may_lead() -> None:
    def node() -> Command[Literal["b", "c"]]:
        return Command(goto="b")

    assert get_args(get_args(get_type_hints(node)["return"])[0]) == ("b", "c")


@pytest.mark.parametrize(
    ("goto", "targets"),
    [("a", ("a",)), (Send("a", 1), (Send("a", 1),)), (["a", Send("b", 2)], ("a", Send("b", 2))), ((), ())],
)
def test_targets_are_a_tuple_whatever_goto_was(goto: Any, targets: tuple[Any, ...]) -> None:
    assert Command(goto=goto).targets == targets


def test_outside_a_graph_there_is_no_runtime_and_inside_there_is_the_graphs() -> None:
    seen: list[Any] = []

    def node(state: dict[str, Any]) -> None:
        runtime = current_runtime()
        seen.append(runtime.context if runtime else None)

    builder = StateGraph(_State)
    builder.add_node("only", node)
    builder.add_edge(START, "only")
    builder.compile().invoke({"n": 1}, context="host")
    assert current_runtime() is None
    assert seen == ["host"]


def test_a_command_may_be_made_by_the_name_of_its_targets() -> None:
    assert Command[Literal["b"]](goto="b") == Command(goto="b")
