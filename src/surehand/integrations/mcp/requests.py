"""One call that a client makes: what it is told of it meanwhile, and what its human is asked."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Final, TypeGuard, cast

from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.types import (
    CallToolRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from surehand.calls.journal import digest_of
from surehand.shapes import is_object, mapping_of
from surehand.wording import clipped

__all__ = ["Request", "approve", "request_now"]

_APPROVAL: Final = "approval"
_MAX_SHOWN: Final = 4_000
_MAX_WAITING: Final = 256
"""How many reports wait for a client that does not read; more are dropped."""
_MAX_EVENT: Final = 900_000
_NOBODY: Final = "It needs a human's approval, and this client has no way to ask one."
_FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"approve": {"type": "boolean", "title": "Run it?"}},
    "required": ["approve"],
}


class Request:
    """A call of a client's, while it runs.

    Args:
        context: The SDK's.
        params: What the client sent.
    """

    def __init__(self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> None:
        self._context = context
        self._params = params
        self._reports: asyncio.Queue[tuple[float, float | None, str | None] | None] = asyncio.Queue()
        self._last = 0.0
        self.value: Any = None
        """What the tool returned; None for a failure."""
        self.question: InputRequiredResult | None = None
        """What the client has to ask its human before it calls again; None for nothing."""

    def takes(self, data: Mapping[str, Any]) -> bool:
        """Whether its answer may hold so much data.

        Before 2026-07-28 an answer over HTTP is an event, and clients of the official SDK take none above a megabyte.
        """
        is_event = self._context.request is not None and self._context.protocol_version not in MODERN_PROTOCOL_VERSIONS
        return not is_event or len(json.dumps(data)) <= _MAX_EVENT

    def report(self, value: Any) -> None:
        """Tell the client how far the call is; on the loop of the request."""
        if self._reports.qsize() < _MAX_WAITING:
            self._reports.put_nowait(self._progress(value))

    def _progress(self, value: Any) -> tuple[float, float | None, str | None]:
        told = value if is_object(value) else {"progress": value}
        number, total, message = (told.get(key) for key in ("progress", "total", "message"))
        if message is None and not _is_number(number):
            message = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
        # The protocol wants every report to say more than the one before.
        self._last = max(float(number), self._after()) if _is_number(number) else self._last + 1
        return self._last, float(total) if _is_number(total) else None, None if message is None else str(message)

    def _after(self) -> float:
        return math.nextafter(self._last, math.inf)

    async def send_reports(self) -> None:
        """Send what is reported, until ``end``."""
        while (report := await self._reports.get()) is not None:
            await self._context.session.report_progress(*report)

    def end(self) -> None:
        """Nothing more will be reported."""
        self._reports.put_nowait(None)

    async def decision(self, name: str, arguments: Mapping[str, Any]) -> bool | str:
        """Whether the client's human lets the call run; False or the reason where he does not."""
        capabilities = self._context.session.client_capabilities
        if capabilities is None or capabilities.elicitation is None:
            return _NOBODY
        form = ElicitRequestFormParams(message=_question(name, arguments), requested_schema=cast("Any", _FORM))
        if self._context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return self._decided_before(form, digest_of([name, dict(arguments)]))
        try:
            result = await self._context.session.elicit_form(
                form.message, form.requested_schema, related_request_id=self._context.request_id
            )
        except MCPError:
            return _NOBODY
        return _verdict(result)

    def _decided_before(self, form: ElicitRequestFormParams, digest: str) -> bool | str:
        """What the human decided, where the client has asked him about this very call; else it is to ask him."""
        response = (self._params.input_responses or {}).get(_APPROVAL)
        if isinstance(response, ElicitResult) and self._params.request_state == digest:
            return _verdict(response)
        self.question = InputRequiredResult(
            input_requests={_APPROVAL: ElicitRequest(params=form)}, request_state=digest
        )
        return "It waits for a human's approval."


request_now: ContextVar[Request | None] = ContextVar("surehand_mcp_request", default=None)
"""The request that the running call belongs to."""


async def approve(name: str, arguments: Mapping[str, Any]) -> bool | str:
    """Ask the human behind the client that makes the call."""
    request = request_now.get()
    return _NOBODY if request is None else await request.decision(name, arguments)


def _question(name: str, arguments: Mapping[str, Any]) -> str:
    shown = json.dumps(dict(arguments), ensure_ascii=False, indent=2, default=repr)
    return f"May {name} be run with these arguments?\n{clipped(shown, _MAX_SHOWN)}"


def _verdict(result: ElicitResult) -> bool | str:
    if result.action == "accept" and mapping_of(result.content).get("approve") is True:
        return True
    return "The user did not approve it."


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
