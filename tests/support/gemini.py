"""Gemini's JSON in few words."""

from __future__ import annotations

from typing import Any

from surehand.dialects import gemini
from surehand.messages import Message

__all__ = ["SIGNATURE", "Part", "answer", "call", "content", "reply", "written"]

Part = dict[str, Any]

SIGNATURE = "CuYBAVSoXO4="


def call(name: str = "f", call_id: str | None = None, signature: str | None = None, **args: Any) -> Part:
    inner = {"name": name, "args": args} if call_id is None else {"id": call_id, "name": name, "args": args}
    return {"functionCall": inner} if signature is None else {"functionCall": inner, "thoughtSignature": signature}


def answer(name: str = "f", call_id: str | None = None, **response: Any) -> Part:
    inner = (
        {"name": name, "response": response} if call_id is None else {"id": call_id, "name": name, "response": response}
    )
    return {"functionResponse": inner}


def content(role: str, *parts: Part) -> Part:
    return {"role": role, "parts": list(parts)}


def reply(*parts: Part, reason: str | None = "STOP", **fields: Any) -> Part:
    return {"candidates": [{"content": content("model", *parts), "finishReason": reason, **fields}]}


def written(*messages: Message, **options: Any) -> list[Part]:
    return gemini.write_messages(messages, **options)[1]
