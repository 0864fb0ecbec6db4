"""An agent's conversation, message by message as it happens."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from surehand import AIMessage, BaseTool, HumanMessage, Message, ToolMessage, create_agent, init_chat_model
from surehand.cli._screen import Screen, shortened

__all__ = ["messages_of", "show_live"]

END_REASONS: Final = {"max_iterations": "The limit of model calls was reached."}


def messages_of(model: Any, tools: Sequence[BaseTool], question: str, **options: Any) -> Iterator[Message]:
    """The messages that follow the question, each when the step that made it has ended."""
    agent = create_agent(model, tools, **options)
    for update in agent.stream({"messages": [HumanMessage(question)]}, stream_mode="updates"):
        for change in update.values():
            yield from _messages_in(change)


def _messages_in(change: Mapping[str, Any] | None) -> Sequence[Message]:
    return change.get("messages", ()) if change else ()


def show_live(*, model_name: str, tools: Sequence[BaseTool], question: str, screen: Screen, **options: Any) -> None:
    """Ask a model that is really there, and show each step.

    Raises:
        UsageError: There is no such model, or a package is missing.
        ModelError: The model cannot be asked.
    """
    model = init_chat_model(model_name, temperature=0)
    screen.title(f"{model_name}, live")
    screen.labelled("question", question)
    sent: dict[str, str] = {}
    for message in messages_of(model, tools, question, **options):
        if isinstance(message, AIMessage):
            sent = _sent_calls(message)
            if message.text.strip():
                screen.line()
                screen.labelled("model says", message.text.strip(), style="bold")
        elif isinstance(message, ToolMessage):
            screen.line()
            screen.call(sent=sent.get(message.tool_call_id, message.name or ""), answer=message)


def _sent_calls(message: AIMessage) -> dict[str, str]:
    return {call["id"]: f"{call['name']} {_shown_arguments(call['args'])}" for call in message.tool_calls}


def _shown_arguments(arguments: Any) -> str:
    if isinstance(arguments, Mapping):
        return json.dumps(arguments, ensure_ascii=False, default=str)
    return shortened(str(arguments))
