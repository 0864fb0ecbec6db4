"""An exception that was not written for a model is described to one all the same."""

from __future__ import annotations

import asyncio
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
from pydantic import BaseModel

from surehand.calls.failures.descriptions import MAX_DESCRIPTION, describe_exception
from surehand.calls.redaction import Redactor

NO_ENVIRONMENT: dict[str, str] = {}


def described(error: BaseException) -> str:
    return describe_exception(error, Redactor(environ=NO_ENVIRONMENT))


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no such order"), "ValueError: no such order"),
        (KeyError("x"), "KeyError: the key 'x' was not found"),
        (KeyError("User 12 not found"), "KeyError: User 12 not found"),
        (KeyError("customer_id_2024_archive"), "KeyError: the key 'customer_id_2024_archive' was not found"),
        (KeyError("ORD-2024-000000000017-EU"), "KeyError: the key 'ORD-2024-000000000017-EU' was not found"),
        (
            KeyError("550e8400-e29b-41d4-a716-446655440000"),
            "KeyError: the key '550e8400-e29b-41d4-a716-446655440000' was not found",
        ),
        (KeyError("Zq01xV7kWb3Tn9Lp4Hs6"), "KeyError: the key '[redacted]' was not found"),
        (KeyError(), "KeyError: a key was not found."),
        (TimeoutError(), "TimeoutError: it took too long."),
        (ConnectionResetError(), "ConnectionResetError: the connection failed."),
        (RuntimeError("  "), "RuntimeError: it gave no further details."),
        (AssertionError(), "AssertionError: an internal check failed."),
        (RuntimeError("pg://u:pw@h/db refused"), "RuntimeError: pg://[redacted]@h/db refused"),
        (ExceptionGroup("g", [ExceptionGroup("h", [TimeoutError()])]), "TimeoutError: it took too long."),
        (
            ExceptionGroup("g", [ValueError("a"), TypeError("b")]),
            "2 errors:\n- ValueError: a\n- TypeError: b",
        ),
    ],
)
def test_an_exception_is_its_class_and_its_message(error: BaseException, text: str) -> None:
    assert described(error) == text


def test_a_path_in_an_os_error_is_hidden() -> None:
    assert described(FileNotFoundError(2, "No such file or directory", "/home/me/x")) == (
        "FileNotFoundError: [Errno 2] No such file or directory: '[redacted]'"
    )


def test_a_group_of_many_tells_of_some_and_counts_the_rest() -> None:
    text = described(ExceptionGroup("g", [ValueError(n) for n in range(29)]))
    assert text.startswith("29 errors:\n- ValueError: 0\n")
    assert text.endswith("- and 9 more")


def test_a_long_message_keeps_head_and_tail() -> None:
    text = described(ValueError("a" * 50_000 + "END"))
    assert len(text) <= MAX_DESCRIPTION
    assert text.startswith("ValueError: aaa")
    assert text.endswith("END")


def test_no_secret_is_cut_in_half_by_the_bound() -> None:
    secret = "s3cret-" * 10
    redactor = Redactor([secret], environ=NO_ENVIRONMENT)
    for offset in range(1_200, 1_500, 7):
        assert "s3cret" not in describe_exception(ValueError("x" * offset + secret + "y" * 3_000), redactor)


def test_the_cause_and_the_notes_of_an_exception_are_not_told() -> None:
    error = ValueError("outer")
    error.__cause__ = RuntimeError("inner secret")
    error.add_note("a note for developers")
    assert described(error) == "ValueError: outer"


def test_links_to_the_validators_documentation_are_left_out() -> None:
    class Item(BaseModel):
        n: int

    with pytest.raises(ValueError, match="https://") as caught:
        Item.model_validate({"n": "x"})
    assert "https://" not in described(caught.value)


def test_the_values_that_a_body_could_not_validate_are_not_told() -> None:
    class Reply(BaseModel):
        order: int
        items: list[int]

    with pytest.raises(ValueError, match="hunter2") as caught:
        Reply.model_validate({"order": "hunter2", "items": [1, "x"]})
    assert described(caught.value).splitlines() == [
        "ValidationError: 2 validation errors for Reply",
        "order: Input should be a valid integer, unable to parse string as an integer",
        "items.1: Input should be a valid integer, unable to parse string as an integer",
    ]


def test_broken_text_in_a_message_is_made_well_formed() -> None:
    assert described(ValueError("a\ud800")) == "ValueError: a\ufffd"


class BrokenStr(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


class NotText(Exception):
    def __str__(self) -> Any:
        return 3  # noqa: PLE0307 - it is what is tested


class BrokenKey:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class HidingGroup(ExceptionGroup[Exception]):
    @property
    def exceptions(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "error", [BrokenStr(), NotText(), KeyError(BrokenKey()), HidingGroup("g", [ValueError("a")])], ids=type
)
def test_a_broken_exception_is_described_all_the_same(error: BaseException) -> None:
    assert ": " in described(error)


@pytest.mark.parametrize("raised", [SystemExit, asyncio.CancelledError, BaseException])
def test_an_exception_that_wants_to_end_the_program_when_it_is_read_is_described(raised: type[BaseException]) -> None:
    class Ending(Exception):
        def __str__(self) -> str:
            raise raised

    assert described(Ending()) == "Ending: its message could not be read"


def test_the_name_of_a_class_is_one_line() -> None:
    assert described(type("A\nB", (Exception,), {})("x")) == "A\\nB: x"


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"minLength": 80}, "$.a: the value is too short"),
        ({"type": "integer"}, "$.a: the value is not of type 'integer'"),
        ({"const": "x"}, "$.a: 'x' was expected"),
        (False, "$: False schema does not allow the value"),
    ],
)
def test_the_value_and_the_schema_that_a_body_checked_it_by_are_not_told(schema: Any, text: str) -> None:
    with pytest.raises(jsonschema.ValidationError) as caught:
        jsonschema.validate({"a": "hunter2"}, {"properties": {"a": schema}})
    assert described(caught.value) == f"ValidationError: {text}"


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"minLength": 80}, "$.a: the value is shorter than 80 characters"),
        ({"type": "integer"}, '$.a: the value is not of type "integer"'),
        ({"properties": {}, "type": "array"}, '$.a: the value is not of type "array"'),
    ],
)
def test_nor_are_those_of_the_other_checker_of_json_schemas(schema: Any, text: str) -> None:
    with pytest.raises(jsonschema_rs.ValidationError) as caught:
        jsonschema_rs.validate({"properties": {"a": schema}}, {"a": "hunter2"})
    assert described(caught.value) == f"ValidationError: {text}"
