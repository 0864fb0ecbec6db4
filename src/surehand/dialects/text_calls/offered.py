"""The tools that were offered, and calls of them: all that the forms have in common."""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from surehand.errors import MalformedArguments
from surehand.grammar import parse_arguments
from surehand.messages import ToolCall, new_call_id

__all__ = ["END_TOKENS", "Block", "Offered", "broken_call", "call_of", "call_with", "without_end_tokens"]

_WORD: Final = re.compile(r"[^\s<>{}\[\]()=:,;\"'`|]+")
_PREFIX: Final = "functions."
END_TOKENS: Final = (
    "<|eom_id|>",
    "<|eot_id|>",
    "<|im_end|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|end|>",
    "<|call|>",
    "<|user|>",
    "<|observation|>",
    "<|END_OF_TURN_TOKEN|>",
    "<｜end▁of▁sentence｜>",
    "<end_of_turn>",
    "</s>",
)
"""By which models end their turn; servers mostly leave them out."""


@dataclass(frozen=True, slots=True)
class Block:
    """What stands between the marks of a call."""

    text: str
    is_closed: bool
    """Whether the mark that ends it has come; without it the text may be cut off."""


class Offered:
    """The names of the tools that were offered: only calls of these count."""

    __slots__ = ("names",)

    def __init__(self, names: Collection[str]) -> None:
        self.names = frozenset(names)

    def own(self, name: object) -> str | None:
        """The tool that is meant by a name, also with the prefix that some models are trained on; None if none."""
        if not isinstance(name, str):
            return None
        return next((own for own in (name, name.removeprefix(_PREFIX)) if own in self.names), None)

    def may_begin(self, text: str, behind: str) -> bool:
        """Whether the text begins with a tool's name and one of these characters, or may once more of it has come."""
        word = _WORD.match(text)
        if word is None or word.end() == len(text):
            return self.may_become(text)
        rest = text[word.end() :].lstrip()
        return self.own(word.group()) is not None and (not rest or rest[0] in behind)

    def may_become(self, text: str) -> bool:
        """Whether the text is a tool's name, or the beginning of one."""
        return any((_PREFIX + name).startswith(text) or name.startswith(text) for name in self.names)


def without_end_tokens(text: str) -> str:
    """The text without blanks around it and without the tokens by which models end their turn."""
    body = text.strip()
    while body.endswith(END_TOKENS):
        token = next(token for token in END_TOKENS if body.endswith(token))
        body = body.removesuffix(token).rstrip()
    return body


def call_of(name: str, args: object) -> ToolCall:
    """A call; its id is new, because those that models write begin anew in each of their turns."""
    return {"id": new_call_id(), "name": name, "args": args, "type": "tool_call"}


def broken_call(name: str, text: str) -> ToolCall:
    """A call that cannot run, with its text as its arguments, so that the model is told of it."""
    return call_of(name, f"cut off: {text}" if _reads_as_arguments(text) else text)


def _reads_as_arguments(text: str) -> bool:
    try:
        parse_arguments(text)
    except MalformedArguments:
        return False
    return True


def call_with(name: str, text: str) -> ToolCall:
    """A call whose arguments are this JSON text; a broken one where it is none, or blank: then they were cut off."""
    if text.strip():
        with suppress(MalformedArguments):
            return call_of(name, parse_arguments(text).value)
    return broken_call(name, text)
