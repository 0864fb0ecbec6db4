"""Conversations that are played against a node, in every form in which a host may keep them."""

from __future__ import annotations

import json
from typing import Any, Literal, TypeAlias

from surehand import AIMessage, HumanMessage, ToolMessage, ToolNode
from surehand.messages import text_of

__all__ = ["FORMS", "Conversation", "Form"]

Form: TypeAlias = Literal["surehand", "openai", "anthropic"]
FORMS: tuple[Form, ...] = ("surehand", "openai", "anthropic")

CallArgs: TypeAlias = tuple[str, Any]
"""A tool's name and the arguments."""


class Conversation:
    """A user's message, and then turns of calls that a node answers."""

    def __init__(self, node: ToolNode, form: Form = "surehand") -> None:
        self._node = node
        self._form = form
        self._made = 0
        self.messages: list[Any] = [HumanMessage("go") if form == "surehand" else {"role": "user", "content": "go"}]

    def turn(self, *calls: CallArgs) -> list[str]:
        """Let the model make these calls; the texts of the answers, in call order."""
        self.messages.append(self.reply(*calls))
        answers: list[Any] = self._node.invoke(self.messages)
        self.messages += answers
        return [text for answer in answers for text in _texts(answer)]

    def say(self, text: str) -> None:
        """Let the user say something, which begins a new run."""
        self.messages.append(HumanMessage(text) if self._form == "surehand" else {"role": "user", "content": text})

    def reply(self, *calls: CallArgs) -> Any:
        """The model's message with these calls; it is not added."""
        ids = [f"c{self._made + place}" for place in range(len(calls))]
        self._made += len(calls)
        named = list(zip(ids, calls, strict=True))
        if self._form == "surehand":
            return AIMessage(tool_calls=[{"id": i, "name": name, "args": args} for i, (name, args) in named])
        if self._form == "openai":
            entries = [
                {"id": i, "type": "function", "function": {"name": name, "arguments": _written(args)}}
                for i, (name, args) in named
            ]
            return {"role": "assistant", "content": "", "tool_calls": entries}
        blocks = [{"type": "tool_use", "id": i, "name": name, "input": args} for i, (name, args) in named]
        return {"role": "assistant", "content": blocks}


def _written(args: Any) -> str:
    return args if isinstance(args, str) else json.dumps(args)


def _texts(answer: ToolMessage | dict[str, Any]) -> list[str]:
    if isinstance(answer, ToolMessage):
        return [answer.text]
    if answer["role"] == "tool":
        return [text_of(answer["content"])]
    blocks: list[dict[str, Any]] = answer["content"]
    return [text_of(block["content"]) for block in blocks]
