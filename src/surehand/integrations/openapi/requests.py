"""From arguments to a request that can be sent."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

from surehand.errors import ModelRetry
from surehand.integrations.openapi.arguments import Plan
from surehand.integrations.openapi.credentials import Proof
from surehand.integrations.openapi.operations import Body, Operation
from surehand.integrations.openapi.styles import as_text, cookie_text, form_pairs, header_text, path_text, query_text
from surehand.shapes import is_array, is_object

__all__ = ["Request", "request_for"]

Part: TypeAlias = tuple[str, tuple[str | None, bytes, str | None]]
"""Name; and file name, bytes and content type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is handed to the client."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, bytes] = field(repr=False)
    content: bytes | None
    """The body; None for none, or where it has parts."""
    parts: list[Part] | None
    """Those of a multipart body; None for any other."""


def request_for(
    operation: Operation, plan: Plan, arguments: Mapping[str, Any], proof: Proof, *, base_url: str, key: str
) -> Request:
    """The request that a call with these arguments makes.

    Args:
        operation: What is asked for.
        plan: Where each argument goes.
        arguments: As they were validated; what was left out is not there.
        proof: What the host adds.
        base_url: What the path is put behind.
        key: The call's idempotency key.

    Raises:
        ModelRetry: An argument cannot be sent: it would lead elsewhere, or is no base64.
    """
    path, queries, headers, cookies = operation.path, list[str](), dict[str, str](), dict[str, str]()
    for argument, parameter in plan.parameters:
        if argument not in arguments or (arguments[argument] is None and parameter.place != "path"):
            continue
        value = arguments[argument]
        match parameter.place:
            case "path":
                path = path.replace(f"{{{parameter.name}}}", path_text(parameter, value))
            case "query":
                queries.append(query_text(parameter, value))
            case "header":
                headers[parameter.name] = header_text(parameter, value)
            case "cookie":
                cookies[parameter.name] = cookie_text(parameter, value)
    if plan.idempotency_header is not None:
        headers[plan.idempotency_header] = key
    headers |= proof.headers
    queries += [f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in proof.query.items()]
    cookies |= proof.cookies
    if cookies:
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
    content = _body(operation.body, plan, arguments)
    if content.media_type is not None:
        headers["Content-Type"] = content.media_type
    query = "&".join(filter(None, queries))
    return Request(
        method=operation.method,
        url=f"{base_url.rstrip('/')}{path}{f'?{query}' if query else ''}",
        headers={name: value.encode() for name, value in headers.items()},
        content=content.data,
        parts=content.parts,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    data: bytes | None = None
    parts: list[Part] | None = None
    media_type: str | None = None
    """None for none, and for parts: a multipart's type is the client's to say."""


def _body(body: Body | None, plan: Plan, arguments: Mapping[str, Any]) -> _Content:
    if body is None or (plan.whole is not None and plan.whole not in arguments):
        return _Content()
    if plan.whole is not None:
        return _whole(body, plan, arguments[plan.whole])
    fields = {name: arguments[argument] for argument, name in plan.fields if argument in arguments}
    return _made(body, plan, fields) if fields or body.is_required else _Content()


def _whole(body: Body, plan: Plan, value: Any) -> _Content:
    if plan.whole in plan.files:
        return _Content(data=_bytes(value, plan.whole or ""), media_type=body.media_type)
    if is_object(value):
        return _made(body, plan, value)
    is_text = isinstance(value, str) and "json" not in body.media_type
    return _Content(data=value.encode() if is_text else _json(value), media_type=_media_type(body))


def _made(body: Body, plan: Plan, fields: Mapping[str, Any]) -> _Content:
    if body.media_type.startswith("multipart/"):
        return _Content(parts=[part for name, value in fields.items() for part in _parts(body, plan, name, value)])
    if body.media_type == "application/x-www-form-urlencoded":
        return _Content(data=urlencode(form_pairs(fields)).encode(), media_type=body.media_type)
    return _Content(data=_json(fields), media_type=_media_type(body))


def _parts(body: Body, plan: Plan, name: str, value: Any) -> list[Part]:
    kind = body.encodings.get(name)
    if name in plan.files:
        return [(name, (name, _bytes(value, name), kind or "application/octet-stream"))]
    if is_array(value) and not any(map(is_object, value)):
        return [(name, (None, as_text(item).encode(), kind)) for item in value]
    is_json = is_object(value) or is_array(value)
    return [(name, (None, as_text(value).encode(), kind or ("application/json" if is_json else None)))]


def _media_type(body: Body) -> str:
    return "application/json" if body.media_type == "*/*" else body.media_type


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


def _bytes(text: Any, argument: str) -> bytes:
    try:
        return base64.b64decode(str(text), validate=True)
    except binascii.Error as error:
        raise ModelRetry(f"The argument {argument!r} is not base64. Send the bytes encoded as base64.") from error
