"""Replies that a server made and then refused, because it could not make calls of what its model wrote.

Groq checks a call against the schema and answers HTTP 400 ``tool_use_failed``, or ends a stream with it, with what the
model wrote under ``failed_generation``; Cerebras does the same. Ollama answers HTTP 500 where it cannot read the
arguments, and quotes them. The model has replied, so this is a reply: a call that a node answers, so that the model can
correct itself, or a text. As the server has said that a call was meant, a name need not be that of an offered tool.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from surehand.dialects.text_calls import read_text_calls
from surehand.errors import MalformedArguments
from surehand.grammar import parse_value
from surehand.messages import AIMessage, ToolCall, new_call_id
from surehand.shapes import items_of, mapping_of

__all__ = ["read_refusal"]

_NO_CALL: Final = "json_validate_failed"
"""The code beside which the same field holds an answer that is not the JSON that was asked for."""
_QUOTED: Final = re.compile(r"error parsing tool call: raw='(?P<raw>.*)', err=", re.DOTALL)
"""How Ollama quotes arguments; whose they are, it does not say."""
_TAGGED: Final = re.compile(r"<function=(?:name=)?[\"']?(?P<name>[^\s{}<>=\"'(\[]{1,128})[\"'>)\](\s=:]*")
"""How a call begins that Llama wrote in its own form, or nearly: brackets and quotes come and go."""
_CLOSER: Final = re.compile(r"</?function\b")
_LITTER: Final = " \t\r\n->;,)"
"""What stands between the arguments and the end of such a call."""
_WRAPPERS: Final = re.compile(
    r"\A\s*(?:```\w*|</?tool[-_](?:use|calls?)>|<\|python_tag\|>)|(?:```|</?tool[-_](?:use|calls?)>)\s*\Z"
)
_NAMED: Final = re.compile(
    r"""\{\s*["']name["']\s*:\s*["'](?P<name>[^"']{1,128})["']\s*,\s*["'](?:arguments|parameters)"""
)
_ARGUMENTS: Final = ("arguments", "parameters", "args", "input")


def read_refusal(error: object, tool_names: Collection[str]) -> AIMessage | None:
    """The reply that a server refused; None where its error holds none.

    What was recovered from stands in ``response_metadata["recovered"]``.

    Args:
        error: The error of the response or of the event, as the server sent it.
        tool_names: The names of the tools that were offered.
    """
    fields = mapping_of(error)
    fields = mapping_of(fields.get("error")) or fields
    text, calls = _said(fields, tool_names)
    if not text and not calls:
        return None
    recovered = {key: fields[key] for key in ("code", "message") if fields.get(key) is not None}
    metadata = {"finish_reason": "tool_calls" if calls else "stop", "recovered": recovered}
    return AIMessage(text, tool_calls=calls, response_metadata=metadata)


def _said(error: Mapping[str, Any], tool_names: Collection[str]) -> tuple[str, list[ToolCall]]:
    """The text and the calls of what the model wrote."""
    text, message = error.get("failed_generation"), error.get("message")
    if isinstance(text, str) and error.get("code") != _NO_CALL:
        return _read(text.strip(), tool_names)
    quoted = _QUOTED.search(message) if isinstance(message, str) else None
    return ("", [_call("", quoted["raw"])]) if quoted else ("", [])


def _read(text: str, tool_names: Collection[str]) -> tuple[str, list[ToolCall]]:
    opener = _TAGGED.search(text)
    has_json = opener is not None and text.startswith("{", opener.end())
    if not has_json and (calls := read_text_calls(text, tool_names)):
        return "", calls
    if opener is not None:
        return text[: opener.start()].strip(), _tagged(text[opener.start() :])
    calls = _json_calls(text, tool_names)
    return ("", calls) if calls else (text, [])


def _tagged(text: str) -> list[ToolCall]:
    """Calls in Llama's own form, each from its opener to the next."""
    openers = list(_TAGGED.finditer(text))
    ends = [*(opener.start() for opener in openers[1:]), len(text)]
    bodies = [text[opener.end() : end] for opener, end in zip(openers, ends, strict=True)]
    return [_call(opener["name"], _body(body)) for opener, body in zip(openers, bodies, strict=True)]


def _body(text: str) -> str:
    return _CLOSER.split(text, maxsplit=1)[0].rstrip(_LITTER)


def _json_calls(text: str, tool_names: Collection[str]) -> list[ToolCall]:
    """Calls in JSON, where the text is nothing else."""
    body = text
    while (inner := _WRAPPERS.sub("", body).strip()) != body:
        body = inner
    try:
        value, _ = parse_value(body)
    except MalformedArguments:
        broken = _NAMED.match(body)
        return [_call(broken["name"], body)] if broken else []
    listed: object = mapping_of(value).get("tool_calls", value)
    entries = [_entry(mapping_of(entry), tool_names) for entry in items_of(listed) or [listed]]
    calls = [entry for entry in entries if entry is not None]
    return calls if len(calls) == len(entries) else []


def _entry(entry: Mapping[str, Any], tool_names: Collection[str]) -> ToolCall | None:
    """The call that an object is: of an offered tool, or with arguments beside its name."""
    inner = mapping_of(entry.get("function")) or entry
    name = inner.get("name")
    given = next((source[key] for source in (inner, entry) for key in _ARGUMENTS if key in source), None)
    if not isinstance(name, str) or (given is None and name not in tool_names):
        return None
    return _call(name, given)


def _call(name: str, args: Any) -> ToolCall:
    return {"id": new_call_id(), "name": name, "args": args, "type": "tool_call"}
