r"""Patterns of JSON Schemas.

Python's ``re`` tries every way to match, and with an author's ``^(a+)+$`` thirty characters of a model keep it busy for
minutes. Pydantic's engine takes linear time, and knows what JSON Schema borrows from JavaScript (``\p{L}``, a ``$``
that stands at the very end). What it lacks, such as lookaheads, is left to ``re``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Final

from pydantic_core import SchemaError, SchemaValidator, core_schema

__all__ = ["matcher"]

_READ_IN_TWO_WAYS: Final = re.compile(r"\[\[|\[\^\[|&&|--|~~")
"""Sets within sets, which only pydantic's engine has; to JavaScript and Python these are plain characters."""


@functools.lru_cache(maxsize=1024)
def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a text has a match of the pattern somewhere; a pattern that neither engine can read matches anything."""
    if not _READ_IN_TWO_WAYS.search(pattern):
        try:
            return SchemaValidator(core_schema.str_schema(pattern=pattern)).isinstance_python
        except SchemaError:
            pass  # a lookaround, a back reference, or too large
    try:
        search = re.compile(pattern).search
    except re.error:
        return lambda _text: True
    return lambda text: search(text) is not None
