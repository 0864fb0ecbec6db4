"""Tools that the tests serve over MCP."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from surehand import ToolContext, ToolException, tool

sys.stdout.write("this is printed while the module is imported\n")


@tool
def add(a: int, b: int = 1) -> int:
    "Add two numbers."
    return a + b


@dataclass
class Stock:
    item: str
    left: int


@tool(read_only=True)
def stock(item: str) -> Stock:
    "How many are left; of ink it says so in words."
    return Stock(item, 3) if item != "ink" else "plenty"  # type: ignore[return-value]


@tool
def chatty(text: str) -> str:
    "Print, and say it back."
    sys.stdout.write(f"on standard output: {text}\n")
    sys.stdout.flush()
    os.write(1, b"and below Python\n")
    return text


@tool(read_only=True)
async def count(number: int, ctx: ToolContext) -> str:
    "Count up, and tell how far it is."
    for step in range(number):
        ctx.progress({"progress": step + 1, "total": number, "message": f"step {step + 1}"})
        await asyncio.sleep(0.01)
    return "counted"


@tool(timeout=0.2)
def stuck() -> str:
    "Never ends in time."
    time.sleep(3)
    return "late"


@tool
async def wait(path: str) -> str:
    "Wait until it is cancelled, and leave a note when it is."
    note = partial(Path(path).write_text, encoding="utf-8")
    try:
        note("began")
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        await asyncio.sleep(0.05)  # cleaning up takes its time
        note("cleaned up")
        raise
    return "waited"


@tool
def fail(how: str) -> str:
    "Fail as it is told."
    if how == "author":
        raise ToolException("Sold out. Try Tuesday.")
    raise RuntimeError("cannot open /home/me/secret.txt with password=hunter2hunter2")


@tool(requires_approval=True, destructive=True)
def wipe(path: str) -> str:
    "Delete something."
    return f"wiped {path}"


@tool
def picture() -> list[dict[str, Any]]:
    "A text, an image and a sound."
    return [
        {"type": "text", "text": "look"},
        {"type": "image", "base64": "aW1n", "mime_type": "image/png"},
        {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lG"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "audio", "base64": "c25k", "mime_type": "audio/wav"},
    ]


@tool(max_output=200)
def long() -> str:
    "More than anybody wants to read."
    return "x" * 10_000


@tool
def book(pages: int) -> dict[str, str]:
    "A book with a thousand characters on each page."
    return {"text": "x" * pages * 1_000}


@tool
def pid() -> int:
    "The process of the server."
    return os.getpid()


@tool
def reads_input() -> str:
    "What is left for a tool on standard input."
    return repr(sys.stdin.read())
