"""What a server answered, as a tool's result or as its failure."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from surehand.calls import ToolReturn
from surehand.integrations.openapi.credentials import Proof
from surehand.shapes import is_object, items_of, mapping_of
from surehand.wording import clipped

__all__ = ["RequestFailed", "result_of"]

_FIRST_REDIRECT: Final = 300
_FIRST_ERROR: Final = 400
_MAX_WORDS: Final = 1_000
"""Characters of a server's error that the model is told."""
_SAYING: Final = ("detail", "message", "error_description", "error", "title", "errors", "msg", "reason", "description")
"""Keys under which servers say what is wrong, the most telling first (``detail`` is that of RFC 9457)."""
_KEPT_HEADERS: Final = ("content-type", "content-length", "etag", "last-modified")


class RequestFailed(Exception):
    """A server answered a request with an error.

    Retries go by its status and its ``Retry-After``, as for any client's exception.
    """

    def __init__(self, *, status_code: int, problem: str, headers: Mapping[str, str]) -> None:
        super().__init__(problem)
        self.status_code = status_code
        """The HTTP status."""
        self.headers = headers
        """Of the answer."""


def result_of(status: int, headers: Mapping[str, str], body: bytes, proof: Proof, *, method: str) -> Any:
    """The result of a call: data for JSON, text, an image as a block; other bytes as an artifact.

    Raises:
        RequestFailed: The server refused or failed.
    """
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if status >= _FIRST_REDIRECT:
        raise RequestFailed(
            status_code=status,
            problem=_problem(status, _words(_text(headers, body, proof), kind)),
            headers={
                name: value for name, value in headers.items() if name in ("retry-after", "date", "retry-after-ms")
            },
        )
    if method == "HEAD":
        return {"status": status, **{name: headers[name] for name in _KEPT_HEADERS if name in headers}}
    if not body:
        return f"Done: {_named(status)}, without a body."
    if kind.startswith("image/") and kind != "image/svg+xml":
        block = {"type": "image", "base64": base64.b64encode(body).decode(), "mime_type": kind}
        return ToolReturn([block], artifact=body)
    if not _is_text(kind, body):
        return ToolReturn(f"{len(body):,} bytes of {kind or 'unknown type'}, kept as the artifact.", artifact=body)
    return _value(_text(headers, body, proof), kind)


def _value(text: str, kind: str) -> Any:
    """JSON as data where it is JSON; else the text as it is."""
    if kind.endswith("json") or not kind:
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _is_text(kind: str, body: bytes) -> bool:
    if kind.startswith("text/") or kind.endswith(("json", "xml", "yaml", "javascript", "x-www-form-urlencoded", "csv")):
        return True
    return not kind and b"\0" not in body[:1_000]


def _text(headers: Mapping[str, str], body: bytes, proof: Proof) -> str:
    charset = headers.get("content-type", "").lower().partition("charset=")[2].partition(";")[0].strip("\"' ")
    try:
        text = body.decode(charset or "utf-8", "replace")
    except LookupError:  # a charset that nobody knows
        text = body.decode("utf-8", "replace")
    return proof.hidden_in(text.removeprefix("\ufeff"))


def _problem(status: int, words: str) -> str:
    if status < _FIRST_ERROR:
        return f"{_named(status)}: the server sends to another address, and redirects are not followed."
    return f"{_named(status)}: {words}" if words else f"{_named(status)}."


def _named(status: int) -> str:
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"


def _words(text: str, kind: str) -> str:
    """What a server says is wrong; of a page for people nothing."""
    if kind == "text/html" or text.lstrip()[:1] == "<":
        return ""
    value = _value(text, "json")
    return clipped(_said(value) or (text.strip() if isinstance(value, str) else _compact(value)), _MAX_WORDS)


def _said(value: Any, depth: int = 0) -> str:
    """The message in an error's JSON, wherever servers put it; empty where there is none."""
    if isinstance(value, str):
        return value.strip()
    if not is_object(value) or depth > 2:  # noqa: PLR2004 - {"error": {"details": {"message": …}}}
        return "; ".join(filter(None, (_said(item, depth + 1) for item in items_of(value)))) if depth else ""
    found = [_said(value[key], depth + 1) for key in _SAYING if value.get(key)]
    words = next(filter(None, found), "")
    is_vague = words and mapping_of(value).get("errors") and not value.get("detail")
    return f"{words}: {_compact(value['errors'])}" if is_vague and words not in _compact(value["errors"]) else words


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if value not in (None, "", {}, []) else ""
