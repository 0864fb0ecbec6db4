"""What an agent knows while it runs, and why it ends."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, TypedDict

from surehand.messages import Message, add_messages

__all__ = ["AgentState", "EndReason"]

EndReason: TypeAlias = Literal[
    "answer",
    "return_direct",
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
]
"""Why an agent ended.

``answer``: the model answered without a call. ``return_direct``: the results of the last calls are the answer.
``max_iterations``: the model still wanted tools when it had been asked as often as allowed. ``max_calls``,
``max_seconds``, ``max_output``: what the run may use up was used up, and the model was asked for its last words without
tools. ``corrections``: too many turns in a row held nothing but calls that could not be run. ``repeated_failure``: the
model made a call again and again that fails in the same way each time; ``no_progress``: that brings the same result.
``truncated``: the answer was cut off by the output limit or a content filter. ``empty_reply``: the provider lost the
reply, and lost it again when asked anew. ``text_call``: the answer looks like a call that the model wrote as text (see
``text_calls=`` of the models).
"""


class AgentState(TypedDict, total=False):
    """What an agent knows while it runs."""

    messages: Annotated[list[Message], add_messages]
    """The conversation."""
    end_reason: EndReason | None
    """Why the run ended; None while it goes on."""
    model_calls: int
    """How often the model was asked in this run."""
