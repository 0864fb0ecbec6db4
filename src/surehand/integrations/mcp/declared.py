"""The tools that a server declares, as tools of ours.

A declaration is foreign: its words are shown to a model and believed by nobody. One that cannot be used costs that one
tool; it is left out and the developer is told why, because to take it without its schema would be to run it on guesses.
"""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final, TypeAlias

from surehand.errors import MissingExtraError, OptionError
from surehand.integrations.mcp.schemas import declared_schema
from surehand.policy import UNSET, ToolOptions
from surehand.shapes import mapping_of
from surehand.spec import Body, Injection, InjectionKind, ToolContext, ToolSpec
from surehand.spec.wire import wire_name
from surehand.tools import Tool
from surehand.wording import did_you_mean, one_line

__all__ = ["Choice", "Toolbox"]

logger = logging.getLogger("surehand.mcp")

Run: TypeAlias = Callable[[str, dict[str, Any], ToolContext], Awaitable[Any]]
"""Runs the tool of this name, as the server has it."""

_CONTEXT: Final = "\0context"
"""The parameter that is given the call's context: no schema has an argument of this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which of a server's tools are taken, and how they are run."""

    server: str
    prefix: str | None = None
    """Stands before their names, with an ``_`` between; None for none."""
    include: tuple[str, ...] | None = None
    """Patterns of the names to take, as the server has them; None for all."""
    exclude: tuple[str, ...] = ()
    """Patterns of names to leave out."""
    trust_hints: bool = False
    """Whether the server's word is taken that a tool changes nothing, or may run twice."""
    timeout: ToolOptions = field(default_factory=ToolOptions)
    """The options of all its tools."""
    options: Mapping[str, ToolOptions] = field(default_factory=dict[str, ToolOptions])
    """Those of single tools, by their names as the server has them; they win."""

    def takes(self, name: str) -> bool:
        """Whether the tool of this name is wanted."""
        is_included = self.include is None or any(fnmatchcase(name, pattern) for pattern in self.include)
        return is_included and not any(fnmatchcase(name, pattern) for pattern in self.exclude)

    def name_of(self, name: str) -> str:
        """What the tool is called here."""
        return name if self.prefix is None else f"{self.prefix}_{name}"

    def options_of(self, name: str, annotations: Mapping[str, Any]) -> ToolOptions:
        """How the tool is run, as the host says, then as the server hints."""
        may_permit = self.trust_hints
        hinted = _hinted(
            self.timeout,
            is_destructive=annotations.get("destructiveHint") is True,
            is_read_only=may_permit and annotations.get("readOnlyHint") is True,
            is_idempotent=may_permit and annotations.get("idempotentHint") is True,
        )
        own = self.options.get(name)
        return hinted if own is None else own.over(hinted)


@functools.lru_cache  # thousands of tools have the same few hints
def _hinted(weaker: ToolOptions, *, is_destructive: bool, is_read_only: bool, is_idempotent: bool) -> ToolOptions:
    """The options that hints stand for, over weaker ones."""
    hints = ToolOptions(
        destructive=True if is_destructive else UNSET,
        read_only=True if is_read_only else UNSET,
        idempotent=True if is_idempotent else UNSET,
    )
    return hints.over(weaker)


class Toolbox:
    """The tools of one server; a tool whose declaration has not changed stays the same object.

    Args:
        choice: Which tools, and how.
        run: Runs one of them.
    """

    def __init__(self, choice: Choice, run: Run) -> None:
        self._choice = choice
        self._run = run
        self._made: dict[str, tuple[str, Tool | None]] = {}
        """Name -> the declaration as text, and its tool; None where it cannot be used."""
        self._is_checked = False
        self._told: set[tuple[str, str]] = set()
        self._declared: list[Mapping[str, Any]] | None = None

    def tools(self, declared: list[Mapping[str, Any]]) -> list[Tool]:
        """The tools of these declarations, in their order.

        Raises:
            OptionError: There are options for a tool that the server does not have.
        """
        if declared is not self._declared:
            self._read(declared)
        return self._usable()

    def known(self, declared: list[Mapping[str, Any]] | None) -> list[Tool] | None:
        """The tools of these declarations, where they were the last to be read; from any thread."""
        return self._usable() if declared is not None and declared is self._declared else None

    @property
    def had(self) -> list[Tool] | None:
        """The tools of the declarations that were read last; None where none were. From any thread."""
        return self.known(self._declared)

    def _usable(self) -> list[Tool]:
        return [tool for _, tool in self._made.values() if tool is not None]

    def _read(self, declared: list[Mapping[str, Any]]) -> None:
        wanted: dict[str, Mapping[str, Any]] = {}
        names: list[str] = []
        owners: dict[str, str] = {}
        for entry in declared:
            name = str(entry["name"])
            names.append(name)
            if name in wanted and entry != wanted[name]:
                self._left_out(name, "another tool of the server has its name")
            elif self._choice.takes(name):
                owner = owners.setdefault(wire_name(self._choice.name_of(name)), name)
                if owner == name:
                    wanted.setdefault(name, entry)
                else:
                    self._left_out(name, f"providers would give it the name of the tool {owner!r}")
        self._check(names)
        self._made = {name: self._renewed(name, entry) for name, entry in wanted.items()}
        self._declared = declared

    def _check(self, names: list[str]) -> None:
        """Find options that would never hold: an approval that nobody asks for is no approval."""
        if self._is_checked:
            return
        for name in self._choice.options:
            if name not in names:
                raise OptionError(
                    option="options",
                    value=name,
                    expected=f"the name of a tool of {self._choice.server!r}, as the server has it",
                    remedy=did_you_mean(name, names).lstrip(),
                )
        self._is_checked = True

    def _renewed(self, name: str, entry: Mapping[str, Any]) -> tuple[str, Tool | None]:
        declaration = json.dumps(entry, sort_keys=True, default=repr)
        known = self._made.get(name)
        if known is not None and known[0] == declaration:
            return known
        return declaration, self._tool(name, entry, declaration)

    def _tool(self, name: str, entry: Mapping[str, Any], declaration: str) -> Tool | None:
        try:
            return self._made_of(name, entry, declaration)
        except MissingExtraError:
            raise
        except Exception as error:  # noqa: BLE001 - a foreign schema, which may break whatever reads it
            self._left_out(name, f"{type(error).__name__}: {error}")
            return None

    def _made_of(self, name: str, entry: Mapping[str, Any], declaration: str) -> Tool:
        title, description = entry.get("title"), entry.get("description")
        own = self._choice.name_of(name)
        spec = ToolSpec(
            name=own,
            description=next((text.strip() for text in (description, title) if isinstance(text, str)), ""),
            schema=declared_schema(entry.get("inputSchema"), declaration, tool=own),
            body=self._body(name),
            options=self._choice.options_of(name, mapping_of(entry.get("annotations"))),
            metadata={"mcp": {"server": self._choice.server, "tool": name, "declaration": dict(entry)}},
        )
        return Tool(spec)

    def _body(self, name: str) -> Body:
        run = self._run

        async def call(**given: Any) -> Any:
            context: ToolContext = given.pop(_CONTEXT)
            return await run(name, given, context)

        injection = Injection(parameter=_CONTEXT, kind=InjectionKind.CONTEXT)
        return Body(function=call, is_async=True, injections=(injection,))

    def _left_out(self, name: str, why: str) -> None:
        if (name, why) in self._told:
            return
        self._told.add((name, why))
        logger.warning(
            "the tool %s of the server %s is left out: %s",
            one_line(name),
            one_line(self._choice.server),
            one_line(why, 400),
        )
