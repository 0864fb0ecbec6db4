"""Running example programs as a user does, with the replies of a provider on 127.0.0.1."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.pages import ROOT

__all__ = ["EXAMPLES", "anthropic_reply", "chat_reply", "run_example", "run_python"]

EXAMPLES = ROOT / "examples"


def run_python(
    *arguments: str, cwd: Path, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python without the keys and addresses of this machine; the output is UTF-8."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_BASE_URL"))}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**kept, "PYTHONUTF8": "1", "NO_PROXY": "127.0.0.1,localhost", **(environ or {})},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=250,  # for tests that have a longer limit than the usual one
        check=False,
    )


def run_example(name: str, *, folder: Path = EXAMPLES, url: str = "http://127.0.0.1:1") -> str:
    """What an example prints; every provider is found at ``url``."""
    environ = {
        "ANTHROPIC_API_KEY": "test",
        "ANTHROPIC_BASE_URL": url,
        "DEEPSEEK_API_KEY": "test",
        "DEEPSEEK_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": "test",
        "OPENAI_BASE_URL": f"{url}/v1",
    }
    ended = run_python("-W", "error", str(folder / name), cwd=folder, environ=environ)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def chat_reply(text: str | None = None, *calls: tuple[str, str, Any]) -> dict[str, Any]:
    """A chat completion; a call is its id, its name, and its arguments as an object or as text."""
    sent = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": _argument_text(arguments)}}
        for call_id, name, arguments in calls
    ]
    message = {"role": "assistant", "content": text, **({"tool_calls": sent} if sent else {})}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if sent else "stop"}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def anthropic_reply(blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """An Anthropic message made of these content blocks."""
    has_calls = any(block["type"] == "tool_use" for block in blocks)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-3-5-haiku-latest",
        "content": list(blocks),
        "stop_reason": "tool_use" if has_calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


def _argument_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
