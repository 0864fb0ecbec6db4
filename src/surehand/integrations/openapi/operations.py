"""The operations of a document: what is sent where, as data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from surehand.integrations.openapi.document import Document
from surehand.integrations.openapi.schemas import Schemas
from surehand.shapes import is_object, items_of, mapping_of

__all__ = ["Body", "Operation", "Outline", "Parameter", "Place", "operations_of"]

Place: TypeAlias = Literal["path", "query", "header", "cookie"]

_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_PLACES: Final[Mapping[str, Place]] = {"path": "path", "query": "query", "header": "header", "cookie": "cookie"}
_BRACES: Final = re.compile(r"{([^{}]+)}")
_STYLES: Final = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
_NOT_PARAMETERS: Final = ("accept", "content-type", "authorization")
"""Headers that are said otherwise, so that a parameter of their name does not count."""
_PREFERRED: Final = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One thing that goes into the path, the query, a header or a cookie."""

    name: str
    place: Place
    schema: Any
    """As JSON Schema, with the parameter's description."""
    is_required: bool
    style: str
    explode: bool
    keeps_reserved: bool
    """Whether characters such as ``/`` stay as they are in a query."""
    is_json: bool
    """Whether the value is sent as JSON text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """What is sent as the body."""

    media_type: str
    schema: Any
    is_required: bool
    encodings: Mapping[str, str]
    """Property of a form -> the content type it is sent as, where the document says one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What tells one operation from another."""

    method: str
    """In capitals."""
    path: str
    """With its parameters in braces."""
    id: str
    """The document's ``operationId``; empty where it gives none."""
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Outline):
    """One method of one path."""

    description: str
    """Summary and description."""
    parameters: tuple[Parameter, ...]
    body: Body | None
    security: tuple[Mapping[str, Any], ...]
    """Alternatives: name of a scheme -> scopes, of which all in one alternative are needed; empty for none needed."""
    servers: tuple[Mapping[str, Any], ...]
    """The nearest servers that the document names."""


def operations_of(document: Document, schemas: Schemas, takes: Callable[[Outline], bool]) -> Iterator[Operation]:
    """The operations that are taken, in the order of the document; of the others nothing is read.

    Raises:
        ToolDefinitionError: A reference leads out of the document, or nowhere.
    """
    reader = _Reader(document, schemas)
    for path, item in mapping_of(document.root.get("paths")).items():
        shared = document.followed(item)
        for method in _METHODS:
            if is_object(own := shared.get(method)):
                outline = Outline(
                    method=method.upper(),
                    path=path,
                    id=str(own.get("operationId") or "").strip(),
                    tags=tuple(map(str, items_of(own.get("tags")))),
                )
                if takes(outline):
                    yield reader.operation(outline, own, shared)


class _Reader:
    def __init__(self, document: Document, schemas: Schemas) -> None:
        self._document = document
        self._schemas = schemas

    def operation(self, outline: Outline, own: Mapping[str, Any], shared: Mapping[str, Any]) -> Operation:
        """One operation, with what its path and the document say for all."""
        said = [str(own.get(key) or shared.get(key) or "").strip() for key in ("summary", "description")]
        said += ["Deprecated."] if own.get("deprecated") is True else []
        root = self._document.root
        servers = own.get("servers") or shared.get("servers") or root.get("servers")
        security = own["security"] if "security" in own else root.get("security")
        return Operation(
            method=outline.method,
            path=outline.path,
            id=outline.id,
            tags=outline.tags,
            description="\n\n".join(dict.fromkeys(filter(None, said))),
            parameters=tuple(self._parameters(outline.path, own, shared)),
            body=self._body(own),
            security=tuple(mapping_of(one) for one in items_of(security)),
            servers=tuple(mapping_of(one) for one in items_of(servers)),
        )

    def _parameters(self, path: str, own: Mapping[str, Any], shared: Mapping[str, Any]) -> Iterator[Parameter]:
        """Those of the operation, those of its path that it does not replace, and those that only the braces name."""
        found: dict[tuple[str, str], Mapping[str, Any]] = {
            (name, "path"): {"schema": {"type": "string"}} for name in _BRACES.findall(path)
        }
        for listed in (shared.get("parameters"), own.get("parameters")):
            for item in items_of(listed):
                parameter = self._document.followed(item)
                found[str(parameter.get("name")), str(parameter.get("in"))] = parameter
        for (name, place), parameter in found.items():
            is_said_otherwise = place == "header" and name.lower() in _NOT_PARAMETERS
            if not is_said_otherwise and (known := _PLACES.get(place)) is not None:
                yield self._parameter(name, known, parameter)

    def _parameter(self, name: str, place: Place, parameter: Mapping[str, Any]) -> Parameter:
        content = mapping_of(parameter.get("content"))
        schema = next((mapping_of(media).get("schema") for media in content.values()), parameter.get("schema"))
        style = str(parameter.get("style") or _STYLES[place])
        return Parameter(
            name=name,
            place=place,
            schema=_described(self._schemas.translated(schema), parameter.get("description")),
            is_required=place == "path" or parameter.get("required") is True,
            style=style,
            explode=bool(parameter.get("explode", style == "form")),
            keeps_reserved=parameter.get("allowReserved") is True,
            is_json=bool(content),
        )

    def _body(self, own: Mapping[str, Any]) -> Body | None:
        request = self._document.followed(own.get("requestBody"))
        content = mapping_of(request.get("content"))
        if not content:
            return None
        media_type = min(content, key=_rank)
        media = mapping_of(content[media_type])
        schema = self._schemas.translated(media.get("schema", {}))
        return Body(
            media_type=media_type,
            schema=_described(schema, request.get("description")),
            is_required=request.get("required") is True,
            encodings={
                name: str(kind)
                for name, encoding in mapping_of(media.get("encoding")).items()
                if (kind := mapping_of(encoding).get("contentType"))
            },
        )


def _rank(media_type: str) -> int:
    """The place of a content type among those that we would rather send; the first of the document else."""
    plain = media_type.partition(";")[0].strip().lower()
    if plain.endswith("+json") or plain == "*/*":
        return 0
    return _PREFERRED.index(plain) if plain in _PREFERRED else len(_PREFERRED)


def _described(schema: Any, description: object) -> Any:
    """The schema with the description of what it is the schema of, which says more than its own."""
    own = dict(schema) if is_object(schema) else {}
    if isinstance(description, str) and description.strip():
        own["description"] = description.strip()
    return own
