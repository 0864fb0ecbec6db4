"""LangGraph graphs around one node, and a LangChain model that gives prepared replies."""

# LangGraph's own types are partly unknown.
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import Field
from typing_extensions import TypedDict

from surehand.shapes import is_array

__all__ = ["Prepared", "asking", "asking_graph", "call", "config", "graph_of", "texts"]


def call(name: str, id: str = "1", /, **args: Any) -> dict[str, Any]:
    """A tool call as LangChain's messages hold it."""
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def asking(*calls: Any, id: str = "reply") -> dict[str, Any]:
    """A state whose newest message makes these calls."""
    return {"messages": [AIMessage("", id=id, tool_calls=list(calls))]}


class Asked(TypedDict, total=False):
    """What a graph asks about, and what came of it."""

    name: str
    said: str


def asking_graph() -> Any:
    """A graph that asks about a name, and says what it was told."""

    def ask(state: Asked) -> Asked:
        name = state.get("name")
        return {"said": f"{name}: {interrupt(name)}"}

    graph: Any = StateGraph(Asked)
    return graph.add_node("ask", ask).add_edge(START, "ask").compile()


def config(thread: str = "t") -> Any:
    """A configuration that names a thread."""
    return {"configurable": {"thread_id": thread}}


def graph_of(node: Any, *, schema: Any = MessagesState, saver: Any = None, **options: Any) -> Any:
    """A graph of one node, called ``tools``, with a checkpointer."""
    graph: Any = StateGraph(schema)
    graph.add_node("tools", node, **options)
    graph.add_edge(START, "tools")
    return graph.compile(checkpointer=InMemorySaver() if saver is None else saver)


def texts(state: Any) -> list[Any]:
    """What the tool messages of a state say."""
    messages: Any = state if is_array(state) else state["messages"]
    return [message.content for message in messages if message.type == "tool"]


class Prepared(BaseChatModel):
    """Gives prepared replies, one after another, and keeps which tools were bound to it."""

    replies: list[AIMessage] = Field(default_factory=list[AIMessage])
    bound: list[Any] = Field(default_factory=list[Any])

    @property
    def _llm_type(self) -> str:
        return "prepared"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Runnable[Any, AIMessage]:
        """The model itself, which remembers the tools."""
        self.bound.extend(tools)
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        del messages, stop, run_manager, kwargs
        return ChatResult(generations=[ChatGeneration(message=self.replies.pop(0))])
