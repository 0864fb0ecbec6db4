"""Whatever items a history holds, what is written of it is acceptable: calls answered once, arguments that are JSON."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from surehand.dialects import openai_responses
from surehand.errors import InputError
from surehand.messages import check_transcript

Item = dict[str, Any]

_TEXTS = st.sampled_from(["c", "d", '{"a": 1}', '{"a', "completed", "incomplete", "in_progress", "\ud83d", ""])
_VALUES = _TEXTS | st.none() | st.integers(0, 1) | st.lists(st.dictionaries(st.just("text"), _TEXTS), max_size=1)
_KINDS = st.sampled_from(
    [
        *["function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"] * 2,
        *["message", "reasoning", "web_search_call", "shell_call", "shell_call_output", "program_output"],
    ]
)
_FIELDS = ("id", "call_id", "name", "arguments", "input", "status", "content", "summary", "output", "caller")
_ITEMS = st.fixed_dictionaries({"type": _KINDS}, optional=dict.fromkeys(_FIELDS, _VALUES))
_SAID = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "developer"]), "content": st.text(max_size=2)}
)


@given(st.lists(_ITEMS | _SAID, max_size=7), st.booleans())
def test_any_history_is_written_so_that_it_is_accepted(items: list[Item], is_stored: bool) -> None:  # noqa: FBT001 - drawn
    try:
        messages = openai_responses.read_messages(items)
    except InputError:  # an item that no message can hold, such as an answer that is a number
        return
    _, written = openai_responses.write_messages(messages, is_stored=is_stored)

    json.dumps(written, ensure_ascii=False, allow_nan=False).encode()
    assert check_transcript(openai_responses.read_messages(written)) == []
    for item in written:
        if item.get("type") == "function_call":
            assert isinstance(json.loads(item["arguments"]), dict)
            assert (type(item["call_id"]), type(item["name"])) == (str, str)
        if item.get("type") == "custom_tool_call":
            assert type(item["input"]) is str
