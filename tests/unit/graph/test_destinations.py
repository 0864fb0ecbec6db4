from __future__ import annotations

import types
from typing import Any, Literal, Optional

import pytest

import surehand.graph as graphs
from surehand.graph import END, Command
from surehand.graph.destinations import destinations_of

Renamed = Command
NOWHERE: frozenset[str] = frozenset()


class Incomparable:
    """As arrays and frames do, it makes no truth of a comparison."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("ambiguous")

    __hash__ = None  # type: ignore[assignment]


odd_global = Incomparable()


def silent(state: Any) -> Any:
    return {"read": odd_global}


def direct(state: Any) -> Any:
    return Command(goto="b")


def renamed(state: Any) -> Any:
    return Renamed(goto="b")


def by_module(state: Any) -> Any:
    return graphs.Send("b", state)


def nested(state: Any) -> Any:
    def make() -> Command:
        return Command(goto="b")

    return [make()]


class Invokable:
    def invoke(self, state: Any) -> Any:
        return Command(goto="b")


class WithCommands:
    commands = True

    def invoke(self, state: Any) -> Any:
        return None


def annotated(hint: Any) -> Any:
    def node(state: Any) -> Any:
        return Command(goto="b")

    node.__annotations__["return"] = hint
    return node


def test_a_function_that_does_not_speak_of_commands_leads_nowhere() -> None:
    assert destinations_of(silent, None) == NOWHERE


@pytest.mark.parametrize("node", [direct, renamed, by_module, nested, Invokable(), WithCommands()])
def test_what_speaks_of_commands_may_lead_anywhere(node: Any) -> None:
    assert destinations_of(node, None) is None


def test_declared_destinations_count() -> None:
    assert destinations_of(direct, ["a", END]) == frozenset({"a", END})


def test_the_targets_of_an_annotated_command_count() -> None:
    hint: Any = types.GenericAlias(Command, (Literal["a", "b"],))
    assert destinations_of(annotated(hint), None) == frozenset({"a", "b"})
    assert destinations_of(annotated(Optional[hint]), None) == frozenset({"a", "b"})  # noqa: UP045 - no | for aliases


@pytest.mark.parametrize("hint", [Command, Command | None, dict[str, Any] | Command])
def test_a_command_without_targets_may_lead_anywhere(hint: Any) -> None:
    assert destinations_of(annotated(hint), None) is None
