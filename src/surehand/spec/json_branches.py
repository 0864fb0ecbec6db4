"""Which of several forms a value was meant to have, told by the errors that each form made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["meant_of"]

_Form = list[Any]


def meant_of(forms: list[_Form], *, depth: int) -> list[_Form]:
    """The forms that the value may have been meant to have; empty where it is of no form's kind.

    Args:
        forms: For each form its errors.
        depth: The length of the way to the value.
    """
    possible = _unlike_none(forms, lambda error: _is_of_other_kind(error, depth))
    if len(possible) < 2:  # noqa: PLR2004 - nothing to choose from
        return possible
    tagged = _unlike_none(possible, lambda error: _is_other_tag(error, depth))
    if not tagged:
        return [] if _have_one_tag(possible, depth) else possible
    return _unlike_none(tagged, lambda error: _is_other_shape(error, depth)) or tagged


def _unlike_none(forms: list[_Form], is_unlike: Callable[[Any], bool]) -> list[_Form]:
    return [form for form in forms if not any(is_unlike(error) for error in form)]


def _is_of_other_kind(error: Any, depth: int) -> bool:
    """Whether the value is of another type than this form, or another fixed value."""
    below = len(error.instance_path) - depth
    return (error.kind.name == "type" and below == 0) or (error.kind.name == "const" and below <= 1)


def _is_other_tag(error: Any, depth: int) -> bool:
    """Whether a key that sets forms apart has another value than here."""
    return error.kind.name == "enum" and len(error.instance_path) - depth == 1


def _is_other_shape(error: Any, depth: int) -> bool:
    """Whether keys of this form are missing, or keys of another one are there."""
    return len(error.instance_path) == depth and error.kind.name in (
        "required",
        "additionalProperties",
        "unevaluatedProperties",
    )


def _have_one_tag(forms: list[_Form], depth: int) -> bool:
    """Whether all forms disagree with the value of the same key."""
    keys = {tuple(error.instance_path) for form in forms for error in form if _is_other_tag(error, depth)}
    return len(keys) == 1
