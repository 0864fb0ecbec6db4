"""Servers that others have written."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from support.pages import ROOT
from surehand.integrations.mcp import McpServer

__all__ = ["children", "everything", "git", "time"]


def time(**options: Any) -> McpServer:
    """``mcp-server-time``."""
    return McpServer.stdio(sys.executable, ["-m", "mcp_server_time", "--local-timezone", "UTC"], name="time", **options)


def git(folder: Path, **options: Any) -> McpServer:
    """``mcp-server-git``, for one repository."""
    return McpServer.stdio(sys.executable, ["-m", "mcp_server_git", "--repository", folder], name="git", **options)


def everything(**options: Any) -> McpServer:
    """``@modelcontextprotocol/server-everything``; the test is skipped where it was not fetched, but not in CI."""
    script = runpy.run_path(str(ROOT / "scripts" / "fetch_test_servers.py"))
    node, program = script["node"](), script["program_in"](script["default_folder"]())
    if node is None or not program.is_file():
        reason = "server-everything is not installed: run scripts/fetch_test_servers.py"
        if "CI" in os.environ:
            pytest.fail(reason)
        pytest.skip(reason)
    return McpServer.stdio(node, [program, "stdio"], name="everything", **options)


def children() -> set[int]:
    """The processes that this one has started and that have not ended."""
    found: set[int] = set()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[1]) == os.getpid() and fields[0] != "Z":
            found.add(int(folder.name))
    return found
