"""Writes into docs/requirements.md and docs/behaviours.md which test files prove each id.

A test proves an id when its name begins with it: ``test_V1_validates_without_running``, ``test_PARSE_01_…``; several
ids may follow one another (``test_V1_V2_…``). With ``--check`` nothing is written; the exit status says whether the
pages are right.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("docs/requirements.md", "docs/behaviours.md")
LEADING_ID = re.compile(r"_(?:([A-Z]\d{1,2})|([A-Z]{2,})_(\d{2}))(?=_|$)")
ROW = re.compile(r"^\| (?P<id>[A-Z]\d{1,2}|[A-Z]{2,}-\d{2}) \|.*\| (?P<proof>[^|]*) \|$")


def ids_of(test_name: str) -> Iterator[str]:
    """The ids that a test's name begins with."""
    rest = test_name.removeprefix("test")
    while match := LEADING_ID.match(rest):
        requirement, group, number = match.groups()
        yield requirement or f"{group}-{number}"
        rest = rest[match.end() :]


def test_names(path: Path) -> Iterator[str]:
    """The names of the test functions in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name


def proofs() -> dict[str, list[str]]:
    """For each id the test files that prove it, in order."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in ROOT.glob("tests/**/test_*.py"):
        for name in test_names(path):
            for id in ids_of(name):
                found[id].add(path.relative_to(ROOT).as_posix())
    return {id: sorted(paths) for id, paths in found.items()}


def with_proofs(page: str, found: Mapping[str, list[str]]) -> str:
    """The page with its last column renewed."""
    lines: list[str] = []
    for line in page.splitlines():
        match = ROW.match(line)
        if match:
            proof = ", ".join(f"`{path}`" for path in found.get(match["id"], [])) or "later"
            line = f"{line[: match.start('proof')]}{proof} |"  # noqa: PLW2901 - the row with another last cell
        lines.append(line)
    return "\n".join(lines) + "\n"


def main() -> int:
    found = proofs()
    stale: list[str] = []
    for name in PAGES:
        path = ROOT / name
        page = path.read_text(encoding="utf-8")
        renewed = with_proofs(page, found)
        if renewed != page:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(renewed, encoding="utf-8")
    if "--check" in sys.argv and stale:
        print(f"Out of date: {', '.join(stale)}. Renew with: make proofs")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
