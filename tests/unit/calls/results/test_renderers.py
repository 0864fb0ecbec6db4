"""register_renderer: how the host's own types are written for a model."""

# pandas ships no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import attrs
import pandas as pd
import pydantic.v1
import pytest
from pydantic import BaseModel, ConfigDict, Field

from surehand.calls.results.render import render_value
from surehand.calls.results.renderers import RENDERERS, Renderers, register_renderer
from surehand.errors import OptionError


@dataclass
class Money:
    amount: Decimal
    currency: str


class Price(Money):
    pass


class Broken:
    def __init__(self) -> None:
        self.size = 1


TEN = Money(Decimal("10.00"), "EUR")


def in_words(money: Money) -> str:
    return f"{money.amount} {money.currency}"


@contextmanager
def registered(kind: type[Any], function: Callable[[Any], Any]) -> Generator[None]:
    """A renderer for everybody, for a while."""
    register_renderer(kind, function)
    try:
        yield
    finally:
        register_renderer(kind, None)


def text_of(value: Any, renderers: Renderers | None = None) -> str:
    """The content of a value that renders as text."""
    content = render_value(value, max_output=None, renderers=renderers).content
    assert isinstance(content, str)
    return content


def test_a_registered_type_is_written_as_its_function_says() -> None:
    with registered(Money, in_words):
        assert text_of(TEN) == "10.00 EUR"
    assert json.loads(text_of(TEN)) == {"amount": "10.00", "currency": "EUR"}


class Order(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    total: Money
    lines: list[Money] = []
    note: str = Field(default="internal", exclude=True)


class OldOrder(pydantic.v1.BaseModel):
    total: Any


@attrs.define
class Bag:
    content: dict[str, Money]


@dataclass
class Cart:
    total: Money
    more: tuple[Money, ...] = field(default=(TEN,))


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ([TEN, {"a": (TEN,)}], ["10.00 EUR", {"a": ["10.00 EUR"]}]),
        (Order(total=TEN, lines=[TEN]), {"total": "10.00 EUR", "lines": ["10.00 EUR"]}),
        (OldOrder(total=[TEN]), {"total": ["10.00 EUR"]}),
        (Bag({"a": TEN}), {"content": {"a": "10.00 EUR"}}),
        (Cart(TEN), {"total": "10.00 EUR", "more": ["10.00 EUR"]}),
        ({TEN.currency: Price(Decimal(1), "USD")}, {"EUR": "1 USD"}),
    ],
)
def test_a_registered_type_is_written_so_at_any_depth(value: Any, data: Any) -> None:
    with registered(Money, in_words):
        assert json.loads(text_of(value)) == data


def test_what_a_renderer_returns_is_rendered_in_turn() -> None:
    with registered(Money, lambda money: {"amount": money.amount, "on": dt.date(2026, 1, 2)}):
        assert json.loads(text_of([TEN])) == [{"amount": "10.00", "on": "2026-01-02"}]


def test_the_nearest_class_decides() -> None:
    with registered(Money, in_words), registered(Price, lambda _: "a price"):
        assert text_of([TEN, Price(Decimal(1), "USD")]) == '["10.00 EUR", "a price"]'


def test_a_built_in_form_can_be_replaced() -> None:
    with registered(Decimal, float):
        assert text_of({"price": Decimal("1.10")}) == '{"price": 1.1}'


def test_a_value_of_the_same_type_is_written_as_without_the_function() -> None:
    with registered(pd.DataFrame, lambda table: table.head(1)):
        assert text_of(pd.DataFrame({"a": [1, 2]})) == '[{"a": 1}]'
        assert text_of([pd.DataFrame({"a": [1, 2]})]) == '[[{"a": 1}]]'


def test_a_function_that_returns_the_value_itself_changes_nothing() -> None:
    with registered(Money, lambda money: money):
        assert json.loads(text_of([TEN])) == [{"amount": "10.00", "currency": "EUR"}]


def test_a_function_that_fails_costs_a_note_and_nothing_else() -> None:
    with registered(Money, lambda money: money.nothing):
        for value, path in ((TEN, "$"), ([TEN], "$[0]")):
            rendered = render_value(value, max_output=None)
            assert '{"amount": "10.00", "currency": "EUR"}' in str(rendered.content)
            assert rendered.notes == (f"{path}: its renderer raised AttributeError, it is shown without it",)


def test_functions_that_go_round_in_circles_end() -> None:
    with registered(Money, lambda _: Broken()), registered(Broken, lambda _: TEN):
        assert text_of(TEN)
        assert text_of([TEN])


def test_content_blocks_may_be_returned() -> None:
    blocks = [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]
    with registered(Money, lambda _: blocks):
        assert render_value(TEN, max_output=None).content == blocks


def test_the_artifact_of_a_cut_value_is_the_value_itself() -> None:
    with registered(Money, lambda _: "x" * 1_000):
        assert render_value(TEN, max_output=300).artifact is TEN


def test_renderers_of_one_node_are_asked_before_those_of_all() -> None:
    own = Renderers({Price: lambda _: "own"}, base=RENDERERS)
    with registered(Money, in_words), registered(Price, lambda _: "all"):
        assert text_of([TEN, Price(Decimal(1), "USD")], own) == '["10.00 EUR", "own"]'
        assert text_of([Price(Decimal(1), "USD")]) == '["all"]'


@pytest.mark.parametrize("kind", [str, int, float, bool, dict, list, object, type(None), "Money", list[int]])
def test_what_json_writes_itself_cannot_be_registered(kind: Any) -> None:
    with pytest.raises(OptionError, match="renderers"):
        register_renderer(kind, repr)


def test_a_renderer_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(OptionError, match="a function of one value"):
        Renderers({Money: "text"})  # type: ignore[dict-item] # pyright: ignore[reportArgumentType]


def test_renderers_that_are_no_mapping_are_refused() -> None:
    with pytest.raises(OptionError, match="renderers"):
        Renderers([Money])  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
