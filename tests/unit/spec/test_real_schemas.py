"""Schemas as real servers and benchmarks write them: what fits is taken as it is, what does not is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.data import full_data
from support.generated import broken, fitting
from support.real_schemas import benchmark_calls, benchmark_functions, mcp_tools
from surehand import Tool
from surehand.arguments import InvalidArguments, parse_arguments, validate_arguments
from surehand.shapes import is_array, is_object
from surehand.spec import ArgumentSchema, schema_of

EACH = 20
EXCEPTIONS = {
    "simple_python_17": "formatted is required, and may be left out",
    "simple_python_149": "company_names are texts, and the answer has lists of them",
    "simple_python_200": "fuel_efficiency is required, and may be left out",
    "simple_python_307": "venue is a text, and the answer is true",
    "simple_python_358": "'GF' is none of the allowed values",
    "parallel_88": "initial_velocity is required, and may be left out",
    "parallel_multiple_63": "dates of the format date are also answered as '01/15/2021' and 'Jan 15, 2021'",
    "parallel_multiple_87": "initial_velocity is required, and may be left out",
    "parallel_multiple_119": "league_name is required, and may be left out",
    "parallel_multiple_173": "'12 months' is none of the allowed values",
    "parallel_multiple_194": "'ft' is none of the allowed values",
}
"""Acceptable answers of the benchmark that break the benchmark's own schema."""
WITHOUT_A_FIRST = {"simple_python_200"}
"""Whose first answer is one of them."""
RESPELLED = {"simple_python_358", "multiple_76", "parallel_multiple_143"}
"""Answers that differ from the allowed value in case or a dash, and are read as it."""
UNKNOWN = {"parallel_multiple_12", "parallel_multiple_26"}
"""Answers with an argument that the function does not have; it is dropped, with a note."""


def echo(**arguments: Any) -> dict[str, Any]:
    return arguments


def refusal(schema: ArgumentSchema, arguments: Any) -> InvalidArguments | None:
    try:
        validate_arguments(schema, arguments, tool="tool")
    except InvalidArguments as error:
        return error
    return None


def is_kept(given: Any, got: Any) -> bool:
    """Whether everything that was given is there, as it was; defaults may have come to it."""
    if is_object(given) and is_object(got):
        return all(name in got and is_kept(value, got[name]) for name, value in given.items())
    if is_array(given) and is_array(got):
        return len(given) == len(got) and all(map(is_kept, given, got))
    return bool(given == got) and isinstance(given, bool) is isinstance(got, bool)


def check(written: dict[str, Any]) -> tuple[int, int]:
    """How many made-up instances were taken, and refused, as they should."""
    schema = schema_of(written)
    instances = fitting(written, EACH)
    for instance in instances:
        found = validate_arguments(schema, instance, tool="tool")
        known = {name: value for name, value in instance.items() if name in schema.names or schema.extras == "collect"}
        assert is_kept(known, found.values)
    wrong = broken(written, instances, EACH)
    for instance, place in wrong:
        error = refusal(schema, instance)
        assert error is not None, (instance, place)
        paths = [complaint.path for complaint in error.complaints]
        assert all(path.startswith("$") for path in paths)
        assert any(path == "$" or path.startswith((f"$.{place[0]}", f"$[{place[0]!r}")) for path in paths), (
            place,
            error,
        )
    return len(instances), len(wrong)


@pytest.mark.parametrize("schema", [pytest.param(schema, id=name) for name, schema in mcp_tools()])
def test_every_schema_of_a_real_server_becomes_a_tool(schema: dict[str, Any]) -> None:
    tool = Tool.from_json_schema("tool", schema, echo)
    assert tool.spec.schema.json_schema.get("properties") == schema.get("properties")
    assert (refusal(tool.spec.schema, {}) is not None) is bool(schema.get("required"))


@pytest.mark.parametrize("schema", [pytest.param(schema, id=name) for name, schema in list(mcp_tools())[::8]])
def test_instances_of_a_real_servers_schema_are_taken_and_broken_ones_refused(schema: dict[str, Any]) -> None:
    check(schema)


def test_instances_of_the_benchmarks_schemas_are_taken_and_broken_ones_refused() -> None:
    schemas = [schema for _, _, schema in benchmark_functions(is_full=False)]
    taken, refused = zip(*map(check, schemas[::2]), strict=True)
    assert min(taken) > 0
    assert sum(refused) > sum(taken) / 2


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_instances_of_every_schema_are_taken_and_broken_ones_refused() -> None:
    schemas = [schema for _, schema in mcp_tools()]
    schemas += [schema for _, _, schema in benchmark_functions(is_full=True)]
    for schema in schemas:
        check(schema)


@pytest.mark.parametrize("is_full", [False, pytest.param(True, marks=pytest.mark.full)])
def test_every_right_call_of_the_benchmark_is_valid(*, is_full: bool) -> None:
    if is_full and full_data() is None:
        pytest.skip("needs the full data sets")
    for row, _, written, calls in benchmark_calls(is_full=is_full):
        schema = schema_of(written)
        for index, arguments in enumerate(calls):
            error = refusal(schema, arguments)
            if error is not None:
                assert row in EXCEPTIONS, (row, arguments, error)
                assert index > 0 or row in WITHOUT_A_FIRST
                continue
            found = validate_arguments(schema, arguments, tool="tool").values
            given = {name: value for name, value in arguments.items() if value is not None}  # null: left out
            assert row in RESPELLED | UNKNOWN or found.items() >= given.items()


def test_a_right_call_that_was_written_as_text_is_read_with_its_schema() -> None:
    for _, _, schema, calls in benchmark_calls(is_full=False):
        for arguments in calls:
            assert parse_arguments(json.dumps(arguments), schema=schema).value == arguments


def test_a_function_with_dots_in_its_name_is_exported_with_underscores() -> None:
    for _, name, schema in benchmark_functions(is_full=False):
        tool = Tool.from_json_schema(name, schema, echo)
        assert tool.name == name
        assert tool.to_openai()["function"]["name"] == name.replace(".", "_")
