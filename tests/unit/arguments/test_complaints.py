from __future__ import annotations

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
    told = complaints_of([missing("path"), missing("unit")], dropped=["file_path", "zzz"])

    assert [str(complaint) for complaint in told] == [
        "$.path: missing; unknown: file_path (did you mean path?)",
        "$.unit: missing",
        "$.zzz: unknown argument",
    ]


def test_collected_names_are_told_only_where_they_are_like_a_missing_one() -> None:
    told = complaints_of([missing("path")], collected=["file_path", "zzz"])

    assert [str(complaint) for complaint in told] == ["$.path: missing; unknown: file_path (did you mean path?)"]


def test_dropped_names_are_not_told_where_nothing_is_missing() -> None:
    assert len(complaints_of([mistyped("a", "null")], dropped=["b"])) == 1


def test_only_what_still_fails_is_unresolved() -> None:
    below = Problem(place=("b", 0), text="wrong", rule="type")

    assert unresolved([missing("a"), mistyped("b", "an array")], [below, missing("c")]) == [
        mistyped("b", "an array"),
        missing("c"),
    ]


def test_a_tool_without_arguments_says_so() -> None:
    def tool() -> None: ...

    assert hint_of(schema_of(tool), [missing("a")]) == "The tool takes no arguments."
