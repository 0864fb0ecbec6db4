"""The JSON Schema Test Suite, through a tool's own validation."""

from __future__ import annotations

import pytest

from support.data import full_data
from support.json_schema_suite import DRAFTS, FORMAT_EXCEPTIONS, format_groups, groups, reason_of

REQUIRED = {"draft7": (904, 927), "draft2019-09": (1227, 1259), "draft2020-12": (1248, 1299)}
"""How many of the required tests pass, of how many; what fails is named by ``reason_of``."""


@pytest.mark.parametrize("draft", DRAFTS)
def test_every_test_of_the_suite_passes_or_fails_for_a_reason(draft: str) -> None:
    found = list(groups(draft))
    required = [group for group in found if not group.is_optional]

    assert [group for group in found if group.failed and not reason_of(group)] == []
    passed = sum(group.passed for group in required)
    assert (passed, passed + sum(group.failed for group in required)) == REQUIRED[draft]


@pytest.mark.skipif(full_data() is None, reason="needs the full data sets")
@pytest.mark.parametrize("draft", DRAFTS)
def test_formats_that_are_checked_are_checked_as_the_suite_says_or_more_leniently(draft: str) -> None:
    folder = full_data()
    assert folder is not None
    wrong = [
        (name, value)
        for name, value in format_groups(draft, folder / "json_schema")
        if not any(value in values for exception, values in FORMAT_EXCEPTIONS.items() if exception == name)
    ]

    assert wrong == []
