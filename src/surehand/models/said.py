"""What a model says where its calls may stand in its text: the part for the user, and the calls."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias, cast

from surehand.dialects.text_calls import FORMS, TextCallFilter, TextCallForm
from surehand.errors import OptionError
from surehand.messages import AIMessage, AIMessageChunk, Content, ToolCall, ToolCallChunk, text_of

__all__ = ["Said", "TextCalls", "forms_of"]

TextCalls: TypeAlias = bool | TextCallForm | Collection[TextCallForm]
"""Whether calls written as text are read: in all forms, in none, or in the form or forms of these names."""


def forms_of(text_calls: TextCalls) -> tuple[TextCallForm, ...]:
    """The forms in which calls are read; none where that is not asked for.

    Raises:
        OptionError: Something is no name of a form.
    """
    given: object = text_calls  # hosts may not type-check
    if isinstance(given, bool):
        return FORMS if given else ()
    names = list(cast("Collection[object]", given)) if _is_several(given) else [given]
    if any(name not in FORMS for name in names):
        expected = f"True, False, or among {', '.join(FORMS)}"
        raise OptionError(option="text_calls", value=given, expected=expected)
    return tuple(form for form in FORMS if form in names)


def _is_several(given: object) -> bool:
    return isinstance(given, list | tuple | set | frozenset)


class Said:
    """Parts one reply into what is said and what is called; whole or in pieces, it comes to the same.

    A reply with calls of its own is left as it is: its server lifts calls out, so that what stands in the text is text.

    Args:
        offered: The name that a tool is offered by -> its own.
        forms: The forms in which calls are read.
    """

    def __init__(self, offered: Mapping[str, str], forms: Collection[TextCallForm]) -> None:
        self._offered = offered
        self._forms = forms
        self._begin()

    def _begin(self) -> None:
        self._filter = TextCallFilter({*self._offered, *self._offered.values()}, forms=self._forms)
        self._heard: list[str] = []
        self._shown = 0
        """How many characters of the text were shown."""
        self._blocks: list[str | dict[str, Any]] = []
        """The content, once some of it was no text alone."""
        self._whole: Content | None = None
        self._is_as_it_is = False
        """Whether the reply has calls of its own."""
        self._has_begun = False

    def read(self, reply: AIMessage) -> AIMessage:
        """A whole reply."""
        if reply.tool_calls:
            return reply
        said = self._filter.feed(reply.text)
        rest, calls = self._filter.finish()
        if not calls:
            return reply
        return reply.replace(content=_beginning(reply.content, len(said + rest)), tool_calls=self._own(calls))

    def hear(self, piece: AIMessageChunk) -> AIMessageChunk | None:
        """What can be shown of a piece; None where that is nothing."""
        if piece.is_restart:
            self._begin()
        if not self._is_as_it_is and _is_call(piece.tool_call_chunks):
            self._is_as_it_is = True
            return self._freed(piece)
        if self._is_as_it_is:
            return piece
        text = text_of(piece.content)
        self._heard.append(text)
        self._whole = self._whole if piece.whole_content is None else piece.whole_content
        if self._blocks or not isinstance(piece.content, str):
            self._blocks = self._blocks or [*self._heard[:-1]]
            self._blocks += [piece.content] if isinstance(piece.content, str) else piece.content
        shown = self._filter.feed(text)
        self._shown += len(shown)
        if self._has_begun and not shown and not _says_more(piece):
            return None
        self._has_begun = True  # the first piece goes on whatever it says: it names the reply
        return piece.replace(content=shown, whole_content=None)

    def rest(self) -> AIMessageChunk | None:
        """What remains to be shown when the reply has ended, with the calls in it; None where nothing remains."""
        if self._is_as_it_is:
            return None
        rest, calls = self._filter.finish()
        whole = self._whole if self._whole is not None else self._blocks or None
        if calls and whole is not None:
            whole = _beginning(whole, self._shown + len(rest))
        if not (rest or calls or whole is not None):
            return None
        return AIMessageChunk.of(AIMessage(rest, tool_calls=self._own(calls))).replace(whole_content=whole)

    def _freed(self, piece: AIMessageChunk) -> AIMessageChunk:
        """The piece, with what was held back before it."""
        held = "".join(self._heard)[self._shown :]
        content = held + piece.content if isinstance(piece.content, str) else [held, *piece.content]
        whole = self._whole if piece.whole_content is None else piece.whole_content
        if whole is None and self._blocks:
            whole = [*self._blocks, *([piece.content] if isinstance(piece.content, str) else piece.content)]
        return piece.replace(content=content if held else piece.content, whole_content=whole)

    def _own(self, calls: Sequence[ToolCall]) -> list[ToolCall]:
        """The calls with the tools' own names in place of those they were offered by."""
        return [{**call, "name": self._offered.get(call["name"], call["name"])} for call in calls]


def _is_call(pieces: Sequence[ToolCallChunk]) -> bool:
    """Whether the pieces belong to a call; some servers send placeholders without name and arguments."""
    return any((piece["name"] or "").strip() or (piece["args"] or "").strip() for piece in pieces)


def _says_more(piece: AIMessageChunk) -> bool:
    """Whether there is more to a piece than its text."""
    about = (piece.usage_metadata, piece.additional_kwargs, piece.response_metadata, piece.tool_call_chunks)
    return piece.is_restart or any(about)


def _beginning(content: Content, length: int) -> Content:
    """The content with so many characters of its text; blocks that are no text stay."""
    if isinstance(content, str):
        return content[:length]
    kept: list[str | dict[str, Any]] = []
    for block in content:
        text = text_of([block])
        said, length = text[:length], max(length - len(text), 0)
        if not text or said == text:
            kept.append(block)
        elif said:
            kept.append(said if isinstance(block, str) else {**block, "text": said})
    return kept or ""
