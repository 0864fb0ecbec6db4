"""The tools a node may run, by name, with the options that hold for each."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from unicodedata import normalize

from surehand.calls.edits import Edits
from surehand.concurrency import ProcessTarget, process_target
from surehand.errors import OptionError, ToolDefinitionError
from surehand.interrupts import know
from surehand.policy import DEFAULT_OPTIONS, ErrorRules, RateLimit, ToolOptions, Unset, check_error_rule
from surehand.spec import ToolSpec, export_names, wire_name

__all__ = ["RegisteredTool", "ToolTable"]

_NEAR_NAMES: Final = 3
_LISTED_NAMES: Final = 20
_MOST_READ: Final = 200
"""The most characters of an unknown name that are looked at."""
_WORD: Final = re.compile(r"[\w-]+")
"""A part of what was called that may be the name: of ``search<|channel|>commentary``, or ``search{"q": 1}``."""
_NOISE: Final = re.compile(r"^functions\.|\(\)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredTool:
    """A tool as one node runs it."""

    spec: ToolSpec
    options: ToolOptions
    """Complete: nothing is unset."""
    rules: ErrorRules
    """What becomes of an exception; the tool's own rule also covers argument errors."""
    injected: frozenset[str]
    """Names of parameters that the model cannot set."""
    edits: Edits
    """Checks what a human makes of the arguments of its calls."""

    needs_place: bool
    """Whether its calls may have to wait for one another."""
    needs_loop: bool
    """Whether its calls need an event loop even where they are called alone, from synchronous code."""
    target: ProcessTarget | None = None
    """Where a process of its own finds the function; None where it runs in this one."""

    @property
    def may_run_twice(self) -> bool:
        """Whether a second run of the same call cannot do anything twice."""
        return bool(self.options.idempotent or self.options.read_only)


class ToolTable:
    """Tools by name; unknown names are answered with near ones, never guessed.

    Args:
        specs: The tools.
        defaults: Options for tools that do not set them.
        overrides: Options per tool name, stronger than the tool's own.
        unlisted: Names that no message mentions: tools that a model is only told of when it can use them.

    Raises:
        ToolDefinitionError: Two tools share a name, perhaps only in the form that providers are given; or one is to
            run in a process of its own, where its function would not be found.
        OptionError: An override names no tool of the table.
    """

    def __init__(
        self,
        specs: Iterable[ToolSpec],
        *,
        defaults: ToolOptions | None = None,
        overrides: Mapping[str, ToolOptions] | None = None,
        unlisted: Collection[str] = (),
    ) -> None:
        weakest = (defaults or ToolOptions()).over(DEFAULT_OPTIONS)
        overrides = overrides or {}
        self._tools: dict[str, RegisteredTool] = {}
        for spec in specs:
            if spec.name in self._tools:
                raise ToolDefinitionError(
                    tool=spec.name, problem="two tools have this name", remedy="Rename one of them, or leave it out."
                )
            self._tools[spec.name] = _registered(spec, weakest, overrides.get(spec.name, ToolOptions()))
        self._listed = [name for name in self._tools if name not in unlisted]
        export_names(self._tools)
        for name in overrides:
            if name not in self._tools:
                raise OptionError(option="overrides", value=name, expected=f"one of the tools {self.listed()}")
        self._normal: dict[str, list[str]] = {}
        for name in self._tools:
            self._normal.setdefault(_normalised(name), []).append(name)

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[RegisteredTool]:
        return iter(self._tools.values())

    def get(self, name: str) -> RegisteredTool | None:
        """The tool of exactly this name; None if there is none."""
        return self._tools.get(name)

    def find(self, name: str) -> RegisteredTool | None:
        """The tool of this name, or the one that differs from it in spelling only; None where neither is."""
        return self.get(name) or self.like(name)

    def like(self, name: str) -> RegisteredTool | None:
        """The one tool exported under the name, or equal to it but for spaces, case, ``-``/``_`` or a ``functions.``.

        None where there is no such tool, more than one, or where a destructive tool is only spelled alike: those run
        by their exact name or the one they are exported under.
        """
        exported = [tool for known, tool in self._tools.items() if wire_name(known) == name]
        if len(exported) == 1:
            return exported[0]
        names = self._normal.get(_normalised(name), [])
        if len(names) != 1:
            return None
        tool = self._tools[names[0]]
        return None if tool.options.destructive else tool

    def near(self, name: str) -> list[str]:
        """Up to three names that this one holds or looks like, the nearest first."""
        by_normal: dict[str, list[str]] = {}
        for known in self._listed:
            by_normal.setdefault(_normalised(known), []).append(known)
        written = normalize("NFKC", name[:_MOST_READ])  # full-width letters, composed or not
        held = [part for part in map(_normalised, _WORD.findall(written)) if part in by_normal]
        close = difflib.get_close_matches(_normalised(written[:64]), by_normal, n=_NEAR_NAMES, cutoff=0.6)
        found = dict.fromkeys(known for match in (*held, *close) for known in by_normal[match])
        return list(found)[:_NEAR_NAMES]

    def named_in(self, text: str) -> list[str]:
        """The names that a text holds, but for those that are words as any other."""
        found = (name for name in dict.fromkeys(_WORD.findall(text)) if name in self._tools)
        return [name for name in found if name in self._listed and not (name.isalpha() and name.islower())]

    def listed(self) -> str:
        """The registered names, at most twenty of them, for a message."""
        names = self._listed
        if not names:
            return "none"
        more = len(names) - _LISTED_NAMES
        return ", ".join(names[:_LISTED_NAMES]) + (f" and {more} more" if more > 0 else "")


def _registered(spec: ToolSpec, weakest: ToolOptions, override: ToolOptions) -> RegisteredTool:
    layers = (override.handle_tool_errors, spec.options.handle_tool_errors, weakest.handle_tool_errors)
    # A mapping of the host's may change later; what it says now was checked.
    kept = [rule if isinstance(rule, Unset) else check_error_rule(rule) for rule in layers]
    rules = ErrorRules(override=kept[0], own=kept[1], node=kept[2])
    options = override.over(spec.options, weakest)
    needs_place = _needs_place(options)
    injected = spec.body.reserved | {injection.parameter for injection in spec.body.injections}
    edits = Edits(spec, injected)
    if options.requires_approval is not False:  # whoever answers later may do so before any call asks in this process
        know(edits.digest, edits)
    return RegisteredTool(
        spec=spec,
        options=options,
        rules=rules,
        injected=injected,
        edits=edits,
        needs_place=needs_place,
        needs_loop=spec.body.is_async or needs_place or _is_watched_apart(options),
        target=process_target(spec.body.function, tool=spec.name) if options.isolation == "process" else None,
    )


def _needs_place(options: ToolOptions) -> bool:
    limits = (options.concurrency, options.group, options.rate_limit)
    return callable(options.exclusive) or any(isinstance(limit, int | str | RateLimit) for limit in limits)


def _is_watched_apart(options: ToolOptions) -> bool:
    """Whether a loop has to look after the body: it runs in a process, or has to give signs of life."""
    return options.isolation == "process" or isinstance(options.idle_timeout, float | int)


def _normalised(name: str) -> str:
    return _NOISE.sub("", name.strip().casefold()).strip().replace("-", "_")
