"""What a reply of OpenAI's Responses is made of: items, some of which are calls.

Three kinds of calls have to be told apart. Calls of functions and of custom tools are the client's: they are run, and
answered by an output item with their ``call_id``. What the provider ran itself (searches, code, remote MCP tools) is a
record of what happened. And tools of the provider's that run at the client's (its shell, patches, computer) are asked
for and answered in forms of their own, which no function has. Only the first become calls here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from surehand.messages import Content, text_of
from surehand.messages.assembly import CUT_OFF
from surehand.shapes import is_array, items_of, mapping_of

__all__ = [
    "CUSTOM",
    "FUNCTION",
    "OUTPUTS",
    "call_entry",
    "call_id_of",
    "content_of",
    "is_call",
    "is_follow_up",
    "is_item",
    "item_of",
    "message_fields",
    "output_of",
    "without_items",
]

FUNCTION: Final = "function_call"
CUSTOM: Final = "custom_tool_call"
OUTPUTS: Final[dict[str, str]] = {FUNCTION: "function_call_output", CUSTOM: "custom_tool_call_output"}
"""Kind of call -> the kind of item that answers it."""

_PROVIDER_RUN: Final = "xs_call_"
"""How the ids of those custom calls begin that xAI ran itself: it reports its searches on X in our tools' form."""
_KINDS: Final = frozenset(
    {
        "message", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "tool_search_output", "program",
        "program_output", "item_reference", "additional_tools", "configuration_update", "compaction_trigger",
    }
)  # fmt: skip
_ANSWERS: Final = frozenset({"mcp_approval_response", "tool_search_output"})
_SHARED: Final = {"reasoning": "reasoning", "compaction": "content"}
"""Kinds whose names others use too -> what theirs hold, and ours do not."""
_ELSEWHERE: Final = frozenset({"tool_call", "server_tool_call", "invalid_tool_call"})
"""Kinds of LangChain's that end like items."""


def item_of(value: object) -> Mapping[str, Any]:
    """The value as JSON: a mapping as it is, an object of the SDK's as it came; else an empty mapping."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        # With the nulls that were sent: some fields may be null, and must not be left out.
        value = dump(exclude_unset=True, warnings=False)
    fields = mapping_of(value)
    return fields if isinstance(fields.get("type", ""), str) else {}


def output_of(fields: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """The items of a whole reply; None where it is none."""
    output: object = fields.get("output")
    if not is_array(output) or not (fields.get("object") == "response" or "type" not in fields):
        return None
    return [item_of(item) for item in output]


def is_item(block: Mapping[str, Any]) -> bool:
    """Whether a block of a content is an item of this API, and of no other."""
    kind = block.get("type")
    if not isinstance(kind, str) or kind in _ELSEWHERE:
        return False
    if kind in _SHARED:
        return _SHARED[kind] not in block
    return kind in _KINDS or kind.endswith(("_call", "_call_output"))


def is_call(item: Mapping[str, Any]) -> bool:
    """Whether the item is a call that the client runs."""
    return item.get("type") in OUTPUTS and not str(item.get("call_id")).startswith(_PROVIDER_RUN)


def is_follow_up(item: Mapping[str, Any]) -> bool:
    """Whether the item answers a call before it that is none of ours, whoever ran that."""
    kind = item.get("type")
    return isinstance(kind, str) and (kind.endswith("_call_output") or kind in _ANSWERS)


def call_id_of(item: Mapping[str, Any]) -> str | None:
    """The id that the answer to a call names; None where it has none."""
    call_id = item.get("call_id") or item.get("id")
    return call_id if isinstance(call_id, str) else None


def call_entry(item: Mapping[str, Any]) -> dict[str, Any]:
    """The call as ``AIMessage`` reads it; one whose sending stopped can never run, however whole its text looks."""
    call_id, name, status = call_id_of(item), item.get("name"), item.get("status")
    given: object = item.get("input" if item.get("type") == CUSTOM else "arguments")
    is_blank = given is None or (isinstance(given, str) and not given.strip())
    if status == "incomplete":
        error = "The arguments were cut off."
        return {"type": "invalid_tool_call", "id": call_id, "name": name, "args": given or CUT_OFF, "error": error}
    if item.get("type") == CUSTOM:
        return {"id": call_id, "custom": {"name": name, "input": "" if given is None else given}}
    return {"id": call_id, "name": name, "args": CUT_OFF if is_blank and status == "in_progress" else given}


def message_fields(items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The items of one turn as an assistant's message with the calls in it."""
    fields: dict[str, Any] = {
        "role": "assistant",
        "content": content_of(items),
        "tool_calls": [call_entry(item) for item in items if is_call(item)],
    }
    refusal = "".join(part["refusal"] for part in _parts(items) if isinstance(part.get("refusal"), str))
    return {**fields, "refusal": refusal} if refusal else fields


def content_of(items: Sequence[Mapping[str, Any]]) -> Content:
    """One plain text as a text, anything else as the items."""
    if not items:
        return ""
    if len(items) == 1 and items[0].get("type") == "message" and not items[0].get("phase"):
        content: object = items[0].get("content")
        parts = [mapping_of(part) for part in items_of(content)]
        is_plain = [part.get("type") for part in parts] == ["output_text"] and not parts[0].get("annotations")
        if is_plain or isinstance(content, str):
            return text_of(content)
    return [dict(item) for item in items]


def _parts(items: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The parts of the messages among the items."""
    contents: list[object] = [item.get("content") for item in items if item.get("type") == "message"]
    return [mapping_of(part) for content in contents for part in items_of(content)]


def without_items(blocks: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The blocks as far as other providers know them: of the items only the texts."""
    kept: list[Mapping[str, Any]] = []
    for block in blocks:
        if not is_item(block):
            kept.append(block)
        elif text := text_of([dict(block)]):
            kept.append({"type": "text", "text": text})
    return kept
