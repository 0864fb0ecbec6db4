"""Prints how tools pass the JSON Schema Test Suite, and every group that fails: docs/explanation/json-schema.md."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from support.json_schema_suite import DRAFTS, Group, groups, reason_of  # noqa: E402 - the tests' own module


def main() -> None:
    failing: Counter[str] = Counter()
    names: dict[str, list[str]] = {}
    print("| draft | required tests | passed | optional tests | passed |\n|---|---|---|---|---|")
    for draft in DRAFTS:
        found = list(groups(draft))
        figures = (_figures(found, is_optional=False), _figures(found, is_optional=True))
        print(f"| {draft.removeprefix('draft')} | {' | '.join(figures)} |")
        for group in found:
            if group.failed:
                reason = reason_of(group)
                failing[reason] += group.failed
                names.setdefault(reason, []).append(f"{draft} {group.file}: {group.name} ({group.failed})")
    for reason, count in failing.most_common():
        print(f"\n{count} tests: {reason}")
        print(*(f"  {name}" for name in names[reason]), sep="\n")


def _figures(found: list[Group], *, is_optional: bool) -> str:
    chosen = [group for group in found if group.is_optional is is_optional]
    passed = sum(group.passed for group in chosen)
    return f"{passed + sum(group.failed for group in chosen):,} | {passed:,}"


if __name__ == "__main__":
    main()
