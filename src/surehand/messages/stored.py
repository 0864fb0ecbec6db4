"""Messages as JSON, for stores: versioned, and readable whatever a model sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from surehand.errors import InputError
from surehand.messages.ai import AIMessage, AIMessageChunk
from surehand.messages.base import HumanMessage, Message, RemoveMessage, SystemMessage, ToolMessage, is_empty
from surehand.messages.calls import Calls
from surehand.messages.json_form import json_form
from surehand.outcomes import FailureKind, Outcome
from surehand.shapes import mapping_of

__all__ = ["VERSION", "is_stored", "message_from_dict", "message_to_dict", "outcome_from_dict"]

VERSION: Final = 1
"""The form's version, under the key ``surehand``; a reader refuses later ones."""

_KINDS: Final[dict[str, type[Message]]] = {
    kind.type: kind for kind in (SystemMessage, HumanMessage, AIMessage, ToolMessage, RemoveMessage)
}


def message_to_dict(message: Message) -> dict[str, Any]:
    """The message as JSON; what is empty is left out.

    An artifact or argument that JSON cannot carry is stored as what comes nearest: the rest of the message counts more.
    """
    if isinstance(message, AIMessageChunk):
        message = message.to_message()
    form: dict[str, Any] = {"surehand": VERSION, "type": message.type}
    for field, value in message._given().items():  # pyright: ignore[reportPrivateUsage] # noqa: SLF001 - one family of modules
        if field == "tool_calls":
            value = _calls_form(cast("AIMessage", message))  # noqa: PLW2901 - the field's JSON
        elif isinstance(value, Outcome):
            value = value.to_dict()  # noqa: PLW2901 - the field's JSON
        if (field == "artifact" and value is not None) or field == "content" or not is_empty(value):
            form[field] = json_form(value)
    return form


def _calls_form(message: AIMessage) -> list[dict[str, Any]]:
    errors = {call["id"]: call["error"] for call in message.invalid_tool_calls}
    forms: list[dict[str, Any]] = []
    for call in message.tool_calls:
        form: dict[str, Any] = {"id": call["id"], "name": call["name"], "args": call["args"]}
        if call["id"] in errors:
            form["error"] = errors[call["id"]]
        if call["id"] in message.repairs:
            form["repairs"] = list(message.repairs[call["id"]])
        forms.append(form)
    return forms


def is_stored(value: Mapping[str, Any]) -> bool:
    """Whether a mapping is a message's stored form."""
    return "surehand" in value


def message_from_dict(form: object) -> Message:
    """The message of a stored form. Arguments that cannot be read make an invalid call, never an error.

    Raises:
        InputError: The form is another program's, a later version's, or damaged.
    """
    fields = dict(mapping_of(form))
    if fields.pop("surehand", None) != VERSION:
        raise InputError(
            problem=f"Expected a stored message of version {VERSION}, as message_to_dict writes it",
            value=form,
            remedy="Read the form with the version of Surehand that wrote it, or with convert_to_messages.",
        )
    word: object = fields.pop("type", None)
    kind = _KINDS.get(word) if isinstance(word, str) else None
    if kind is None or not fields.keys() <= set(kind._fields):  # pyright: ignore[reportPrivateUsage] - one family of modules
        raise _damaged(form)
    try:
        return _built(kind, fields)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise _damaged(form) from error


def _damaged(form: object) -> InputError:
    return InputError(
        problem="A stored message is damaged: its type is unknown, or a field is missing or of the wrong kind",
        value=form,
        remedy="Restore it from a copy, or leave it out.",
    )


def _built(kind: type[Message], fields: dict[str, Any]) -> Message:
    if kind is ToolMessage and fields.get("outcome") is not None:
        fields["outcome"] = _outcome(fields["outcome"])
    if kind is not AIMessage:
        return kind(**fields)
    forms: list[dict[str, Any]] = [dict(form) for form in fields.pop("tool_calls", ())]
    entries = [{**form, "type": "invalid_tool_call"} if "error" in form else form for form in forms]
    message = AIMessage(**fields, tool_calls=entries)
    calls: Calls = message._calls  # pyright: ignore[reportPrivateUsage] # noqa: SLF001 - one family of modules
    for call, form in zip(message.tool_calls, forms, strict=True):
        if "repairs" in form:
            calls.repairs[call["id"]] = tuple(form["repairs"])
    return message


def outcome_from_dict(form: object) -> Outcome | None:
    """The outcome of what ``Outcome.to_dict`` wrote; None where it is something else."""
    try:
        return _outcome(mapping_of(form))
    except (TypeError, ValueError, KeyError, AttributeError):
        return None


def _outcome(form: Mapping[str, Any]) -> Outcome:
    kind = form["kind"]
    return Outcome(
        kind=None if kind is None else FailureKind(kind),
        text=form["text"],
        error_id=form["error_id"],
        attempts=form["attempts"],
        attempt_errors=tuple(form.get("attempt_errors", ())),
        duration_s=form["duration_s"],
        queued_s=form["queued_s"],
        repairs=tuple(form["repairs"]),
        notes=tuple(form["notes"]),
        retryable=form["retryable"],
    )
