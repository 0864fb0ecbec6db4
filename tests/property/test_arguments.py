"""What holds for any arguments."""

from __future__ import annotations

import contextlib
import json
from typing import Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from surehand.arguments import InvalidArguments, parse_arguments, validate_arguments
from surehand.errors import Complaint, MalformedArguments
from surehand.shapes import is_array
from surehand.spec import schema_of

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
JUNK = JSON_VALUES | st.binary() | st.sets(st.integers()) | st.builds(object) | st.tuples(st.integers())
NAMES = ["name", "count", "ratio", "on", "tags", "unit", "item", "items", "maybe", "either", "Name", "ITEMS", "other"]


class Item(BaseModel):
    qty: int = Field(ge=0)
    note: str = ""
    parts: list[int] = []


def tool(  # noqa: PLR0917 - as many kinds of parameters as there are
    name: str,
    count: int,
    ratio: float = 0.5,
    on: bool = False,  # noqa: FBT001, FBT002 - what users write
    tags: set[str] = set(),  # noqa: B006 - what users write
    unit: Literal["c", "f"] | None = None,
    item: Item | None = None,
    items: list[Item] = [],  # noqa: B006 - what users write
    either: int | list[str] = 0,
) -> None: ...


TYPED = schema_of(tool)
RAW = schema_of(TYPED.json_schema)
ITEMS = st.builds(Item, qty=st.integers(0, 2**40), note=st.text(), parts=st.lists(st.integers()))
VALID = st.fixed_dictionaries(
    {"name": st.text(), "count": st.integers()},
    optional={
        "ratio": st.floats(allow_nan=False, allow_infinity=False),
        "on": st.booleans(),
        "tags": st.lists(st.text(), unique=True),
        "unit": st.sampled_from(["c", "f", None]),
        "item": st.none() | ITEMS.map(Item.model_dump),
        "items": st.lists(ITEMS.map(Item.model_dump), max_size=3),
        "either": st.integers() | st.lists(st.text()),
    },
)


def plain(value: Any) -> Any:
    """A typed value as JSON carries it."""
    if isinstance(value, Item):
        return value.model_dump()
    if is_array(value):
        return [plain(item) for item in value]
    return value


@given(VALID)
def test_valid_arguments_are_delivered_unchanged_and_without_repairs(arguments: dict[str, Any]) -> None:
    for schema in (TYPED, RAW):
        found = validate_arguments(schema, arguments, tool="tool")

        assert found.repairs == ()
        assert found.wire == arguments
        for name, given_value in arguments.items():
            wanted = set(given_value) if name == "tags" and schema is TYPED else given_value
            assert plain(found.values[name]) == wanted


@given(VALID)
def test_the_json_of_valid_arguments_is_valid_again(arguments: dict[str, Any]) -> None:
    for schema in (TYPED, RAW):
        again = json.loads(schema.dump_json(arguments))

        first = validate_arguments(schema, arguments, tool="tool").values
        assert validate_arguments(schema, again, tool="tool").values == first


@given(st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=8), JUNK, max_size=8))
@settings(max_examples=300)
def test_junk_is_refused_with_complaints_or_valid_and_nothing_else(arguments: dict[str, Any]) -> None:
    for schema in (TYPED, RAW):
        complaints: tuple[Complaint, ...] | None = None
        try:
            validate_arguments(schema, arguments, tool="tool")
        except InvalidArguments as error:
            complaints = error.complaints

        assert complaints is None or all(str(complaint).strip() for complaint in complaints)
        assert complaints != ()


@given(st.text())
def test_a_declared_text_is_never_changed(text: str) -> None:
    for schema in (TYPED, RAW):
        sent = {"name": text, "count": 1, "item": {"qty": 1, "note": text}, "tags": [text]}
        found = validate_arguments(schema, sent, tool="tool")

        assert found.wire == sent
        assert found.values["name"] == text


@given(VALID, st.sampled_from(["count", "ratio", "on", "tags", "item", "items"]))
def test_a_value_that_was_sent_as_its_json_text_is_read_back(arguments: dict[str, Any], name: str) -> None:
    if arguments.get(name) is None:
        return
    sent = {**arguments, name: json.dumps(arguments[name])}
    for schema in (TYPED, RAW):
        wanted = validate_arguments(schema, arguments, tool="tool").values
        found = validate_arguments(schema, sent, tool="tool")

        assert found.values == wanted
        assert found.repairs


@given(VALID)
def test_coercing_towards_the_schema_changes_no_valid_argument(arguments: dict[str, Any]) -> None:
    assert parse_arguments(arguments, schema=TYPED).value == arguments
    assert parse_arguments(json.dumps(arguments), schema=RAW).value == arguments


@given(JUNK)
def test_parsing_with_a_schema_raises_nothing_but_malformed_arguments(raw: Any) -> None:
    with contextlib.suppress(MalformedArguments):
        assert isinstance(parse_arguments(raw, schema=TYPED).value, dict)
