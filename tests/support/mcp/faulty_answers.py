"""What the fault servers declare and answer: plain JSON, with no SDK that would keep them from it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["DECLARED", "HOSTILE", "Failure", "answer", "declared"]

Progress = Callable[[float], None]


class Failure(Exception):
    """An error of the protocol: code and message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def declared(name: str, hints: dict[str, Any] | None = None, /, **properties: str) -> dict[str, Any]:
    """A tool whose arguments are all required, each with its type."""
    fields = {key: {"type": kind} for key, kind in properties.items()}
    schema = {"type": "object", "properties": fields, "required": list(fields)}
    hinted = {} if hints is None else {"annotations": hints}
    return {"name": name, "description": f"Does {name}.", "inputSchema": schema, **hinted}


DECLARED = [
    declared("echo", text="string"),
    declared("add", a="integer", b="integer"),
    declared("append", path="string", line="string"),
    declared("append_and_die", path="string", line="string"),
    declared("append_and_die_idempotent", {"idempotentHint": True}, path="string", line="string"),
    declared("die"),
    declared("slow", {"readOnlyHint": True}, seconds="number"),
    declared("wipe", {"destructiveHint": True}, path="string"),
    declared("huge", size="integer"),
    declared("refuse", code="integer"),
    declared("busy"),
    declared("no_text"),
    declared("blocks"),
    declared("wrong_blocks"),
    declared("silent_error"),
    declared("undeclared_form"),
    declared("environment", name="string"),
    declared("names", self="string", config="string", run_manager="string", args="array", kwargs="object"),
]
"""The tools of a fault server."""
DECLARED[-3]["outputSchema"] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def _nested(depth: int) -> dict[str, Any]:
    return {"type": "array", "items": _nested(depth - 1)} if depth else {}


HOSTILE: list[Any] = [
    {"name": "no_schema", "description": 7},
    {"name": "schema_is_text", "inputSchema": "object"},
    {"name": "schema_of_list", "inputSchema": {"type": "array"}},
    {"name": "bad_type", "inputSchema": {"type": "object", "properties": {"a": {"type": "strnig"}}}},
    {"name": "lost_reference", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}}},
    {"name": "far_reference", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/a"}}}},
    {"name": "", "inputSchema": {"type": "object"}},
    {"name": "a\nb", "inputSchema": {"type": "object"}},
    {"name": "x" * 200, "inputSchema": {"type": "object"}},
    {"inputSchema": {"type": "object"}},
    "no tool",
    None,
    {"name": "twice", "inputSchema": {"type": "object"}, "description": "first"},
    {"name": "twice", "inputSchema": {"type": "object"}, "description": "second"},
    {"name": "no_type", "inputSchema": {"properties": {"a": {"type": "string"}}}},
    {"name": "dotted.name", "inputSchema": {"type": "object"}},
    {"name": "dotted name", "inputSchema": {"type": "object"}},
    {"name": "half a pair \ud800", "inputSchema": {"type": "object"}},
    {"name": "too_deep", "inputSchema": {"type": "object", "properties": {"a": _nested(300)}}},
]
"""Declarations of which only ``twice`` (once), ``no_type`` and ``dotted.name`` can be used."""


def answer(name: str, arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """The result of a call."""
    if name in ANSWERS:
        return ANSWERS[name]
    if name.startswith("append"):
        return _appended(name, Path(arguments["path"]), arguments["line"])
    if name == "slow":
        return _slow(arguments["seconds"], progress)
    return _text(_SAID[name](arguments))


def _die(_: dict[str, Any]) -> str:
    os._exit(3)


def _refuse(arguments: dict[str, Any]) -> str:
    raise Failure(arguments["code"], "not today")


_SAID: dict[str, Callable[[dict[str, Any]], str]] = {
    "add": lambda arguments: str(arguments["a"] + arguments["b"]),
    "die": _die,
    "echo": lambda arguments: str(arguments["text"]),
    "environment": lambda arguments: os.environ.get(arguments["name"], "not set"),
    "huge": lambda arguments: "x" * arguments["size"],
    "names": lambda arguments: ", ".join(sorted(arguments)),
    "refuse": _refuse,
}


def _text(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def _appended(name: str, path: Path, line: str) -> dict[str, Any]:
    is_first = not path.exists()
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    if name == "append_and_die" or (name == "append_and_die_idempotent" and is_first):
        os._exit(4)
    return _text("appended")


def _slow(seconds: float, progress: Progress) -> dict[str, Any]:
    until = time.monotonic() + seconds
    step = 0
    while time.monotonic() < until:
        time.sleep(min(0.05, seconds))
        step += 1
        progress(step)
    return _text("done")


ANSWERS: dict[str, dict[str, Any]] = {
    "busy": {
        "content": [{"type": "text", "text": "Too many requests."}],
        "structuredContent": {"code": "busy", "retry_after": 3},
        "isError": True,
    },
    "silent_error": {"content": [], "isError": True},
    "no_text": {"content": [], "structuredContent": {"n": 1}, "_meta": {"trace": "t-1"}},
    "undeclared_form": {"content": [{"type": "text", "text": "fine"}], "structuredContent": {"n": "many"}},
    "blocks": {
        "content": [
            {"type": "text", "text": "one"},
            {"type": "image", "data": "aW1n", "mimeType": "image/png"},
            {"type": "audio", "data": "c25k", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "file:///a.txt", "name": "a.txt", "description": "a file"},
            {"type": "resource", "resource": {"uri": "file:///b.txt", "mimeType": "text/plain", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "file:///c.png", "mimeType": "image/png", "blob": "aW1n"}},
            {"type": "resource", "resource": {"uri": "file:///d.zip", "mimeType": "application/zip", "blob": "AAAA"}},
        ]
    },
    "wrong_blocks": {
        "content": [
            {"type": "video", "data": "dmlk"},
            {"type": "text"},
            {"type": "image", "data": 7},
            "bare",
            None,
            {"type": "resource", "resource": "nothing"},
        ],
        "isError": "no",
        "structuredContent": [1, 2],
        "_meta": "none",
    },
}
