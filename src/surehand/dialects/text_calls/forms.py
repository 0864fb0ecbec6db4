"""The forms in which models write calls, and by which marks they are known: the one list of them.

Where each is from (looked up in the chat templates and in the tests of vLLM's and llama.cpp's parsers):

- hermes: NousResearch Hermes 2 and 3, Qwen 2.5 and 3, SmolLM. Granite 3.1 has a list in the same tags.
- qwen3-coder: Qwen3-Coder, also without the outer tags, and Seed-OSS with tags of its own.
- glm: GLM 4.5 in tags; GLM 4 writes the name and a line of JSON as its whole message.
- llama: Llama 3.1 to 3.3. pythonic: Llama 3.2 and 4, Gemma 3, LFM2. functionary: 3.1 and 3.2.
- mistral: both forms, from v0.3 to the ``[ARGS]`` of 2025. phi: Phi-4-mini, and FireFunction's ``functools``.
- deepseek: R1, V3, V3.1 and V3.2. kimi: K2. minimax: M1 and M2. command-r: Command R, R+, R7B and A.
- granite, nemotron, harmony (gpt-oss), gemma (``tool_code`` of Gemma 2 and 3, FunctionGemma, Gemma 4).
- json: an object or a list as the whole message, bare or in code blocks: xLAM, and many that lost their marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from surehand.dialects.text_calls import headed, json_calls, pythonic, tagged
from surehand.dialects.text_calls.offered import Block, Offered
from surehand.messages import ToolCall

__all__ = ["FORMS", "MARKS", "Body", "Mark", "TextCallForm"]

TextCallForm: TypeAlias = Literal[
    "command-r",
    "deepseek",
    "functionary",
    "gemma",
    "glm",
    "granite",
    "harmony",
    "hermes",
    "json",
    "kimi",
    "llama",
    "minimax",
    "mistral",
    "nemotron",
    "phi",
    "pythonic",
    "qwen3-coder",
]
"""A family of models, by the form in which it writes its calls."""

FORMS: Final[tuple[TextCallForm, ...]] = get_args(TextCallForm)
"""All of them."""


@dataclass(frozen=True, slots=True)
class Body:
    """What stands behind a mark."""

    forms: tuple[TextCallForm, ...]
    may_begin: Callable[[str, Offered], bool]
    """Whether such a body begins here, or may once more of the text has come."""
    read: Callable[[Block, Offered], list[ToolCall]]


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """What a call begins with."""

    openers: tuple[str, ...]
    stop: re.Pattern[str]
    """What ends the block behind it: its closer, or the next opener."""
    bodies: tuple[Body, ...]
    keeps: int = 0
    """How much of the opener belongs to the block, counted from its end."""
    has_closer: bool = True
    """Whether models close it; the block of one that they do not goes on to the end of the text."""
    is_word: bool = False
    """Whether it could stand in a text about calls: then it counts at the start of a line, or behind a sentence.

    The others are tokens, which a model writes for nothing else, unless it quotes them.
    """


_NO_STOP: Final = re.compile(r"(?!)")
_JSON: Final = json_calls.json_may_begin
_FUNCTION_TAG: Final = "<function="


def _fence_may_begin(text: str, offered: Offered) -> bool:
    del offered
    return text.startswith(("[", "```")) or "```json".startswith(text)


MARKS: Final = (
    Mark(
        ("<tool_call>",),
        re.compile("</?tool_call>"),
        (
            Body(("hermes", "granite"), _JSON, json_calls.read_json),
            Body(("qwen3-coder",), tagged.FUNCTION.may_begin, tagged.FUNCTION.read),
            Body(("glm",), tagged.ARG_PAIRS.may_begin, tagged.ARG_PAIRS.read),
        ),
        is_word=True,
    ),
    Mark(
        (_FUNCTION_TAG,),
        re.compile("</function>"),
        (
            Body(("functionary", "llama"), headed.FUNCTION.may_begin, headed.FUNCTION.read),
            Body(("qwen3-coder",), tagged.FUNCTION.may_begin, tagged.FUNCTION.read),
        ),
        keeps=len(_FUNCTION_TAG),
        is_word=True,
    ),
    Mark(
        ("<seed:tool_call>",),
        re.compile("</?seed:tool_call>"),
        (Body(("qwen3-coder",), tagged.FUNCTION.may_begin, tagged.FUNCTION.read),),
        is_word=True,
    ),
    Mark(
        ("<|python_tag|>",),
        re.compile(r"<\|eo[mt]_id\|>"),
        (
            Body(("llama",), json_calls.run_may_begin, json_calls.read_json_run),
            Body(("llama", "pythonic"), pythonic.calls_may_begin, pythonic.read_calls),
        ),
        has_closer=False,
    ),
    Mark(
        ("[TOOL_CALLS]",),
        re.compile(r"\[TOOL_CALLS\]|</s>"),
        (
            Body(("mistral",), json_calls.run_may_begin, json_calls.read_json_run),
            Body(("mistral",), headed.MISTRAL.may_begin, headed.MISTRAL.read),
        ),
        has_closer=False,
    ),
    Mark(
        ("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>"),
        re.compile("<｜tool▁calls▁end｜>"),
        (Body(("deepseek",), headed.DEEPSEEK.may_begin, headed.DEEPSEEK.read),),
    ),
    Mark(
        ("<｜DSML｜function_calls>", "<｜DSML｜tool_calls>"),
        re.compile("</｜DSML｜(?:function|tool)_calls>"),
        (Body(("deepseek",), tagged.DSML.may_begin, tagged.DSML.read),),
    ),
    Mark(
        ("<|tool_calls_section_begin|>", "<|tool_call_begin|>"),
        re.compile(r"<\|tool_calls_section_end\|>"),
        (Body(("kimi",), headed.KIMI.may_begin, headed.KIMI.read),),
    ),
    Mark(
        ("<|tool_call|>",),
        re.compile(r"<\|/?tool_call\|>|<\|end\|>"),
        (Body(("granite", "phi"), json_calls.run_may_begin, json_calls.read_json_run),),
        has_closer=False,
    ),
    Mark(
        ("functools[",),
        _NO_STOP,
        (Body(("phi",), json_calls.run_may_begin, json_calls.read_json_run),),
        keeps=1,
        has_closer=False,
        is_word=True,
    ),
    Mark(
        ("<|START_ACTION|>",),
        re.compile(r"<\|END_ACTION\|>"),
        (Body(("command-r",), json_calls.run_may_begin, json_calls.read_json),),
    ),
    Mark(
        ("Action:",),
        re.compile(r"(?<=[\]}\n])\s*+```(?=\W)"),
        (Body(("command-r",), _fence_may_begin, json_calls.read_json),),
        has_closer=False,
        is_word=True,
    ),
    Mark(
        ("<|start|>assistant", "<|channel|>"),
        re.compile(r"<\|(?:call|end|return)\|>"),
        (Body(("harmony",), headed.HARMONY.may_begin, headed.HARMONY.read),),
        keeps=len("<|start|>assistant"),
    ),
    Mark(
        ("<minimax:tool_call>",),
        re.compile("</?minimax:tool_call>"),
        (Body(("minimax",), tagged.INVOKE.may_begin, tagged.INVOKE.read),),
        is_word=True,
    ),
    Mark(
        ("<tool_calls>",),
        re.compile("</?tool_calls>"),
        (Body(("minimax",), json_calls.run_may_begin, json_calls.read_json_run),),
        is_word=True,
    ),
    Mark(
        ("<TOOLCALL>",),
        re.compile("</?TOOLCALL>"),
        (Body(("nemotron",), json_calls.run_may_begin, json_calls.read_json),),
        is_word=True,
    ),
    Mark(
        (">>>",),
        re.compile("(?<=\n)>>>"),
        (Body(("functionary",), headed.name_line_may_begin, headed.NAME_LINE.read),),
        has_closer=False,
        is_word=True,
    ),
    Mark(
        ("<|tool_call_start|>",),
        re.compile(r"<\|tool_call_end\|>"),
        (
            Body(("pythonic",), pythonic.calls_may_begin, pythonic.read_calls),
            Body(("pythonic",), json_calls.run_may_begin, json_calls.read_json),
        ),
    ),
    Mark(
        ("<|tool_call>",),
        re.compile(r"<tool_call\|>"),
        (Body(("gemma",), headed.GEMMA.may_begin, headed.GEMMA.read),),
    ),
    Mark(
        ("<start_function_call>",),
        re.compile("<end_function_call>"),
        (Body(("gemma",), headed.GEMMA.may_begin, headed.GEMMA.read),),
    ),
)
"""The forms that are known by a mark; ``whole_texts`` has those that are known by being all of the text."""
