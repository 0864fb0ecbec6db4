"""What tools return in words of LangChain and LangGraph: messages, commands, and lists of both.

A LangGraph tool may answer its own call: by the tool message in its command's update. The calls have to know that
answer, because they cut it to size, journal it and say how the call ended. So it is taken out on the way in, beside
what it was in; and on the way out it stands in its place again, as it ended.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, cast

from langchain_core.messages import BaseMessage as ForeignMessage
from langchain_core.messages import RemoveMessage as ForeignRemove
from langchain_core.messages import ToolMessage as ForeignAnswer
from langchain_core.messages import convert_to_messages as foreign_messages

from surehand.control import Command, Send, is_command
from surehand.dialects.langchain_messages import read_messages, write_message
from surehand.messages import Message, ToolMessage
from surehand.shapes import is_array, is_object, is_pair

__all__ = [
    "Form",
    "GraphCommand",
    "amended_answer",
    "answers_nothing",
    "as_foreign_command",
    "as_ours",
    "is_foreign_command",
    "listed",
    "messages_of",
    "originals",
    "own_answer",
    "received",
    "targets_of",
    "with_messages",
]

Form: TypeAlias = Literal["list", "dict", "calls"]
"""What a node was given: a list of messages, a state, or calls alone."""

_REMOVE_ALL: Final = "__remove_all__"


@dataclass(frozen=True, kw_only=True)
class GraphCommand(Command[Any]):
    """What a tool returned for LangGraph, with the answer in it as the update."""

    items: tuple[Any, ...] = ()
    """LangGraph's commands and LangChain's tool messages, in their order."""


def is_foreign_command(value: object) -> bool:
    """Whether it is LangGraph's; found without importing it."""
    return any(kind.__module__ == "langgraph.types" and kind.__name__ == "Command" for kind in type(value).__mro__)


# -- for a graph of ours ---------------------------------------------------------------------------------------------


def as_ours(value: Any) -> Any:
    """A message or command as a graph of ours takes it; anything else as it is."""
    if isinstance(value, ForeignMessage):
        return read_messages([value])[0]
    if not is_foreign_command(value):
        return value
    return Command(
        graph=value.graph,
        update=_own_update(value.update),
        goto=[_own_target(target) for target in targets_of(value.goto)],
    )


def _own_update(update: Any) -> Any:
    """An update with messages of ours."""
    if isinstance(update, ForeignMessage):
        return read_messages([update])[0]
    if is_array(update):
        return [_own_update(item) for item in update]
    if is_object(update):
        return {key: _own_update(item) for key, item in update.items()}
    return update


def _own_target(target: Any) -> Any:
    return target if isinstance(target, str) else Send(target.node, _own_update(target.arg))


def targets_of(goto: Any) -> list[Any]:
    """Where a command of LangGraph's leads: names of nodes, and what is sent to them."""
    return [goto] if isinstance(goto, str) or hasattr(goto, "node") else list(goto)


# -- for a graph of LangGraph's --------------------------------------------------------------------------------------


def as_foreign_command(command: Command[Any]) -> Any:
    """A command of ours as LangGraph's."""
    types = importlib.import_module("langgraph.types")
    goto = [target if isinstance(target, str) else types.Send(target.node, target.arg) for target in command.targets]
    update = _foreign_update(command.update)
    return types.Command(graph=command.graph, update=update, goto=goto[0] if len(goto) == 1 else goto)


def _foreign_update(update: Any) -> Any:
    if isinstance(update, Message):
        return [write_message(update)]
    if is_array(update):
        return [write_message(item) if isinstance(item, Message) else item for item in update]
    if is_object(update):
        return {key: _foreign_update(item) if is_array(item) else item for key, item in update.items()}
    return update


def received(value: Any, *, call_id: str, name: str, key: str, form: Form) -> Any:
    """What a tool returned, as the calls know it.

    Args:
        value: What it returned.
        call_id: The id that the model gave the call.
        name: The tool's name.
        key: Where the state holds its messages.
        form: What the node was given.

    Raises:
        ValueError: A command does not fit the node's input, or the call has several answers.
        TypeError: A list holds commands or messages beside something else.
    """
    items = _items_of(value, name)
    if not items:
        return value
    for item in items:
        if is_foreign_command(item):
            _check_fit(item, key=key, form=form, name=name)
    answers = [message for item in items for message in _answers_in(item, key) if message.tool_call_id == call_id]
    if isinstance(value, ForeignAnswer):
        answers = [value]  # a lone message answers its call, whatever id was written there
    elif is_array(value) and len(answers) > 1:
        raise ValueError(_too_many(name, len(answers), call_id))
    own = [_own_message(answer) for answer in answers[:1]]
    update: Any = {key: own} if form != "list" else own
    return GraphCommand(update=update if own else None, items=tuple(items))


def _own_message(answer: ForeignAnswer) -> ToolMessage:
    """An answer as ours; a text is the rule, and needs no reader that knows all that a message may hold."""
    content: Any = answer.content
    is_text = type(answer) is ForeignAnswer and isinstance(content, str) and answer.tool_call_id
    if not is_text or answer.response_metadata:
        return cast("ToolMessage", read_messages([answer])[0])
    return ToolMessage(
        content,
        tool_call_id=answer.tool_call_id,
        status=answer.status,
        artifact=answer.artifact,
        name=answer.name,
        id=answer.id,
        additional_kwargs=dict(answer.additional_kwargs),
    )


def _items_of(value: Any, name: str) -> list[Any]:
    """The commands and messages that were returned; nothing where it is an ordinary result."""
    if is_command(value):
        return [as_foreign_command(value)]
    if isinstance(value, ForeignAnswer) or is_foreign_command(value):
        return [value]
    if not is_array(value) or not value:
        return []
    items = [as_foreign_command(item) if is_command(item) else item for item in value]
    known = [isinstance(item, ForeignAnswer) or is_foreign_command(item) for item in items]
    if any(known) and not all(known):
        raise TypeError(f"Tool {name} returned a list with invalid element types: expected all Command or ToolMessage")
    return items if all(known) else []


def _check_fit(command: Any, *, key: str, form: Form, name: str) -> None:
    update = command.update
    if is_object(update) and form == "list":
        raise ValueError(
            f"Tools can provide a dict in Command.update only when using dict with '{key}' key as ToolNode input, "
            f"got: {update} for tool '{name}'"
        )
    if is_array(update) and form != "list" and not _are_pairs(update):
        raise ValueError(
            "Tools can provide a list of messages in Command.update only when using list of messages as ToolNode "
            f"input, got: {update} for tool '{name}'"
        )


def _are_pairs(update: list[Any]) -> bool:
    """Whether an update is a list of keys with their values, as LangGraph takes it, too."""
    return bool(update) and all(is_pair(item) for item in update)


def _too_many(name: str, count: int, call_id: str) -> str:
    return (
        f"Tool {name} returned a list with {count} messages bound to tool_call_id {call_id!r}; "
        "expected exactly one terminating ToolMessage."
    )


def _answers_in(item: Any, key: str) -> list[ForeignAnswer]:
    """The tool messages that an item brings along."""
    messages = [item] if isinstance(item, ForeignAnswer) else messages_of(item.update, key)
    return [message for message in messages if isinstance(message, ForeignAnswer)]


def messages_of(update: Any, key: str) -> list[Any]:
    """The messages in an update of LangGraph's, as messages."""
    if is_object(update):
        found: Any = update.get(key, [])
    elif is_array(update) and _are_pairs(update):
        found = [item for name, value in update if name == key for item in listed(value)]
    else:
        found = update if is_array(update) else []
    return list(foreign_messages(listed(found)))


def listed(value: Any) -> list[Any]:
    """What may be one message or several, as several."""
    return [*value] if isinstance(value, list | tuple) else [value]


def answers_nothing(item: Any, key: str) -> bool:
    """Whether a command removes all messages: then no answer may follow, for its call is gone."""
    if not is_foreign_command(item):
        return False
    messages = messages_of(item.update, key)
    return len(messages) == 1 and isinstance(messages[0], ForeignRemove) and messages[0].id == _REMOVE_ALL


def own_answer(item: Any, key: str, call_id: str, answer: ForeignAnswer) -> Any:
    """The item with the answer to its call as that ended, in the place where the tool had put it."""
    if isinstance(item, ForeignAnswer):
        return answer
    messages = messages_of(item.update, key)
    if not any(_is_for(message, call_id) for message in messages):
        return item
    put = [answer if _is_for(message, call_id) else message for message in messages]
    return replace(item, update=with_messages(item.update, key, put))


def _is_for(message: Any, call_id: str) -> bool:
    return isinstance(message, ForeignAnswer) and message.tool_call_id == call_id


def with_messages(update: Any, key: str, messages: list[Any]) -> Any:
    """An update with other messages."""
    if is_object(update):
        return {**update, key: messages}
    if is_array(update) and _are_pairs(update):
        others = [pair for pair in update if pair[0] != key]
        return [*others, (key, messages)]
    return messages


def amended_answer(original: ForeignAnswer | None, answer: ToolMessage, *, call_id: str, is_plain: bool) -> Any:
    """LangChain's tool message of how a call ended, made of the one that the tool returned where there is one.

    Args:
        original: What the tool returned.
        answer: How the call ended.
        call_id: The id that the model gave the call.
        is_plain: Whether the outcome is left out of the metadata.
    """
    written: ForeignAnswer = write_message(answer.replace(outcome=None) if is_plain else answer)
    if original is None and written.tool_call_id == call_id:
        return written
    changes: dict[str, Any] = {"tool_call_id": call_id}
    if original is not None:
        changes |= {
            "id": original.id,
            "additional_kwargs": copy(original.additional_kwargs),
            "response_metadata": original.response_metadata | written.response_metadata,
        }
        if written.artifact is None:
            changes["artifact"] = original.artifact
    return written.model_copy(update=changes)


def originals(items: Sequence[Any], key: str, call_id: str) -> Iterator[ForeignAnswer]:
    """The tool messages for a call among what its tool returned."""
    for item in items:
        found = _answers_in(item, key)
        lone = isinstance(item, ForeignAnswer) and len(items) == 1
        yield from (message for message in found if lone or message.tool_call_id == call_id)
