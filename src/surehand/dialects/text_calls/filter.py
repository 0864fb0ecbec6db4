"""Reading a text for calls while it comes, so that nobody is shown their marks.

One reader for both: a whole text is one piece. What has come is shown up to where a call may begin, and is held back
from there until it turns out to be one, or a text. Two things can begin a call. At the start of the text it may be the
whole of it (``whole_texts``); at a mark, what stands behind it decides (``forms``). Both say as early as they can that
it is none, most often within a word; what they cannot tell before the end is asked again whenever twice as much has
come, so that the work stays linear and at most the half of a text is ever held back for nothing.

From the first call on nothing is shown: what stands between and behind calls is passed over. The blanks before it are
no part of what was said.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from surehand.dialects.text_calls.forms import FORMS, MARKS, Body, Mark, TextCallForm
from surehand.dialects.text_calls.json_calls import end_before_words, end_of_data
from surehand.dialects.text_calls.offered import END_TOKENS, Block, Offered
from surehand.dialects.text_calls.places import FENCE, Place
from surehand.dialects.text_calls.thoughts import THOUGHT_ENDS, THOUGHTS, may_begin, opener_of
from surehand.dialects.text_calls.whole_texts import inside_of_blocks, may_be_calls, read_whole
from surehand.messages import ToolCall

__all__ = ["TextCallFilter"]

_MARK_OF: Final = {opener: mark for mark in MARKS for opener in mark.openers}
_SIGNS: Final = (*_MARK_OF, FENCE, *THOUGHTS, *THOUGHT_ENDS)
_SIGN: Final = re.compile(f"{FENCE}`*+|" + "|".join(map(re.escape, sorted(_SIGNS, key=len, reverse=True))))
_BEGINNINGS: Final = frozenset(sign[:length] for sign in _SIGNS for length in range(1, len(sign)))
_FIRST: Final = re.compile("[" + re.escape("".join({sign[0] for sign in _SIGNS})) + "]")
_LONGEST: Final = max(map(len, _SIGNS))
_NOTHING: Final = re.compile(rf"(?:\s|{'|'.join(map(re.escape, END_TOKENS))})*+")
_BRACKETS: Final = (re.compile(r"\["), re.compile(r"\{"))
_HEAD: Final = 300
"""Characters behind a mark that can show that no call begins there."""
_MAX_MARKS: Final = 500
"""Marks that may begin a call, in one text. One with more of them is no reply but a model that does not stop."""
_MAX_SIGNS: Final = 20_000
"""The same for marks, fences and thoughts wherever they stand."""
_FEW: Final = 64
"""So many characters held back are looked at with each piece; more only when twice as many have come."""


@dataclass(frozen=True, slots=True)
class _Step:
    """How far the reader has come, and what it found on the way."""

    start: int
    """Where the calls begin; the end, where there are none."""
    end: int
    calls: list[ToolCall]


class TextCallFilter:
    """Takes a reply's text as it comes, and parts what the user may see from the calls in it.

    The texts that ``feed`` and ``finish`` give add up to the same, and the calls are the same, however the text is cut.

    Args:
        tool_names: The names of the tools that were offered.
        forms: The forms in which calls are read; all of them by default.

    Example:
        >>> reader = TextCallFilter(["add"])
        >>> reader.feed("I add. <tool_call>{"), reader.feed('"name": "add", "arguments": {}}</tool_call>')
        ('I add.', '')
        >>> rest, calls = reader.finish()
        >>> rest, calls[0]["name"]
        ('', 'add')
    """

    def __init__(self, tool_names: Collection[str], *, forms: Collection[TextCallForm] = FORMS) -> None:
        self._offered = Offered(tool_names)
        self._forms = forms
        self._bodies = _bodies_of(tuple(forms))
        self._marks = _MAX_MARKS
        self._signs = _MAX_SIGNS
        self._held: list[str] = []
        self._size = 0
        self._next_look = 0
        self._scanned = 0
        """How much of what is held was read: blanks, which belong to what was said unless a call follows them."""
        self._place = Place()
        self._is_start = True
        """Whether only thoughts have come, so that calls may be the whole text."""
        self._thought: str | None = None
        """What began the thought that the reader is in."""
        self._calls: list[ToolCall] = []

    def feed(self, text: str) -> str:
        """What can be shown now that this text has come; often it, or nothing."""
        if not self._offered.names:
            return text
        self._held.append(text)
        self._size += len(text)
        if self._calls or self._size < self._next_look:
            return ""
        return self._advance(is_end=False)

    def finish(self) -> tuple[str, list[ToolCall]]:
        """What remains to be shown, and the calls, now that the text has ended."""
        rest = self._advance(is_end=True)
        return rest, self._calls

    def _advance(self, *, is_end: bool) -> str:
        text = "".join(self._held)
        at, said = self._scanned, None if not self._calls else ""
        while (step := self._step(text, at, is_end=is_end)) is not None:
            if step.calls and said is None:
                said = text[: step.start].rstrip()
            self._calls += step.calls
            at = step.end
            if self._calls and not is_end:
                break
        if said is None:
            said = text[:at] if is_end else text[:at].rstrip()
            self._hold(text[len(said) :], at - len(said))
        else:
            self._hold(text[at:], 0)
        return said

    def _hold(self, text: str, scanned: int) -> None:
        self._held, self._size, self._scanned = [text], len(text), scanned
        self._next_look = self._size + 1 if self._size <= _FEW else 2 * self._size

    def _step(self, text: str, at: int, *, is_end: bool) -> _Step | None:
        """The next step; None where nothing is left, or more has to come first."""
        if self._is_start and self._thought is None:
            return self._start(text, at, is_end=is_end)
        sign = _SIGN.search(text, at) if self._signs else None
        may_go_on = sign is None and not is_end and bool(self._signs)
        stop = _possible_sign(text, at) if may_go_on else len(text) if sign is None else sign.start()
        if stop > at:
            self._place.read(text[at:stop])
            return _Step(stop, stop, [])
        step = None if sign is None else self._sign(text, sign, is_end=is_end)
        self._signs -= step is not None
        return step

    def _start(self, text: str, at: int, *, is_end: bool) -> _Step | None:
        """What begins here, where nothing has been said."""
        body = text[at:].lstrip()
        start = len(text) - len(body)
        if body and may_be_calls(body, self._offered, self._forms):
            if not is_end:
                return None
            calls = read_whole(body, self._offered, self._forms) or self._in_blocks(body)
            if calls:
                return _Step(start, len(text), calls)
        elif not is_end and may_begin(body):
            return None
        self._is_start = False
        self._thought = opener_of(body)
        return _Step(at, at, [])

    def _in_blocks(self, body: str) -> list[ToolCall]:
        """The calls in tags inside of the code blocks that the text consists of."""
        inside = inside_of_blocks(body)
        if inside is None:
            return []
        reader = TextCallFilter(self._offered.names, forms=self._forms)
        reader.feed(inside)
        return reader.finish()[1]

    def _sign(self, text: str, sign: re.Match[str], *, is_end: bool) -> _Step | None:
        start, end = sign.span()
        if self._ends_thought(sign.group()):
            self._is_start, self._thought, self._place = not self._calls and self._marks > 0, None, Place()
            self._marks = max(self._marks - 1, 0)
            return _Step(end, end, [])
        if self._thought is not None or sign.group() in THOUGHTS or sign.group() in THOUGHT_ENDS:
            return self._pass(text, start, end)
        if sign.group().startswith(FENCE):
            return self._fence(text, start, end, is_end=is_end)
        mark = _MARK_OF[sign.group()]
        is_open = self._place.is_line_start or self._place.is_open_to(is_word=mark.is_word)
        if self._place.is_in_code or not is_open or not self._marks:
            return self._pass(text, start, end)
        step = self._mark(text, sign, mark, is_end=is_end)
        self._marks -= step is not None
        return step

    def _ends_thought(self, sign: str) -> bool:
        """Whether it ends the thought, or one whose opener is in the prompt: then all that was said was thought."""
        is_end = sign in THOUGHT_ENDS if self._thought is None else sign == THOUGHTS[self._thought]
        return is_end and not self._place.is_in_code

    def _pass(self, text: str, start: int, end: int) -> _Step:
        """Go on behind something that means nothing here; tags do not end the start of a line."""
        if not self._place.is_line_start or text.startswith(FENCE, start):
            self._place.read(text[start:end])
        return _Step(end, end, [])

    def _fence(self, text: str, start: int, end: int, *, is_end: bool) -> _Step | None:
        line_end = text.find("\n", end)
        line = text[start : len(text) if line_end < 0 else line_end]
        is_fence = self._place.is_line_start and self._place.is_fence(line)
        if not is_end and (end == len(text) or (is_fence and line_end < 0)):
            return None
        if not is_fence:
            return self._pass(text, start, end)
        self._place.read_fence(line)
        return _Step(start + len(line), start + len(line), [])

    def _mark(self, text: str, sign: re.Match[str], mark: Mark, *, is_end: bool) -> _Step | None:
        inside = sign.end() - min(mark.keeps, len(sign.group()))
        head = text[inside : inside + _HEAD].lstrip()
        bodies = [body for body in self._bodies[mark] if body.may_begin(head, self._offered)]
        if not bodies:
            return self._pass(text, *sign.span())
        text_end = None if mark.has_closer else self._end_of_text(text, sign.end(), inside)
        if text_end is not None:
            return self._pass(text, sign.start(), text_end)
        stop = mark.stop.search(text, sign.end())
        if stop is None and not is_end:
            return None
        block_end = len(text) if stop is None else stop.start()
        block = Block(text[inside:block_end], is_closed=stop is not None)
        none: list[ToolCall] = []
        calls = next((calls for body in bodies if (calls := body.read(block, self._offered))), none)
        end = block_end if stop is None or stop.group() in mark.openers else stop.end()
        if not calls:
            return self._pass(text, sign.start(), end)
        step = _Step(sign.start(), end, calls)
        if not self._place.is_line_start:
            return self._last(text, step, mark, is_end=is_end)
        return step

    def _end_of_text(self, text: str, at: int, inside: int) -> int | None:
        """Where what stands behind a mark that nothing ends ends itself, because it has turned out to be a text.

        That is behind values without a call, and, where the mark stands in a line, behind any that words follow.
        """
        data_end = end_of_data(text, inside, self._offered)
        if data_end is not None or self._place.is_line_start:
            return data_end
        starts = [found.start() for bracket in _BRACKETS if (found := bracket.search(text, inside, at + _HEAD))]
        return next((end for start in starts if (end := end_before_words(text, start)) is not None), None)

    def _last(self, text: str, step: _Step, mark: Mark, *, is_end: bool) -> _Step | None:
        """A call in the middle of a line: it counts where nothing but calls follows it."""
        run_end = _end_of_run(text, step.end, mark)
        rest = text[run_end : run_end + _LONGEST]
        # Every sign begins with a rest of nothing, too.
        if not is_end and any(sign.startswith(rest) for sign in (*mark.openers, *END_TOKENS)):
            return None
        if rest:
            return self._pass(text, step.start, run_end)
        self._place.is_line_start = True
        return step


def _possible_sign(text: str, at: int) -> int:
    """Where at the end of the text a sign may begin that has not come as a whole."""
    for first in _FIRST.finditer(text, max(at, len(text) - _LONGEST + 1)):
        if text[first.start() :] in _BEGINNINGS:
            return first.start()
    return len(text)


@cache
def _bodies_of(forms: tuple[TextCallForm, ...]) -> Mapping[Mark, list[Body]]:
    """What may stand behind each mark, in these forms."""
    return {mark: [body for body in mark.bodies if not set(body.forms).isdisjoint(forms)] for mark in MARKS}


def _end_of_run(text: str, at: int, mark: Mark) -> int:
    """Where the first word stands behind a block and those that follow it; the end of the text where none does."""
    while True:
        blank = _NOTHING.match(text, at)
        at = at if blank is None else blank.end()
        opener = next((opener for opener in mark.openers if text.startswith(opener, at)), None)
        if opener is None:
            return at
        stop = mark.stop.search(text, at + len(opener))
        if stop is None:
            return len(text)
        at = stop.start() if stop.group() in mark.openers else stop.end()
