"""Every Python block of README.md and docs/ runs, page by page from top to bottom, and prints what the page shows."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from support.pages import ROOT, examples, pages_with_examples

PAGES = pages_with_examples()
DATABASE = "DATABASE_URL"
"""Where a page that needs a database finds one."""


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_the_examples_of_a_page_run_and_print_what_it_shows(
    page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if DATABASE in page.read_text(encoding="utf-8"):
        monkeypatch.setenv(DATABASE, request.getfixturevalue("postgres").make_database())
    module = ModuleType("page_under_test")
    sys.modules[module.__name__] = module  # annotations of its tools are looked up there
    try:
        for example in examples(page):
            # blank lines in front make a traceback name the line of the page
            code = "\n" * (example.line - 1) + example.code
            exec(compile(code, str(page), "exec"), vars(module))
            printed = capsys.readouterr().out
            if example.output is not None:
                assert printed == example.output
    finally:
        del sys.modules[module.__name__]


def test_the_readme_shows_real_output() -> None:
    assert any(example.output for example in examples(ROOT / "README.md"))


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_the_first_example_of_the_readme_has_about_15_lines() -> None:
    assert examples(ROOT / "README.md")[0].code.count("\n") <= 17
