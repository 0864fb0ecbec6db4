"""Where test data is: subsets are committed under tests/data, the full sets may lie elsewhere."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

__all__ = ["committed_data", "full_data", "read_lines"]

_CHECKOUT = Path(__file__).resolve().parents[2]


def committed_data() -> Path:
    """The folder of the committed subsets."""
    return _CHECKOUT / "tests" / "data"


def full_data() -> Path | None:
    """The folder of the full sets, if there is one.

    ``SUREHAND_TEST_DATA`` names it; without that it is the folder ``shared/data`` beside the checkout.
    """
    named = os.environ.get("SUREHAND_TEST_DATA")
    folder = Path(named) if named else _CHECKOUT.parent / "shared" / "data"
    return folder if folder.is_dir() else None


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The records of a file of one JSON object a line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
