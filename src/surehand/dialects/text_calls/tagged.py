"""Calls whose arguments stand in tags of their own, one by one: Qwen3-Coder, Seed-OSS, GLM 4.5, MiniMax, DeepSeek 3.2.

The tags do not say of which type a value is, so that each is handed on as the text that it is. Nothing is lost by it:
before the tool runs, its schema decides. A text for a declared number, boolean, list or object is read as that, and one
for a declared string stays a text, so that a postcode ``01234`` keeps its zero and ``"[1, 2]"`` its brackets; to guess
the type here would lose both. Where the form does say it (DeepSeek's ``string="false"``), the value is read at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from surehand.dialects.text_calls.offered import Block, Offered, broken_call, call_of, without_end_tokens
from surehand.errors import MalformedArguments
from surehand.grammar import parse_value
from surehand.messages import ToolCall

__all__ = ["ARG_PAIRS", "DSML", "FUNCTION", "INVOKE", "TagShape"]


@dataclass(frozen=True, slots=True)
class TagShape:
    """How one family writes the tags; a value goes on to the last closing tag that another tag can follow."""

    begins: str
    """What stands before the name."""
    is_single: bool
    """Whether a mark stands before each call, so that the first name decides."""
    opener: re.Pattern[str]
    """Begins a call; the group ``name``."""
    parameter: re.Pattern[str]
    """Begins an argument; the group ``key``, and ``is_text`` where the form says it."""
    end: re.Pattern[str]
    """Ends an argument."""
    closer: re.Pattern[str]
    """Ends a call; where it may be left out, the mark around the calls has to be there."""
    has_lines: bool = False
    """Whether a value stands on lines of its own."""

    def may_begin(self, text: str, offered: Offered) -> bool:
        """Whether a call begins here."""
        if not self.begins:
            return offered.may_begin(text, "<")
        if text.startswith(self.begins):
            return not self.is_single or offered.may_begin(text.removeprefix(self.begins), ">")
        return self.begins.startswith(text)

    def read(self, block: Block, offered: Offered) -> list[ToolCall]:
        """The calls of tools that were offered; one that lacks a tag is broken."""
        text = without_end_tokens(block.text)
        calls: list[ToolCall] = []
        at = 0
        while (found := self.opener.match(text, at)) is not None:
            args, end = self._arguments(text, found.end(), is_closed=block.is_closed)
            name = offered.own(found["name"])
            at = len(text) if end is None else end
            if name is not None:
                calls.append(broken_call(name, text[found.start() :]) if args is None else call_of(name, args))
        return calls

    def _arguments(self, text: str, at: int, *, is_closed: bool) -> tuple[dict[str, Any] | None, int | None]:
        args: dict[str, Any] = {}
        while (found := self.parameter.match(text, at)) is not None:
            end = self.end.search(text, found.end())
            if end is None or found["key"] in args:
                return None, None
            try:
                args[found["key"]] = self._value(text[found.end() : end.start()], found)
            except MalformedArguments:
                return None, None
            at = end.end()
        closer = self.closer.match(text, at)
        if closer is not None:
            return args, closer.end()
        return (args, len(text)) if is_closed and not text[at:].strip() else (None, None)

    def _value(self, text: str, found: re.Match[str]) -> Any:
        if found.groupdict().get("is_text") == "false":
            return parse_value(text)[0]
        return text.removeprefix("\n").removesuffix("\n") if self.has_lines else text


def _shape(begins: str, name: str, parameter: str, end: str, closer: str, *, has_lines: bool = False) -> TagShape:
    behind = rf"(?=\s*+(?:{parameter.replace('?P<key>', '?:').replace('?P<is_text>', '?:')}|{closer}|\Z))"
    compiled: Callable[[str], re.Pattern[str]] = re.compile
    return TagShape(
        begins=begins,
        is_single=has_lines,
        opener=compiled(rf"\s*+{begins}{name}"),
        parameter=compiled(rf"\s*+{parameter}"),
        end=compiled(rf"{end}{behind}"),
        closer=compiled(rf"\s*+{closer}"),
        has_lines=has_lines,
    )


FUNCTION: Final = _shape(
    "<function=",
    r"(?P<name>[^<>\n]{1,200}+)>",
    r"<parameter=(?P<key>[^<>\n]{1,200}+)>",
    "</parameter>",
    "</function>",
    has_lines=True,
)
"""``<function=f>\\n<parameter=a>\\n1\\n</parameter>\\n</function>``: Qwen3-Coder and Seed-OSS."""

ARG_PAIRS: Final = _shape(
    "",
    r"(?P<name>[^\s<>{}]{1,200}+)(?=\s*+(?:<arg_key>|\Z))",
    r"<arg_key>(?P<key>[^<>\n]{1,200}+)</arg_key>\s*+<arg_value>",
    "</arg_value>",
    "(?!)",  # only the mark around it ends one
)
"""``f\\n<arg_key>a</arg_key>\\n<arg_value>1</arg_value>``: GLM 4.5 and later."""

INVOKE: Final = _shape(
    "<invoke name=",
    r"""["']?(?P<name>[^<>"'\n]{1,200}+)["']?>""",
    r"""<parameter name=["']?(?P<key>[^<>"'\n]{1,200}+)["']?>""",
    "</parameter>",
    "</invoke>",
)
"""``<invoke name="f"><parameter name="a">1</parameter></invoke>``: MiniMax M2."""

DSML: Final = _shape(
    '<｜DSML｜invoke name="',
    r'(?P<name>[^<>"\n]{1,200}+)">',
    r'<｜DSML｜parameter name="(?P<key>[^<>"\n]{1,200}+)"(?: string="(?P<is_text>true|false)")?>',
    "</｜DSML｜parameter>",
    "</｜DSML｜invoke>",
)
"""The same with a token in each tag, which says of a value whether it is text: DeepSeek 3.2."""
