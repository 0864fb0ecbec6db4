"""Our tools behind the SDK's server: a list of declarations, and calls that go through a node.

A call runs in a task of its own, and not in the SDK's handler. The SDK's cancellation is one of levels: whatever a
cancelled handler awaits is cancelled again, also what a tool does to clean up. The task is cancelled once, as asyncio's
own programs expect.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.metadata
import itertools
import logging
import operator
import signal
import threading
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from mcp import MCPError
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

from surehand.calls.journal import digest_of
from surehand.events import CallFinished, CallProgressed, Event, Listener
from surehand.integrations.mcp.answers import answered, handed_on
from surehand.integrations.mcp.entries import entry_of, is_foreign
from surehand.integrations.mcp.outputs import Output, output_of
from surehand.integrations.mcp.pipes import InputLines
from surehand.integrations.mcp.requests import Request, approve, request_now
from surehand.messages import AIMessage, ToolMessage
from surehand.nodes import ToolNode, ToolSetFunction
from surehand.policy import text
from surehand.spec import ToolSpec
from surehand.tools import BaseTool
from surehand.tools.export import export_names
from surehand.wording import did_you_mean, one_line

__all__ = ["Service"]

logger = logging.getLogger("surehand.mcp")

_GRACE_SECONDS: Final = 5
_PATH: Final = "/mcp"
_BROKEN: Final = "The call could not be answered because of a fault in the application. Do not retry."


class Service:
    """Tools that clients can list and call.

    Args:
        tools: As on ``ToolNode``.
        name: What the server calls itself.
        instructions: What clients may tell their models; None for nothing.
        options: The node's.
    """

    def __init__(
        self,
        tools: Iterable[Any] | ToolSetFunction,
        *,
        name: str,
        instructions: str | None,
        options: Mapping[str, Any],
    ) -> None:
        given = dict(options)
        self._listener: Listener | None = given.pop("listener", None)
        given.setdefault("approve", approve)
        self._node = ToolNode(tools, listener=self._heard, **given)
        self._changes = InMemorySubscriptionBus()
        self._declared = ""
        """The digest of the declarations as they were last given; empty before."""
        self._given: list[ToolSpec] = []
        """The tools that these are of."""
        self._outputs: dict[int, tuple[ToolSpec, Output | None]] = {}
        """What is known of tools, by their identity: they need not be hashable."""
        self._requests: dict[str, Request] = {}
        self._numbers = itertools.count(1)
        self._running: set[asyncio.Task[Any]] = set()
        self._group: asyncio.TaskGroup | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.server: Server[Any] = Server(
            text("name", name),
            version=importlib.metadata.version("surehand"),
            instructions=instructions,
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_subscriptions_listen=ListenHandler(self._changes),
        )

    async def serve_pipes(self) -> None:
        """Serve one client over standard input and output, until it closes them or the program is told to end."""
        with _until_told(asyncio.current_task()):
            try:
                async with self.running():
                    lines: Any = InputLines()
                    async with stdio_server(stdin=lines) as (read, write):
                        options = self.server.create_initialization_options(NotificationOptions(tools_changed=True))
                        await self.server.run(read, write, options)
            except* BrokenPipeError as left:
                logger.debug("the client left in the middle of an answer", exc_info=left)

    async def serve_http(self, host: str, port: int) -> None:
        """Serve streamable HTTP until the program is told to end."""
        uvicorn = importlib.import_module("uvicorn")  # half a second that pipes need not pay
        app = self.server.streamable_http_app(streamable_http_path=_PATH, transport_security=_only_for(host))
        config = uvicorn.Config(
            app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=_GRACE_SECONDS, ws="none"
        )
        async with self.running():
            await uvicorn.Server(config).serve()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Entered while calls may run; those that are left are cancelled."""
        self._loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as self._group:
            try:
                yield
            finally:
                for task in self._running:
                    task.cancel()

    async def _offered(self) -> dict[str, BaseTool]:
        """The tools of this moment, by their names on the wire."""
        tools = await self._node.aoffered([])
        wires = export_names(tool.spec.name for tool in tools)
        return {wires[tool.spec.name]: tool for tool in tools}

    def _declarations(self, offered: Mapping[str, BaseTool]) -> list[dict[str, Any]]:
        specs = [tool.spec for tool in offered.values()]
        self._outputs = {id(spec): (spec, self._output(spec)) for spec in specs}
        return [entry_of(name, spec, self._output(spec)) for name, spec in zip(offered, specs, strict=True)]

    def _output(self, spec: ToolSpec) -> Output | None:
        known = self._outputs.get(id(spec))
        return output_of(spec) if known is None else known[1]

    async def _list(
        self, context: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        offered = await self._offered()
        declarations = self._declarations(offered)
        self._given, self._declared = [tool.spec for tool in offered.values()], digest_of(declarations)
        return ListToolsResult(tools=[Tool.model_validate(declaration) for declaration in declarations])

    async def _call(
        self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        offered = await self._offered()
        tool = offered.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"There is no tool {params.name!r}.{did_you_mean(params.name, offered)}")
        request = Request(context, params)
        if self._group is None:
            raise MCPError(INTERNAL_ERROR, "The server is not running.")
        running = self._group.create_task(self._run(request, tool, params.arguments or {}))
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        try:
            result = await asyncio.shield(running)
        except asyncio.CancelledError:
            running.cancel()
            raise
        await self._tell_changes(context)
        return request.question or result

    async def _run(self, request: Request, tool: BaseTool, arguments: dict[str, Any]) -> CallToolResult:
        name = tool.spec.name
        call_id = f"mcp-{next(self._numbers)}"
        request_now.set(request)
        self._requests[call_id] = request
        message = AIMessage(tool_calls=[{"id": call_id, "name": name, "args": arguments}])
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(request.send_reports())
                try:
                    answers: list[ToolMessage] = await self._node.ainvoke([message])
                finally:
                    request.end()
            if is_foreign(tool.spec):
                return handed_on(answers[0], request.value, request)
            return answered(answers[0], request.value, self._output(tool.spec), request)
        except Exception as error:  # what the host's rules let out; a client is answered all the same
            logger.exception("the call %s of a client was not answered by its node", one_line(name), exc_info=error)
            return CallToolResult(content=[TextContent(text=_BROKEN)], is_error=True)
        finally:
            del self._requests[call_id]

    async def _tell_changes(self, context: ServerRequestContext[Any, Any]) -> None:
        """Tell clients that there are other tools than they know of; a call may have led to them."""
        if not self._declared:
            return
        offered = await self._offered()
        given = [tool.spec for tool in offered.values()]
        if len(given) == len(self._given) and all(map(operator.is_, given, self._given)):
            return
        now = digest_of(self._declarations(offered))
        if now != self._declared:
            self._declared = now
            await self._changes.publish(ToolsListChanged())
            await context.session.send_tool_list_changed()

    def _heard(self, event: Event) -> None:
        if self._listener is not None:
            self._listener(event)
        request = self._requests.get(event.call_id)
        if request is None or self._loop is None:
            return
        if isinstance(event, CallFinished):
            request.value = event.value
        elif isinstance(event, CallProgressed):
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
                self._loop.call_soon_threadsafe(request.report, event.progress)


def _only_for(host: str) -> TransportSecuritySettings:
    """Refuse the pages of a browser on this machine: they get here under names and from origins of their own."""
    own = f"[{host}]" if ":" in host else host
    hosts = [f"{name}:*" for name in dict.fromkeys([own, "localhost", "127.0.0.1", "[::1]"])]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts])


@contextlib.contextmanager
def _until_told(task: asyncio.Task[Any] | None) -> Any:
    """Have SIGTERM cancel the task, and take that as its end; signals are the main thread's alone."""
    loop, was_told = asyncio.get_running_loop(), False

    def told() -> None:
        nonlocal was_told
        was_told = True
        if task is not None:
            task.cancel()

    is_main = threading.current_thread() is threading.main_thread()
    with contextlib.suppress(NotImplementedError):  # on Windows
        if is_main:
            loop.add_signal_handler(signal.SIGTERM, told)
    try:
        yield
    except asyncio.CancelledError:
        if not was_told:
            raise
        if task is not None:
            task.uncancel()
    finally:
        with contextlib.suppress(NotImplementedError):
            if is_main:
                loop.remove_signal_handler(signal.SIGTERM)
