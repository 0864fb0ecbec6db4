"""Which argument of the schema a key of the model's object stands for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from surehand.arguments.suggestions import near_name, perhaps, plain_name
from surehand.errors import shown
from surehand.grammar import same_value
from surehand.spec import ArgumentSchema, Problem

__all__ = ["Named", "name_arguments", "variants"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Arguments under the names that the schema's validator takes."""

    arguments: dict[str, Any]
    notes: tuple[str, ...] = ()
    """What was renamed or left out, in order."""
    problems: tuple[Problem, ...] = ()
    """Unknown names that the schema refuses, and arguments that were given twice."""
    dropped: tuple[str, ...] = ()
    """Unknown names that were left out."""


def name_arguments(
    schema: ArgumentSchema, arguments: Mapping[str, Any], *, injected: Collection[str], is_strict: bool
) -> Named:
    """Map aliases, own names and unique variants; part with what the schema does not know.

    Args:
        schema: The schema.
        arguments: What the model sent.
        injected: Names that the host fills; what a model sends under them never counts.
        is_strict: Whether unknown names are refused, and no name is guessed.
    """
    namer = _Namer(schema, injected=injected, is_strict=is_strict)
    unknown = [name for name in arguments if not namer.take(name, arguments[name])]
    renamed = {} if is_strict else variants(unknown, schema.names, namer.found)
    for name in unknown:
        if name in renamed:
            namer.rename(name, renamed[name], arguments[name])
        else:
            namer.part_with(name, arguments[name])
    return Named(
        arguments=namer.found,
        notes=tuple(namer.notes),
        problems=tuple(namer.problems),
        dropped=tuple(namer.dropped),
    )


def variants(unknown: Iterable[str], names: Mapping[str, str], given: Collection[str]) -> dict[str, str]:
    """Unknown name -> the one name, not given yet, that differs from it only in case and separators."""
    candidates: dict[str, set[str]] = {}
    for name, target in names.items():
        candidates.setdefault(plain_name(name), set()).add(target)
    taken = set(given)
    found: dict[str, str] = {}
    for name in unknown:
        targets = candidates.get(plain_name(str(name)), set[str]())
        if len(targets) == 1 and not targets & taken:
            found[name] = next(iter(targets))
    times = Counter(found.values())
    return {name: target for name, target in found.items() if times[target] == 1}


class _Namer:
    """Collects what becomes of each name."""

    def __init__(self, schema: ArgumentSchema, *, injected: Collection[str], is_strict: bool) -> None:
        self.schema = schema
        self.injected = injected
        self.is_strict = is_strict
        self.found: dict[str, Any] = {}
        self.notes: list[str] = []
        self.problems: list[Problem] = []
        self.dropped: list[str] = []
        self.sources: dict[str, str] = {}

    def take(self, name: str, value: Any) -> bool:
        """Take an argument of a known name; False where the name is not known."""
        target = self.schema.names.get(name)
        if target is None:
            if name not in self.injected:
                return False
            self.notes.append(f"discarded the argument {name!r}: the host fills it")
            return True
        if target in self.found:
            self._take_again(name, target, value)
        else:
            self.found[target] = value
            self.sources[target] = name
        return True

    def _take_again(self, name: str, target: str, value: Any) -> None:
        if same_value(self.found[target], value):
            self.notes.append(f"dropped {name!r}, the same as {self.sources[target]!r}")
            return
        self.problems.append(
            Problem(
                place=(name,),
                text=f"is another name of {self.sources[target]}, and both were given with different values",
                rule="given_twice",
            )
        )

    def rename(self, name: str, target: str, value: Any) -> None:
        self.found[target] = value
        self.sources[target] = name
        self.notes.append(f"read the argument {name!r} as {target!r}")

    def part_with(self, name: str, value: Any) -> None:
        if self.schema.extras == "collect":
            self.found[name] = value
        elif self.is_strict or self.schema.extras == "refuse":
            near = near_name(str(name), self.schema.directions)
            text = "unknown argument" if near is None else f"unknown argument {perhaps(near)}"
            self.problems.append(Problem(place=(name,), text=text, rule="unknown_argument"))
        else:
            self.dropped.append(name)
            self.notes.append(f"dropped unknown argument {shown(name)}")
