"""Every provider's word for why a reply ended is read as one of five."""

from __future__ import annotations

from typing import Any

import pytest

from surehand.messages import AIMessage, finish_reason_of, is_broken, is_ended, message_from_dict, message_to_dict


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"finish_reason": "stop"}, "stop"),
        ({"finish_reason": "tool_calls"}, "tool_calls"),
        ({"finish_reason": "function_call"}, "tool_calls"),
        ({"finish_reason": "length"}, "length"),
        ({"finish_reason": "content_filter"}, "content_filter"),
        ({"stop_reason": "end_turn"}, "stop"),
        ({"stop_reason": "stop_sequence"}, "stop"),
        ({"stop_reason": "tool_use"}, "tool_calls"),
        ({"stop_reason": "max_tokens"}, "length"),
        ({"stop_reason": "model_context_window_exceeded"}, "length"),
        ({"stop_reason": "refusal"}, "content_filter"),
        ({"stop_reason": "pause_turn"}, "other"),
        ({"status": "completed"}, "stop"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "content_filter"),
        ({"status": "completed", "incomplete_details": None}, "stop"),
        ({"status": "failed"}, "other"),
        ({"status": "in_progress"}, None),
        ({"status": "stop"}, "stop"),
        ({"status": "length"}, "length"),
        ({"status": "success"}, None),
        ({"status": 200}, None),
        ({"finish_reason": "STOP"}, "stop"),
        ({"finish_reason": "MAX_TOKENS"}, "length"),
        ({"finishReason": "SAFETY"}, "content_filter"),
        ({"finish_reason": "FinishReason.RECITATION"}, "content_filter"),
        ({"finish_reason": "MODEL_ARMOR"}, "content_filter"),
        ({"finish_reason": "MALFORMED_FUNCTION_CALL"}, "other"),
        ({"finish_reason": "UNEXPECTED_TOOL_CALL"}, "other"),
        ({"done_reason": "stop"}, "stop"),
        ({"done_reason": "length"}, "length"),
        ({"finish_reason": "COMPLETE"}, "stop"),
        ({"finish_reason": "TOOL_CALL"}, "tool_calls"),
        ({"stopReason": "guardrail_intervened"}, "content_filter"),
        ({"stopReason": "content_filtered"}, "content_filter"),
        ({"stopReason": "malformed_tool_use"}, "other"),
        ({"stopReason": "malformed_model_output"}, "other"),
        ({"finish_reason": "STOP_SEQUENCE"}, "stop"),
        ({"finish_reason": "ERROR"}, "other"),
        ({"finish_reason": "TIMEOUT"}, "length"),
        ({"done_reason": "unload"}, "other"),
        ({"finish_reason": "model_length"}, "length"),
        ({"finish_reason": "error"}, "other"),
        ({"finish_reason": "sensitive"}, "content_filter"),
        ({"finish_reason": 3}, "other"),
        ({"finish_reason": ""}, None),
        ({"finish_reason": None}, None),
        ({"finish_reason": None, "stop_reason": "end_turn"}, "stop"),
        ({}, None),
    ],
)
def test_word_is_read(metadata: dict[str, Any], reason: str | None) -> None:
    assert finish_reason_of(metadata) == reason


@pytest.mark.parametrize("word", ["stop", "tool_calls", "length", "content_filter", "pause_turn", "a new word"])
def test_reply_with_a_reason_is_ended(word: str) -> None:
    assert is_ended({"finish_reason": word})


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"finish_reason": None},
        {"finish_reason": "error"},
        {"finish_reason": "ERROR"},
        {"finish_reason": "insufficient_system_resource"},
        {"finish_reason": "stop", "error": {"message": "The upstream is gone."}},
        {"status": "failed", "error": {"code": "server_error"}},
    ],
)
def test_reply_of_a_server_that_could_not_go_on_is_not_ended(metadata: dict[str, Any]) -> None:
    assert not is_ended(metadata)


@pytest.mark.parametrize(
    "metadata",
    [
        {"broke_off": True},
        {"finish_reason": "error"},
        {"stop_reason": "aborted"},
        {"status": "failed"},
        {"status": "cancelled"},
        {"finish_reason": "stop", "error": {"message": "The upstream is gone."}},
    ],
)
def test_reply_that_broke_off_is_cut_off_and_not_ended(metadata: dict[str, Any]) -> None:
    assert is_broken(metadata)
    assert AIMessage("so", response_metadata=metadata).is_cut_off
    assert not is_ended(metadata)


@pytest.mark.parametrize(
    "metadata",
    [
        {"finish_reason": "length"},
        {"stop_reason": "refusal"},
        {"status": "incomplete"},
        {"status": "incomplete", "incomplete_details": {"reason": "a new word"}},
    ],
)
def test_reply_that_ran_into_a_limit_is_cut_off_and_did_not_break(metadata: dict[str, Any]) -> None:
    assert AIMessage("so", response_metadata=metadata).is_cut_off
    assert not is_broken(metadata)


@pytest.mark.parametrize(
    "metadata",
    [{}, {"finish_reason": "stop"}, {"finish_reason": "a new word"}, {"status": 200}, {"error": None, "status": "ok"}],
)
def test_reply_of_which_nothing_is_known_to_be_missing_is_not_cut_off(metadata: dict[str, Any]) -> None:
    assert not AIMessage("so", response_metadata=metadata).is_cut_off
    assert not is_broken(metadata)


def test_reply_is_cut_off_when_it_comes_back_from_a_store() -> None:
    message = message_from_dict(message_to_dict(AIMessage("so", response_metadata={"broke_off": True})))

    assert isinstance(message, AIMessage)
    assert message.is_cut_off
