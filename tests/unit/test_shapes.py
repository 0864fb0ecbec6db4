"""What is asked of foreign values is answered, whatever they are."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

from surehand import AIMessage, ToolNode, tool
from surehand.shapes import is_a, is_array, is_object, is_pair, leaf_errors


def test_leaves_come_in_order_however_deep() -> None:
    a, b, c = ValueError("a"), TypeError("b"), KeyError("c")
    assert leaf_errors(ExceptionGroup("g", [ExceptionGroup("h", [a, b]), c])) == [a, b, c]


def test_an_exception_that_is_no_group_is_its_own_leaf() -> None:
    error = ValueError()
    assert leaf_errors(error) == [error]


class Unasked:
    """A proxy of nothing: even its class is asked of what is not there."""

    def __init__(self, error: type[BaseException]) -> None:
        object.__setattr__(self, "error", error)

    def __getattribute__(self, name: str) -> NoReturn:
        raise object.__getattribute__(self, "error")


@pytest.mark.parametrize("error", [RuntimeError, SystemExit])
def test_what_does_not_let_itself_be_asked_is_nothing_of_what_is_known(error: type[BaseException]) -> None:
    value = Unasked(error)
    assert [is_a(value, int), is_object(value), is_array(value), is_pair(value)] == [False] * 4


@pytest.mark.parametrize("error", [RuntimeError, SystemExit])
@pytest.mark.parametrize("response_format", ["content", "content_and_artifact"])
def test_a_result_that_does_not_let_itself_be_asked_is_its_type(
    error: type[BaseException], response_format: Any
) -> None:
    @tool(response_format=response_format)
    def give() -> Any:
        """Give a proxy of nothing."""
        return Unasked(error)

    turn = AIMessage(tool_calls=[{"id": "c", "name": "give", "args": {}}])
    (answer,) = ToolNode([give]).invoke([turn])
    (cut,) = ToolNode([give], max_turn_output=10).invoke([turn])
    assert answer.text == '{"type": "tests.unit.test_shapes.Unasked"}'
    assert "of 42 characters" in cut.text
    assert "artifact=<Unasked>" in repr(answer)
