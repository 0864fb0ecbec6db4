"""How a request becomes the model's prompt: the same way whoever sent it.

Frameworks differ in what they send (schemas, results, error texts), and that is what is compared. They must not differ
in what stands around it, so sampling is the server's business and the sentence that small models need after a tool's
result is added here. OpenAI's chat completions have no field that says a call failed: the server takes it from the
text, as a model has to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, cast

__all__ = ["AFTER_ERROR", "AFTER_RESULT", "LONGEST_ERROR", "MAX_TOKENS", "SEED", "Payload", "Style", "prompt_for"]

Payload: TypeAlias = dict[str, Any]

Style: TypeAlias = Literal["guided", "plain"]
"""``guided`` adds a sentence after the newest result, ``plain`` adds nothing."""

SEED: Final = 7
MAX_TOKENS: Final = 400
"""The most tokens of a reply."""
LONGEST_ERROR: Final = 4_000
"""Characters up to which a text with the word 'error' in it is taken for one; a log may well hold the word."""

AFTER_RESULT: Final = (
    "If the result above answers my request, reply in plain text using it. "
    "If a part of my request is still open, call the function for that part."
)
AFTER_ERROR: Final = "That call failed. Call the function again, with the arguments corrected as the error says."


def prompt_for(body: Mapping[str, Any], style: Style) -> Payload:
    """What the engine is asked for a request in OpenAI's form."""
    messages = [_plain(message) for message in cast("Sequence[Mapping[str, Any]]", body.get("messages", ()))]
    if style == "guided" and messages and messages[-1].get("role") == "tool":
        messages[-1] = _guided(messages[-1])
    asked: Payload = {"messages": messages, "temperature": 0.0, "seed": SEED, "max_tokens": MAX_TOKENS}
    if body.get("tools"):
        asked["tools"] = body["tools"]
    return asked


def _plain(message: Mapping[str, Any]) -> Payload:
    """The message with its content as text, which templates join."""
    content = message.get("content")
    if isinstance(content, list):
        blocks = cast("list[Mapping[str, Any]]", content)
        content = "".join(str(block.get("text", "")) for block in blocks)
    return {**message, "content": content or ""}


def _guided(message: Payload) -> Payload:
    content: str = message["content"]
    is_error = len(content) <= LONGEST_ERROR and "error" in content.lower()
    return {**message, "content": f"{content}\n{AFTER_ERROR if is_error else AFTER_RESULT}"}
