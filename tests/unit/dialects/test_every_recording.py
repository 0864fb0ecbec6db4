"""Every recorded reply, stream and history of every provider, by one measure for all dialects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.data import committed_data, full_data, read_lines
from support.recordings import APIS, Record, exception_of, history_faults, reply_faults, stream_faults

FOLDERS = [folder / "provider_recordings" for folder in (committed_data(), full_data()) if folder is not None]


@pytest.mark.parametrize("folder", FOLDERS, ids=["committed", "full"][: len(FOLDERS)])
@pytest.mark.parametrize(
    ("file", "check"),
    [("responses.jsonl", reply_faults), ("streams.jsonl", stream_faults), ("tool_results.jsonl", history_faults)],
)
def test_what_is_read_and_written_is_as_recorded(folder: Path, file: str, check: Callable[[Record], list[str]]) -> None:
    records = read_lines(folder / file)
    faults = [
        f"{record['source']}: {found}"
        for record in records
        if (found := check(record)) and exception_of(record) is None
    ]

    assert faults == []
    assert {record["api"] for record in records} >= set(APIS) - {"ollama.chat"}
