"""Pieces of streamed calls find the call they belong to."""

from __future__ import annotations

import time
from typing import Any

from surehand.messages import CallAssembler, ToolCallChunk


def piece(
    args: str | None = None, *, name: str | None = None, id: str | None = None, index: int | None = None
) -> ToolCallChunk:
    return {"id": id, "name": name, "args": args, "index": index, "type": "tool_call_chunk"}


def assembled(*pieces: ToolCallChunk, is_finished: bool = True) -> list[tuple[Any, ...]]:
    assembler = CallAssembler()
    for each in pieces:
        assembler.feed(each)
    sent = {each["id"] for each in pieces}
    calls = assembler.calls(is_finished=is_finished)
    return [(call["id"] if call["id"] in sent else None, call["name"], call["args"]) for call in calls]


def test_pieces_of_one_number_are_one_call() -> None:
    calls = assembled(piece(name="f", id="a", index=0), piece('{"x"', index=0), piece(": 1}", index=0))

    assert calls == [("a", "f", '{"x": 1}')]


def test_pieces_of_several_calls_may_come_in_any_order() -> None:
    calls = assembled(
        piece(name="f", id="a", index=0),
        piece(name="g", id="b", index=1),
        piece('{"x"', index=0),
        piece('{"y"', index=1),
        piece(": 1}", index=0),
        piece(": 2}", index=1),
    )

    assert calls == [("a", "f", '{"x": 1}'), ("b", "g", '{"y": 2}')]


def test_name_and_id_in_every_piece_are_set_once() -> None:
    calls = assembled(*(piece(part, name="f", id="a") for part in ['{"x"', ": 1", "}"]))

    assert calls == [("a", "f", '{"x": 1}')]


def test_new_id_on_a_used_number_is_a_new_call() -> None:
    calls = assembled(piece("{}", name="f", id="a", index=0), piece("{}", name="g", id="b", index=0))

    assert calls == [("a", "f", "{}"), ("b", "g", "{}")]


def test_nameless_pieces_of_one_number_are_one_call_whatever_their_ids() -> None:
    calls = assembled(
        piece("", name="f", id="a", index=0), piece('{"x"', id="b", index=0), piece(": 1}", id="c", index=0)
    )

    assert calls == [("a", "f", '{"x": 1}')]


def test_nameless_piece_with_an_id_of_its_own_adds_nothing_to_a_complete_call() -> None:
    calls = assembled(piece("{}", name="f", id="a", index=0), piece('{"x": 1}', id="b", index=0))

    assert calls == [("a", "f", "{}"), ("b", "", '{"x": 1}')]


def test_number_of_a_used_id_on_another_number_is_a_new_call() -> None:
    calls = assembled(piece('{"x": 1}', name="f", id="a", index=0), piece('{"x": 2}', name="f", id="a", index=1))

    assert calls == [("a", "f", '{"x": 1}'), (None, "f", '{"x": 2}')]


def test_id_may_come_late() -> None:
    assert assembled(piece(name="f", index=0), piece("{}", id="a", index=0)) == [("a", "f", "{}")]


def test_numbers_that_count_on_with_every_piece_make_no_new_calls() -> None:
    pieces = [piece("", name="f", id="a", index=0), piece('{"x"', index=1), piece(": 1}", index=2)]

    assert assembled(*pieces) == [("a", "f", '{"x": 1}')]
    # The head of a second call may still come: nothing is complete until the reply is.
    assert assembled(*pieces, is_finished=False)[0] == ("a", "f", "{")


def test_what_has_neither_id_nor_name_is_no_rest_of_a_complete_call() -> None:
    calls = assembled(piece("{}", name="f", id="a", index=0), piece('{"x": 1}', index=1))

    assert calls == [("a", "f", "{}"), (None, "", '{"x": 1}')]


def test_arguments_may_come_before_the_id_and_the_name() -> None:
    calls = assembled(
        piece(name="f", id="a", index=0), piece('{"x"', index=1), piece(": 1}", name="g", id="b", index=1)
    )

    assert calls == [("a", "f", ""), ("b", "g", '{"x": 1}')]


def test_without_number_the_id_decides() -> None:
    calls = assembled(
        piece('{"x"', name="f", id="a"), piece("{}", name="g", id="b"), piece(": 1}", id="a"), piece(None, id="b")
    )

    assert calls == [("a", "f", '{"x": 1}'), ("b", "g", "{}")]


def test_without_number_and_id_pieces_go_to_the_newest_call() -> None:
    calls = assembled(piece(name="f"), piece('{"x"'), piece(": 1}"), piece(name="g"), piece("{}"))

    assert calls == [(None, "f", '{"x": 1}'), (None, "g", "{}")]


def test_object_after_a_complete_one_is_a_new_call() -> None:
    calls = assembled(piece('{"x": 1}', name="f", index=0), piece('{"x": 2}', name="f", index=0))

    assert calls == [(None, "f", '{"x": 1}'), (None, "f", '{"x": 2}')]


def test_nameless_object_after_a_complete_one_is_a_new_call_where_nothing_has_an_id() -> None:
    calls = assembled(piece('{"x": 1}', name="f", index=0), piece('{"x": 2}', index=0))

    assert calls == [(None, "f", '{"x": 1}'), (None, "f", '{"x": 2}')]


def test_nameless_object_for_a_call_with_an_id_is_not_guessed_at() -> None:
    calls = assembled(piece('{"x": 1}', name="f", id="a", index=0), piece('{"x": 2}', index=0))

    assert calls == [("a", "f", '{"x": 1}{"x": 2}')]


def test_same_call_sent_again_is_one_call() -> None:
    whole = piece('{"x": 1}', name="f", id="a", index=0)

    assert assembled(whole, whole) == [("a", "f", '{"x": 1}')]
    assert assembled(piece('{"x": 1}', name="f", index=0), piece('{"x": 1}', name="f", index=0)) == [
        (None, "f", '{"x": 1}')
    ]


def test_brace_inside_a_text_starts_no_call() -> None:
    calls = assembled(piece('{"code": "a}', name="f", index=0), piece('{b}"}', index=0))

    assert calls == [(None, "f", '{"code": "a}{b}"}')]


def test_escaped_quotes_may_be_cut_in_two() -> None:
    calls = assembled(piece('{"a": "\\', name="f", index=0), piece('"}', index=0), piece('{b"}', index=0))

    assert calls == [(None, "f", '{"a": "\\"}{b"}')]


def test_identical_calls_with_ids_of_their_own_stay_two() -> None:
    calls = assembled(piece("{}", name="dice", id="a", index=0), piece("{}", name="dice", id="b", index=1))

    assert len(calls) == 2


def test_placeholders_are_no_calls() -> None:
    assert assembled(piece("", name=""), piece(None)) == []


def test_nothing_of_a_broken_stream_is_a_call_without_arguments() -> None:
    assert assembled(piece("", name="f", id="a", index=0), is_finished=False) == [("a", "f", "{")]
    assert assembled(piece("", name="f", id="a", index=0), is_finished=True) == [("a", "f", "")]


def test_empty_pieces_change_nothing() -> None:
    assert assembled(piece('{"x"', name="f", index=0), piece("", index=0), piece(": 1}", index=0)) == [
        (None, "f", '{"x": 1}')
    ]


def test_ids_that_were_made_stay_the_same() -> None:
    assembler = CallAssembler()
    assembler.feed(piece("{}", name="f", index=0))
    (first,) = assembler.calls(is_finished=True)
    assembler.feed(piece("{}", name="g", index=1))

    assert assembler.calls(is_finished=True)[0] == first


def test_time_is_linear_in_the_length() -> None:
    def seconds(count: int) -> float:
        start = time.process_time()
        assembled(
            piece('{"x": "', name="f", index=0), *(piece("{}", index=0) for _ in range(count)), piece('"}', index=0)
        )
        return time.process_time() - start

    assert min(seconds(20_000) for _ in range(3)) < 30 * min(seconds(2_000) for _ in range(3))
