"""What holds for any arguments of a JSON Schema, said by a second validator that shares nothing with the first."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.data import committed_data, read_lines
from support.real_schemas import mcp_tools
from surehand.arguments import InvalidArguments, validate_arguments
from surehand.shapes import is_object
from surehand.spec import schema_of
from surehand.spec.patterns import readable

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["5", "20.0", "true", "[1]", '{"a": 1}', "null", "", "open", "OPEN", "2024-05-31"])
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "type", "name", "value", "id", "query"]), inner, max_size=3)
    ),
    max_leaves=6,
)
SCHEMAS = [schema for _, schema in mcp_tools() if schema.get("properties")]
SUITE = [
    row
    for row in read_lines(committed_data() / "json_schema" / "draft2020-12.jsonl")
    if is_object(row["schema"])
    and "$ref" not in str(row["schema"])
    and "dynamicRef" not in str(row["schema"])
    and not row["file"].startswith(("optional/", "format"))
    and "p{" not in str(row["schema"])
]


def check(written: dict[str, Any], arguments: dict[str, Any]) -> None:
    """What is taken fits in the eyes of the other validator; what is refused is told with a path."""
    try:
        found = validate_arguments(schema_of(written), arguments, tool="tool").values
    except InvalidArguments as error:
        refusal = error
    else:
        oracle: Any = jsonschema.Draft202012Validator(written)
        oracle.validate(found)
        return
    assert refusal.complaints
    assert all(complaint.path.startswith("$") and complaint.problem for complaint in refusal.complaints)


@given(data=st.data())
@settings(max_examples=300)
def test_what_is_taken_fits_the_schema_as_it_was_written(data: st.DataObject) -> None:
    written = data.draw(st.sampled_from(SCHEMAS))
    names = sorted(written["properties"])
    arguments = data.draw(st.dictionaries(st.sampled_from(names), VALUES, max_size=4))
    before = copy.deepcopy(arguments)
    check(written, arguments)
    assert arguments == before


@pytest.mark.parametrize("row", [pytest.param(row, id=f"{row['file']}: {row['group']}") for row in SUITE[::3]])
def test_what_is_taken_for_a_schema_of_the_suite_fits_it(row: dict[str, Any]) -> None:
    """Also where it had to be coerced: the suite's values, and those values as text."""
    written = {"type": "object", "properties": {"x": row["schema"]}, "required": ["x"]}
    for value, _ in row["tests"]:
        check(written, {"x": value})
        check(written, {"x": str(value)})


@given(st.text(alphabet=r"ab\[]{}-^$wd.*+?()|,0123", max_size=12))
def test_to_read_a_pattern_twice_changes_no_more(pattern: str) -> None:
    assert readable(readable(pattern)) == readable(pattern)
