"""Whatever a server answers, a call has a result or a failure."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand import ToolException, ToolReturn
from surehand.integrations.mcp.results import result_of

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
kinds = st.sampled_from(["text", "image", "audio", "resource", "resource_link", "video", ""]) | json_values
keys = st.sampled_from(["text", "data", "mimeType", "uri", "name", "resource", "blob", "title", "description"])


def block(kind: Any, rest: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, **rest}


blocks = st.builds(block, kinds, st.dictionaries(keys, json_values, max_size=4))
answers = st.fixed_dictionaries(
    {},
    optional={
        "content": st.lists(blocks | json_values, max_size=4) | json_values,
        "structuredContent": json_values,
        "isError": st.booleans() | json_values,
        "_meta": json_values,
    },
)


@given(answers)
def test_no_answer_is_too_odd(answer: dict[str, Any]) -> None:
    if answer.get("isError") is True:
        with pytest.raises(ToolException, match=r"(?s)."):
            result_of(answer, str)
    else:
        result_of(answer, str)


@given(st.text(min_size=1).filter(str.strip))
def test_one_text_is_that_text(text: str) -> None:
    assert result_of({"content": [{"type": "text", "text": text}]}, str) == text


def test_what_is_structured_stands_beside_an_image_where_there_is_no_text() -> None:
    image = {"type": "image", "data": "aW1n", "mimeType": "image/png"}
    result = result_of({"content": [image], "structuredContent": {"n": 1}}, str)
    assert isinstance(result, ToolReturn)
    assert result.content == [
        {"type": "text", "text": '{"n": 1}'},
        {"type": "image", "base64": "aW1n", "mime_type": "image/png"},
    ]
    assert result.artifact == {"structured_content": {"n": 1}, "content": [image]}


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("text/plain", {"type": "text", "text": "[file:///a]\nhello"}),
        ("application/pdf", {"type": "file", "base64": "aGVsbG8=", "mime_type": "application/pdf"}),
        ("audio/wav", {"type": "audio", "base64": "aGVsbG8=", "mime_type": "audio/wav"}),
        (None, {"type": "text", "text": "[file:///a: 6 bytes, which cannot be shown]"}),
    ],
)
def test_bytes_of_a_resource_are_shown_as_far_as_models_can_be_given_them(
    kind: str | None, shown: dict[str, Any]
) -> None:
    resource = {"uri": "file:///a", "mimeType": kind, "blob": base64.b64encode(b"hello").decode()}
    result = result_of({"content": [{"type": "resource", "resource": resource}, {"type": "text", "text": "x"}]}, str)
    assert result.content[0] == shown


@pytest.mark.parametrize(
    ("structured", "wait"),
    [
        ({"retry_after": 3}, 3),
        ({"retryAfter": 2.5}, 2.5),
        ({"retry_after_ms": 1500}, 1.5),
        ({"error": {"code": 429, "retry-after": 7}}, 7),
        ({"retry_after": "soon"}, None),
        ({"retry_after": -1}, None),
        ({"retry_after": True}, None),
        ([1], None),
        (None, None),
    ],
)
def test_a_structured_error_may_ask_for_a_wait(structured: Any, wait: float | None) -> None:
    with pytest.raises(ToolException) as caught:
        result_of({"content": [], "structuredContent": structured, "isError": True}, str)
    assert caught.value.retry_after == wait
