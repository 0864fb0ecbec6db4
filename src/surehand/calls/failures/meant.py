"""Which of the values that a model sent an exception complains of, and what may have been meant by it.

Weak models read an exception as the last word, or change the wrong argument after it. All that is told here stands in
the exception's own text, or is a value that was sent in the form of one that stands there: it is advice, and what the
model makes of it is validated as every call is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from difflib import SequenceMatcher
from itertools import accumulate, groupby, pairwise
from typing import Any, Final

__all__ = ["complained_of", "what_was_meant"]

_NEAR: Final = 0.8
"""How alike what was sent and what is offered must be for one to have been meant by the other."""
_NEAR_IF_SHORT: Final = 0.7
"""The same for a value of a few characters, of which each counts for more."""
_SHORT: Final = 4
"""The most characters of a short value."""
_NEARER: Final = 0.85
"""The same for a word that stands in a sentence, and may be about something else."""
_CLEARLY: Final = 0.02
"""How much nearer than all others a name must be."""
_MOST_COMPARED: Final = 50_000
"""Up to which product of their lengths a value is compared with names."""
_LONGEST: Final = 100
"""The most characters of a value that is looked for."""
_MOST: Final = 20
"""The most arguments that are looked for."""
_LEAST_NUMBER: Final = 10
"""A smaller number stands in many a text for something else."""
_MANY_DIGITS: Final = 1e15
"""From here on, numbers are written in more than one way."""
_BETWEEN: Final = re.compile(r"""["'`,;:()\[\]{}?\n]| or | and """)
"""What stands between names in a list."""
_OFFER: Final = re.compile(
    r"(?:^|(?<=\s))(?:only|is|are|be|like|means?|meant|try|use|known|available|such as)(?=\s)", re.IGNORECASE
)
"""What stands before a name that is offered in a sentence."""
_WORD: Final = re.compile(r"\w[\w.+-]*\w")
_QUOTED: Final = r"""["'`]{}["'`]"""
_ALONE: Final = r"(?<![\w.+-]){}(?![\w+-]|\.\w)"
_AS_EXAMPLE: Final = re.compile(r"\b(?:such as|like|example|e\.g\.|for instance|form(?:at)?)(?!\w)", re.IGNORECASE)
_FORMED: Final = re.compile(r"\+?\w[\w.:/+-]*\w")
_DIGITS: Final = re.compile(r"\d+")
_DECIMAL: Final = re.compile(r"\+?\d+[.,]\d+")
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
    examples = _examples_in(text)
    known = {
        name: nearness
        for name, nearness in _names_in(text, near=_NEAR_IF_SHORT if len(value) <= _SHORT else _NEAR).items()
        if name not in sent and not (examples and _has_digit(name))
    }
    written = _plain(value)
    if alike := [name for name in known if name[:1].casefold() == value[:1].casefold() and _plain(name) == written]:
        return alike[0]
    if near := _nearest(value, known):
        return near
    formed = (_in_form_of(example, value) for example in examples)
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


def _names_in(text: str, *, near: float) -> dict[str, float]:
    """What a text offers, and its other words, each with how near a value must be to it."""
    listed = _BETWEEN.split(text)
    offered = (name.strip(" .!") for entry in listed for name in (entry, *_OFFER.split(entry)[1:]))
    return dict.fromkeys(_WORD.findall(text), _NEARER) | {name: near for name in offered if name}


def _nearest(value: str, names: Mapping[str, float]) -> str | None:
    """The name that is nearest to the value, if it is near, and no other is as near."""
    matcher, left = SequenceMatcher(a="", b=value, autojunk=False), _MOST_COMPARED
    near: list[tuple[float, str]] = []
    for name, least in names.items():
        matcher.set_seq1(name)
        if matcher.real_quick_ratio() < least:
            continue
        left -= len(name) * len(value)
        if left < 0:
            return None
        is_near = matcher.quick_ratio() >= least and matcher.ratio() >= least
        if is_near and _is_of_same_number(name, value):
            near.append((matcher.ratio(), name))
    if not near:
        return None
    first, *others = sorted(near, reverse=True)
    return first[1] if not others or first[0] - others[0][0] > _CLEARLY else None


def _plain(text: str) -> list[str]:
    """The letters, numbers and signs of a text: the same where it is the same in another spelling."""
    runs = (run for place, run in enumerate(_RUN.findall(text.casefold())) if place == 0 or run not in _SEPARATORS)
    parts = groupby(runs, key=str.isalpha)
    return [part for is_word, run in parts for part in (["".join(run)] if is_word else [_number(each) for each in run])]


def _number(run: str) -> str:
    return run.lstrip("0") or run[:1]


def _is_of_same_number(name: str, value: str) -> bool:
    """Whether a name does not differ from a value in a number: nobody means the invoice 17 by the invoice 18."""
    sent, named = ("".join(run.lstrip("0") for run in _DIGITS.findall(text)) for text in (value, name))
    return not sent or sent == named


def _has_digit(text: str) -> bool:
    return _DIGITS.search(text) is not None


def _examples_in(text: str) -> list[str]:
    """What has digits and comes next after the words for an example."""
    after = (_FORMED.findall(text[mark.end() : mark.end() + _LONGEST]) for mark in _AS_EXAMPLE.finditer(text))
    return list(dict.fromkeys(filter(None, (next(filter(_has_digit, each), "") for each in after))))


# A value in the form of an example


def _in_form_of(example: str, value: str) -> str | None:
    """The letters and digits of a value between the separators of an example; None where they do not fit in.

    An example's letters before its digits are part of the form: with ``INV-0107`` before it, ``42`` is ``INV-0042``.
    """
    runs, sent = _RUN.findall(example), _RUN.findall(value)
    if _marks(runs) != _marks(sent) or not _have_one_word(runs, sent) or _is_amount(value, runs):
        return None
    if _is_short_date(runs) and [run for run in runs if not run.isdecimal()] != [
        run for run in sent if not run.isdecimal()
    ]:
        return None  # 5/3 is in March or in May
    digits = _spread([run for run in sent if run.isdecimal()], [run for run in runs if run.isdecimal()])
    if digits is None:
        return None
    left = iter(digits)
    return "".join(next(left) if run.isdecimal() else run for run in runs)


def _marks(runs: Sequence[str]) -> set[str]:
    """The signs that mean something."""
    return {run for run in runs if not run.isalnum()} - _SEPARATORS


def _have_one_word(runs: Sequence[str], sent: Sequence[str]) -> bool:
    """Whether the letters are the same, in the same places, or the example's alone and before all digits."""
    expected, found = (
        ["#" if run.isdecimal() else run.casefold() for run in part if run.isalnum()] for part in (runs, sent)
    )
    is_same = [key for key, _ in groupby(expected)] == [key for key, _ in groupby(found)]
    return is_same or (set(found) == {"#"} and runs[0].isalpha() and not any(run.isalpha() for run in runs[1:]))


def _is_amount(value: str, example: Sequence[str]) -> bool:
    """Whether a value may be a number, of which digits and signs mean something else than in a form."""
    if value.startswith("-") or _DECIMAL.fullmatch("".join(example)):
        return True
    return _DECIMAL.fullmatch(value) is not None and len(example[-1]) != len(_RUN.findall(value)[-1])


def _is_short_date(example: Sequence[str]) -> bool:
    """Whether an example may be a day and a month, or these and a year of two digits."""
    digits = [run for run in example if run.isdecimal()]
    return (
        len(digits) > 1 and all(run.isdecimal() or run in "-./" for run in example) and max(map(len, digits)) <= _PAIR
    )


def _spread(digits: Sequence[str], examples: Sequence[str]) -> list[str] | None:
    """The digits of a value as the numbers of an example; None where it is open which belongs where."""
    joined = "".join(digits)
    if not digits or any(len(run) == _YEAR for run in examples[1:]):
        return None  # 5/3/2027 is in March or in May
    if len(examples) == 1 and len(digits) > 1:
        return [joined] if abs(len(joined) - len(examples[0])) <= _MORE_OR_LESS else None
    if len(digits) == 1 and len(joined) == sum(map(len, examples)):
        ends = [0, *accumulate(map(len, examples))]
        return [joined[start:end] for start, end in pairwise(ends)]
    if len(digits) != len(examples):
        return None
    padded = [_padded(run, example, is_part=len(examples) > 1) for run, example in zip(digits, examples, strict=True)]
    return None if None in padded else [run for run in padded if run is not None]


def _padded(run: str, example: str, *, is_part: bool) -> str | None:
    may_pad = example.startswith("0") or (is_part and len(example) == _PAIR)
    return run.zfill(len(example)) if len(run) == len(example) or (may_pad and len(run) < len(example)) else None
