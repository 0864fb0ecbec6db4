"""What a server answered, as a tool's result or failure.

The answer is foreign JSON: nothing in it has to be of the type that the protocol names. What cannot be read as a block
is shown as the JSON that it is, so that a call that was carried out never ends in an error about its answer.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from surehand.calls import ToolReturn
from surehand.errors import ToolException
from surehand.shapes import is_object, items_of, mapping_of

__all__ = ["result_of"]

_SILENT: Final = "The server says that the call failed, and not why."
_STAMP: Final = "io.modelcontextprotocol/serverInfo"
"""The server's name, which newer servers put on every answer."""
_WAITS: Final = ("retry_after", "retryAfter", "retry-after", "retryAfterSeconds", "retry_after_seconds")
"""Names under which servers say for how many seconds they want to be left alone."""


def result_of(answer: Mapping[str, Any], hidden: Callable[[str], str]) -> Any:
    """The result of a call: text, content blocks or data; with what else the server sent as its artifact.

    Args:
        answer: The result of ``tools/call``, as it came.
        hidden: Takes out of words of the server's what must not be told.

    Raises:
        ToolException: The server says that the call failed; in its own words.
    """
    blocks = [_block(item) for item in items_of(answer.get("content"))]
    structured = answer.get("structuredContent")
    artifact = _artifact(answer, blocks)
    if answer.get("isError") is True:
        raise ToolException(hidden(_words(blocks, structured)), retry_after=_wait(structured), artifact=artifact)
    content = _content(blocks, structured)
    return content if artifact is None else ToolReturn(content, artifact)


def _content(blocks: list[dict[str, Any]], structured: Any) -> Any:
    shown = [block for block in blocks if block["type"] != "text" or str(block["text"]).strip()]
    if not any(block["type"] == "text" for block in shown) and structured is not None:
        data = {"type": "text", "text": _json(structured)}
        return structured if not shown else [data, *shown]
    if len(shown) == 1 and shown[0]["type"] == "text":
        return shown[0]["text"]
    return shown or None


def _words(blocks: list[dict[str, Any]], structured: Any) -> str:
    texts = [text for block in blocks if block["type"] == "text" and (text := str(block["text"]).strip())]
    if texts:
        return "\n".join(texts)
    return _SILENT if structured is None else _json(structured)


def _artifact(answer: Mapping[str, Any], blocks: list[dict[str, Any]]) -> dict[str, Any] | None:
    """What the program may want of an answer besides its text; None where there is nothing."""
    kept: dict[str, Any] = {}
    if answer.get("structuredContent") is not None:
        kept["structured_content"] = answer["structuredContent"]
    if any(block.get("type") != "text" or block != item for block, item in zip(blocks, _items(answer), strict=True)):
        kept["content"] = _items(answer)
    if meta := {key: value for key, value in mapping_of(answer.get("_meta")).items() if key != _STAMP}:
        kept["meta"] = meta
    return kept or None


def _items(answer: Mapping[str, Any]) -> list[Any]:
    return items_of(answer.get("content"))


def _block(item: Any) -> dict[str, Any]:
    """A block of MCP's as one that models are given; any other value as its JSON."""
    if not is_object(item):
        return _text(item if isinstance(item, str) else _json(item))
    match item.get("type"):
        case "text" if isinstance(item.get("text"), str):
            return _text(item["text"])
        case "image" | "audio" as kind if isinstance(item.get("data"), str):
            return _media(kind, item["data"], item.get("mimeType"))
        case "resource" if is_object(item.get("resource")):
            return _resource(item["resource"])
        case "resource_link" if isinstance(item.get("uri"), str):
            return _text(_link(item))
        case _:
            return _text(_json(item))


def _resource(resource: Mapping[str, Any]) -> dict[str, Any]:
    """A resource that came along: its text, or its bytes where models can be given such."""
    uri, kind = str(resource.get("uri") or "a resource"), resource.get("mimeType")
    if isinstance(resource.get("text"), str):
        return _text(f"[{uri}]\n{resource['text']}")
    if not isinstance(resource.get("blob"), str):
        return _text(_json(resource))
    family = kind.partition("/")[0] if isinstance(kind, str) else ""
    if family == "text" and (text := _decoded(resource["blob"])) is not None:
        return _text(f"[{uri}]\n{text}")
    if family in ("image", "audio"):
        return _media(family, resource["blob"], kind)
    if kind == "application/pdf":
        return _media("file", resource["blob"], kind)
    named = f", {kind}" if isinstance(kind, str) else ""
    return _text(f"[{uri}{named}: {len(resource['blob']) * 3 // 4} bytes, which cannot be shown]")


def _decoded(blob: str) -> str | None:
    try:
        return base64.b64decode(blob, validate=True).decode()
    except ValueError:
        return None


def _link(item: Mapping[str, Any]) -> str:
    name = next((item[key] for key in ("title", "name") if isinstance(item.get(key), str)), "")
    about = ", ".join(item[key] for key in ("mimeType", "description") if isinstance(item.get(key), str))
    return f"[{name}]({item['uri']})" + (f": {about}" if about else "")


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _media(kind: str, data: str, mime_type: Any) -> dict[str, Any]:
    named = {"mime_type": mime_type} if isinstance(mime_type, str) else {}
    return {"type": kind, "base64": data, **named}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _wait(structured: Any) -> float | None:
    """The seconds that a structured error asks for; None where it names none."""
    places = (mapping_of(structured), mapping_of(mapping_of(structured).get("error")))
    for place in places:
        for name in _WAITS:
            if (wait := _seconds(place.get(name))) is not None:
                return wait
        if (wait := _seconds(place.get("retry_after_ms", place.get("retryAfterMs")))) is not None:
            return wait / 1_000
    return None


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value) if value > 0 else None
