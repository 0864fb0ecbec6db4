"""Why a reply ended: every provider's word for it, read as one of five, or as none.

It decides whether calls are run at all: a reply that was cut off runs none. So a word that nobody knows must not read
as a cut, which would stop a healthy agent, nor be dropped, which would hide that the provider said something.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, cast

__all__ = ["BROKE_OFF", "FinishReason", "finish_reason_of", "is_broken", "is_cut_off", "is_ended"]

FinishReason: TypeAlias = Literal["stop", "tool_calls", "length", "content_filter", "other"]
"""Why a reply ended; None where the provider does not say, as after a connection that broke."""

BROKE_OFF: Final = "broke_off"
"""Set in the metadata of a reply whose stream ended before the provider had said that the reply is complete."""

_WORDS: Final[dict[FinishReason, str]] = {
    "stop": "stop end_turn stop_sequence complete completed end eos eos_token finished done",
    "tool_calls": "tool_calls tool_call tool_use function_call function_calls",
    "length": (
        "length max_tokens max_output_tokens max_completion_tokens model_length model_context_window_exceeded timeout"
    ),
    "content_filter": (
        "content_filter content_filtered refusal safety recitation blocklist prohibited_content spii image_safety "
        "image_prohibited_content image_recitation model_armor guardrail_intervened error_toxic sensitive"
    ),
}
_REASONS: Final[dict[str, FinishReason]] = {word: reason for reason, words in _WORDS.items() for word in words.split()}
_BREAKS: Final = frozenset(
    {"error", "network_error", "insufficient_system_resource", "abort", "aborted", "cancelled", "failed", "interrupted"}
)
"""Words of servers that could not go on: what they sent is no whole reply, although they say why."""
_CUTS: Final[frozenset[FinishReason | None]] = frozenset({"length", "content_filter"})
_KEYS: Final = ("finish_reason", "stop_reason", "finishReason", "stopReason", "done_reason")
_STATUS: Final[dict[object, FinishReason]] = {
    "completed": "stop",
    "incomplete": "other",
    "failed": "other",
    "cancelled": "other",
}
"""A status that is none of these, nor a word for why a reply ended, says nothing about it: HTTP's, for one."""


def finish_reason_of(metadata: Mapping[str, Any]) -> FinishReason | None:
    """The reason in a reply's metadata; an unknown word is ``other``, no word at all is None."""
    if not metadata:
        return None
    details: object = metadata.get("incomplete_details")
    if isinstance(details, Mapping):
        # OpenAI's Responses: the status alone says only that something is missing.
        reason = _read(cast("Mapping[str, object]", details).get("reason"))
        if reason is not None:
            return reason
    for key in _KEYS:
        reason = _read(metadata.get(key))
        if reason is not None:
            return reason
    status: object = metadata.get("status")  # gateways that speak Responses put the model's own word there
    return _STATUS.get(status) or _REASONS.get(_word(status)) if isinstance(status, str) else None


def is_ended(metadata: Mapping[str, Any]) -> bool:
    """Whether the model came to an end, whatever the reason; not where the connection broke or the server failed."""
    return finish_reason_of(metadata) is not None and not is_broken(metadata)


def is_broken(metadata: Mapping[str, Any]) -> bool:
    """Whether it is known that the reply broke off: the server failed, or the stream ended before the reply did."""
    if not metadata:
        return False
    if metadata.get(BROKE_OFF) or metadata.get("error"):
        return True
    return any(_word(metadata.get(key)) in _BREAKS for key in (*_KEYS, "status"))


def is_cut_off(metadata: Mapping[str, Any]) -> bool:
    """Whether it is known that something is missing: the reply ran into a limit or a filter, or broke off."""
    is_part = finish_reason_of(metadata) in _CUTS or _word(metadata.get("status")) == "incomplete"
    return is_part or is_broken(metadata)


def _read(word: object) -> FinishReason | None:
    if word is None or word == "":
        return None
    if not isinstance(word, str):
        return "other"
    return _REASONS.get(_word(word), "other")


def _word(word: object) -> str:
    return word.strip().rpartition(".")[2].lower() if isinstance(word, str) else ""
