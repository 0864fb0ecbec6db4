"""What classes that are stored alike have in common, and how an instance is put together again, field by field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from surehand.checkpoints.codec.reading import Damaged
from surehand.checkpoints.codec.writing import Unstorable, Write, Writer

__all__ = ["ABSENT", "Family", "absent", "completed", "giving", "incomplete", "put"]

put: Final = object.__setattr__
"""Sets an attribute past what frozen classes and validated assignment say."""

ABSENT: Final = object()
"""The value of a field that may have none: the constructor does not set it, and it has no default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A kind of classes that are stored alike."""

    tag: str
    holds: Callable[[type[Any]], bool]
    taken: Callable[[Any], list[Any]]
    """What stands behind the class's name: values of kinds that can be written themselves."""
    made: Callable[[type[Any], list[Any]], Any]
    """The instance of a class; raises whatever it likes for parts that are none of it."""

    def writer(self, name: str) -> Write:
        """Writes instances of the class that is called so."""

        def write(writer: Writer, value: Any, depth: int) -> Any:
            try:
                parts = self.taken(value)
            except Unstorable:
                raise
            except Exception as error:  # the class's own code, for example a property in place of a field
                raise Unstorable(value, f"cannot be taken apart ({type(error).__name__}: {error})") from error
            return {self.tag: [name, *(writer.form(part, depth + 2) for part in parts)]}

        return write


def absent() -> Any:
    """Makes no value."""
    return ABSENT


def giving(value: Any) -> Callable[[], Any]:
    """Makes this value."""
    return lambda: value


def incomplete(value: object, name: str) -> Unstorable:
    """The error for a value that lacks one of its fields."""
    return Unstorable(value, f"has no value for its field {name!r}", "Give it one.")


def completed(
    kind: type[Any], stored: dict[str, Any], makers: Mapping[str, Callable[[], Any] | None]
) -> dict[str, Any]:
    """The fields of a class, in its order; one that is new since is made by its default.

    Raises:
        Damaged: There is a field that the class does not have, or none where it needs one.
    """
    foreign = stored.keys() - makers.keys()
    if foreign:
        names = ", ".join(sorted(foreign))
        raise Damaged(f"{kind.__qualname__} has no field {names} any more", "Give it back, if only with a default.")
    values: dict[str, Any] = {}
    for name, make in makers.items():
        if name in stored:
            values[name] = stored[name]
        elif make is None:
            raise Damaged(f"no {name} of {kind.__qualname__} is stored, which it needs", "Give that field a default.")
        else:
            values[name] = make()
    return values
