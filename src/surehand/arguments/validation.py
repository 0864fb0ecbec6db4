"""Arguments as a model sent them, made into the typed values that a tool gets.

The order is what makes it hard. Names come first, because nothing can be said of a value whose argument is not known.
Then a look at what validators would silently get wrong. Then the validator, on the values as they were sent, and only
if it refuses them a coercion and the validator again. To coerce first would save that second validation; but a host's
own validator may want the very text that a coercion would decode, and what is valid as it was sent is not ours to
change. So validators of the host may run twice. Complaints are those of the first validation, since the model has to
recognise what it sent, without what a coercion has cured and with what came to light only behind one.

A call that is plainly right pays for none of this: one look at the type of each value shows that nothing below it
could need attention. What would change our minds: a validator that reports what it changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from surehand.arguments.coercion import Coercion
from surehand.arguments.complaints import complaints_of, hint_of, unresolved
from surehand.arguments.hints import with_hints
from surehand.arguments.naming import Named, name_arguments
from surehand.arguments.screening import Screen
from surehand.errors import InvalidArguments
from surehand.spec import ArgumentSchema, Place, Problem, SchemaMismatch

__all__ = ["ValidArguments", "validate_arguments"]

_CONTAINERS = frozenset({dict, list})
_MAX_ROUNDS = 8
"""How often values are coerced; a text inside of a text needs a round of its own."""


class ValidArguments(NamedTuple):
    """Arguments that fit; a named tuple because it is built for every call, at half the cost of a dataclass."""

    values: dict[str, Any]
    """Parameter name -> typed value, defaults filled."""
    repairs: tuple[str, ...]
    """What was renamed, left out or coerced, in order; empty where nothing was."""
    wire: dict[str, Any]
    """The arguments as JSON values, after the repairs: what the model should have sent."""


def validate_arguments(
    schema: ArgumentSchema,
    arguments: Mapping[str, Any],
    *,
    tool: str,
    injected: Collection[str] = frozenset(),
    strict: bool = False,
) -> ValidArguments:
    """Validate the arguments of a call; coerce only what the schema asks for and only where nothing is lost.

    Args:
        schema: The tool's schema.
        arguments: The parsed object that the model sent; it is not changed, and no part of it is handed on.
        tool: The tool's name, for the error.
        injected: Parameters that the host fills; what a model sends for them is discarded.
        strict: For destructive tools: unknown names are refused and no name or value is guessed.

    Raises:
        InvalidArguments: With everything that is wrong; the validator's own error is its ``__cause__``.
        Exception: Whatever a validator of the host raises that is neither ValueError nor AssertionError.
    """
    if _needs_no_look(schema, arguments):
        try:
            return ValidArguments(values=schema.validate(arguments), repairs=(), wire=dict(arguments))
        except SchemaMismatch:
            pass  # told below, or cured
    return _Attempt(schema, tool=tool, injected=injected, is_strict=strict).run(arguments)


def _needs_no_look(schema: ArgumentSchema, arguments: Mapping[str, Any]) -> bool:
    """Whether every name is known and every value of a declared type that has nothing below it."""
    directions = schema.directions
    for name, value in arguments.items():
        direction = directions.get(name)
        if direction is None:
            return False
        quiet = direction.quiet
        if type(value) in _CONTAINERS if quiet is None else type(value) not in quiet:
            return False
    return True


class _Tried(NamedTuple):
    """Arguments that were looked at and validated."""

    arguments: dict[str, Any]
    values: dict[str, Any]
    """Empty where there is a mismatch."""
    mismatch: SchemaMismatch | None
    problems: list[Problem]
    notes: list[str]
    later_notes: list[str]


class _Attempt:
    """The long way, for arguments that are not plainly right."""

    def __init__(self, schema: ArgumentSchema, *, tool: str, injected: Collection[str], is_strict: bool) -> None:
        self.schema = schema
        self.tool = tool
        self.injected = injected
        self.is_strict = is_strict
        self.unknown: list[Place] = []
        """The keys of nested objects, as they were last looked at, that the schema does not know."""

    def run(self, given: Mapping[str, Any]) -> ValidArguments:
        named = name_arguments(self.schema, given, injected=self.injected, is_strict=self.is_strict)
        tried = self._try(named.arguments)
        problems = [*named.problems, *tried.problems]
        notes = [*named.notes, *tried.notes]
        if tried.mismatch is not None:
            return self._coerce(tried.arguments, tried.mismatch, problems=problems, notes=notes, named=named)
        if problems:
            raise self._error(problems, named)
        return ValidArguments(values=tried.values, repairs=(*notes, *tried.later_notes), wire=tried.arguments)

    def _try(self, given: Mapping[str, Any]) -> _Tried:
        """The arguments looked at and validated; an exact validator is asked first which nulls are wrong."""
        screen = Screen(self.schema, is_strict=self.is_strict)
        tried = self._validated(screen, given)
        if tried.mismatch is None or not screen.has_doubtful_null:
            return tried
        refused = {problem.place for problem in tried.mismatch.describe()}
        return self._validated(Screen(self.schema, is_strict=self.is_strict, refused=refused), given)

    def _validated(self, screen: Screen, given: Mapping[str, Any]) -> _Tried:
        arguments = screen.arguments(given)
        self.unknown = screen.unknown
        values: dict[str, Any] = {}
        mismatch = None
        try:
            values = self.schema.validate(arguments)
        except SchemaMismatch as found:
            mismatch = found
        return _Tried(
            arguments=arguments,
            values=values,
            mismatch=mismatch,
            problems=screen.problems,
            notes=screen.notes,
            later_notes=screen.later_notes,
        )

    def _coerce(
        self,
        arguments: dict[str, Any],
        first: SchemaMismatch,
        *,
        problems: list[Problem],
        notes: list[str],
        named: Named,
    ) -> ValidArguments:
        coercion = Coercion(is_strict=self.is_strict)
        mismatch, current = first, arguments
        for _ in range(_MAX_ROUNDS):
            coerced = self._coerced(coercion, current, mismatch)
            if coerced is None:
                break
            # what was text may be an object now, whose keys nobody has looked at yet
            again = self._try(coerced)
            current = again.arguments
            problems = [*problems, *_unsaid(again.problems, problems)]
            notes = [*notes, *again.notes]
            if again.mismatch is not None:
                mismatch = again.mismatch
                continue
            if problems:
                raise self._error(problems, named) from first.error
            repairs = (*notes, *coercion.notes, *again.later_notes)
            return ValidArguments(values=again.values, repairs=repairs, wire=current)
        left = first.describe() if mismatch is first else unresolved(first.describe(), mismatch.describe())
        raise self._error([*problems, *_unsaid(left, problems)], named) from first.error

    def _coerced(self, coercion: Coercion, given: dict[str, Any], mismatch: SchemaMismatch) -> dict[str, Any] | None:
        """The arguments as the schema asks for them, then as its validator does; None where nothing changes."""
        before = len(coercion.notes)
        coerced = given
        if before == 0:
            coerced = coercion.arguments(given, self.schema.directions, self.schema.other_direction)
        if len(coercion.notes) == before:
            coerced = coercion.asked(given, mismatch.wanted())
        return coerced if len(coercion.notes) > before else None

    def _error(self, problems: list[Problem], named: Named) -> InvalidArguments:
        dropped: list[Place] = [(name,) for name in named.dropped]
        collected: list[Place] = [(name,) for name in named.arguments if name not in self.schema.names]
        (collected if self.schema.is_exact else dropped).extend(self.unknown)
        return InvalidArguments(
            tool=self.tool,
            complaints=complaints_of(
                with_hints(problems, self.schema, named.arguments), dropped=dropped, collected=collected
            ),
            hint=hint_of(self.schema, problems),
        )


def _unsaid(problems: list[Problem], said: list[Problem]) -> list[Problem]:
    """The problems at places that nothing has been said about yet."""
    places = {problem.place for problem in said}
    return [problem for problem in problems if problem.place not in places]
