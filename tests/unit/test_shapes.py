"""What is asked of foreign values is answered, whatever they are."""

from __future__ import annotations

from surehand.shapes import leaf_errors


def test_leaves_come_in_order_however_deep() -> None:
    a, b, c = ValueError("a"), TypeError("b"), KeyError("c")
    assert leaf_errors(ExceptionGroup("g", [ExceptionGroup("h", [a, b]), c])) == [a, b, c]


def test_an_exception_that_is_no_group_is_its_own_leaf() -> None:
    error = ValueError()
    assert leaf_errors(error) == [error]
