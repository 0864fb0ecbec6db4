from __future__ import annotations

import json

import pytest

from support.command import surehand


def test_a_call_prints_what_the_model_is_told(shop: str) -> None:
    ended = surehand("call", f"{shop}:find_order", '{"order_id": 4711}')
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out) == {"order_id": 4711, "detail": "short"}


def test_the_argument_text_goes_through_the_whole_pipeline(shop: str) -> None:
    ended = surehand("call", f"{shop}:find_order", "{'order_id': '4711',}")
    assert json.loads(ended.out) == {"order_id": 4711, "detail": "short"}


@pytest.mark.parametrize("arguments", [(), ("",), ("null",), ("{}",)])
def test_a_tool_without_arguments_needs_none(shop: str, arguments: tuple[str, ...]) -> None:
    assert surehand("call", f"{shop}:greet", *arguments).out == "hello\n"


def test_a_refused_call_ends_with_1_and_the_words_for_the_model(shop: str) -> None:
    ended = surehand("call", f"{shop}:find_order", '{"order_id": "the red one"}')
    assert ended.code == 1
    assert "$.order_id" in ended.out


def test_a_cut_off_text_is_never_completed(shop: str) -> None:
    ended = surehand("call", f"{shop}:find_order", '{"order_id": 47')
    assert ended.code == 1
    assert "cut off" in ended.out


def test_a_tool_exception_ends_with_1_and_its_text(shop: str) -> None:
    ended = surehand("call", f"{shop}:find_order", '{"order_id": 9999}')
    assert (ended.code, ended.out) == (1, "There is no order 9999.\n")


def test_a_dash_reads_the_arguments_from_standard_input(shop: str) -> None:
    ended = surehand("call", f"{shop}:find_order", "-", stdin='{"order_id": 1}\n')
    assert json.loads(ended.out)["order_id"] == 1


def test_json_holds_the_whole_outcome(shop: str) -> None:
    ended = surehand("call", f"{shop}:find_order", "{'order_id': 1}", "--json")
    told = json.loads(ended.out)
    assert told["name"] == "find_order"
    assert told["sent"] == "{'order_id': 1}"
    assert told["outcome"]["status"] == "success"
    assert told["outcome"]["attempts"] == 1
    assert told["outcome"]["repairs"]


def test_json_of_a_failure_names_its_kind_and_still_ends_with_1(shop: str) -> None:
    ended = surehand("call", f"{shop}:find_order", "[1]", "--json")
    assert ended.code == 1
    assert json.loads(ended.out)["outcome"]["kind"] == "malformed"


def test_several_tools_without_a_name_are_refused_with_their_names(shop: str) -> None:
    ended = surehand("call", shop, "{}")
    assert ended.code == 2
    assert "find_order, greet" in ended.err


def test_of_several_tools_one_has_to_be_named_in_a_form_that_works(shop: str) -> None:
    ended = surehand("call", "shop:more", "{}")
    assert (ended.code, ended.out) == (2, "")
    assert "Name one, as in shop:NAME: double, greet." in ended.err


def test_the_log_has_the_traceback_of_a_crash(shop: str) -> None:
    ended = surehand("call", f"{shop}:crash", "{}", "--log")
    assert ended.code == 1
    assert "ZeroDivisionError" in ended.out
    assert "Traceback" in ended.err


def test_without_the_log_nothing_is_said_on_standard_error(shop: str) -> None:
    assert surehand("call", f"{shop}:crash", "{}").err == ""
