"""Which operations become tools."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

from surehand.errors import OptionError
from surehand.integrations.openapi.operations import Outline
from surehand.wording import did_you_mean

__all__ = ["Wanted", "tool_name"]

_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9]+")


def tool_name(operation: Outline) -> str:
    """What an operation is called: its id, or its method and path."""
    return operation.id or f"{operation.method.lower()}_{_NOT_IN_NAMES.sub('_', operation.path).strip('_')}"


class Wanted:
    """Patterns of operations to take and to leave out.

    Args:
        include: None for all.
        exclude: Those that are left out, also where ``include`` takes them.

    Raises:
        OptionError: A text stands in the place of a list.
    """

    def __init__(self, *, include: Sequence[str] | None, exclude: Sequence[str]) -> None:
        for option, patterns in (("include", include), ("exclude", exclude)):
            if isinstance(patterns, str):
                raise OptionError(option=option, value=patterns, expected="a list of patterns")
        self._include = include
        self._exclude = exclude
        self._unused = {*(include or ()), *exclude}
        self._known: list[str] = []

    def takes(self, operation: Outline) -> bool:
        """Whether the operation becomes a tool."""
        self._known.append(tool_name(operation))
        included = self._include is None or self._any(operation, self._include)
        return not self._any(operation, self._exclude) and included

    def check(self) -> None:
        """Refuse patterns that nothing matched: they are slips, and a tool that is not there says nothing.

        Raises:
            OptionError: There is one.
        """
        for pattern in sorted(self._unused):
            raise OptionError(
                option="include" if pattern in (self._include or ()) else "exclude",
                value=pattern,
                expected="a pattern that matches an operation's id, tag (tag:…), path or method",
                remedy=did_you_mean(pattern, self._known).lstrip(),
            )

    def _any(self, operation: Outline, patterns: Sequence[str]) -> bool:
        matching = [pattern for pattern in patterns if _matches(operation, pattern)]
        self._unused -= set(matching)
        return bool(matching)


def _matches(operation: Outline, pattern: str) -> bool:
    if pattern.startswith("tag:"):
        return any(fnmatchcase(tag, pattern.removeprefix("tag:")) for tag in operation.tags)
    method, _, path = pattern.rpartition(" ")
    if path.startswith("/"):
        return fnmatchcase(operation.path, path) and (not method or fnmatchcase(operation.method, method.upper()))
    if pattern.isupper() and pattern.isalpha():
        return operation.method == pattern
    return fnmatchcase(tool_name(operation), pattern)
