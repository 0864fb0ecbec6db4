"""What an agent knows while it runs, and why it ends."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    Required,
    TypeAlias,
    TypedDict,
    cast,
    get_args,
    get_origin,
)

from typing_extensions import is_typeddict

from surehand.errors import OptionError, shown
from surehand.graph.hints import class_hints
from surehand.messages import Message, add_messages

__all__ = ["RESERVED", "AgentState", "EndReason", "state_of"]

EndReason: TypeAlias = Literal[
    "answer",
    "return_direct",
    "structured_response",
    "max_iterations",
    "max_calls",
    "max_seconds",
    "max_output",
    "corrections",
    "repeated_failure",
    "no_progress",
    "truncated",
    "empty_reply",
    "text_call",
    "unstructured_answer",
    "middleware",
]
"""Why an agent ended.

``answer``: the model answered without a call. ``return_direct``: the results of the last calls are the answer.
``structured_response``: the model gave an answer that fits ``response_format``. ``max_iterations``: the model still
wanted tools when it had been asked as often as allowed. ``max_calls``, ``max_seconds``, ``max_output``: what the run
may use up was used up, and the model was asked for its last words without tools. ``corrections``: too many turns in a
row held nothing but calls that could not be run, or answers that do not fit. ``repeated_failure``: the model made a
call again and again that fails in the same way each time; ``no_progress``: that brings the same result. In these three
cases it was asked for its last words, too, where there was a request left. ``truncated``: the answer was cut off, by
the output limit, a content filter or a failure. ``empty_reply``: the provider lost the reply, and lost it again when
asked anew. ``text_call``: the answer looks like a call that the model wrote as text (see ``text_calls=`` of the
models). ``unstructured_answer``: the model answered in words, also when it was asked for an answer that fits
``response_format``. ``middleware``: a middleware ended the run.
"""


class AgentState(TypedDict, total=False):
    """What an agent knows while it runs."""

    messages: Annotated[list[Message], add_messages]
    """The conversation."""
    end_reason: EndReason | None
    """Why the run ended; None while it goes on."""
    model_calls: int
    """How often the model was asked in this run."""
    structured_response: Any
    """The answer in the form of ``response_format``; None until there is one."""
    jump_to: str | None
    """Where the newest hook of a middleware leads, if not on; for the loop alone."""


RESERVED: Final = frozenset({"end_reason", "model_calls", "jump_to"})
"""The keys that the loop alone writes."""

_BASE: Final = typing.get_type_hints(AgentState, include_extras=True)


def state_of(schemas: Mapping[str, object], *, response: Sequence[Any] = ()) -> type[AgentState]:
    """The state of an agent with the keys that its middlewares add.

    Args:
        schemas: The TypedDict of each middleware that has one, by the middleware's name.
        response: What the structured response may be; nothing where none is asked for.

    Raises:
        OptionError: A schema is no TypedDict, or declares a key in another way than somebody before it.
    """
    keys: dict[str, Any] = dict(_BASE)
    owners = dict.fromkeys(keys, "the agent")
    for middleware, schema in schemas.items():
        for key, hint in _keys_of(middleware, schema).items():
            if key == "messages" and add_messages in get_args(hint):
                continue  # a conversation, whatever messages are said to be in it
            if key in keys and keys[key] != hint:
                raise OptionError(
                    option="state_schema",
                    value=schema,
                    expected=f"the key {key!r} to be declared in the same way as by {owners[key]}",
                    remedy=f"Rename the key of the middleware {middleware!r}, or annotate both alike.",
                )
            owners.setdefault(key, f"the middleware {middleware!r}")
            keys[key] = hint
    if not schemas and not response:
        return AgentState
    if response:
        keys["structured_response"] = _either(response)
    make = cast("Any", TypedDict)  # checkers know the form with literal keys only
    return cast("type[AgentState]", make("AgentState", keys, total=False))


def _keys_of(middleware: str, schema: object) -> dict[str, Any]:
    if not is_typeddict(schema):
        raise OptionError(
            option="state_schema",
            value=schema,
            expected="a TypedDict with the keys to add",
            remedy=f"It belongs to the middleware {middleware!r}; {shown(AgentState)} may be its base.",
        )
    return {key: _bare(hint) for key, hint in class_hints(cast("type", schema)).items()}


def _bare(hint: Any) -> Any:
    """An annotation without what says whether the key has to be there: none of an agent's has."""
    while get_origin(hint) in (NotRequired, Required):
        (hint,) = get_args(hint)
    return hint


def _either(kinds: Sequence[Any]) -> Any:
    """An annotation for one of these, or None."""
    found: Any = None
    for kind in kinds:
        found = found | kind
    return found
