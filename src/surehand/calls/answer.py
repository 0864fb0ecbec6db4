"""From an outcome to the one tool message that answers the call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from surehand.calls.announce import announce, log_outcome
from surehand.calls.call import Call
from surehand.calls.render import Rendered, render_value
from surehand.control import Command
from surehand.events import CallFinished
from surehand.messages import ToolMessage
from surehand.outcomes import Outcome

__all__ = ["ToolReturn", "answer", "render"]

_NO_LIMIT_KNOWN = 50_000


@dataclass(frozen=True, slots=True)
class ToolReturn:
    """A tool's result in two parts: what the model reads, and what the program keeps."""

    content: Any
    """Becomes the tool message's content, rendered like any result."""
    artifact: Any = None
    """Stands on the tool message as it is; no model sees it."""


def render(call: Call) -> Call:
    """Make the result, or the words about the failure, into what the model is given."""
    outcome = call.outcome or Outcome()
    limit = _max_output(call)
    if outcome.kind is not None:
        return call._replace(rendered=render_value(outcome.text or str(outcome.kind), max_output=limit))
    value = outcome.value
    if isinstance(value, Command):
        return _from_command(call, value, limit)
    return call._replace(rendered=_rendered(call, value, limit))


def answer(call: Call) -> Call:
    """Write the call's tool message and announce that the call has ended."""
    outcome = call.outcome or Outcome()
    rendered = call.rendered or render_value(None, max_output=None)
    if rendered.notes:
        outcome = replace(outcome, notes=(*outcome.notes, *rendered.notes))
    log_outcome(call, outcome)
    announce(call, CallFinished, outcome=outcome)
    message = ToolMessage(
        rendered.content,
        tool_call_id=call.id,
        name=call.name,
        status=_status(outcome),
        artifact=rendered.artifact,
        outcome=replace(outcome, value=None, error=None, repairs=call.repairs),
    )
    return call._replace(message=message)


def _status(outcome: Outcome) -> Any:
    """A tool that returns a tool message of its own may say that it failed."""
    own = outcome.value
    return own.status if isinstance(own, ToolMessage) else outcome.status


def _rendered(call: Call, value: Any, limit: int | None) -> Rendered:
    if isinstance(value, ToolMessage):  # id and name are the call's, whatever the tool wrote there
        return _with_artifact(render_value(value.content, max_output=limit), value.artifact)
    if isinstance(value, ToolReturn):
        return _with_artifact(render_value(value.content, max_output=limit), value.artifact)
    if call.tool is not None and call.tool.spec.response_format == "content_and_artifact":
        return _from_pair(value, limit)
    return render_value(value, max_output=limit)


def _from_pair(value: Any, limit: int | None) -> Rendered:
    if isinstance(value, tuple) and len(cast("tuple[Any, ...]", value)) == 2:  # noqa: PLR2004 - a pair
        content, artifact = cast("tuple[Any, Any]", value)
        return _with_artifact(render_value(content, max_output=limit), artifact)
    rendered = render_value(value, max_output=limit)
    note = "the tool is declared to return (content, artifact) and returned no pair: taken as content"
    return rendered._replace(notes=(*rendered.notes, note))


def _with_artifact(rendered: Rendered, artifact: Any) -> Rendered:
    return rendered if artifact is None else rendered._replace(artifact=artifact, has_artifact=True)


def _from_command(call: Call, command: Command, limit: int | None) -> Call:
    """The answer that the command brings along for this call, or a plain one, and the command without it."""
    own, rest = _own_answer(call, command.update)
    if own is None:
        rendered = render_value("Done; control moves on.", max_output=limit)
    else:
        rendered = _with_artifact(render_value(own.content, max_output=limit), own.artifact)
    return call._replace(rendered=rendered, command=replace(command, update=rest))


def _own_answer(call: Call, update: Any) -> tuple[ToolMessage | None, Any]:
    key = call.turn.messages_key
    messages: Any = update
    if isinstance(update, Mapping):
        messages = cast("Mapping[str, Any]", update).get(key)
    if not isinstance(messages, list):
        return None, update
    mine = [m for m in cast("list[Any]", messages) if isinstance(m, ToolMessage) and m.tool_call_id == call.id]
    if not mine:
        return None, update
    others: list[Any] = [m for m in cast("list[Any]", messages) if m is not mine[0]]
    rest: Any = {**cast("Mapping[str, Any]", update), key: others} if isinstance(update, Mapping) else others
    return mine[0], rest


def _max_output(call: Call) -> int | None:
    limit = call.tool.options.max_output if call.tool is not None else _NO_LIMIT_KNOWN
    return limit if isinstance(limit, int) else None
