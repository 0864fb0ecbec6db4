"""A model for the evaluation's own tests: it says what its script says, whatever it is asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from evals.prompting import Payload

__all__ = ["ScriptedBrain", "call"]


def call(name: str, **arguments: Any) -> Mapping[str, Any]:
    """A reply that calls a tool."""
    return {"name": name, "arguments": json.dumps(arguments)}


class ScriptedBrain:
    """Replies in order, texts or calls; the last one for ever."""

    def __init__(self, replies: Sequence[str | Mapping[str, Any]]) -> None:
        self.asked: list[Payload] = []
        self.firsts: list[bool] = []
        self._replies = replies

    def answer(self, asked: Payload, *, is_first: bool) -> Payload:
        """The next reply."""
        number = min(len(self.asked), len(self._replies) - 1)
        self.asked.append(asked)
        self.firsts.append(is_first)
        reply = self._replies[number]
        if isinstance(reply, str):
            return _payload({"role": "assistant", "content": reply}, "stop")
        calls = [{"id": f"call_{len(self.asked)}", "type": "function", "function": reply}]
        return _payload({"role": "assistant", "content": "", "tool_calls": calls}, "tool_calls")


def _payload(message: Mapping[str, Any], reason: str) -> Payload:
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}]}
