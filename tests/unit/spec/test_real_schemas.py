"""Schemas as real servers and benchmarks write them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from support.arguments import refused, valid
from support.data import committed_data, full_data, read_lines
from surehand.arguments import parse_arguments
from surehand.shapes import is_array, is_object
from surehand.spec import schema_of

TYPES = {"dict": "object", "float": "number", "tuple": "array"}
ANSWERS_THAT_BREAK_THEIR_SCHEMA = {"simple_python_307"}
"""``venue`` is declared a string, and the answer is true."""


def mcp_tools() -> Iterator[tuple[str, dict[str, Any]]]:
    for row in read_lines(committed_data() / "mcp_tools" / "tools.jsonl"):
        yield f"{row['server']}/{row['name']}", row["inputSchema"]
    folder = full_data()
    if folder is None:
        return
    for listing in sorted((folder / "mcp_tools").glob("*.json")):
        for row in json.loads(listing.read_text(encoding="utf-8"))["tools"]:
            yield f"{listing.stem}/{row['name']}", row["inputSchema"]
    for snapshot in sorted((folder / "mcp_tools" / "github-mcp-server").glob("*.snap")):
        yield f"github/{snapshot.stem}", json.loads(snapshot.read_text(encoding="utf-8"))["inputSchema"]


def benchmark_rows() -> Iterator[dict[str, Any]]:
    yield from read_lines(committed_data() / "bfcl_functions" / "functions.jsonl")
    folder = full_data()
    if folder is None:
        return
    name = "BFCL_v4_simple_python.json"
    answers = {row["id"]: row["ground_truth"] for row in read_lines(folder / "bfcl" / "possible_answer" / name)}
    for row in read_lines(folder / "bfcl" / name):
        yield {**row, "ground_truth": answers[row["id"]]}


def as_json_schema(part: Any) -> Any:
    """The benchmark's own types as those of JSON Schema."""
    if is_array(part):
        return [as_json_schema(item) for item in part]
    if not is_object(part):
        return part
    found: dict[str, Any] = {}
    for key, value in part.items():
        if key == "properties":
            found[key] = {name: as_json_schema(schema) for name, schema in value.items()}
        elif key == "type":
            if value != "any":
                found[key] = TYPES.get(value, value)
        else:
            found[key] = value if key in ("enum", "default") else as_json_schema(value)
    return found


def first_answer(acceptable: list[Any]) -> Any:
    """The first value that may be given, with the first choice for each key of the objects in it."""
    return chosen(next(value for value in acceptable if value != ""))


def chosen(value: Any) -> Any:
    if is_array(value):
        return [chosen(item) for item in value]
    if not is_object(value):
        return value
    return {name: chosen(item[0]) if is_array(item) and item else item for name, item in value.items()}


@pytest.mark.parametrize("schema", [pytest.param(schema, id=name) for name, schema in mcp_tools()])
def test_every_schema_of_a_real_server_can_be_validated_against(schema: dict[str, Any]) -> None:
    made = schema_of(schema)

    assert made.json_schema.get("properties") == schema.get("properties")
    if schema.get("required"):
        assert refused(made, {}).complaints
    else:
        assert valid(made, {}).repairs == ()


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in benchmark_rows()])
def test_every_right_call_of_the_benchmark_is_valid(row: dict[str, Any]) -> None:
    schemas = {function["name"]: schema_of(as_json_schema(function["parameters"])) for function in row["function"]}
    for call in row["ground_truth"]:
        for name, parameters in call.items():
            arguments = {key: first_answer(given) for key, given in parameters.items() if given != [""]}
            if row["id"] in ANSWERS_THAT_BREAK_THEIR_SCHEMA:
                assert refused(schemas[name], arguments).complaints
            else:
                assert valid(schemas[name], arguments).values.items() >= arguments.items()


def test_a_right_call_that_was_written_as_text_is_read_with_its_schema() -> None:
    for row in read_lines(committed_data() / "bfcl_functions" / "functions.jsonl"):
        for call in row["ground_truth"]:
            for name, parameters in call.items():
                schema = as_json_schema(next(f["parameters"] for f in row["function"] if f["name"] == name))
                arguments = {key: first_answer(given) for key, given in parameters.items() if given != [""]}

                assert parse_arguments(json.dumps(arguments), schema=schema).value == arguments
