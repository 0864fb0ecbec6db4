"""Graphs: nodes that share a state, run in steps."""

from surehand.control import END, START, Command, Send
from surehand.errors import GraphRecursionError
from surehand.graph.builder import StateGraph
from surehand.graph.compiled import CompiledGraph
from surehand.graph.live import STREAM_BUFFER, Dropped
from surehand.graph.messages_state import MessagesState
from surehand.graph.modes import StreamMode
from surehand.graph.threads import StateSnapshot
from surehand.messages import add_messages

__all__ = [
    "END",
    "START",
    "STREAM_BUFFER",
    "Command",
    "CompiledGraph",
    "Dropped",
    "GraphRecursionError",
    "MessagesState",
    "Send",
    "StateGraph",
    "StateSnapshot",
    "StreamMode",
    "add_messages",
]
