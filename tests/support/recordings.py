"""What a recording of a provider says was called, and what we read of it: one measure for all dialects."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from surehand.messages import AIMessage, Message, check_transcript
from surehand.shapes import is_array, is_object, items_of, mapping_of

__all__ = ["APIS", "EXCEPTIONS", "Record", "exception_of", "history_faults", "reply_faults", "stream_faults"]

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

_IN_PIECES: Final = (
    "the arguments come in pieces with paths, which we put together; the recording's own list leaves them out"
)

EXCEPTIONS: Final = {
    "anthropic-programmatic-tool-calling.1.chunks.txt": (
        "the arguments stand in the block's start, where we read them; the recording's own list, made from the deltas "
        "alone, has none"
    ),
    "xai-x-search-tool.chunks.txt": (
        "xAI lists the searches on X that it ran itself as custom calls, and goes on after them: none is for us to run"
    ),
    "google-stream-no-args-tool-call.chunks.txt": _IN_PIECES,
    "google-stream-tool-call-arguments.chunks.txt": _IN_PIECES,
    "google-stream-tool-call-array-arguments-missing-terminal": _IN_PIECES,
    "google-vertex-stream-tool-call-arguments-nested": _IN_PIECES,
}
"""Part of a recording's source -> why what we read is right, and the list beside the recording is not."""

_OURS: Final = frozenset({"function", "tool_use", "toolUse", "custom", "legacy_function_call"})
"""Kinds of calls that a client runs; the provider ran the others."""
_PIECE: Final = "gemini_partial_chunk"
_CALLS: Final = {"tool_use": "input", "function_call": "arguments", "custom_tool_call": "input"}
_ANSWERS: Final = frozenset({"tool_result", "function_call_output", "custom_tool_call_output"})


def exception_of(record: Record) -> str | None:
    """Why a recording is rightly read in another way than its list says; None where it is none of these."""
    if any(call["kind"] == _PIECE for call in record.get("tool_calls", ())):
        return "the list holds the pieces of Gemini's streamed arguments, and not the calls that they make"
    return next((reason for part, reason in EXCEPTIONS.items() if part in record["source"]), None)


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
        value = json.loads(raw) if isinstance(raw, str) else raw
    except ValueError:
        return raw
    return {} if value is None else value  # the text `null` says no more than no text


def history_faults(record: Record) -> list[str]:
    """What is not as the provider accepted it, in a history that is read and written again."""
    module = _module(record)
    messages: list[Message] = module.read_messages(record["messages"])
    needs_repair = bool(check_transcript(messages))
    written: Any = module.write_messages(messages)
    items: list[Any] = written if is_array(written) else written[-1]
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


def _atom(item: Mapping[str, Any]) -> tuple[Any, ...] | None:
    return _wrapped(item) or (_answer(item) if "role" in item else _typed(item))


def _wrapped(item: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """A block whose one key says what it is, as Gemini and Bedrock have them."""
    for key in ("functionCall", "toolUse"):
        if key in item:
            inner = mapping_of(item[key])
            given = inner.get("args", inner.get("input"))
            return ("call", inner.get("id", inner.get("toolUseId")), inner.get("name"), _json(given))
    if "functionResponse" in item:
        return ("answer", mapping_of(item["functionResponse"]).get("id"), item["functionResponse"].get("name"))
    if "toolResult" in item:
        return ("answer", item["toolResult"].get("toolUseId"), item["toolResult"].get("status", "success"))
    return None


def _answer(item: Mapping[str, Any]) -> tuple[Any, ...] | None:
    return ("answer", item.get("tool_call_id", item.get("tool_name"))) if item.get("role") == "tool" else None


def _typed(item: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """A block or an item that has a type, as OpenAI and Anthropic have them."""
    kind = item.get("type")
    if kind in _ANSWERS:
        return ("answer", item.get("call_id", item.get("tool_use_id")))
    if kind in _CALLS:
        return ("call", item.get("call_id", item.get("id")), item.get("name"), _json(item.get(_CALLS[kind])))
    fields = mapping_of(item.get("function") or item.get("custom"))
    if not fields:
        return None
    return ("call", item.get("id"), fields.get("name"), _json(fields.get("arguments", fields.get("input"))))


def _json(value: Any) -> Any:
    if value is None or value == "":
        return {}
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value
