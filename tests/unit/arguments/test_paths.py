from __future__ import annotations

import pytest

from surehand.arguments.paths import json_path


@pytest.mark.parametrize(
    ("steps", "wanted"),
    [
        ((), "$"),
        (("items", 2, "qty"), "$.items[2].qty"),
        (("a b",), "$['a b']"),
        (("数量",), "$.数量"),
        (("x" * 100,), f"$.{'x' * 59}…"),
        ((("tuple",),), "$[('tuple',)]"),
        ((None,), "$[None]"),
    ],
)
def test_steps_become_a_path(steps: tuple[object, ...], wanted: str) -> None:
    assert json_path(steps) == wanted
