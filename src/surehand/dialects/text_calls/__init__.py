"""Calls that a model wrote into its text, because its server did not lift them out.

Read only on request, and only what can hardly be anything else: the forms that local models are trained on, with the
name of a tool that was offered. A text that talks *about* a call (a quotation, an example in a code block, a sentence
with JSON in it) is a text.
"""

from __future__ import annotations

from collections.abc import Collection

from surehand.dialects.text_calls.filter import TextCallFilter
from surehand.dialects.text_calls.forms import FORMS, TextCallForm
from surehand.dialects.text_calls.writing import WrittenForm, write_text_answers, write_text_calls, write_tools
from surehand.messages import ToolCall

__all__ = [
    "FORMS",
    "TextCallFilter",
    "TextCallForm",
    "WrittenForm",
    "read_text_calls",
    "write_text_answers",
    "write_text_calls",
    "write_tools",
]


def read_text_calls(
    text: str, tool_names: Collection[str], *, forms: Collection[TextCallForm] = FORMS
) -> list[ToolCall] | None:
    """The calls that the text is, or holds behind marks; None where it is a text like any other.

    Read are calls behind a mark that starts a line, outside code and quotations and thoughts, or ends the text; and,
    where nothing stands beside them, JSON, code blocks, Python and a name with JSON. Each has the name of a tool that
    was offered. A call whose body is broken keeps its text as its arguments: it cannot run, and the model is told.

    Args:
        text: The whole content of the reply.
        tool_names: The names of the tools that were offered.
        forms: The forms that are read; all by default.
    """
    reader = TextCallFilter(tool_names, forms=forms)
    reader.feed(text)
    return reader.finish()[1] or None
