"""Rules about what running a tool does."""

from __future__ import annotations

import dis
import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from surehand.policy import Unset
from surehand.spec import ToolSpec, snake_case
from surehand.tools.lint.finding import Asked, Remark, Rule

__all__ = ["RULES"]

_DOING: Final = frozenset({
    *("add", "approve", "archive", "assign", "book", "buy", "cancel", "charge", "close", "create", "delete", "deploy"),
    *("drop", "edit", "email", "erase", "insert", "invite", "kill", "merge", "move", "order", "pay", "post", "publish"),
    *("purchase", "push", "put", "refund", "reject", "remove", "rename", "reset", "restart", "revoke", "save", "sell"),
    *("send", "set", "start", "stop", "submit", "transfer", "update", "upload", "wipe", "write"),
})  # fmt: skip
"""First words of names of tools that change something."""
_CALCULATING: Final = frozenset({"add", "set", "order", "move", "edit", "merge", "insert"})
"""Those of them that plain functions are called by, too, when there is one word only."""
_AWAITING: Final = frozenset({"GET_AWAITABLE", "GET_AITER", "GET_ANEXT", "BEFORE_ASYNC_WITH", "YIELD_VALUE", "SEND"})
"""Instructions of a body that lets others run; since Python 3.14 ``async with`` is made of awaits."""


def _undeclared(tools: Sequence[ToolSpec], _asked: Asked) -> Iterator[Remark]:
    for tool in tools:
        options = tool.options
        declared = (options.read_only, options.idempotent, options.destructive)
        if all(isinstance(value, Unset) for value in declared) and (verb := _verb(tool.name)):
            yield Remark(
                tool=tool.name,
                message=f"By its name it changes something ({verb!r}), and nothing says what a second run would do.",
                remedy="Set idempotent, destructive or read_only, True or False: retries and recovery go by them.",
            )


def _verb(name: str) -> str:
    words = [word for word in re.split(r"[\W_]+", snake_case(name)) if word]
    if not words or (len(words) == 1 and words[0] in _CALCULATING):
        return ""
    return words[0] if words[0] in _DOING else ""


def _contradicting(tools: Sequence[ToolSpec], _asked: Asked) -> Iterator[Remark]:
    for tool in tools:
        if tool.options.read_only is True and tool.options.destructive is True:
            yield Remark(
                tool=tool.name,
                message="It is declared read_only and destructive: it may be run again, and may not.",
                remedy="Leave one of them out.",
            )


def _endless(tools: Sequence[ToolSpec], _asked: Asked) -> Iterator[Remark]:
    for tool in tools:
        if tool.options.timeout is None and not isinstance(tool.options.idle_timeout, int | float):
            yield Remark(
                tool=tool.name,
                message="It has no timeout at all: a body that hangs keeps its turn from ever being answered.",
                remedy="Give it a timeout in seconds, or an idle_timeout if it gives signs of life.",
            )


def _never_awaits(tools: Sequence[ToolSpec], _asked: Asked) -> Iterator[Remark]:
    for tool in tools:
        code = _code_of(tool.body.function)
        if code is None or not code.co_flags & inspect.CO_COROUTINE:
            continue
        if not any(instruction.opname in _AWAITING for instruction in dis.get_instructions(code)):
            yield Remark(
                tool=tool.name,
                message="Its body is async and never awaits, so nothing else runs until it has ended.",
                remedy="Write it as a plain def, which runs in a thread of its own.",
            )


def _code_of(function: Any) -> Any:
    inner = inspect.unwrap(function)
    return getattr(getattr(inner, "__func__", inner), "__code__", None)


RULES: Final = (
    Rule(id="undeclared-effect", severity="warning", check=_undeclared),
    Rule(id="contradicting-hints", severity="error", check=_contradicting),
    Rule(id="no-timeout", severity="warning", check=_endless),
    Rule(id="never-awaits", severity="warning", check=_never_awaits),
)
