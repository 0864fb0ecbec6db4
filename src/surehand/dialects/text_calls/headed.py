"""Calls as a name and, behind it, the arguments as JSON: Mistral, DeepSeek, Kimi, functionary, gpt-oss, Gemma."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

from surehand.dialects.text_calls.json_calls import end_before_words
from surehand.dialects.text_calls.offered import Block, Offered, call_with, without_end_tokens
from surehand.messages import ToolCall

__all__ = [
    "DEEPSEEK",
    "FUNCTION",
    "GEMMA",
    "HARMONY",
    "KIMI",
    "MISTRAL",
    "NAME_LINE",
    "HeadShape",
    "name_line_may_begin",
]

_FENCE: Final = re.compile(r"\s*+```\w*+\n(?P<inside>.*?)(?:```|\Z)", re.DOTALL)
_GEMMA_TEXT: Final = re.compile(r'(?P<mark><escape>|<\|"\|>)(?P<text>.*?)(?P=mark)', re.DOTALL)


@dataclass(frozen=True, slots=True)
class HeadShape:
    """How one family writes what stands before the arguments."""

    head: re.Pattern[str]
    """The group ``name``."""
    begins: tuple[str, ...] = ()
    """What may stand before the name."""
    behind: str = ""
    """The characters that may stand behind it."""
    splits: re.Pattern[str] | None = None
    """What stands between several calls; None where one block holds one."""

    def may_begin(self, text: str, offered: Offered) -> bool:
        """Whether a call begins here."""
        for begin in self.begins:
            if begin.startswith(text):
                return True
            if text.startswith(begin):
                # Where several can follow each other, the first may be of another tool.
                return self.splits is not None or offered.may_begin(text.removeprefix(begin), self.behind)
        return offered.may_begin(text, self.behind)

    def read(self, block: Block, offered: Offered) -> list[ToolCall]:
        """The calls of tools that were offered; words behind the arguments are passed over."""
        text = without_end_tokens(block.text)
        calls: list[ToolCall] = []
        for part in [text] if self.splits is None else self.splits.split(text):
            head = self.head.match(part)
            name = None if head is None else offered.own(head["name"])
            if head is not None and name is not None:
                calls.append(call_with(name, _arguments(part[head.end() :])))
        return calls


def name_line_may_begin(text: str, offered: Offered) -> bool:
    """Whether a name on a line of its own begins here, with nothing but an object behind it."""
    name, newline, rest = text.partition("\n")
    if not newline:
        return offered.may_become(name.rstrip())
    body = rest.lstrip()
    is_call = offered.own(name.rstrip()) is not None and (not body or body[0] == "{")
    return is_call and end_before_words(body) is None


def _arguments(text: str) -> str:
    """The text of the arguments: what stands in a code block, or a complete object without the words behind it."""
    fence = _FENCE.match(text)
    if fence is not None:
        return fence["inside"]
    if "<escape>" in text or '<|"|>' in text:
        return _GEMMA_TEXT.sub(lambda found: json.dumps(found["text"], ensure_ascii=False), text)
    body = text.strip()
    return body[: end_before_words(body)]


_NAME: Final = r"(?P<name>[^\s<>{}\[\]\"'`|]{1,200}+)"

MISTRAL: Final = HeadShape(re.compile(rf"\s*+{_NAME}\s*+(?:\[CALL_ID\][\w-]*+)?\s*+(?:\[ARGS\]|(?=\{{))"), behind="[{")
"""``f[ARGS]{…}``, with ``[CALL_ID]…`` before it, and ``f{…}``."""

DEEPSEEK: Final = HeadShape(
    re.compile(rf"\s*+(?:function<｜tool▁sep｜>)?{_NAME}[ \t]*+(?:<｜tool▁sep｜>|\n)"),
    begins=("<｜tool▁call▁begin｜>", "function<｜tool▁sep｜>"),
    behind="<`{",
    splits=re.compile(r"\s*+<｜tool▁call▁(?:begin|end)｜>"),
)
"""R1 and V3 write ``function<｜tool▁sep｜>f`` and a code block, V3.1 ``f<｜tool▁sep｜>{…}``."""

KIMI: Final = HeadShape(
    re.compile(r"\s*+(?P<name>[^\s<>{}:]{1,200}+)(?::\d++)?\s*+<\|tool_call_argument_begin\|>"),
    begins=("<|tool_call_begin|>",),
    behind=":<",
    splits=re.compile(r"\s*+<\|tool_call_(?:begin|end)\|>"),
)
"""``functions.f:0<|tool_call_argument_begin|>{…}``."""

NAME_LINE: Final = HeadShape(re.compile(rf"\s*+{_NAME}[ \t]*+\n"), behind="{")
"""The name on a line of its own: GLM 4, functionary 3.2."""

FUNCTION: Final = HeadShape(
    re.compile(r"\s*+<function=(?P<name>[^<>\n]{1,200}+)>(?=\s*+\{)"), begins=("<function=",), behind=">"
)
"""``<function=f>{…}</function>``: functionary 3.1, and Llama 3.1 where the prompt asks for it."""

_CHANNELS: Final = ("<|channel|>commentary", "<|channel|>analysis")

HARMONY: Final = HeadShape(
    re.compile(
        r"(?=(?:(?!<\|message)[^\n{]){0,200}?\bto=(?P<name>[^\s<>]{1,200}+))(?:(?!<\|message)[^\n{]){0,400}+<\|message\|>"
    ),
    begins=(
        "<|start|>assistant to=",
        *(f"{start}{channel} to=" for start in ("", "<|start|>assistant") for channel in _CHANNELS),
    ),
    behind="<j",
)
"""``<|channel|>commentary to=functions.f <|constrain|>json<|message|>{…}``, or the name before the channel: gpt-oss."""

GEMMA: Final = HeadShape(re.compile(r"\s*+call:(?P<name>[^\s<>{}]{1,200}+)(?=\{)"), begins=("call:",), behind="{")
"""``call:f{a:<|"|>x<|"|>}``: Gemma 4; FunctionGemma has ``<escape>`` for the quotes."""
