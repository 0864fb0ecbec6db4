"""What a docstring says about a tool and its parameters (Google, NumPy, Sphinx, Epydoc)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from docstring_parser.google import Section

__all__ = ["Documentation", "read_docstring"]

_SECTIONS: Final = (
    "args|arguments|attributes|caution|danger|error|example|examples|except|exceptions|hint|important|keyword args|"
    "keyword arguments|note|notes|other parameters|parameters|params|raises|receives|references|return|returns|"
    "see also|side effects|tip|todo|usage|warn|warning|warnings|warns|yield|yields"
)
_HEADER = re.compile(rf"^({_SECTIONS})\s*:\s*$", re.IGNORECASE)
"""A Google section: its name alone on a line."""
_INLINE_HEADER = re.compile(r"^(returns|raises|yields)\s*:\s*\S", re.IGNORECASE)
"""A section written on one line; other words with a colon may be prose."""
_FIELD = re.compile(r"^[:@](param|parameter|arg|argument|key|keyword|type|return|returns|rtype|raise|raises|yield)\b")
_RULE = re.compile(r"^-{3,}\s*$")
"""The line under a NumPy section's name."""
_DIRECTIVE = re.compile(r"^\.\. [\w-]+::")


@dataclass(frozen=True, slots=True, kw_only=True)
class Documentation:
    """A docstring, taken apart."""

    description: str = ""
    """The prose before the first section."""
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    """Parameter name -> what is said about it."""


def read_docstring(text: str | None) -> Documentation:
    """The description and the parameters of a docstring; sections about anything else are left out."""
    if not text or not text.strip():
        return Documentation()
    lines = inspect.cleandoc(text).splitlines()
    end = next((index for index in range(len(lines)) if _ends_description(lines, index)), len(lines))
    description = "\n".join(lines[:end]).strip()
    return Documentation(description=description, parameters=_parameters(lines, end))


def _ends_description(lines: list[str], index: int) -> bool:
    line = lines[index]
    if _HEADER.match(line) or _FIELD.match(line) or _INLINE_HEADER.match(line) or _DIRECTIVE.match(line):
        return True
    under = lines[index + 1] if index + 1 < len(lines) else ""
    return bool(line.strip()) and not line[0].isspace() and bool(_RULE.match(under))


def _parameters(lines: list[str], start: int) -> dict[str, str]:
    if start == len(lines):
        return {}
    found: dict[str, str] = {}
    for name, description in _parse("\n".join(lines[start:])):
        clean = name.strip().lstrip("*\\")
        if clean and description:
            found.setdefault(clean, description.strip())
    return found


def _parse(text: str) -> list[tuple[str, str]]:
    """Name and description of each documented parameter."""
    from docstring_parser import ParseError, epydoc, google, numpydoc, rest  # noqa: PLC0415 - not paid for by importing surehand

    lines = text.splitlines()
    if any(_RULE.match(line) for line in lines):
        parse = numpydoc.parse
    elif any(line.startswith("@") and _FIELD.match(line) for line in lines):
        parse = epydoc.parse
    elif any(_FIELD.match(line) for line in lines):
        parse = rest.parse
    else:
        parse = google.GoogleParser([*google.DEFAULT_SECTIONS, *_further_sections()]).parse
    try:
        parsed = parse(f"Summary.\n\n{text}")
    except (ParseError, ValueError):
        return []
    return [
        (name.strip(), param.description or "")
        for param in parsed.params
        if not param.args or param.args[0] != "attribute"
        for name in param.arg_name.split(",")
    ]


def _further_sections() -> list[Section]:
    """Sections that the Google parser does not know; unknown ones would run on into the one before."""
    from docstring_parser import google  # noqa: PLC0415 - as above

    sections: list[Any] = google.DEFAULT_SECTIONS
    known: set[str] = {section.title.lower() for section in sections}
    return [
        google.Section(title.capitalize(), title.replace(" ", "_"), google.SectionType.SINGULAR)
        for title in _SECTIONS.split("|")
        if title not in known
    ]
