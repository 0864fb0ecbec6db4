"""A tool of ours as LangChain's, for models, nodes and agents that take no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool as ForeignTool
from langchain_core.tools import ToolException
from pydantic import Field, PrivateAttr
from typing_extensions import override

from surehand.calls import Call, Host, ToolTable, Turn, calls_of, run_alone, run_alone_sync
from surehand.control import is_command
from surehand.dialects.langchain_messages import write_message
from surehand.integrations.langchain.commands import as_foreign_command
from surehand.messages import AIMessage
from surehand.shapes import is_array
from surehand.tools import BaseTool, as_tools

__all__ = ["SurehandTool", "to_langchain_tool"]

_RUNTIME = "surehand_runtime"
_CALL_ID = "surehand_call_id"


class SurehandTool(ForeignTool):
    """A tool of ours, as LangChain calls it; made by ``to_langchain_tool``."""

    args_schema: Any = None
    """The JSON Schema of the arguments: they are checked by the tool itself."""
    own: Any = Field(default=None, exclude=True)
    """The tool itself."""
    func: Any = Field(default=None, exclude=True)
    """Not called: what LangGraph reads from it is that the runtime is to be injected."""
    _host: Host = PrivateAttr()

    @override
    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        tool: BaseTool = self.own
        self._host = Host(table=ToolTable([tool.spec]), allows_commands=True)

    @override
    def _to_args_and_kwargs(self, tool_input: Any, tool_call_id: str | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
        given = {next(iter(self.args), "input"): tool_input} if isinstance(tool_input, str) else dict(tool_input)
        return (), {**given, _CALL_ID: tool_call_id}

    @override
    def _run(self, *args: Any, config: RunnableConfig, **given: Any) -> Any:
        del args
        return self._result(run_alone_sync(self._call(given, config)), given)

    @override
    async def _arun(self, *args: Any, config: RunnableConfig, **given: Any) -> Any:
        del args
        return self._result(await run_alone(self._call(given, config)), given)

    def _call(self, given: Mapping[str, Any], config: RunnableConfig) -> Call:
        runtime = given.get(_RUNTIME)
        args = {name: value for name, value in given.items() if name not in (_RUNTIME, _CALL_ID)}
        entry = {"name": self.name, "args": args, "id": given.get(_CALL_ID)}
        turn = Turn(
            host=self._host,
            message=AIMessage(tool_calls=[entry]),
            state=getattr(runtime, "state", None),
            store=getattr(runtime, "store", None),
            context=getattr(runtime, "context", None),
            thread_id=str((config.get("configurable") or {}).get("thread_id", "")),
            is_direct=True,
        )
        return calls_of(turn)[0]

    def _result(self, ended: Call, given: Mapping[str, Any]) -> Any:
        """What LangChain hands on: a message or a command for a call, the content alone for bare arguments."""
        if ended.raises is not None:
            raise ended.raises
        message = ended.message
        if message is None:
            return None
        if given.get(_CALL_ID) is not None:
            answer = write_message(message)
            return answer if ended.command is None else _with_answer(ended.command, answer)
        if message.status == "error":
            raise ToolException(message.text)
        return (
            (message.content, message.artifact) if self.response_format == "content_and_artifact" else message.content
        )


def _with_answer(command: Any, answer: Any) -> Any:
    """A command of ours as LangGraph's, with the answer to its call."""
    made = as_foreign_command(command) if is_command(command) else command
    update: Any = made.update
    if is_array(update):
        made.update = [answer, *update]
    else:
        known: dict[str, Any] = dict(update or {})
        made.update = {**known, "messages": [answer, *known.get("messages", [])]}
    return made


def to_langchain_tool(tool: BaseTool | Callable[..., Any]) -> SurehandTool:
    """A tool of ours as LangChain's, for ``bind_tools`` and for nodes and agents of LangChain's.

    Its arguments are checked, its time is limited and its failures are told as ever; what it returns to a call is a
    tool message with the outcome in ``response_metadata["surehand"]``. LangGraph's runtime gives it state and store.

    Args:
        tool: A tool, or a function that is made into one.

    Raises:
        ToolDefinitionError: It is no tool.
    """
    (own,) = as_tools([tool])
    return SurehandTool(
        name=own.spec.name,
        description=own.spec.description or own.spec.name,
        args_schema=own.spec.schema.json_schema,
        return_direct=own.spec.return_direct,
        response_format=own.spec.response_format,
        tags=list(own.spec.tags) or None,
        metadata=dict(own.spec.metadata) or None,
        own=own,
        func=_runtime_reader(),
    )


def _runtime_reader() -> Any:
    """A function with the one parameter that LangGraph fills; None without LangGraph."""
    try:
        from langgraph.prebuilt.tool_node import ToolRuntime  # noqa: PLC0415 - not everybody has LangGraph
    except ImportError:
        return None

    def read(surehand_runtime: Any) -> None:
        """Nobody calls this."""

    read.__annotations__[_RUNTIME] = ToolRuntime
    return read
