"""Reads all recorded replies and streams, writes all recorded histories back, and counts by provider what is right.

``python scripts/providers.py [folder]`` prints the table; with ``--page PAGE`` it goes into the page, between its
marks. The folder is that of the recordings; without it the full collection is taken where there is one, else the
committed part.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.data import committed_data, full_data, read_lines  # noqa: E402 - found by the path above
from support.recordings import Record, exception_of, history_faults, reply_faults, stream_faults  # noqa: E402 - the same

BEGIN, END = "<!-- recordings: begin -->", "<!-- recordings: end -->"
COLUMNS: tuple[tuple[str, str, Callable[[Record], list[str]]], ...] = (
    ("responses.jsonl", "replies", reply_faults),
    ("streams.jsonl", "streams", stream_faults),
    ("tool_results.jsonl", "histories", history_faults),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "folder", nargs="?", type=Path, default=(full_data() or committed_data()) / "provider_recordings"
    )
    parser.add_argument("--page", type=Path, help="the page that the table goes into")
    given = parser.parse_args()

    seen: Counter[tuple[str, str, str]] = Counter()
    right: Counter[tuple[str, str, str]] = Counter()
    excepted: dict[str, str] = {}
    faults: list[str] = []
    for file, column, check in COLUMNS:
        for record in read_lines(given.folder / file):
            place = (record["api"], record["provider"], column)
            seen[place] += 1
            found = check(record)
            right[place] += not found
            if found and (reason := exception_of(record)) is not None:
                excepted[record["source"]] = reason
            elif found:
                faults.append(f"{record['source']}: {found[0][:300]}")
    table = "\n".join(rows(seen, right, excepted))
    if given.page is None:
        print(table)
    else:
        page = given.page.read_text(encoding="utf-8")
        head, _, rest = page.partition(BEGIN)
        given.page.write_text(f"{head}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    print("\n".join(faults), file=sys.stderr)
    return 1 if faults else 0


def rows(
    seen: Counter[tuple[str, str, str]], right: Counter[tuple[str, str, str]], excepted: dict[str, str]
) -> Iterator[str]:
    """The table, and below it what is not as recorded and why."""
    columns = [column for _, column, _ in COLUMNS]
    yield "| interface | provider | replies read | streams read | histories written back |"
    yield "| --- | --- | --- | --- | --- |"
    for api, provider in sorted({(api, provider) for api, provider, _ in seen}):
        cells = [share(right[api, provider, column], seen[api, provider, column]) for column in columns]
        yield f"| {api} | {provider} | {' | '.join(cells)} |"
    totals = [
        share(
            sum(count for place, count in right.items() if place[2] == column),
            sum(count for place, count in seen.items() if place[2] == column),
        )
        for column in columns
    ]
    yield f"| **all** | | {' | '.join(totals)} |"
    if excepted:
        yield ""
        yield "Not as recorded, and right so:"
        yield ""
    for source, reason in sorted(excepted.items()):
        yield f"- `{source.rpartition('/')[2]}`: {reason}"


def share(right: int, seen: int) -> str:
    return f"{right} of {seen}" if seen else ""


if __name__ == "__main__":
    sys.exit(main())
