"""Surehand: the layer between a model's tool calls and the tool messages that answer them.

Example:
    from surehand import AIMessage, ToolNode, tool

    @tool
    def add(a: int, b: int) -> int:
        "Add two numbers."
        return a + b

    call = {"id": "1", "name": "add", "args": '{"a": 2, "b": "3"}'}
    ToolNode([add]).invoke([AIMessage(tool_calls=[call])])   # [ToolMessage(content='5', …)]
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from surehand.agent import AgentMiddleware, ModelRequest, ModelResponse, create_agent
    from surehand.calls import (
        CallJournal,
        CallKey,
        MemoryJournal,
        Passage,
        Reading,
        Recalled,
        ResultCache,
        ResultShelf,
        SingleFlight,
        ToolCallMiddleware,
        ToolCallRequest,
        ToolReturn,
        register_renderer,
    )
    from surehand.calls.saved_journal import SavedJournal
    from surehand.checkpoints import Checkpointer, MemorySaver, SqliteSaver
    from surehand.control import END, START, Command, RunConfig, Runtime, Send, current_runtime
    from surehand.errors import (
        ApprovalRequired,
        CheckpointConflict,
        CheckpointError,
        Complaint,
        GraphDefinitionError,
        GraphRecursionError,
        InputError,
        InterruptError,
        InterruptExpired,
        InvalidArguments,
        MalformedArguments,
        MissingExtraError,
        ModelError,
        ModelRetry,
        NodeError,
        NodeTimedOut,
        OptionError,
        ProcessDied,
        RemoteError,
        RoutingError,
        RunError,
        ScriptExhausted,
        StoreError,
        SurehandError,
        ToolCallError,
        ToolDefinitionError,
        ToolException,
        ToolServerError,
        ToolTimedOut,
        UsageError,
    )
    from surehand.events import CallPaused
    from surehand.graph import STREAM_BUFFER, CompiledGraph, Dropped, MessagesState, StateGraph, StateSnapshot
    from surehand.integrations.mcp import McpServer, McpServers, aserve_mcp, serve_mcp
    from surehand.integrations.postgres import PostgresSaver
    from surehand.interrupts import Decision, Interrupt, Interrupted, check_answer, interrupt, read_decision
    from surehand.messages import (
        REMOVE_ALL_MESSAGES,
        AIMessage,
        AIMessageChunk,
        AnyMessage,
        HumanMessage,
        InvalidToolCall,
        Message,
        RemoveMessage,
        SystemMessage,
        ToolCall,
        ToolMessage,
        TranscriptProblem,
        add_messages,
        check_transcript,
        convert_to_messages,
        message_from_dict,
        message_to_dict,
        repair_transcript,
        trim_messages,
    )
    from surehand.models import ChatAnthropic, ChatGoogle, ChatModel, ChatOpenAI, LocalModel, Nudge, init_chat_model
    from surehand.nodes import (
        FunctionNode,
        ToolNode,
        ToolSetFunction,
        ToolSetRequest,
        ValidationNode,
        arun_tool_calls,
        run_tool_calls,
        tools_condition,
    )
    from surehand.outcomes import FailureKind, Outcome
    from surehand.policy import (
        CachePolicy,
        CircuitBreaker,
        Limits,
        NoProgress,
        RateLimit,
        RetryPolicy,
        Tell,
        ToolOptions,
    )
    from surehand.spec import (
        DidNotHappen,
        DoubtfulCall,
        Happened,
        InjectedState,
        InjectedStore,
        InjectedToolArg,
        InjectedToolCallId,
        ToolContext,
    )
    from surehand.stores import InMemoryStore, Store
    from surehand.tools import BaseTool, Tool, prefixed, result_reader, tool
    from surehand.tools.lint import Finding, estimated_tokens, lint_tools

__version__ = "0.1.0"

__all__ = [
    "END",
    "REMOVE_ALL_MESSAGES",
    "START",
    "STREAM_BUFFER",
    "AIMessage",
    "AIMessageChunk",
    "AgentMiddleware",
    "AnyMessage",
    "ApprovalRequired",
    "BaseTool",
    "CachePolicy",
    "CallJournal",
    "CallKey",
    "CallPaused",
    "ChatAnthropic",
    "ChatGoogle",
    "ChatModel",
    "ChatOpenAI",
    "CheckpointConflict",
    "CheckpointError",
    "Checkpointer",
    "CircuitBreaker",
    "Command",
    "CompiledGraph",
    "Complaint",
    "Decision",
    "DidNotHappen",
    "DoubtfulCall",
    "Dropped",
    "FailureKind",
    "Finding",
    "FunctionNode",
    "GraphDefinitionError",
    "GraphRecursionError",
    "Happened",
    "HumanMessage",
    "InMemoryStore",
    "InjectedState",
    "InjectedStore",
    "InjectedToolArg",
    "InjectedToolCallId",
    "InputError",
    "Interrupt",
    "InterruptError",
    "InterruptExpired",
    "Interrupted",
    "InvalidArguments",
    "InvalidToolCall",
    "Limits",
    "LocalModel",
    "MalformedArguments",
    "McpServer",
    "McpServers",
    "MemoryJournal",
    "MemorySaver",
    "Message",
    "MessagesState",
    "MissingExtraError",
    "ModelError",
    "ModelRequest",
    "ModelResponse",
    "ModelRetry",
    "NoProgress",
    "NodeError",
    "NodeTimedOut",
    "Nudge",
    "OptionError",
    "Outcome",
    "Passage",
    "PostgresSaver",
    "ProcessDied",
    "RateLimit",
    "Reading",
    "Recalled",
    "RemoteError",
    "RemoveMessage",
    "ResultCache",
    "ResultShelf",
    "RetryPolicy",
    "RoutingError",
    "RunConfig",
    "RunError",
    "Runtime",
    "SavedJournal",
    "ScriptExhausted",
    "Send",
    "SingleFlight",
    "SqliteSaver",
    "StateGraph",
    "StateSnapshot",
    "Store",
    "StoreError",
    "SurehandError",
    "SystemMessage",
    "Tell",
    "Tool",
    "ToolCall",
    "ToolCallError",
    "ToolCallMiddleware",
    "ToolCallRequest",
    "ToolContext",
    "ToolDefinitionError",
    "ToolException",
    "ToolMessage",
    "ToolNode",
    "ToolOptions",
    "ToolReturn",
    "ToolServerError",
    "ToolSetFunction",
    "ToolSetRequest",
    "ToolTimedOut",
    "TranscriptProblem",
    "UsageError",
    "ValidationNode",
    "add_messages",
    "arun_tool_calls",
    "aserve_mcp",
    "check_answer",
    "check_transcript",
    "convert_to_messages",
    "create_agent",
    "current_runtime",
    "estimated_tokens",
    "init_chat_model",
    "interrupt",
    "lint_tools",
    "message_from_dict",
    "message_to_dict",
    "prefixed",
    "read_decision",
    "register_renderer",
    "repair_transcript",
    "result_reader",
    "run_tool_calls",
    "serve_mcp",
    "tool",
    "tools_condition",
    "trim_messages",
]

_HOMES: Final = {
    "surehand.agent": "AgentMiddleware ModelRequest ModelResponse create_agent",
    "surehand.calls": (
        "CallJournal CallKey MemoryJournal Passage Reading Recalled ResultCache ResultShelf "
        "SingleFlight ToolCallMiddleware ToolCallRequest ToolReturn register_renderer"
    ),
    "surehand.calls.saved_journal": "SavedJournal",
    "surehand.checkpoints": "Checkpointer MemorySaver SqliteSaver",
    "surehand.control": "Command END RunConfig Runtime START Send current_runtime",
    "surehand.errors": (
        "ApprovalRequired CheckpointConflict CheckpointError Complaint GraphDefinitionError "
        "GraphRecursionError InputError InterruptError InterruptExpired InvalidArguments MalformedArguments "
        "MissingExtraError ModelError ModelRetry NodeError NodeTimedOut OptionError ProcessDied RemoteError "
        "RoutingError RunError ScriptExhausted StoreError SurehandError ToolCallError ToolDefinitionError "
        "ToolException ToolServerError ToolTimedOut UsageError"
    ),
    "surehand.events": "CallPaused",
    "surehand.graph": "CompiledGraph Dropped MessagesState STREAM_BUFFER StateGraph StateSnapshot",
    "surehand.integrations.mcp": "McpServer McpServers aserve_mcp serve_mcp",
    "surehand.integrations.postgres": "PostgresSaver",
    "surehand.interrupts": "Decision Interrupt Interrupted check_answer interrupt read_decision",
    "surehand.messages": (
        "AIMessage AIMessageChunk AnyMessage HumanMessage InvalidToolCall Message REMOVE_ALL_MESSAGES "
        "RemoveMessage SystemMessage ToolCall ToolMessage TranscriptProblem add_messages check_transcript "
        "convert_to_messages message_from_dict message_to_dict repair_transcript trim_messages"
    ),
    "surehand.models": "ChatAnthropic ChatGoogle ChatModel ChatOpenAI LocalModel Nudge init_chat_model",
    "surehand.nodes": (
        "FunctionNode ToolNode ToolSetFunction ToolSetRequest ValidationNode arun_tool_calls run_tool_calls "
        "tools_condition"
    ),
    "surehand.outcomes": "FailureKind Outcome",
    "surehand.policy": ("CachePolicy CircuitBreaker Limits NoProgress RateLimit RetryPolicy Tell ToolOptions"),
    "surehand.spec": (
        "DidNotHappen DoubtfulCall Happened InjectedState InjectedStore InjectedToolArg InjectedToolCallId ToolContext"
    ),
    "surehand.stores": "InMemoryStore Store",
    "surehand.tools": "BaseTool Tool prefixed result_reader tool",
    "surehand.tools.lint": "Finding estimated_tokens lint_tools",
}
"""Module -> the public names it holds. A name is imported when it is first asked for, so that a program that only runs
tool calls does not pay for graphs, agents and models."""
_HOME_OF: Final = {name: module for module, names in _HOMES.items() for name in names.split()}

# Without a handler of the program's own, Python would print our warnings to stderr.
logging.getLogger("surehand").addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
