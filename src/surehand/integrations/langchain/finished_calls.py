"""Answers of finished calls in a form that LangGraph can keep, so that another process answers from them.

They ride in the list that LangGraph keeps for a node that has asked or failed. It is written by the checkpointer's
serializer, which knows LangChain's messages and plain JSON, and makes lists of tuples. What it cannot write must not
cost the question: such an answer goes without its artifact, or stays in the process.
"""

# LangChain's own types are partly unknown.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from langchain_core.messages import ToolMessage as ForeignAnswer

from surehand.calls import CallKey, Recalled
from surehand.calls.journal import state_of
from surehand.control import Command
from surehand.dialects.langchain_messages import read_messages, write_message
from surehand.integrations.langchain.commands import GraphCommand, as_foreign_command, as_ours
from surehand.messages import ToolMessage
from surehand.shapes import is_array, is_pair
from surehand.wording import one_line

__all__ = ["read_finished", "write_finished"]

logger = logging.getLogger("surehand.integrations")

_CALL: Final = ("position", "call_id", "tool", "digest", "number")
"""What tells a call from the others of its turn; the list is the turn's own."""


def write_finished(entries: Mapping[CallKey, Recalled], *, checkpointer: Any) -> list[Any]:
    """What is known of finished calls, as far as the checkpointer can keep it; what it cannot is logged.

    Args:
        entries: What the calls came to.
        checkpointer: LangGraph's.
    """
    serializer = _serializer_of(checkpointer)
    forms = (_written(key, entry, serializer) for key, entry in entries.items() if entry.answer is not None)
    return [form for form in forms if form is not None]


def read_finished(forms: Sequence[Any], *, thread_id: str, message_id: str) -> dict[CallKey, Recalled]:
    """What ``write_finished`` has written, of the calls of this turn."""
    found: dict[CallKey, Recalled] = {}
    for form in forms:
        answer, command = _read(form)
        key = CallKey(thread_id=thread_id, message_id=message_id, **form["call"])
        found[key] = Recalled(state=state_of(answer), version=1, answer=answer, command=command)
    return found


def _serializer_of(checkpointer: Any) -> Any:
    found = getattr(checkpointer, "serde", None)
    if found is not None:
        return found
    return importlib.import_module("langgraph.checkpoint.serde.jsonplus").JsonPlusSerializer()


def _written(key: CallKey, entry: Recalled, serializer: Any) -> dict[str, Any] | None:
    whole = _form_of(key, entry)
    problem = _problem_of(whole, serializer)
    if problem is None:
        return whole
    bare = _form_of(key, entry, without_artifacts=True)
    if _problem_of(bare, serializer) is None:
        _warn(key, "its answer is kept with the thread without its artifact", problem)
        return bare
    _warn(key, "its answer is not kept with the thread: another process would run it again", problem)
    return None


def _problem_of(form: dict[str, Any], serializer: Any) -> Exception | None:
    """Why the serializer does not give back what it was given; None where it does."""
    try:
        _read(serializer.loads_typed(serializer.dumps_typed(form)))
    except Exception as error:  # noqa: BLE001 - the host's serializer, and what tools have returned
        return error
    return None


def _warn(key: CallKey, what: str, problem: Exception) -> None:
    logger.warning("%s: %s (%s)", one_line(key.call_id), what, type(problem).__name__)
    logger.debug("%s: why, in full", one_line(key.call_id), exc_info=problem)


def _form_of(key: CallKey, entry: Recalled, *, without_artifacts: bool = False) -> dict[str, Any]:
    trimmed: Callable[[Any], Any] = _without_artifact if without_artifacts else lambda message: message
    form: dict[str, Any] = {
        "call": {name: getattr(key, name) for name in _CALL},
        "answer": trimmed(write_message(cast("ToolMessage", entry.answer))),
    }
    if entry.command is not None:
        own = entry.command if not without_artifacts else replace(entry.command, update=None)
        form["command"] = _command_form(as_foreign_command(own))
    if isinstance(entry.command, GraphCommand):
        form["items"] = [
            trimmed(item) if isinstance(item, ForeignAnswer) else _command_form(item) for item in entry.command.items
        ]
    return form


def _without_artifact(message: ForeignAnswer) -> ForeignAnswer:
    return message.model_copy(update={"artifact": None})


def _command_form(command: Any) -> dict[str, Any]:
    """A command; of pairs, which the serializer turns into lists, it is said that they are pairs."""
    update = command.update
    return {"command": command, "has_pairs": is_array(update) and bool(update) and all(map(is_pair, update))}


def _read(form: Any) -> tuple[ToolMessage, Command[Any] | None]:
    (answer,) = read_messages([form["answer"]])
    if not isinstance(answer, ToolMessage):
        raise TypeError(f"expected a tool message, got {type(answer).__name__}")
    if "command" not in form:
        return answer, None
    command = as_ours(_read_item(form["command"]))
    if "items" not in form:
        return answer, command
    items = tuple(map(_read_item, form["items"]))
    return answer, GraphCommand(graph=command.graph, update=command.update, goto=command.goto, items=items)


def _read_item(item: Any) -> Any:
    if isinstance(item, ForeignAnswer):
        return item
    command = item["command"]
    return replace(command, update=[tuple(pair) for pair in command.update]) if item["has_pairs"] else command
