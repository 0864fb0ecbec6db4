"""An agent's conversation, message by message as it happens."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from surehand import AIMessage, BaseTool, HumanMessage, Message, ToolMessage, create_agent, init_chat_model
from surehand.cli._screen import Screen, shortened

__all__ = ["messages_of", "show_live"]

ANSWERED: Final = frozenset({"answer", "return_direct"})
"""The ends of an agent that are answers."""
DEFAULT_LOCAL: Final = "local:qwen2.5-coder-1.5b"
"""What plain ``local`` means: small enough for any machine, and it calls tools; fetched once, 1.1 GB."""


def messages_of(model: Any, tools: Sequence[BaseTool], question: str, **options: Any) -> Iterator[Message]:
    """The messages that follow the question, each when the step that made it has ended."""
    for change in _changes(model, tools, question, **options):
        yield from change.get("messages", ())


def show_live(*, model_name: str, tools: Sequence[BaseTool], question: str, screen: Screen, **options: Any) -> bool:
    """Ask a model that is really there, show each step, and say whether there was an answer.

    Raises:
        UsageError: There is no such model, or a package is missing.
        ModelError: The model cannot be asked.
    """
    name = DEFAULT_LOCAL if model_name == "local" else model_name
    model = init_chat_model(name, temperature=0)
    screen.title(f"{name}, live")
    screen.labelled("question", question)
    reason: str | None = None
    sent: dict[str, str] = {}
    for change in _changes(model, tools, question, **options):
        reason = change.get("end_reason")
        for message in change.get("messages", ()):
            if isinstance(message, AIMessage):
                sent = _sent_calls(message)
            _show(message, sent, screen)
    if reason not in ANSWERED:
        screen.labelled("no answer", f"the agent ended with {reason!r}", style="bold yellow")
    return reason in ANSWERED


def _changes(model: Any, tools: Sequence[BaseTool], question: str, **options: Any) -> Iterator[Mapping[str, Any]]:
    """What each step of the agent changes in its state."""
    agent = create_agent(model, tools, **options)
    for update in agent.stream({"messages": [HumanMessage(question)]}, stream_mode="updates"):
        yield from (change for change in update.values() if change)


def _show(message: Message, sent: Mapping[str, str], screen: Screen) -> None:
    if isinstance(message, AIMessage) and message.text.strip():
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
