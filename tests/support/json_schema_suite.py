"""The JSON Schema Test Suite, run through a tool's own validation.

Arguments are an object, and the suite's values are anything: each schema becomes that of one argument. So that ``#``
goes on meaning the suite's schema, it is given an id of its own; where draft 7 overlooks that, beside a ``$ref``, its
pointers are made longer instead.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from support.data import committed_data, read_lines
from surehand.errors import ToolDefinitionError
from surehand.shapes import is_array, is_object
from surehand.spec import SchemaMismatch, schema_of
from surehand.spec.json_dialect import FORMATS

__all__ = ["DRAFTS", "FORMAT_EXCEPTIONS", "Group", "format_groups", "groups", "reason_of"]

DRAFTS: Final = {
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One schema of the suite, and how its tests went."""

    draft: str
    file: str
    name: str
    passed: int
    failed: int
    refusal: str = ""
    """Why no tool could be made; empty where one was."""

    @property
    def is_optional(self) -> bool:
        """Whether the suite leaves it to a validator."""
        return self.file.startswith("optional/")


def groups(draft: str, *, folder: Path | None = None) -> Iterator[Group]:
    """Every group of a draft, run."""
    for row in read_lines((folder or committed_data() / "json_schema") / f"{draft}.jsonl"):
        yield _run(draft, row)


def _run(draft: str, row: dict[str, Any]) -> Group:
    try:
        schema = schema_of(_wrapped(row["schema"], draft))
    except ToolDefinitionError as error:
        return Group(
            draft=draft, file=row["file"], name=row["group"], passed=0, failed=len(row["tests"]), refusal=str(error)
        )
    outcomes = [_is_accepted(schema, value) is wanted for value, wanted in row["tests"]]
    return Group(
        draft=draft,
        file=row["file"],
        name=row["group"],
        passed=outcomes.count(True),
        failed=outcomes.count(False),
    )


def _is_accepted(schema: Any, value: Any) -> bool:
    try:
        schema.validate({"x": value})
    except SchemaMismatch as mismatch:
        return not mismatch.describe()  # a refusal without a reason is none
    return True


def _wrapped(schema: Any, draft: str) -> dict[str, Any]:
    inner = schema
    if is_object(schema) and draft == "draft7" and "$ref" in schema:
        inner = _lengthened(schema)
    elif is_object(schema) and "$id" not in schema:
        inner = {"$id": "urn:suite:case", **schema}
    return {"$schema": DRAFTS[draft], "type": "object", "properties": {"x": inner}}


def _lengthened(part: Any) -> Any:
    if is_array(part):
        return [_lengthened(item) for item in part]
    if not is_object(part):
        return part
    return {
        key: f"#/properties/x{value[1:]}" if _is_pointer(key, value) else _lengthened(value)
        for key, value in part.items()
    }


def _is_pointer(key: str, value: object) -> bool:
    return key == "$ref" and isinstance(value, str) and (value == "#" or value.startswith("#/"))


def reason_of(group: Group) -> str:
    """Why a group is meant to fail; empty where it is not."""
    if "which is not in it" in group.refusal and not group.passed:
        return "a reference leads out of the schema, and nothing is ever fetched"
    if group.file == "format.json" and group.name.removesuffix(" format") in FORMATS and group.failed == 1:
        return "the format is checked, although the draft leaves it open"
    if group.file == "vocabulary.json":
        return "a metaschema of one's own, which may switch keywords off, is not followed"
    return ""


FORMAT_EXCEPTIONS: Final[dict[str, list[Any]]] = {
    "date-time": ["1990-12-31T10:00:00+10:60", "1985-04-12T23:20:50+01"],  # zones are taken as Python takes them
}
"""Format -> texts that are judged otherwise than by the suite."""


def format_groups(draft: str, folder: Path) -> Iterator[tuple[str, Any]]:
    """Format and text of each optional test of a format that is judged otherwise than by the suite."""
    for name in sorted(FORMATS):
        file = folder / "tests" / draft / "optional" / "format" / f"{name}.json"
        for row in json.loads(file.read_text("utf-8")) if file.exists() else ():
            schema = schema_of(_wrapped(row["schema"], draft))
            for test in row["tests"]:
                if _is_accepted(schema, test["data"]) is not test["valid"]:
                    yield name, test["data"]
