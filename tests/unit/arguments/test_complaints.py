from __future__ import annotations

from pydantic import BaseModel

from surehand.arguments import MAX_COMPLAINTS
from surehand.arguments.complaints import complaints_of, hint_of, unresolved
from surehand.spec import Problem, schema_of


def missing(name: str) -> Problem:
    return Problem(place=(name,), text="missing", rule="missing")


def mistyped(name: str, expected: str) -> Problem:
    text = f"expected {expected}, got null"
    return Problem(place=(name,), text=text, rule="type", expected=expected, received="null")


def test_what_the_members_of_a_union_expect_becomes_one_complaint() -> None:
    told = complaints_of([mistyped("a", "an integer"), mistyped("a", "an array"), mistyped("a", "an integer")])

    assert [str(complaint) for complaint in told] == ["$.a: expected an integer or an array, got null"]


def test_the_same_problem_is_told_once() -> None:
    assert len(complaints_of([missing("a"), missing("a")])) == 1


def test_beyond_twenty_complaints_the_rest_is_counted() -> None:
    told = complaints_of([missing(f"a{i}") for i in range(25)])

    assert len(told) == MAX_COMPLAINTS + 1
    assert str(told[-1]) == "$: … and 5 more"


def test_a_long_text_is_cut() -> None:
    told = complaints_of([Problem(place=(), text="x" * 2000, rule="value_error")])

    assert len(told[0].problem) == 500


def test_dropped_names_stand_beside_the_missing_ones_they_are_like() -> None:
    told = complaints_of([missing("path"), missing("unit")], dropped=[("file_path",), ("zzz",)])

    assert [str(complaint) for complaint in told] == [
        "$.path: missing; unknown: file_path (did you mean path?)",
        "$.unit: missing",
        "$.zzz: unknown argument",
    ]


def test_collected_names_are_told_only_where_they_are_like_a_missing_one() -> None:
    told = complaints_of([missing("path")], collected=[("file_path",), ("zzz",)])

    assert [str(complaint) for complaint in told] == ["$.path: missing; unknown: file_path (did you mean path?)"]


def test_dropped_names_are_not_told_where_nothing_is_missing() -> None:
    assert len(complaints_of([mistyped("a", "null")], dropped=[("b",)])) == 1


def test_only_what_still_fails_is_unresolved() -> None:
    below = Problem(place=("b", 0), text="wrong", rule="type")

    assert unresolved([missing("a"), mistyped("b", "an array")], [below, missing("c")]) == [
        mistyped("b", "an array"),
        below,
        missing("c"),
    ]


def test_a_problem_that_a_coercion_did_not_change_is_told_once() -> None:
    assert unresolved([missing("a")], [missing("a"), missing("b")]) == [missing("a"), missing("b")]


def test_unknown_keys_below_stand_beside_the_missing_ones_of_their_own_object() -> None:
    problems = [Problem(place=("o", "name"), text="missing", rule="missing")]
    told = complaints_of(problems, dropped=[("o", "nam"), ("o", "zzz"), ("p", "nam")])

    assert [str(complaint) for complaint in told] == [
        "$.o.name: missing; unknown: nam (did you mean name?)",
        "$.o.zzz: unknown argument",
    ]


def test_a_tool_without_arguments_says_so() -> None:
    def tool() -> None: ...

    assert hint_of(schema_of(tool), [missing("a")]) == "The tool takes no arguments."


class Item(BaseModel):
    name: str
    qty: int = 1


def test_the_keys_of_the_object_are_told_whose_key_is_missing() -> None:
    def tool(item: Item, items: list[Item]) -> None: ...

    places: list[tuple[str | int, ...]] = [("item", "name"), ("items", 0, "name")]
    problems = [Problem(place=place, text="missing", rule="missing") for place in places]

    assert hint_of(schema_of(tool), problems) == (
        "Keys of $.item: name (required), qty (optional). Keys of $.items[0]: name (required), qty (optional)."
    )


def test_of_an_item_that_is_missing_no_keys_are_told() -> None:
    def tool(pair: tuple[int, str]) -> None: ...

    assert hint_of(schema_of(tool), [Problem(place=("pair", 1), text="missing", rule="missing")]) == ""
