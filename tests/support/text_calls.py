"""Calls as the families of local models write them; each is one call of ``f``, or what is said."""

from __future__ import annotations

from typing import Any

from surehand.dialects.text_calls import read_text_calls

__all__ = ["NAMES", "ONE_CALL", "TWO_CALLS", "read"]

NAMES = ("f", "g", "get_weather")

# Each form was looked up in the chat templates of its models and in the tests of vLLM's and llama.cpp's parsers.
ONE_CALL: dict[str, tuple[str, dict[str, Any]]] = {
    "hermes": ('<tool_call>\n{"name": "f", "arguments": {"a": "x"}}\n</tool_call>', {"a": "x"}),
    "hermes, a Python dict": ("<tool_call>{'arguments': {'a': 'x'}, 'name': 'f'}</tool_call>", {"a": "x"}),
    "granite 3.1": ('<tool_call>[{"name": "f", "arguments": {"a": "x"}}]', {"a": "x"}),
    "granite 3.0": ('<|tool_call|> [{"arguments": {"a": "x"}, "name": "f"}]', {"a": "x"}),
    "phi-4-mini": ('<|tool_call|>[{"name": "f", "arguments": {"a": "x"}}]<|/tool_call|>', {"a": "x"}),
    "functools": (' functools[{"name": "f", "arguments": {"a": "x"}}]', {"a": "x"}),
    "qwen3-coder": (
        "<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n</function>\n</tool_call>",
        {"a": "x"},
    ),
    "qwen3-coder, bare": ("<function=f>\n<parameter=a>\nx\n</parameter>\n</function>\n</tool_call>", {"a": "x"}),
    "qwen3-coder, no arguments": ("<tool_call>\n<function=f>\n</function>\n</tool_call>", {}),
    "seed-oss": (
        "<seed:tool_call>\n<function=f>\n<parameter=a>x</parameter>\n</function>\n</seed:tool_call>",
        {"a": "x"},
    ),
    "glm 4.5": ("<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>x</arg_value>\n</tool_call>", {"a": "x"}),
    "glm 4.7": ("<tool_call>f<arg_key>a</arg_key><arg_value>x</arg_value></tool_call>", {"a": "x"}),
    "glm, no arguments": ("<tool_call>f\n</tool_call>", {}),
    "glm 4": ('f\n{"a": "x"}', {"a": "x"}),
    "llama 3.1": ('<|python_tag|>{"name": "f", "parameters": {"a": "x"}}<|eom_id|>', {"a": "x"}),
    "llama 3.1, built in": ('<|python_tag|>f.call(a="x")', {"a": "x"}),
    "llama 3.1, as asked for": ('<function=f>{"a": "x"}</function>', {"a": "x"}),
    "pythonic": ('[f(a="x")]', {"a": "x"}),
    "lfm2": ("<|tool_call_start|>[f(a='x')]<|tool_call_end|>", {"a": "x"}),
    "mistral v3": ('[TOOL_CALLS] [{"name": "f", "arguments": {"a": "x"}}]', {"a": "x"}),
    "mistral v11": ('[TOOL_CALLS]f{"a": "x"}', {"a": "x"}),
    "mistral v13": ('[TOOL_CALLS]f[CALL_ID]9aBcDeFgH[ARGS]{"a": "x"}</s>', {"a": "x"}),
    "deepseek v3": (
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{"a": "x"}\n```',
        {"a": "x"},
    ),
    "deepseek r1, without an inner mark": (
        '<｜tool▁calls▁begin｜>function<｜tool▁sep｜>f\n```json\n{"a": "x"}\n```<｜tool▁calls▁end｜>',
        {"a": "x"},
    ),
    "deepseek v3.1": (
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": "x"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        {"a": "x"},
    ),
    "deepseek v3.2": (
        """<｜DSML｜function_calls>
<｜DSML｜invoke name="f">
<｜DSML｜parameter name="a" string="true">x</｜DSML｜parameter>
<｜DSML｜parameter name="b" string="false">[1]</｜DSML｜parameter>
</｜DSML｜invoke>
</｜DSML｜function_calls>""",
        {"a": "x", "b": [1]},
    ),
    "kimi k2": (
        '<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0 <|tool_call_argument_begin|>{"a": "x"}',
        {"a": "x"},
    ),
    "command-r": ('Action: ```json\n[\n    {"tool_name": "f", "parameters": {"a": "x"}}\n]\n```', {"a": "x"}),
    "command-r7b": (
        '<|START_ACTION|>[\n  {"tool_call_id": "0", "tool_name": "f", "parameters": {"a": "x"}}\n]<|END_ACTION|>',
        {"a": "x"},
    ),
    "harmony": (
        '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": "x"}<|call|>',
        {"a": "x"},
    ),
    "harmony, the name before the channel": (
        '<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{"a": "x"}<|call|>',
        {"a": "x"},
    ),
    "minimax m2": (
        '<minimax:tool_call>\n<invoke name="f">\n<parameter name="a">x</parameter>\n</invoke>\n</minimax:tool_call>',
        {"a": "x"},
    ),
    "minimax m1": ('<tool_calls>\n{"name": "f", "arguments": {"a": "x"}}\n</tool_calls>', {"a": "x"}),
    "nemotron": ('<TOOLCALL>[{"name": "f", "arguments": {"a": "x"}}]</TOOLCALL>', {"a": "x"}),
    "functionary 3.2": ('>>>f\n{"a": "x"}', {"a": "x"}),
    "gemma, tool_code": ('```tool_code\nf(a="x")\n```', {"a": "x"}),
    "gemma 3": ('```python\n[f(a="x")]\n```', {"a": "x"}),
    "functiongemma": ("<start_function_call>call:f{a:<escape>x<escape>}<end_function_call>", {"a": "x"}),
    "gemma 4": ('<|tool_call>call:f{a:<|"|>x<|"|>}<tool_call|>', {"a": "x"}),
    "xlam": ('[{"name": "f", "arguments": {"a": "x"}}]', {"a": "x"}),
    "json": ('{"name": "f", "parameters": {"a": "x"}}', {"a": "x"}),
    "json in a block": ('```json\n{"name": "f", "arguments": {"a": "x"}}\n```', {"a": "x"}),
    "tags in a block": ('```\n<tool_call>{"name": "f", "arguments": {"a": "x"}}</tool_call>\n```', {"a": "x"}),
    "behind a thought": (
        '<think>I need f.</think>\n\n{"name": "f", "arguments": {"a": "x"}}',
        {"a": "x"},
    ),
    "behind a thought without its opener": ('I need f.\n</think>\n[f(a="x")]', {"a": "x"}),
}
"""What it is called -> the text, and the arguments of the call that it is."""

TWO_CALLS: dict[str, str] = {
    "hermes": (
        '<tool_call>{"name": "f", "arguments": {}}</tool_call>\n<tool_call>{"name": "g", "arguments": {}}</tool_call>'
    ),
    "hermes, openers between": (
        '<tool_call>{"name": "f", "arguments": {}}\n<tool_call>\n<tool_call>{"name": "g", "arguments": {}}'
    ),
    "qwen3-coder": "<tool_call><function=f></function></tool_call><tool_call><function=g></function></tool_call>",
    "glm": "<tool_call>f</tool_call>\n<tool_call>g</tool_call>",
    "llama": '<|python_tag|>{"name": "f", "parameters": {}}; {"name": "g", "parameters": {}}',
    "json lines": '{"name": "f", "parameters": {}}\n{"name": "g", "parameters": {}}',
    "pythonic": "[f(), g()]",
    "mistral v3": '[TOOL_CALLS][{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}]',
    "mistral v11": "[TOOL_CALLS]f[ARGS]{}[TOOL_CALLS]g[ARGS]{}",
    "deepseek": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜>"
        "<｜tool▁call▁begin｜>g<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "kimi": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
        "<|tool_call_begin|>functions.g:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"
    ),
    "harmony": (
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>"
        "<|start|>assistant<|channel|>commentary to=functions.g <|constrain|>json<|message|>{}<|call|>"
    ),
    "minimax": '<minimax:tool_call><invoke name="f"></invoke><invoke name="g"></invoke></minimax:tool_call>',
    "minimax m1": '<tool_calls>\n{"name": "f", "arguments": {}}\n{"name": "g", "arguments": {}}\n</tool_calls>',
    "functionary": ">>>f\n{}\n>>>g\n{}",
    "gemma": "```tool_code\nf()\ng()\n```",
    "json in blocks": '```json\n{"name": "f", "arguments": {}}\n```\n\n```json\n{"name": "g", "arguments": {}}\n```',
}


def read(text: str) -> list[tuple[str, Any]] | None:
    """The names and arguments of the calls in a text."""
    calls = read_text_calls(text, NAMES)
    return None if calls is None else [(call["name"], call["args"]) for call in calls]
