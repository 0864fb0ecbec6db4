from __future__ import annotations

import pytest

from surehand.arguments.suggestions import near_name, perhaps


@pytest.mark.parametrize(
    ("name", "candidates", "wanted"),
    [
        ("file_path", ["path", "limit"], "path"),
        ("filePath", ["file_path"], "file_path"),
        ("get_wether", ["get_weather", "get_time"], "get_weather"),
        ("user", ["user_id", "path"], "user_id"),
        ("zzz", ["path", "limit"], None),
        ("id", ["user_id", "order_id"], None),
        ("x", [], None),
        ("", ["path"], None),
    ],
)
def test_the_nearest_name_is_found(name: str, candidates: list[str], wanted: str | None) -> None:
    assert near_name(name, candidates) == wanted


def test_among_very_many_names_none_is_looked_for() -> None:
    assert near_name("a1", [f"a{i}" for i in range(1000)]) is None


def test_the_hint_is_a_clause() -> None:
    assert perhaps("path") == "(did you mean path?)"
