"""What a node gives back to LangGraph: messages alone, or the commands of its tools with messages between them.

Of a list of updates LangGraph obeys the first command to the graph around and drops all else that stands in the list.
So what such a turn has to say goes into that one command: the commands of the other tools, and the answers to the calls
beside it where the command hands messages on.
"""

# LangChain's own types are partly unknown, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import ToolMessage as ForeignAnswer

from surehand.calls import Call
from surehand.integrations.langchain.commands import (
    Form,
    GraphCommand,
    amended_answer,
    answers_nothing,
    is_foreign_command,
    listed,
    messages_of,
    originals,
    own_answer,
    targets_of,
    with_messages,
)
from surehand.shapes import is_object

__all__ = ["Output"]

_PARENT = "__parent__"


@dataclass(frozen=True, kw_only=True)
class Output:
    """How the ends of calls are written."""

    key: str
    """Where the state holds its messages."""
    form: Form
    """What the node was given."""
    ids: Mapping[int, str]
    """The ids of the calls as the model gave them, by position."""
    is_compatible: bool = False
    """Whether it is written as LangGraph's own node writes it."""

    def of(self, call: Call) -> list[Any]:
        """What one call comes to: tool messages, and the commands of its tool."""
        message = call.message
        if message is None:
            return []
        call_id = self.ids.get(call.position, call.id)
        items = call.command.items if isinstance(call.command, GraphCommand) else ()
        original = next(originals(items, self.key, call_id), None)
        answer = amended_answer(original, message, call_id=call_id, is_plain=self.is_compatible)
        if original is not None:
            return [own_answer(item, self.key, original.tool_call_id, answer) for item in items]
        if not items:
            return [answer]
        return list(items) if self.is_compatible else self._beside(answer, items)

    def all(self, parts: Sequence[Any]) -> Any:
        """What the node returns for the parts of all its calls, in call order."""
        if not any(map(is_foreign_command, parts)):
            return list(parts) if self.form == "list" else {self.key: list(parts)}
        return self._as_upstream(parts) if self.is_compatible else self._merged(parts)

    def _beside(self, answer: ForeignAnswer, items: Sequence[Any]) -> list[Any]:
        """The answer to a call whose tool returned commands without one."""
        if any(answers_nothing(item, self.key) for item in items):
            return list(items)
        for place, item in enumerate(items):
            if is_foreign_command(item) and item.graph == _PARENT and messages_of(item.update, self.key):
                return [*items[:place], self._with_answers(item, [answer]), *items[place + 1 :]]
        return [answer, *items]

    def _with_answers(self, command: Any, answers: Sequence[Any]) -> Any:
        messages = [*messages_of(command.update, self.key), *answers]
        return replace(command, update=with_messages(command.update, self.key, messages))

    def _wrapped(self, part: Any) -> Any:
        if is_foreign_command(part):
            return part
        return [part] if self.form == "list" else {self.key: [part]}

    def _merged(self, parts: Sequence[Any]) -> list[Any]:
        upwards = [part for part in parts if is_foreign_command(part) and part.graph == _PARENT]
        others = [part for part in parts if not any(part is command for command in upwards)]
        if not upwards:
            return [self._wrapped(part) for part in others]
        command = upwards[0] if len(upwards) == 1 else self._one_of(upwards)
        answers = [part for part in others if isinstance(part, ForeignAnswer)]
        if answers and messages_of(command.update, self.key):
            command = self._with_answers(command, answers)
        return [*map(self._wrapped, others), command]

    def _one_of(self, commands: Sequence[Any]) -> Any:
        """One command that does what several do."""
        goto = [target for command in commands for target in targets_of(command.goto)]
        updates = [command.update for command in commands if command.update]
        return replace(commands[0], goto=goto, update=self._one_update(updates))

    def _one_update(self, updates: Sequence[Any]) -> Any:
        if not updates or all(isinstance(update, list) for update in updates):
            return [item for update in updates for item in update] or None
        pairs = [pair for update in updates for pair in _pairs_of(update)]
        messages = [item for name, value in pairs if name == self.key for item in listed(value)]
        others = [pair for pair in pairs if pair[0] != self.key]
        if len({name for name, _ in others}) < len(others):  # a key twice: LangGraph takes pairs, in their order
            return [*others, (self.key, messages)] if messages else others
        return {**dict(others), self.key: messages} if messages else dict(others)

    def _as_upstream(self, parts: Sequence[Any]) -> list[Any]:
        """Commands that only send to nodes of the graph around are one; all else is as it came."""
        sending = [part for part in parts if _only_sends(part)]
        if not sending:
            return [self._wrapped(part) for part in parts]
        kept = [self._wrapped(part) for part in parts if not any(part is command for command in sending)]
        return [*kept, sending[0] if len(sending) == 1 else self._one_of(sending)]


def _only_sends(part: Any) -> bool:
    return (
        is_foreign_command(part)
        and part.graph == _PARENT
        and isinstance(part.goto, list)
        and all(hasattr(target, "node") for target in part.goto)
    )


def _pairs_of(update: Any) -> list[tuple[str, Any]]:
    return list(update.items()) if is_object(update) else list(update)
