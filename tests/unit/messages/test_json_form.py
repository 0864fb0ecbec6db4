"""What comes nearest to a value, in bounded time."""

from __future__ import annotations

from typing import Any

from surehand.messages import json_form


def test_value_that_holds_itself_twice_over_has_an_end() -> None:
    itself: list[Any] = []
    itself += [itself, itself, {"again": itself}]

    form = json_form(itself)

    assert form[0] == form[1] == form[2]["again"] == "[[...], [...], {'again': [...]}]"


def test_value_that_stands_in_two_places_is_written_in_both() -> None:
    shared = [1]
    itself: list[Any] = []
    itself.append(itself)

    assert json_form([shared, shared, itself])[:2] == [[1], [1]]
