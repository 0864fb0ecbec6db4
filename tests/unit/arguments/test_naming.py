from __future__ import annotations

from typing import Any

from surehand.arguments.naming import name_arguments, variants
from surehand.spec import schema_of


def tool(user_id: int, city: str = "") -> None: ...


def named(arguments: dict[str, Any], *, is_strict: bool = False) -> Any:
    return name_arguments(schema_of(tool), arguments, injected=frozenset({"session"}), is_strict=is_strict)


def test_known_names_pass() -> None:
    assert named({"user_id": 1}).arguments == {"user_id": 1}


def test_variants_are_renamed_and_the_rest_is_dropped() -> None:
    found = named({"userId": 1, "zzz": 2})

    assert (found.arguments, found.dropped) == ({"user_id": 1}, ("zzz",))


def test_injected_names_are_neither_dropped_nor_problems() -> None:
    found = named({"user_id": 1, "session": 2}, is_strict=True)

    assert (found.arguments, found.dropped, found.problems) == ({"user_id": 1}, (), ())


def test_a_name_with_two_possible_meanings_has_none() -> None:
    assert variants(["userid"], {"user_id": "user_id", "userId": "userId"}, ()) == {}


def test_two_names_for_one_meaning_have_none() -> None:
    assert variants(["userId", "UserID"], {"user_id": "user_id"}, ()) == {}


def test_a_very_long_unknown_name_is_cut_in_the_note() -> None:
    assert len(named({"user_id": 1, "x" * 1000: 1}).notes[0]) < 120
