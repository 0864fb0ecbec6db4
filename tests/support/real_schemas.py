"""Schemas as real servers and benchmarks write them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from support.data import committed_data, full_data, read_lines
from surehand.shapes import is_array, is_object

__all__ = ["as_json_schema", "benchmark_calls", "benchmark_functions", "mcp_tools"]

_TYPES = {"dict": "object", "float": "number", "tuple": "array"}
_BENCHMARKS = ("simple_python", "multiple", "parallel", "parallel_multiple", "irrelevance")
_FEW = 40
"""Up to so many combinations of acceptable values are all tried."""
_ALTERNATIVES_INSIDE = {"parallel_multiple_21", "parallel_multiple_94"}
"""Their nested values are lists of what is acceptable, and not values."""


def mcp_tools() -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and schema of every tool that the servers list."""
    for row in read_lines(committed_data() / "mcp_tools" / "tools.jsonl"):
        yield f"{row['server']}/{row['name']}", row["inputSchema"]


def benchmark_functions(*, is_full: bool) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Row, name and schema of each function of the benchmark."""
    for row in _rows(is_full=is_full):
        for function in row["function"]:
            yield row["id"], function["name"], as_json_schema(function["parameters"])


def benchmark_calls(*, is_full: bool) -> Iterator[tuple[str, str, dict[str, Any], list[dict[str, Any]]]]:
    """Row, name and schema of each function that is to be called, and acceptable arguments for it."""
    for row in _rows(is_full=is_full):
        schemas = {function["name"]: as_json_schema(function["parameters"]) for function in row["function"]}
        for call in row.get("ground_truth", ()):
            for name, parameters in call.items():
                yield row["id"], name, schemas[name], list(_acceptable(parameters))


def _rows(*, is_full: bool) -> Iterator[dict[str, Any]]:
    folder = full_data()
    if not is_full or folder is None:
        yield from read_lines(committed_data() / "bfcl_functions" / "functions.jsonl")
        return
    for name in _BENCHMARKS:
        file = f"BFCL_v4_{name}.json"
        answers = folder / "bfcl" / "possible_answer" / file
        known = {row["id"]: row["ground_truth"] for row in read_lines(answers)} if answers.exists() else {}
        for row in read_lines(folder / "bfcl" / file):
            has_answer = row["id"] in known and row["id"] not in _ALTERNATIVES_INSIDE
            yield {**row, "ground_truth": known[row["id"]] if has_answer else []}


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
                found[key] = _TYPES.get(value, value)
        else:
            found[key] = value if key in ("enum", "default") else as_json_schema(value)
    return found


def _acceptable(parameters: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The first acceptable arguments; where there are few, all of them. An empty text says: may be left out."""
    names = list(parameters)
    choices = [[_LEFT_OUT if value == "" else value for value in parameters[name]] for name in names]
    first = [next((value for value in values if value is not _LEFT_OUT), _LEFT_OUT) for values in choices]
    count = 1
    for values in choices:
        count *= len(values)
    combinations = itertools.product(*choices) if count <= _FEW else iter([tuple(first)])
    for combination in combinations:
        yield {name: _chosen(value) for name, value in zip(names, combination, strict=True) if value is not _LEFT_OUT}


_LEFT_OUT = object()


def _chosen(value: Any) -> Any:
    """A value, with the first choice for each key of the objects in it."""
    if is_array(value):
        return [_chosen(item) for item in value]
    if not is_object(value):
        return value
    return {name: _chosen(item[0]) if is_array(item) and item else item for name, item in value.items()}
