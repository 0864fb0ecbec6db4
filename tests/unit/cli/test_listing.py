from __future__ import annotations

import json

import pytest

from support.command import surehand


def test_the_listing_shows_description_arguments_and_options(shop: str) -> None:
    out = surehand("tools", f"{shop}:find_order").out
    assert "Look up an order." in out
    assert "order_id (integer, required): The number of the order." in out
    assert 'detail (one of "short", "long", default "short")' in out
    assert "timeout=3, read_only=True" in out


def test_return_direct_is_listed_as_an_option(shop: str) -> None:
    out = surehand("tools", f"{shop}:greet").out
    assert "return_direct=True" in out
    assert "arguments     none" in out


@pytest.mark.parametrize(
    ("form", "path"),
    [
        ("openai", (0, "function", "parameters")),
        ("responses", (0, "parameters")),
        ("anthropic", (0, "input_schema")),
        ("gemini", (0, "parametersJsonSchema")),
        ("bedrock", (0, "toolSpec", "inputSchema", "json")),
        ("mcp", (0, "inputSchema")),
        ("json", ("find_order",)),
    ],
)
def test_every_export_holds_the_schema_of_the_arguments(shop: str, form: str, path: tuple[str | int, ...]) -> None:
    value = json.loads(surehand("tools", f"{shop}:find_order", "--schema", form).out)
    for step in path:
        value = value[step]
    assert value["required"] == ["order_id"]


def test_an_unknown_form_is_refused_with_the_known_ones(shop: str) -> None:
    ended = surehand("tools", shop, "--schema", "yaml")
    assert ended.code == 2
    assert "anthropic" in ended.err
