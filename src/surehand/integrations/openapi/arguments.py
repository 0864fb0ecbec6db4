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
_PLACES: Final = ("path", "query", "header", "cookie")
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
    gathered = _Gathered(schemas)
    for parameter in sorted(operation.parameters, key=lambda parameter: _PLACES.index(parameter.place)):
        if not _is_key(parameter) and (parameter.place, parameter.name.lower()) not in hidden:
            gathered.add_parameter(parameter)
    if operation.body is not None:
        gathered.add_body(operation.body, operation.method)
    return Plan(
        schema=gathered.schema(),
        parameters=tuple(gathered.parameters),
        fields=tuple(gathered.fields),
        whole=gathered.whole,
        files=frozenset(gathered.files),
        idempotency_header=next((parameter.name for parameter in operation.parameters if _is_key(parameter)), None),
    )


class _Gathered:
    """The arguments of one tool in the making; what they are, and where they go, is as in a ``Plan``."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._properties: dict[str, Any] = {}
        self._required: list[str] = []
        self.parameters: list[tuple[str, Parameter]] = []
        self.fields: list[tuple[str, str]] = []
        self.whole: str | None = None
        self.files: set[str] = set()

    def add_parameter(self, parameter: Parameter) -> None:
        """Take one of the path, the query, the headers or the cookies."""
        argument = self._add(parameter.name, parameter.place, parameter.schema, is_required=parameter.is_required)
        self.parameters.append((argument, parameter))

    def add_body(self, body: Body, method: str) -> None:
        """Take the body's properties, or where it is no plain object the body itself."""
        flat = _flat(body, self._schemas)
        if flat is None:
            self.whole = self._add(_WHOLE, "body", _sent_as_text(body), is_required=body.is_required)
            self.files |= {self.whole} if _is_bytes(body.schema, self._schemas) or _is_binary(body) else set()
            return
        # Authors forget `required: true`, and a body in which something is required is hardly meant to be left out.
        is_sent = body.is_required or method in ("POST", "PUT", "PATCH")
        needed = items_of(flat.get("required")) if is_sent else []
        for name, schema in mapping_of(flat.get("properties")).items():
            is_file = body.media_type.startswith("multipart/") and _is_bytes(schema, self._schemas)
            self.files |= {name} if is_file else set()
            shown = _as_base64(schema) if is_file else schema
            self.fields.append((self._add(name, "body", shown, is_required=name in needed), name))

    def schema(self) -> dict[str, Any]:
        """Of all of them; no other argument is taken."""
        schema: dict[str, Any] = {"type": "object", "properties": self._properties, "additionalProperties": False}
        if self._required:
            schema["required"] = self._required
        if definitions := self._schemas.definitions_of(*self._properties.values()):
            schema["$defs"] = definitions
        return schema

    def _add(self, name: str, place: str, schema: Any, *, is_required: bool) -> str:
        """The argument that it becomes: a legal name that no other has, if need be with its place or a number."""
        legal = _ILLEGAL.sub("_", name).strip("_")[:_MAX_NAME] or place
        candidates = [legal, f"{place}_{legal}"[:_MAX_NAME]]
        candidates += [f"{legal[: _MAX_NAME - 4]}_{number}" for number in range(2, len(self._properties) + 3)]
        argument = next(candidate for candidate in candidates if candidate not in self._properties)
        self._properties[argument] = _without_default(schema)
        self._required += [argument] if is_required else []
        return argument


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
    if _is_binary(body):
        return _as_base64({"description": said})
    return {"type": "string", "description": f"{said} As {body.media_type}.".lstrip()}


def _as_base64(schema: Any) -> dict[str, Any]:
    said = str(mapping_of(schema).get("description", ""))
    return {"type": "string", "contentEncoding": "base64", "description": f"{said} As base64.".lstrip()}
