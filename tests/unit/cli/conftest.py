"""A module with tools, as a user would write it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SHOP = '''
from typing import Literal

from surehand import BaseTool, ToolException, tool


@tool(timeout=3, read_only=True)
def find_order(order_id: int, detail: Literal["short", "long"] = "short") -> dict:
    """Look up an order.

    Args:
        order_id: The number of the order.
    """
    if order_id > 9000:
        raise ToolException(f"There is no order {order_id}.")
    return {"order_id": order_id, "detail": detail}


@tool(return_direct=True)
def greet() -> str:
    """Say hello."""
    return "hello"


class CountWords(BaseTool):
    """Count the words of a text."""

    def _run(self, text: str) -> int:
        return len(text.split())


def double(number: float) -> float:
    """Double a number."""
    return 2 * number


def crash() -> float:
    """Divide by zero."""
    return 1 / 0


more = [double, greet]
NOTHING = 1
'''


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The path of the module; the working directory is its folder."""
    modules, path = set(sys.modules), list(sys.path)
    (tmp_path / "shop.py").write_text(SHOP, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    yield str(tmp_path / "shop.py")
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
