"""What is heard on the way between the SDK and a server.

The SDK tells neither whether a request was on its way when the connection broke, nor what an answer held that does not
fit its models: one tool with a broken schema would cost the whole list, and one content block of an unknown type the
result of a call that was carried out. So its streams are listened to. A request of ours takes its answer here, as it
came; the SDK is given one that it can read.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self, TypeAlias
from weakref import WeakValueDictionary

from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.message import SessionMessage
from mcp.types import INTERNAL_ERROR, ErrorData, JSONRPCError, JSONRPCRequest, JSONRPCResponse, RequestId
from pydantic import ValidationError

from surehand.integrations.mcp.faults import Fault
from surehand.shapes import is_object, items_of
from surehand.wording import one_line

__all__ = ["Exchange", "Tap", "exchange_now"]

logger = logging.getLogger("surehand.mcp")

_MAX_DEPTH: Final = 100
"""How deep a schema may be for the SDK to see it: it refuses a list of tools for one that is too deep."""
_HOLDERS: Final = frozenset({dict, list})
_MAX_TOLD: Final = 3
"""How often a session's developer is told of the same fault."""

_Item: TypeAlias = SessionMessage | Exception


@dataclass(eq=False)
class Exchange:
    """One request to a server, and what is known of its way."""

    is_call: bool = False
    """Whether it is a call, whose failure must not be that of its neighbours."""
    is_out: bool = False
    """Whether the server may have it."""
    is_refused: bool = False
    """Whether the server does not know the session, and so did not look at it."""
    is_lost: bool = False
    """Whether its own connection to the server was lost."""
    is_taken: bool = False
    """Whether the server took it, as its HTTP status says."""
    is_answered: bool = False
    """Whether the server has sent an answer."""
    is_whole: bool = False
    """Whether an answer over HTTP is one piece: an error that is read of it is the server's own."""
    is_begun: bool = False
    """Whether the server has said how far it is, or asked something while it had the request."""
    number: RequestId | None = None
    """The id of the request; None before it is written."""
    fault: Fault | None = None
    """What is wrong with the HTTP answer; None for nothing."""
    result: dict[str, Any] = field(default_factory=dict[str, Any])
    """The result as it came."""


exchange_now: ContextVar[Exchange | None] = ContextVar("surehand_mcp_exchange", default=None)
"""The exchange that the running code is a part of."""


class Tap:
    """Listens to one session.

    Args:
        on_end: Called when the server's side of the connection has ended.
        is_direct: Whether what is written goes straight to the server, as over pipes.
    """

    def __init__(self, on_end: Callable[[], None], *, is_direct: bool) -> None:
        self._on_end = on_end
        self.is_direct = is_direct
        self.fault: Fault | None = None
        """What was wrong with the last HTTP answer to a request; None for nothing."""
        self._open: WeakValueDictionary[RequestId, Exchange] = WeakValueDictionary()
        self._broken = 0

    def asked(self, message: JSONRPCRequest, exchange: Exchange) -> None:
        """A request is about to be written."""
        self._open[message.id] = exchange

    def heard(self, item: _Item) -> _Item:
        """What the SDK is given of what came."""
        if isinstance(item, Exception):
            read = self._read(_sent(item))
            if read is None:
                self._tell(item)
                return item
            item = SessionMessage(read)
        message = item.message
        if isinstance(message, JSONRPCRequest):  # it does not say on behalf of which request of ours it asks
            for waiting in list(self._open.values()):
                waiting.is_begun = True
        if not isinstance(message, JSONRPCResponse | JSONRPCError) or message.id is None:
            return item
        exchange = self._open.get(coerce_request_id(message.id))
        if exchange is None:
            return item
        exchange.is_answered = True
        if isinstance(message, JSONRPCError):
            return item
        exchange.result = message.result
        readable = JSONRPCResponse(jsonrpc="2.0", id=message.id, result=_readable(message.result))
        return SessionMessage(readable, metadata=item.metadata)

    def _read(self, sent: Mapping[str, Any]) -> JSONRPCResponse | JSONRPCError | None:
        """The answer to a request of ours in what the SDK could not read: nobody shall wait for another one."""
        number, result = sent.get("id"), sent.get("result")
        if not isinstance(number, str | int) or "method" in sent or coerce_request_id(number) not in self._open:
            return None
        if is_object(result):
            return JSONRPCResponse(jsonrpc="2.0", id=number, result=dict(result))
        error = ErrorData(code=INTERNAL_ERROR, message="what it sent cannot be read as an answer")
        return JSONRPCError(jsonrpc="2.0", id=number, error=error)

    def _tell(self, error: Exception) -> None:
        """Say that a server wrote what is no message; some print all their logs there."""
        self._broken += 1
        level = logging.WARNING if self._broken <= _MAX_TOLD else logging.DEBUG
        logger.log(level, "a server wrote what is no message: %s", one_line(str(error), 200))

    def ended(self) -> None:
        """Nothing more will come."""
        self._on_end()

    def wrapped(self, streams: tuple[Any, Any]) -> tuple[_Reading, _Writing]:
        """The two streams of a transport, listened to."""
        return _Reading(streams[0], self), _Writing(streams[1], self)


def _sent(error: Exception) -> Mapping[str, Any]:
    """The message that the SDK could not read, as far as it is one: half a surrogate pair is enough for it not to."""
    for fault in error.errors() if isinstance(error, ValidationError) else ():
        sent = fault["input"]
        try:
            read = json.loads(sent) if fault["type"] == "json_invalid" else sent
        except (ValueError, RecursionError):
            continue
        if is_object(read) and "id" in read:
            return read
    return {}


def _readable(result: dict[str, Any]) -> dict[str, Any]:
    """As much of a result as the SDK has to see: its kind, where the next page is, which tools there are."""
    if "inputRequests" in result or result.get("resultType") == "input_required":
        return result  # what it is asked for is the SDK's to answer
    kept = {key: result[key] for key in ("resultType", "nextCursor") if isinstance(result.get(key), str)}
    if "tools" in result:
        tools = [_readable_tool(tool) for tool in items_of(result["tools"]) if is_object(tool) and "name" in tool]
        # Fields that some revisions of the protocol insist on.
        return {**kept, "tools": tools, "ttlMs": 0, "cacheScope": "private"}
    return {**kept, "content": [], "isError": result.get("isError") is True}


def _readable_tool(tool: Any) -> dict[str, Any]:
    """The declaration without its output schema: what a call has done is not undone by an answer of another form."""
    schema = tool.get("inputSchema")
    is_usable = is_object(schema) and schema.get("type") == "object" and is_object(schema.get("properties", {}))
    name = str(tool["name"]).encode(errors="replace").decode()
    return {"name": name, "inputSchema": schema if is_usable and _is_shallow(schema) else {"type": "object"}}


def _is_shallow(value: Any) -> bool:
    level: list[Any] = [value]
    for _ in range(_MAX_DEPTH):
        held = [holder.values() if is_object(holder) else holder for holder in level]
        level = [item for items in held for item in items if type(item) in _HOLDERS]
        if not level:
            return True
    return False


class _Stream:
    """A stream that leaves everything but its items to another one."""

    def __init__(self, inner: Any, tap: Tap) -> None:
        self._inner = inner
        self._tap = tap

    async def aclose(self) -> None:
        await self._inner.aclose()

    def close(self) -> None:
        self._inner.close()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        suppressed: bool | None = await self._inner.__aexit__(kind, error, traceback)
        return suppressed


class _Reading(_Stream):
    async def receive(self) -> _Item:
        return await self._read(self._inner.receive)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _Item:
        return await self._read(self._inner.__anext__)

    async def _read(self, read: Callable[[], Awaitable[_Item]]) -> _Item:
        try:
            item = await read()
        except Exception:  # whichever way a stream says so
            self._tap.ended()
            raise
        return self._tap.heard(item)


class _Writing(_Stream):
    async def send(self, item: SessionMessage) -> None:
        message, exchange = item.message, exchange_now.get()
        if not isinstance(message, JSONRPCRequest):
            await self._sent_as(None, item)
            return
        if exchange is not None:
            self._tap.asked(message, exchange)
        exchange = exchange or Exchange()
        exchange.number = message.id
        await self._sent_as(exchange, item)  # raises where nobody takes it any more
        exchange.is_out = exchange.is_out or self._tap.is_direct

    async def _sent_as(self, exchange: Exchange | None, item: SessionMessage) -> None:
        """Send what is a part of an exchange: the context goes with it to where it is written."""
        token = exchange_now.set(exchange)
        try:
            await self._inner.send(item)
        finally:
            exchange_now.reset(token)
