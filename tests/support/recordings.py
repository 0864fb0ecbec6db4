"""What a recording of a provider says was called, and what we read of it: one measure for all dialects."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from surehand.messages import AIMessage, Message, check_transcript
from surehand.shapes import is_array, is_object, items_of, mapping_of

__all__ = ["APIS", "Record", "history_faults", "reply_faults", "stream_faults"]

Record = dict[str, Any]

APIS: Final = {
    "openai.chat": "openai_chat",
    "openai.responses": "openai_responses",
    "anthropic.messages": "anthropic_messages",
    "gemini.generateContent": "gemini",
    "bedrock.converse": "bedrock_converse",
    "bedrock.invoke.anthropic": "anthropic_messages",
    "cohere.v2.chat": "cohere_chat",
    "ollama.chat": "ollama_chat",
}
"""The name of an interface in the recordings -> the module that reads it."""

_OURS: Final = frozenset({"function", "tool_use", "toolUse", "custom", "legacy_function_call"})
"""Kinds of calls that a client runs; the provider ran the others."""
_CALLS: Final = {"tool_use": "input", "function_call": "arguments", "custom_tool_call": "input"}
_ANSWERS: Final = frozenset({"tool_result", "function_call_output", "custom_tool_call_output"})


def _module(record: Record) -> Any:
    return importlib.import_module(f"surehand.dialects.{APIS[record['api']]}")


def reply_faults(record: Record) -> list[str]:
    """What is not as recorded in a reply that came as a whole."""
    module, payload = _module(record), record["response"]
    if record["api"] == "openai.chat":
        messages = [module.read_reply(payload, choice=place) for place in range(len(payload["choices"]))]
    else:
        messages = [module.read_reply(payload)]
    return _call_faults(record, messages)


def stream_faults(record: Record) -> list[str]:
    """What is not as recorded in a reply that came in pieces."""
    module = _module(record)
    kind = next(getattr(module, name) for name in module.__all__ if name.endswith("Stream"))
    events = [event["data"] for event in record["events"] if isinstance(event["data"], dict)]
    numbers = {choice.get("index", 0) for event in events for choice in map(mapping_of, items_of(event.get("choices")))}
    streams = [kind(choice=number) for number in sorted(numbers)] if record["api"] == "openai.chat" else [kind()]
    for event in events:
        for stream in streams:
            stream.feed(event)
    return _call_faults(record, [stream.finish() for stream in streams])


def _call_faults(record: Record, messages: list[AIMessage]) -> list[str]:
    expected = [
        (call["id"] or None, call["name"], _arguments(call))
        for call in record["tool_calls"]
        if call["kind"] in _OURS and (call["name"] or call["arguments"])
    ]
    calls = [call for message in messages for call in message.tool_calls]
    read = [
        # Ids that were made count as the missing ones that they stand for.
        (call["id"] if place < len(expected) and expected[place][0] else None, call["name"], call["args"])
        for place, call in enumerate(calls)
    ]
    return [] if read == expected else [f"expected {expected}, read {read}"]


def _arguments(call: Mapping[str, Any]) -> Any:
    raw = call["arguments"]
    if call["kind"] == "custom":
        return {"input": raw}
    if raw is None or raw == "":
        return {}
    try:
        return json.loads(raw) if isinstance(raw, str) else raw
    except ValueError:
        return raw


def history_faults(record: Record) -> list[str]:
    """What is not as the provider accepted it, in a history that is read and written again."""
    module = _module(record)
    messages: list[Message] = module.read_messages(record["messages"])
    needs_repair = bool(check_transcript(messages))
    written = module.write_messages(messages)
    items = written[-1] if isinstance(written, tuple) else written
    faults = [str(problem) for problem in check_transcript(module.read_messages(items))]
    before, after = list(_traffic(record["messages"])), list(_traffic(items))
    if not needs_repair and before != after:
        faults.append(f"was {before}, is {after}")
    return faults


def _traffic(value: Any) -> Iterator[tuple[Any, ...]]:
    """The calls and answers in a history, in order, whatever its dialect."""
    if is_array(value):
        for item in value:
            yield from _traffic(item)
    elif is_object(value):
        found = _atom(value)
        if found is None:
            for key in ("content", "parts", "tool_calls"):
                yield from _traffic(value.get(key))
        else:
            yield found
            if found[0] == "message":
                yield from _traffic(value.get("tool_calls"))


def _atom(item: Mapping[str, Any]) -> tuple[Any, ...] | None:
    kind = item.get("type")
    if kind in _CALLS and "role" not in item:
        return ("call", item.get("call_id", item.get("id")), item.get("name"), _json(item.get(_CALLS[kind])))
    if kind in _ANSWERS:
        return ("answer", item.get("call_id", item.get("tool_use_id")))
    if "function" in item and "role" not in item:
        function = mapping_of(item["function"])
        return ("call", item.get("id"), function.get("name"), _json(function.get("arguments")))
    if kind == "custom" and "custom" in item:
        return ("call", item.get("id"), item["custom"].get("name"), item["custom"].get("input"))
    if item.get("role") == "tool":
        return ("answer", item.get("tool_call_id"))
    for key, what in (("functionCall", "call"), ("toolUse", "call"), ("functionResponse", "answer")):
        if key in item:
            inner = mapping_of(item[key])
            given = (_json(inner.get("args", inner.get("input"))),) if what == "call" else ()
            return (what, inner.get("id", inner.get("toolUseId")), inner.get("name"), *given)
    if "toolResult" in item:
        return ("answer", item["toolResult"].get("toolUseId"), item["toolResult"].get("status", "success"))
    return None


def _json(value: Any) -> Any:
    if value is None or value == "":
        return {}
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value
