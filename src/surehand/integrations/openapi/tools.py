"""One tool for each operation of a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from typing_extensions import Unpack

from surehand.errors import OptionError
from surehand.integrations.openapi.arguments import Plan, planned
from surehand.integrations.openapi.credentials import Credential, Credentials
from surehand.integrations.openapi.document import Document, read_document
from surehand.integrations.openapi.operations import Operation, operations_of
from surehand.integrations.openapi.requests import request_for
from surehand.integrations.openapi.schemas import Schemas
from surehand.integrations.openapi.sender import Client, Sender
from surehand.integrations.openapi.wanted import Wanted, tool_name
from surehand.shapes import mapping_of
from surehand.spec import ToolContext, wire_name
from surehand.tools import OptionArguments, Tool
from surehand.wording import clipped

__all__ = ["openapi_tools"]

_READING: Final = ("GET", "HEAD", "OPTIONS", "TRACE")
_REPEATABLE: Final = (*_READING, "PUT", "DELETE")
_MAX_DESCRIPTION: Final = 1_024
_MAX_BYTES: Final = 10_000_000


def openapi_tools(
    document: object,
    *,
    base_url: str | None = None,
    client: Client | None = None,
    auth: Mapping[str, Credential] | None = None,
    headers: Mapping[str, str] | None = None,
    include: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    prefix: str | None = None,
    request_timeout: float | None = 30.0,
    max_bytes: int = _MAX_BYTES,
    max_description: int = _MAX_DESCRIPTION,
    **options: Unpack[OptionArguments],
) -> list[Tool]:
    """Tools that call the operations of an OpenAPI document, 3.0 or 3.1.

    Args:
        document: As JSON data, as text, or the path of a file; YAML where a package that reads it is installed.
        base_url: What paths are put behind; None for the servers that the document names.
        client: Sends the requests, and is the host's to close; None for one of our own in each event loop.
        auth: Name of a security scheme in the document -> key, token, ``(name, password)``, or a function that gives
            it. No model sees them, and they are cleaned out of what servers send back.
        headers: Go with every request.
        include: Which operations become tools, by patterns: of operation ids (``get*``), of tags (``tag:pets``), of
            paths (``/pets/*``), of methods and paths (``GET /pets/*``); None for all.
        exclude: Patterns of those that do not.
        prefix: Put in front of every tool's name, with ``_``.
        request_timeout: Seconds that a request may take to connect, and between two pieces of its answer; None for no
            limit. Of no effect on a client that was given.
        max_bytes: The most bytes of an answer that are read; a longer one is a failure.
        max_description: The most characters of a tool's description.
        **options: As on ``@tool``; they go before what follows from an operation's method.

    Raises:
        OptionError: It is no OpenAPI document, or an option cannot be meant.
        ToolDefinitionError: A reference in the document leads out of it, or nowhere.
        MissingExtraError: The ``openapi`` extra is not installed.
    """
    read = read_document(document)
    schemas = Schemas(read)
    credentials = Credentials(read, auth or {}, headers or {})
    sender = Sender(client=client, timeout=request_timeout, max_bytes=max_bytes)
    wanted = Wanted(include=include, exclude=exclude)
    names: set[str] = set()
    tools: list[Tool] = []
    for operation in operations_of(read, schemas, wanted.takes):
        hidden = credentials.names_in_arguments(operation)
        plan = planned(operation, schemas, hidden=hidden)
        caller = _Caller(
            operation=operation,
            plan=plan,
            credentials=credentials,
            sender=sender,
            base_url=_base_url(operation, base_url, client, read),
        )
        given: dict[str, Any] = {**_options(operation, plan), **options}
        tool = Tool.from_json_schema(
            _unique(_name(operation, prefix), names),
            plan.schema,
            caller.call,
            description=clipped(operation.description, max_description),
            **given,
        )
        tools.append(tool)
    wanted.check()
    return tools


class _Caller:
    """Calls one operation."""

    def __init__(
        self, *, operation: Operation, plan: Plan, credentials: Credentials, sender: Sender, base_url: str
    ) -> None:
        self._operation = operation
        self._plan = plan
        self._credentials = credentials
        self._sender = sender
        self._base_url = base_url

    async def call(self, tool_context__: ToolContext[Any], **arguments: Any) -> Any:
        """Send the request and read the answer."""
        proof = await self._credentials.proof(self._operation)
        request = request_for(
            self._operation,
            self._plan,
            arguments,
            proof,
            base_url=self._base_url,
            key=tool_context__.idempotency_key,
        )
        return await self._sender.answer(request, proof)


def _name(operation: Operation, prefix: str | None) -> str:
    own = tool_name(operation)
    return wire_name(f"{prefix}_{own}" if prefix else own)


def _unique(name: str, names: set[str]) -> str:
    unique, number = name, 2
    while unique in names:
        unique, number = wire_name(f"{name}_{number}"), number + 1
    names.add(unique)
    return unique


def _options(operation: Operation, plan: Plan) -> OptionArguments:
    """What a method says about running it again; a declared idempotency key makes any operation repeatable."""
    options = OptionArguments()
    if operation.method in _READING:
        options["read_only"] = True
    elif operation.method in _REPEATABLE or plan.idempotency_header is not None:
        options["idempotent"] = True
    if operation.method == "DELETE":
        options["destructive"] = True
    return options


def _base_url(operation: Operation, given: str | None, client: Client | None, document: Document) -> str:
    """Where the operation is: what the host says, what its client says, what the document says.

    Raises:
        OptionError: Nobody says it, or what the document says is only a part of an address.
    """
    if given is not None:
        return _checked(given)
    if client is not None and str(client.base_url):
        return str(client.base_url)
    server = mapping_of(next(iter(operation.servers), None))
    url = str(server.get("url") or "")
    for name, variable in document.followed(server.get("variables")).items():
        url = url.replace(f"{{{name}}}", str(document.followed(variable).get("default", "")))
    return _checked(url)


def _checked(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise OptionError(
            option="base_url",
            value=url or None,
            expected="an address that begins with https:// or http://",
            remedy="" if url else "The document names no server.",
        )
    return url
