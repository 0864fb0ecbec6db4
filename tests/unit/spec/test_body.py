from __future__ import annotations

from typing import Any

import pytest

from surehand.errors import ToolDefinitionError
from surehand.spec import Body, spec_from_function


def everything(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, kwargs


def test_values_are_bound_by_name() -> None:
    assert Body(function=everything).call({"a": 1}, {"b": 2}) == ((), {"a": 1, "b": 2})


def test_injected_values_win() -> None:
    assert Body(function=everything).call({"a": 1}, {"a": 2}) == ((), {"a": 2})


def test_positional_values_come_first_and_variadic_ones_follow() -> None:
    body = Body(function=everything, positional=(("a", 0), ("b", 7)), variadic="more")

    assert body.call({"a": 1, "more": [8, 9], "c": 2}, {}) == ((1, 7, 8, 9), {"c": 2})


def test_calling_changes_no_argument() -> None:
    given = {"a": 1, "more": [2]}
    Body(function=everything, positional=(("a", 0),), variadic="more").call(given, {})

    assert given == {"a": 1, "more": [2]}


class Service:
    def read(self, n: int) -> int:
        return n


def test_a_method_that_was_never_bound_cannot_be_called() -> None:
    with pytest.raises(ToolDefinitionError, match="taken from its class"):
        spec_from_function(Service.read).body.call({"n": 1}, {})


def test_binding_a_bound_body_changes_nothing() -> None:
    body = spec_from_function(Service().read).body

    assert body.bind(Service()) is body
