"""What somebody decides about a call: whether it may run, and what is to become of one that was interrupted.

The same words are read in every form in which programs send them: as a bool, as a text, as ``{"type": …}``, and as
LangChain's ``{"decisions": [{"type": …, "edited_action": …}]}``.

    approve                                     it runs as it was shown
    {"type": "edit", "args": {…}}               it runs with these arguments
    {"type": "reject", "message": "…"}          it does not run, and the model is told why
    {"type": "respond", "message": "…"}         it does not run, and these words are its answer

    run_again                                   the interrupted call runs once more
    {"type": "done", "result": …}               it had run, and this is its result
    give_up                                     nobody knows, and the model is told so
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias, cast, get_args
from weakref import WeakValueDictionary

from surehand.errors import InterruptError
from surehand.interrupts.signals import Interrupt
from surehand.shapes import is_array, is_object

__all__ = [
    "APPROVAL_DECISIONS",
    "DOUBT_DECISIONS",
    "EDITED",
    "RESPONDED",
    "Decision",
    "EditCheck",
    "check_answer",
    "know",
    "read_decision",
]

DecisionKind: TypeAlias = Literal["approve", "edit", "reject", "respond", "run_again", "done", "give_up"]

APPROVAL_DECISIONS: Final[tuple[DecisionKind, ...]] = ("approve", "edit", "reject", "respond")
"""What may be answered to a question whether a call may run."""
DOUBT_DECISIONS: Final[tuple[DecisionKind, ...]] = ("run_again", "done", "give_up")
"""What may be answered to a question what is to become of a call that was interrupted while it ran."""

EDITED: Final = "a human changed the arguments"
"""Stands in the repairs of a call that ran with other arguments than it was made with."""
RESPONDED: Final = "answered by a human in the tool's place"
"""Stands in the notes of a call that did not run."""

_FORMS: Final = (
    "True, False, 'approve', 'reject', {'type': 'edit', 'args': {…}}, {'type': 'reject', 'message': '…'} "
    "or {'type': 'respond', 'message': '…'}"
)
_DOUBT_FORMS: Final = "'run_again', {'type': 'done', 'result': …} or 'give_up'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What somebody decided about a call."""

    kind: DecisionKind
    arguments: Mapping[str, Any] | None = None
    """Of an ``edit``: what the call runs with."""
    message: str = ""
    """Of a ``reject``: why; of a ``respond``: the answer."""
    tool: str | None = None
    """The tool that an ``edit`` names; None where it names none."""
    result: Any = field(default=None)
    """Of a ``done``: what the call came to."""


class EditCheck(Protocol):
    """Checks the arguments that somebody gave a call; what asks keeps it alive."""

    def check(self, arguments: Mapping[str, Any], /) -> None:
        """Do nothing where the tool takes them.

        Raises:
            InterruptError: It does not.
        """
        ...


_checks: WeakValueDictionary[str, EditCheck] = WeakValueDictionary()
"""By the digest of a tool's schema: the tools of this process that can check arguments before they are kept."""


def know(schema: str, check: EditCheck) -> None:
    """Have the edits of calls checked by the tool whose schema has this digest, as long as there is one."""
    _checks[schema] = check


def read_decision(answer: object) -> Decision:
    """The decision that an answer is.

    Raises:
        InterruptError: It is none, or not one.
    """
    if isinstance(answer, bool):
        return Decision(kind="approve" if answer else "reject")
    if isinstance(answer, str):
        return _of_type(answer, {}, answer)
    if is_object(answer) and "decisions" in answer:
        decisions = answer["decisions"]
        if not is_array(decisions) or len(decisions) != 1:
            raise _unreadable(answer, "One decision answers one question")
        answer = decisions[0]
    if is_object(answer):
        return _of_type(answer.get("type"), answer, answer)
    raise _unreadable(answer)


def check_answer(question: Interrupt, answer: object) -> None:
    """Do nothing where the answer is one to the question; to a plain question, everything is.

    The arguments of an ``edit`` are checked by the tool itself where it is known in this process, which it is as soon
    as its node or graph is built; else when the run goes on.

    Raises:
        InterruptError: It is no decision, or none that the question allows, or an edit that the tool does not take.
    """
    if question.kind == "question":
        return
    decision = read_decision(answer)
    asked: Mapping[str, Any] = question.value if is_object(question.value) else {}
    allowed = [str(kind) for kind in cast("list[Any]", asked.get("decisions") or ())]
    if decision.kind not in allowed:
        raise InterruptError(
            problem=f"The question {question.id} allows {', '.join(allowed)}",
            value=answer,
            remedy="Answer with one of these.",
        )
    if decision.arguments is None:
        return
    if decision.tool not in (None, asked.get("tool")):
        raise InterruptError(
            problem=f"The question is about the tool {asked.get('tool')!r}, and the edit is for {decision.tool!r}",
            value=answer,
            remedy="An edit changes the arguments, and not what is called.",
        )
    check = _checks.get(str(asked.get("schema")))
    if check is not None:
        check.check(decision.arguments)


def _of_type(kind: object, form: Mapping[str, Any], answer: object) -> Decision:
    if kind not in get_args(DecisionKind):
        raise _unreadable(answer)
    match kind:
        case "edit":
            return _edit(form, answer)
        case "reject":
            return Decision(kind="reject", message=_message(form, answer))
        case "respond":
            message = _message(form, answer)
            if not message.strip():
                raise _unreadable(answer, "A response has a text")
            return Decision(kind="respond", message=message)
        case "done":
            if "result" not in form:
                raise _unreadable(answer, "What is done has a result, which may be None")
            return Decision(kind="done", result=form["result"])
        case _:
            return Decision(kind=cast("DecisionKind", kind))


def _edit(form: Mapping[str, Any], answer: object) -> Decision:
    action = form.get("edited_action", form)
    arguments = action.get("args") if is_object(action) else None
    if not is_object(action) or not is_object(arguments):
        raise _unreadable(answer, "An edit has the new arguments, as a mapping")
    tool = action.get("name")
    return Decision(kind="edit", arguments=dict(arguments), tool=None if tool is None else str(tool))


def _message(form: Mapping[str, Any], answer: object) -> str:
    message = form.get("message") or ""
    if not isinstance(message, str):
        raise _unreadable(answer, "The message is a text")
    return message


def _unreadable(answer: object, problem: str = "A decision about a call cannot be read") -> InterruptError:
    return InterruptError(problem=problem, value=answer, remedy=f"Answer with {_FORMS}; about a doubt, {_DOUBT_FORMS}.")
