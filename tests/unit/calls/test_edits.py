"""Arguments that a human gives a call fit the tool's schema, or are refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, field_validator

from surehand import InterruptError, tool
from surehand.calls.table import ToolTable


class Payment(BaseModel):
    amount: int
    to: str = "Ann"

    @field_validator("to")
    @classmethod
    def known(cls, to: str) -> str:
        if to == "Eve":
            raise RuntimeError("the directory is down")
        return to


@tool(args_schema=Payment)
def pay(amount: int, to: str) -> str:
    """Pay."""
    return f"paid {amount} to {to}"


def edits(tool_given: Any = pay) -> Any:
    (registered,) = ToolTable([tool_given.spec])
    return registered.edits


def test_arguments_that_fit_are_typed() -> None:
    assert edits().typed({"amount": 5}).values == {"amount": 5, "to": "Ann"}
    edits().check({"amount": 5})


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"amount": "much"}, "amount"),
        ({"amount": 5, "too": "Bob"}, "too"),
        ({"Amount": 5}, "Amount"),
        ({}, "amount"),
        ({"amount": 5, "to": "Eve"}, "RuntimeError"),
    ],
)
def test_others_are_refused_with_what_is_wrong_and_nothing_is_guessed(arguments: Any, complaint: str) -> None:
    with pytest.raises(InterruptError, match="does not take the edited arguments") as caught:
        edits().check(arguments)
    assert complaint in str(caught.value)


def test_the_digest_is_that_of_the_name_and_the_schema() -> None:
    @tool(name="pay")
    def same(amount: int, to: str = "Ann") -> str:
        """Pay in another way."""
        return ""

    @tool(name="pay")
    def changed(amount: float, to: str = "Ann") -> str:
        """Pay."""
        return ""

    @tool
    def other(amount: int, to: str = "Ann") -> str:
        """Pay."""
        return ""

    assert edits().digest == edits(same).digest
    assert len({edits().digest, edits(changed).digest, edits(other).digest}) == 3
