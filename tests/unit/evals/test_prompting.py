"""The prompt is the same whoever asks."""

from __future__ import annotations

from typing import Any

import pytest
from evals.prompting import AFTER_ERROR, AFTER_RESULT, LONGEST_ERROR, prompt_for


def asked(content: Any, **body: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "Go."}, {"role": "tool", "content": content}], **body}


def last(body: dict[str, Any]) -> str:
    return str(prompt_for(body, "guided")["messages"][-1]["content"])


def test_sampling_is_the_servers_business() -> None:
    prompt = prompt_for(asked("ok", temperature=1.7, seed=3, max_tokens=9, top_p=0.2, tool_choice="required"), "plain")

    assert prompt["temperature"] == 0.0
    assert set(prompt) == {"messages", "temperature", "seed", "max_tokens"}


def test_tools_are_handed_on_as_they_are() -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]

    assert prompt_for(asked("ok", tools=tools), "plain")["tools"] == tools


def test_blocks_become_text() -> None:
    prompt = prompt_for(asked([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "plain")

    assert prompt["messages"][-1]["content"] == "ab"


def test_null_becomes_empty_text() -> None:
    assert prompt_for({"messages": [{"role": "assistant", "content": None}]}, "plain")["messages"][0]["content"] == ""


def test_a_result_is_followed_by_the_sentence_for_results() -> None:
    assert last(asked("ok")) == f"ok\n{AFTER_RESULT}"


@pytest.mark.parametrize("text", ["ValueError: no", "Tool error: no", "no\n\nFix the errors and try again."])
def test_an_error_is_followed_by_the_sentence_for_errors(text: str) -> None:
    assert last(asked(text)) == f"{text}\n{AFTER_ERROR}"


def test_a_long_text_with_the_word_in_it_is_a_result() -> None:
    text = "an error among much else " + "x" * LONGEST_ERROR

    assert last(asked(text)).endswith(AFTER_RESULT)


def test_only_the_newest_message_is_followed_by_a_sentence() -> None:
    body = asked("ok")
    body["messages"].append({"role": "assistant", "content": "Done."})

    assert [message["content"] for message in prompt_for(body, "guided")["messages"]] == ["Go.", "ok", "Done."]


def test_the_plain_style_adds_nothing() -> None:
    assert prompt_for(asked("ok"), "plain")["messages"][-1]["content"] == "ok"
