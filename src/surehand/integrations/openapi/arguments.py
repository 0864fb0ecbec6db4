"""The arguments of a tool, flat, and where each of them goes in the request."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from surehand.integrations.openapi.operations import Body, Operation, Parameter
from surehand.integrations.openapi.schemas import Schemas
from surehand.shapes import is_object, items_of, mapping_of

__all__ = ["IDEMPOTENCY_HEADERS", "Plan", "planned"]

IDEMPOTENCY_HEADERS: Final = ("idempotency-key", "x-idempotency-key")
"""Headers that the host fills, so that the model is not asked for them."""
_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_MAX_NAME: Final = 64
_FORMS: Final = ("application/x-www-form-urlencoded", "multipart/form-data")
_WHOLE: Final = "body"
_DEEPEST: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a tool is given, and what is made of it."""

    schema: Mapping[str, Any]
    """Of the arguments."""
    parameters: tuple[tuple[str, Parameter], ...]
    """The argument that each parameter is taken from."""
    fields: tuple[tuple[str, str], ...]
    """Argument and the property of the body that it becomes; empty where the body is one argument."""
    whole: str | None
    """The argument that is the body; None where it is made of fields, or there is none."""
    files: frozenset[str]
    """Properties of the body, or arguments for the whole of it, that hold bytes as base64."""
    idempotency_header: str | None
    """The header that gets the call's idempotency key."""


def planned(operation: Operation, schemas: Schemas, *, hidden: frozenset[tuple[str, str]] = frozenset()) -> Plan:
    """Arguments for an operation: its parameters and the properties of its body, side by side.

    A name that two of them have goes to the first of path, query, header, cookie and body; the others get their place
    in front of it (``body_id``). A name that providers do not take is written in characters that they do
    (``filter[id]`` as ``filter_id``).

    Args:
        operation: What the tool calls.
        schemas: Those of the document.
        hidden: Place and name of parameters that the host fills in.
    """
    own = [
        parameter
        for parameter in operation.parameters
        if not _is_key(parameter) and (parameter.place, parameter.name.lower()) not in hidden
    ]
    own.sort(key=lambda parameter: ("path", "query", "header", "cookie").index(parameter.place))
    names = _Names()
    parameters = [(names.take(parameter.name, parameter.place), parameter) for parameter in own]
    properties = {argument: parameter.schema for argument, parameter in parameters}
    required = [argument for argument, parameter in parameters if parameter.is_required]
    fields: list[tuple[str, str]] = []
    whole = None
    files: set[str] = set()
    if operation.body is not None:
        flat = _flat(operation.body, schemas)
        if flat is None:
            whole = names.take(_WHOLE, "body")
            properties[whole] = _sent_as_text(operation.body)
            files |= {whole} if _is_bytes(operation.body.schema, schemas) or _is_binary(operation.body) else set()
            required += [whole] if operation.body.is_required else []
        else:
            # Authors forget `required: true`, and a body in which something is required is hardly meant to be left out.
            is_sent = operation.body.is_required or operation.method in ("POST", "PUT", "PATCH")
            needed = items_of(flat.get("required")) if is_sent else []
            for name, inner in mapping_of(flat.get("properties")).items():
                argument = names.take(name, "body")
                fields.append((argument, name))
                is_file = operation.body.media_type.startswith("multipart/") and _is_bytes(inner, schemas)
                files |= {name} if is_file else set()
                properties[argument] = _as_base64(inner) if is_file else inner
                required += [argument] if name in needed else []
    properties = {argument: _without_default(schema) for argument, schema in properties.items()}
    definitions = schemas.definitions_of(*properties.values())
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    if definitions:
        schema["$defs"] = definitions
    key = next((parameter.name for parameter in operation.parameters if _is_key(parameter)), None)
    return Plan(
        schema=schema,
        parameters=tuple(parameters),
        fields=tuple(fields),
        whole=whole,
        files=frozenset(files),
        idempotency_header=key,
    )


class _Names:
    """Gives each argument a legal name that no other has."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, name: str, place: str) -> str:
        """The name, or with its place in front, or with a number behind."""
        legal = _ILLEGAL.sub("_", name).strip("_")[:_MAX_NAME] or place
        candidates = [legal, f"{place}_{legal}"[:_MAX_NAME]]
        candidates += [f"{legal[: _MAX_NAME - 4]}_{number}" for number in range(2, len(self._taken) + 3)]
        taken = next(candidate for candidate in candidates if candidate not in self._taken)
        self._taken.add(taken)
        return taken


def _is_key(parameter: Parameter) -> bool:
    return parameter.place == "header" and parameter.name.lower() in IDEMPOTENCY_HEADERS


def _flat(body: Body, schemas: Schemas) -> Mapping[str, Any] | None:
    """The body as an object whose properties can be arguments; None where it has to be one argument."""
    if "json" not in body.media_type and body.media_type.partition(";")[0] not in (*_FORMS, "*/*"):
        return None
    merged = _merged(schemas.resolved(body.schema), schemas)
    extra = merged.get("additionalProperties") if merged else None
    if not merged or not merged.get("properties") or is_object(extra) or extra is True:
        return None
    return merged


def _without_default(schema: Any) -> Any:
    """The schema with its default in the description: the server fills it in, and is not sent what nobody asked for."""
    if not is_object(schema) or "default" not in schema:
        return schema
    kept = {key: value for key, value in schema.items() if key != "default"}
    default = json.dumps(schema["default"], ensure_ascii=False, default=str)
    return {**kept, "description": f"{kept.get('description', '')} Default: {default}.".lstrip()}


def _merged(schema: Any, schemas: Schemas, depth: int = 0) -> Mapping[str, Any] | None:
    """An object with the properties of what it is made of by ``allOf``; None for what is no plain object."""
    own = dict(mapping_of(schema))
    if (
        depth > _DEEPEST
        or {"anyOf", "oneOf", "not", "if", "patternProperties"} & own.keys()
        or own.get("type", "object") != "object"
    ):
        return None
    parts = [_merged(schemas.resolved(part), schemas, depth + 1) for part in items_of(own.pop("allOf", []))]
    if any(part is None for part in parts):
        return None
    whole: Sequence[Mapping[str, Any]] = [part for part in (*parts, own) if part is not None]
    properties = {name: inner for part in whole for name, inner in mapping_of(part.get("properties")).items()}
    required = list(dict.fromkeys(name for part in whole for name in items_of(part.get("required"))))
    return {**own, "properties": properties, "required": [name for name in required if name in properties]}


def _is_bytes(schema: Any, schemas: Schemas) -> bool:
    inner = mapping_of(schemas.resolved(schema))
    return inner.get("format") == "binary" or str(inner.get("contentMediaType", "")) == "application/octet-stream"


def _is_binary(body: Body) -> bool:
    kind = body.media_type.partition(";")[0].strip()
    return not (kind.startswith("text/") or kind in _FORMS or kind == "*/*" or kind.endswith(("json", "xml")))


def _sent_as_text(body: Body) -> Any:
    """The schema of a body that is one argument: JSON as it is, anything else as a text."""
    if "json" in body.media_type or body.media_type in _FORMS or body.media_type == "*/*":
        return body.schema
    said = mapping_of(body.schema).get("description", "")
    return (
        _as_base64({"description": said})
        if _is_binary(body)
        else {
            "type": "string",
            "description": f"{said} As {body.media_type}.".lstrip(),
        }
    )


def _as_base64(schema: Any) -> dict[str, Any]:
    said = str(mapping_of(schema).get("description", ""))
    return {"type": "string", "contentEncoding": "base64", "description": f"{said} As base64.".lstrip()}
