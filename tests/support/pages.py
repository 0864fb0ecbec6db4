"""Python blocks in Markdown pages, and what they print."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(r"^```(?P<language>[\w-]*)[^\n]*\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A Python block; ``output`` is the text block that directly follows it, None without one."""

    code: str
    line: int
    output: str | None = None


def pages_with_examples() -> list[Path]:
    """README.md and every page under docs/ that holds a Python block."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in pages if "```python" in page.read_text(encoding="utf-8")]


def examples(page: Path) -> list[Example]:
    """The Python blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    blocks = list(_FENCE.finditer(text))
    found: list[Example] = []
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block["language"] != "python":
            continue
        is_output = (
            following is not None
            and following["language"] == "text"
            and not text[block.end() : following.start()].strip()
        )
        found.append(
            Example(
                code=block["body"],
                line=text.count("\n", 0, block.start()) + 2,
                output=following["body"] if following is not None and is_output else None,
            )
        )
    return found
