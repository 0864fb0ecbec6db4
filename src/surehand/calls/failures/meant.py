"""Which of the values that a model sent an exception complains of, and what may have been meant by it.

Weak models read an exception as the last word, or change the wrong argument after it. All that is told here stands in
the exception's own text, or is a value that was sent in the form of one that stands there: it is advice, and what the
model makes of it is validated as every call is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from difflib import get_close_matches
from itertools import accumulate, pairwise
from typing import Any, Final

__all__ = ["complained_of", "what_was_meant"]

_NEAR: Final = 0.7
"""How alike two texts must be for one to have been meant by the other."""
_LONGEST: Final = 100
"""The most characters of a value that is looked for."""
_MOST: Final = 20
"""The most arguments that are looked for."""
_LEAST_NUMBER: Final = 10
"""A smaller number stands in many a text for something else."""
_MANY_DIGITS: Final = 1e15
"""From here on, numbers are written in more than one way."""
_BETWEEN: Final = re.compile(r"""["'`,;:()\[\]{}\n]| or | and """)
_WORD: Final = re.compile(r"\w[\w.+-]*\w")
_QUOTED: Final = r"""["'`]{}["'`]"""
_ALONE: Final = r"(?<![\w.+-]){}(?![\w+-]|\.\w)"
_AS_EXAMPLE: Final = re.compile(
    r"\b(?:such as|like|for example|example|e\.g\.|for instance|form(?:at)?)\b", re.IGNORECASE
)
_FORMED: Final = re.compile(r"[+\w][\w.:/+-]*\w")
_RUN: Final = re.compile(r"\d+|[^\W\d_]+|[\W_]")
_SEPARATORS: Final = frozenset(" -_./:")
"""What stands between the parts of a value and means nothing by itself."""
_YEAR: Final = 4
"""Digits of a year."""
_MORE_OR_LESS: Final = 3
"""By how many digits a number that was sent in pieces may be longer or shorter than the example."""
_PAIR: Final = 2
"""Digits of a month, a day, an hour or a minute."""


def complained_of(values: Mapping[str, Any], text: str) -> list[str]:
    """The names of the arguments whose values the text quotes, or else just has in it, or else that it names itself."""
    sent = {name: written for name, value in list(values.items())[:_MOST] if (written := _written(value))}
    for form, least in ((_QUOTED, 1), (_ALONE, 2)):  # a lone letter stands in many a text for something else
        long = {name: written for name, written in sent.items() if len(written) >= least}
        if found := [name for name, written in long.items() if re.search(form.format(re.escape(written)), text)]:
            return found
    return [name for name in list(values)[:_MOST] if _is_named(name, text)]


def what_was_meant(value: str, text: str, *, sent: AbstractSet[str]) -> str | None:
    """What the text names, or shows the form of, and a model may have meant by a value; None where nothing is near.

    Args:
        value: What was sent.
        text: What the exception says.
        sent: All texts that were sent; what was meant is none of them.
    """
    if not 0 < len(value) <= _LONGEST:
        return None
    text = _without(sent | {value}, text)
    is_by_example = _AS_EXAMPLE.search(text) is not None
    known = [name for name in _names_in(text) if name not in sent and not (is_by_example and _has_digit(name))]
    if near := get_close_matches(value, known, n=1, cutoff=_NEAR):
        return near[0]
    if alike := [name for name in known if name.casefold() == value.casefold()]:
        return alike[0]
    if not is_by_example:
        return None
    formed = (_in_form_of(example, value) for example in _FORMED.findall(text) if _has_digit(example))
    return next((form for form in formed if form is not None and form not in sent), None)


def _written(value: object) -> str:
    """A value as a text has it; empty for one that would be found anywhere."""
    if isinstance(value, str):
        return value if value.strip() and len(value) <= _LONGEST else ""
    if isinstance(value, int | float) and not isinstance(value, bool) and _LEAST_NUMBER <= abs(value) < _MANY_DIGITS:
        return str(value)
    return ""


def _is_named(name: str, text: str) -> bool:
    """Whether a text speaks of an argument, and not just has its name as a word."""
    if text.startswith((f"{name} ", f"{name}:")) or ("_" in name and re.search(rf"\b{re.escape(name)}\b", text)):
        return True
    return re.search(_QUOTED.format(re.escape(name)), text) is not None


def _without(values: AbstractSet[str], text: str) -> str:
    """The text without what was sent, of which a part is not what was meant."""
    for value in sorted(values, key=len, reverse=True)[:_MOST]:
        if 1 < len(value) <= _LONGEST:
            text = re.sub(_ALONE.format(re.escape(value)), "\n", text)
    return text


def _names_in(text: str) -> list[str]:
    """What a text lists or quotes, and its words."""
    listed = [name.strip(" .") for name in _BETWEEN.split(text)]
    return [*listed, *_WORD.findall(text)]


def _has_digit(text: str) -> bool:
    return any(character.isdecimal() for character in text)


# A value in the form of an example


def _in_form_of(example: str, value: str) -> str | None:
    """The letters and digits of a value between the separators of an example; None where they do not fit in.

    An example's letters before its digits are part of the form: with ``INV-0107`` before it, ``42`` is ``INV-0042``.
    """
    runs, sent = _RUN.findall(example), _RUN.findall(value)
    if _marks(runs) != _marks(sent) or not _have_one_word(runs, sent):
        return None
    digits = _spread([run for run in sent if run.isdecimal()], [run for run in runs if run.isdecimal()])
    if digits is None:
        return None
    left = iter(digits)
    return "".join(next(left) if run.isdecimal() else run for run in runs)


def _marks(runs: Sequence[str]) -> set[str]:
    """The signs that mean something."""
    return {run for run in runs if not run.isalnum()} - _SEPARATORS


def _have_one_word(runs: Sequence[str], sent: Sequence[str]) -> bool:
    """Whether the letters are the same, or the example's alone and before all digits."""
    expected, found = (["".join(run for run in part if run.isalpha()).casefold()] for part in (runs, sent))
    return expected == found or (found == [""] and runs[0].isalpha() and not any(run.isalpha() for run in runs[1:]))


def _spread(digits: Sequence[str], examples: Sequence[str]) -> list[str] | None:
    """The digits of a value as the numbers of an example; None where it is open which belongs where."""
    joined = "".join(digits)
    if not digits or (any(len(run) == _YEAR for run in examples[1:]) and len(examples) > 1):
        return None  # 5/3/2027 is in March or in May
    if len(examples) == 1 and len(digits) > 1:
        return [joined] if abs(len(joined) - len(examples[0])) <= _MORE_OR_LESS else None
    if len(digits) == 1 and len(joined) == sum(map(len, examples)):
        ends = [0, *accumulate(map(len, examples))]
        return [joined[start:end] for start, end in pairwise(ends)]
    if len(digits) != len(examples):
        return None
    padded = [_padded(run, example) for run, example in zip(digits, examples, strict=True)]
    return None if None in padded else [run for run in padded if run is not None]


def _padded(run: str, example: str) -> str | None:
    may_pad = example.startswith("0") or len(example) == _PAIR
    return run.zfill(len(example)) if len(run) == len(example) or (may_pad and len(run) < len(example)) else None
