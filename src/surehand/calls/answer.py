"""From an outcome to the one tool message that answers the call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias, cast

from surehand.calls.call import Call
from surehand.calls.results import READER_NAME, Keep, Rendered, render_value
from surehand.control import Command, is_command
from surehand.errors import ToolException
from surehand.freeze import thaw
from surehand.messages import Content, ToolMessage
from surehand.outcomes import Outcome
from surehand.policy import DEFAULT_MAX_OUTPUT
from surehand.shapes import is_a, is_array, is_object, is_pair

__all__ = ["ToolReturn", "answer", "keeper", "render"]

_Show: TypeAlias = Callable[[Any], Rendered]
"""Renders a value as the call's host wants it."""


@dataclass(frozen=True, slots=True)
class ToolReturn:
    """A tool's result in two parts: what the model reads, and what the program keeps."""

    __surehand_model_reads__: ClassVar[str] = "content"

    content: Any
    """Becomes the tool message's content, rendered like any result."""
    artifact: Any = None
    """Stands on the tool message as it is; no model sees it."""


def render(call: Call) -> Call:
    """Make the result, or the words about the failure, into what the model is given."""
    if call.message is not None:  # answered from the journal
        return call
    outcome = call.outcome
    host = call.turn.host
    show = partial(render_value, max_output=_max_output(call), keep=keeper(call), renderers=host.renderers)
    if outcome is not None and outcome.kind is not None:
        shown = show(outcome.text or str(outcome.kind))
        artifact = outcome.error.artifact if isinstance(outcome.error, ToolException) else None
        return call._replace(rendered=_with_artifact(shown, artifact))
    if is_command(call.value):
        return _from_command(call, call.value, show)
    return call._replace(rendered=_rendered(call, call.value, show))


def keeper(call: Call) -> Keep | None:
    """Keeps what the model is not given of the call's answer; None where there is no shelf to keep it on.

    What was read from the shelf is not put there again: the model would read on in a piece of a piece.
    """
    shelf = call.turn.host.shelf
    if shelf is None or call.name == READER_NAME:
        return None
    return partial(shelf.put, call.turn.thread_id)


def answer(call: Call) -> Call:
    """Write the call's tool message."""
    if call.message is not None:  # answered from the journal
        return call
    outcome = call.outcome or Outcome()
    rendered = call.rendered or render_value(None, max_output=None)
    if rendered.notes:
        outcome = replace(outcome, notes=(*outcome.notes, *rendered.notes))
    message = ToolMessage(
        cast("Content", rendered.content),  # a list is invariant: list[dict] is no list[str | dict]
        tool_call_id=call.id,
        name=call.name,
        status=_status_of(call, outcome),
        artifact=rendered.artifact,
        outcome=outcome if outcome.error is None else replace(outcome, error=None),
    )
    return call._replace(message=message, outcome=outcome)


def _status_of(call: Call, outcome: Outcome) -> Literal["success", "error"]:
    """As the tool's own message says, where it returned one or put one into a command."""
    own: Any = call.value
    if is_command(own):
        own = None if outcome.kind is not None else _own_answer(call, own.update)[0]
    return own.status if is_a(own, ToolMessage) else outcome.status


def _rendered(call: Call, value: Any, show: _Show) -> Rendered:
    if is_a(value, ToolMessage):  # id and name are the call's, whatever the tool wrote there
        return _with_artifact(show(value.content), value.artifact)
    if is_a(value, ToolReturn):
        return _with_artifact(show(value.content), value.artifact)
    if call.tool is not None and call.tool.spec.response_format == "content_and_artifact":
        return _from_pair(value, show)
    return show(value)


def _from_pair(value: Any, show: _Show) -> Rendered:
    if is_pair(value):
        content, artifact = value
        return _with_artifact(show(content), artifact)
    rendered = show(value)
    note = "the tool is declared to return (content, artifact) and returned no pair: taken as content"
    return rendered._replace(notes=(*rendered.notes, note))


def _with_artifact(rendered: Rendered, artifact: Any) -> Rendered:
    return rendered if artifact is None else rendered._replace(artifact=artifact, has_artifact=True)


def _from_command(call: Call, command: Command, show: _Show) -> Call:
    """The answer that the command brings along for this call, or a plain one, and the command without it."""
    own, rest = _own_answer(call, command.update)
    rendered = show("Done; control moves on.") if own is None else _with_artifact(show(own.content), own.artifact)
    # A tool may hand on a part of the state it was shown, which is read-only; in the graph it is ordinary again.
    return call._replace(rendered=rendered, command=replace(command, update=thaw(rest)))


def _own_answer(call: Call, update: Any) -> tuple[ToolMessage | None, Any]:
    """The tool message for this call in a command's update, and the update without it."""
    key = call.turn.messages_key
    messages = update.get(key) if is_object(update) else update
    found = messages if is_array(messages) else []
    mine = next((m for m in found if isinstance(m, ToolMessage) and m.tool_call_id == call.id), None)
    if mine is None:
        return None, update
    others = [message for message in found if message is not mine]
    return mine, {**update, key: others} if is_object(update) else others


def _max_output(call: Call) -> int | None:
    limit = call.tool.options.max_output if call.tool is not None else DEFAULT_MAX_OUTPUT
    return limit if isinstance(limit, int) else None
