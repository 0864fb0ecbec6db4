"""A reply of Gemini's, in one piece or in many.

A stream's chunks have the form of whole replies: each holds some parts, the last one says why the reply ended. So there
is one reader for both. A whole reply is a stream of one chunk, and what a model said in a history one without an end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from surehand.dialects.gemini_calls import CallReader, field_of, has_call
from surehand.dialects.gemini_parts import JoinedParts
from surehand.dialects.streams import Reply, ReplyStream
from surehand.dialects.wire import is_from, payload_of
from surehand.messages import AIMessage, AIMessageChunk, Content, ToolCallChunk
from surehand.shapes import items_of, mapping_of

__all__ = ["ContentStream", "is_reply", "json_of", "usage_of"]

_NUMBERED: Final = {1: "STOP", 2: "MAX_TOKENS", 3: "SAFETY", 4: "RECITATION"}
"""Reasons as numbers, where an SDK dumps them so: those that all versions of the API count alike."""
_NAMED_OTHERWISE: Final = {"responseId": "id", "modelVersion": "model"}
_NOT_ABOUT: Final = frozenset(
    {
        "candidates", "usageMetadata", "sdkHttpResponse", "automaticFunctionCallingHistory", "parsed",
        "content", "finishReason", "index", "tokenCount",
    }
)  # fmt: skip
"""Fields of a reply and of a candidate that are no metadata, or are read elsewhere."""
_MALFORMED: Final = "MALFORMED_FUNCTION_CALL"
_LOST_CALLS: Final = frozenset({_MALFORMED, "UNEXPECTED_TOOL_CALL"})
"""Reasons that stand for a call which the API did not let through."""
_LOST_NAMES: Final = (
    re.compile(r"undeclared function:\s*([\w.:-]+)"),
    re.compile(r"default_api[.:]([\w-]+)"),
    re.compile(r"([A-Za-z_][\w.-]*)\s*[({]"),
)
"""Where the name of a lost call stands in the message about it, the surest place first."""
_UNDERSCORE: Final = re.compile(r"_([a-z])")


def json_of(value: object) -> Mapping[str, Any]:
    """A value as the API's JSON: a mapping as it is, an object of Google's SDK as what was sent."""
    if is_from(value, "google.genai") and callable(dump := getattr(value, "model_dump", None)):
        return mapping_of(dump(mode="json", by_alias=True, exclude_none=True))
    return payload_of(value)


def is_reply(fields: Mapping[str, Any]) -> bool:
    """Whether it is a whole reply, or a chunk of one, rather than a content."""
    return bool(items_of(fields.get("candidates")) or mapping_of(field_of(fields, "promptFeedback")))


def usage_of(usage: object) -> dict[str, Any] | None:
    """The tokens in the spelling of ``usage_metadata``, thoughts and tools' prompts counted; None without any."""
    fields = mapping_of(usage)
    if not fields:
        return None
    sent = _sum_of(fields, "promptTokenCount", "toolUsePromptTokenCount")
    received = _sum_of(fields, "candidatesTokenCount", "thoughtsTokenCount")
    return {"input_tokens": sent, "output_tokens": received, "total_tokens": sent + received}


def _sum_of(fields: Mapping[str, Any], *names: str) -> int:
    return sum(count for name in names if isinstance(count := field_of(fields, name), int))


class ContentStream(ReplyStream):
    """Puts the chunks of a streamed reply together; see ``ReplyStream``.

    Args:
        candidate: Which of the replies to read, where several were asked for.
    """

    def __init__(self, *, candidate: int = 0) -> None:
        super().__init__()
        self._candidate = candidate
        self._begin()

    def _begin(self) -> None:
        self._reply = Reply()
        self._calls = CallReader()
        self._parts = JoinedParts()

    def is_of_another(self, chunk: object) -> bool:
        """Whether a chunk belongs to another reply than those before it."""
        own, given = self._reply.metadata.get("id"), field_of(json_of(chunk), "responseId")
        return bool(own and given) and own != given

    def _fields_of(self, event: object) -> Mapping[str, Any]:
        return json_of(event)

    def _take(self, fields: Mapping[str, Any]) -> AIMessageChunk | None:
        if self.is_of_another(fields) and not self.is_finished:  # a retry spliced into the stream
            self._begin()
            return (self._add(fields) or AIMessageChunk()).replace(is_restart=True)
        return self._add(fields)

    def _add(self, fields: Mapping[str, Any]) -> AIMessageChunk | None:
        candidate = self._ours(fields)
        metadata = {**_about(fields), **_about(candidate)}
        reason = _reason(fields, candidate)
        text, thoughts, pieces = self._read(items_of(mapping_of(candidate.get("content")).get("parts")))
        if reason is not None:
            metadata["finish_reason"] = reason
            pieces += self._end(reason, field_of(candidate, "finishMessage"))
        elif (text or pieces) and self.is_finished:
            metadata["finish_reason"] = ""  # it goes on, as after code that the provider ran
        known = self._reply.metadata
        is_over = reason is not None or "error" in metadata  # inside a stream that began with HTTP 200
        return self._reply.add(
            text=text,
            extras={"thinking": thoughts} if thoughts else None,
            pieces=pieces,
            metadata={key: value for key, value in metadata.items() if known.get(key) != value},
            usage=usage_of(field_of(fields, "usageMetadata")),
            whole_content=self._unsaid() if is_over else None,
        )

    def whole(self) -> AIMessage:
        """The reply, if this is all of it, whether or not something says so."""
        return self._reply.message(self._content(), is_all=True)

    def _content(self) -> Content:
        return self._parts.content()

    def _ours(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        candidates = map(mapping_of, items_of(fields.get("candidates")))
        ours = [each for each in candidates if (each.get("index") or 0) == self._candidate]
        return ours[0] if ours else mapping_of(None)

    def _read(self, parts: Iterable[object]) -> tuple[str, str, list[ToolCallChunk]]:
        """Take in parts; what they add to the text and to the thoughts, and the pieces of calls."""
        said: dict[bool, list[str]] = {True: [], False: []}
        pieces: list[ToolCallChunk] = []
        for part in map(json_of, parts):
            if has_call(part):
                begun, told = self._calls.feed(part)
                pieces += told
                if begun is not None:
                    self._parts.keep(begun)
                continue
            self._parts.add(part)
            if isinstance(text := part.get("text"), str):
                said[part.get("thought") is True].append(text)
        return "".join(said[False]), "".join(said[True]), pieces

    def _end(self, reason: str, message: object) -> list[ToolCallChunk]:
        """What the end of the reply adds: an open call is cut off, and one that got lost on the way stands there.

        A call that the API refused is told in words only. As a call it can be answered, and the model tries again;
        without it an agent would take the reply, which is empty or holds remains of the call, for an answer. Where the
        reply holds calls, the last one is what the API stopped at, and is not run if its arguments were the reason.
        """
        pieces = self._calls.end()
        if reason not in _LOST_CALLS or pieces:
            return pieces
        said = message if isinstance(message, str) else ""
        told = f"{reason}: {said}"  # never an object, whatever is said: these are no arguments
        if self._calls.count:
            return [self._calls.more(told)] if reason == _MALFORMED else []
        name = next((found[1] for place in _LOST_NAMES if (found := place.search(said.partition(":")[2]))), "")
        part, pieces = self._calls.refused(name, told)
        self._parts.keep(part)
        return pieces


def _reason(fields: Mapping[str, Any], candidate: Mapping[str, Any]) -> str | None:
    """Why the reply ended; None where it goes on."""
    reason: object = field_of(candidate, "finishReason")
    if reason:
        return str(_NUMBERED.get(reason, reason) if isinstance(reason, int) else reason)
    # No candidate is made of a prompt that is refused; the words for that are not those for replies.
    is_blocked = bool(field_of(mapping_of(field_of(fields, "promptFeedback")), "blockReason"))
    return "content_filter" if is_blocked and not candidate else None


def _about(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of a reply besides its parts and tokens, by the API's names, where no other is usual."""
    named = {_camel(key): value for key, value in fields.items() if value is not None}
    return {_NAMED_OTHERWISE.get(key, key): value for key, value in named.items() if key not in _NOT_ABOUT}


def _camel(key: str) -> str:
    return _UNDERSCORE.sub(lambda letter: letter[1].upper(), key)
