"""One key of a graph's state, and how the writes of a step become its value."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias, cast

from surehand.control import START
from surehand.errors import GraphDefinitionError, InputError, NodeError, SurehandError, shown
from surehand.messages import RemoveMessage, add_messages, convert_to_messages, with_id

__all__ = ["MISSING", "Channel", "Missing", "Reducer", "Write", "check_reducer", "copied", "refusal"]

Reducer: TypeAlias = Callable[[Any, Any], Any]
"""Merges a key's value and one write into the new value."""


class Missing:
    """The type of MISSING."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()
"""In place of a value that nobody has written or given yet, where None could be one."""

_COPIES: Final[dict[type, Callable[[Any], Any]]] = {list: list, dict: dict, set: set}


def copied(value: Any) -> Any:
    """A copy of a plain list, dict or set; anything else as it is.

    What leaves the engine is copied so that code which changes a list in place does not change the state. One level
    is enough to make the usual slips harmless, and cheap enough for every step; deep copies would not be.
    """
    copy = _COPIES.get(type(value))  # pyright: ignore[reportUnknownArgumentType] - any type may ask
    return value if copy is None else copy(value)


def refusal(source: str, *, problem: str, value: object, remedy: str) -> InputError | NodeError:
    """The error for an update that cannot be used: the host's fault for the input, else the node's."""
    if source == START:
        return InputError(problem=problem, value=value, remedy=remedy)
    return NodeError(node=source, problem=f"{problem}, got {shown(value)}", remedy=remedy)


class Write(NamedTuple):
    """A value for one key, and who wants it there.

    A named tuple, as all values are that each step of a run makes anew: a frozen dataclass costs three times as much,
    and together they cost a sixth of the time of a run.
    """

    source: str
    """The node; START for the input."""
    key: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One key of the state."""

    name: str
    """The key; the root's name where the state is a single value."""
    label: str
    """How messages name the key."""
    reducer: Reducer | None = None
    """None: the last value counts, and only one node may write it in a step."""
    make_initial: Callable[[], Any] | None = None
    """Makes the value before the first write; None where the key is then missing."""

    @property
    def holds_messages(self) -> bool:
        """Whether the messages reducer merges this key."""
        return self.reducer is add_messages

    def initial(self) -> Any:
        """The value before the first write, or MISSING."""
        return MISSING if self.make_initial is None else self.make_initial()

    def prepared(self, write: Write) -> Write:
        """The write as it will be merged: messages are converted, and have ids from here on.

        Ids are given before the merge, so that streams, subgraphs and the state speak of the same messages.
        """
        if not self.holds_messages:
            return write
        try:
            messages = [
                message if isinstance(message, RemoveMessage) else with_id(message)
                for message in convert_to_messages(write.value)
            ]
        except SurehandError as error:
            raise self._not_mergeable(write, error) from error
        return Write(write.source, write.key, messages)

    def merge(self, current: Any, writes: Sequence[Write]) -> Any:
        """The value after the writes of one step, in their order.

        Raises:
            NodeError: Two nodes wrote a key that has no reducer, or the reducer failed.
            InputError: The reducer failed on the input.
        """
        if self.reducer is None:
            return self._only(writes)
        for write in writes:
            current = self._reduced(self.reducer, current, write)
        return current

    def _only(self, writes: Sequence[Write]) -> Any:
        if len(writes) > 1:
            raise self._contested(writes[0], writes[1])
        return copied(writes[0].value)

    def _reduced(self, reducer: Reducer, current: Any, write: Write) -> Any:
        if current is MISSING:
            return copied(write.value)
        if self.holds_messages:  # known to leave its arguments alone: no copies of long conversations
            left, right = current, write.value
        else:
            left, right = copied(current), copied(write.value)
        try:
            return reducer(left, right)
        except Exception as error:  # the reducer is the host's code: whatever it raises gets its key and node
            raise self._not_mergeable(write, error) from error

    def _contested(self, first: Write, second: Write) -> NodeError:
        who = "it" if first.source == second.source else f"it and node {second.source!r}"
        return NodeError(
            node=first.source,
            problem=f"{who} wrote the key {self.name!r} {'twice ' if who == 'it' else ''}in one step",
            remedy=f"Give the key a reducer, for example Annotated[list, operator.add], "
            f"or let one of them write another key than {self.name!r}.",
        )

    def _not_mergeable(self, write: Write, error: Exception) -> InputError | NodeError:
        return refusal(
            write.source,
            problem=f"The reducer of {self.label} cannot take this value ({type(error).__name__}: {error})",
            value=write.value,
            remedy="Pass a value that the reducer can merge.",
        )


def check_reducer(key: str, reducer: Reducer) -> Reducer:
    """The reducer, if it can be called as ``reducer(value, write)``.

    Raises:
        GraphDefinitionError: It is asynchronous, or does not take two positional arguments.
    """
    name = getattr(reducer, "__name__", repr(reducer))
    if inspect.iscoroutinefunction(reducer):
        raise GraphDefinitionError(
            problem=f"The reducer {name} of {key} is asynchronous",
            remedy="Reducers only compute: use a plain function.",
        )
    try:
        signature = inspect.signature(cast("Callable[..., Any]", reducer))
    except (TypeError, ValueError):  # builtins such as max show no signature
        return reducer
    try:
        signature.bind(None, None)
    except TypeError as error:
        raise GraphDefinitionError(
            problem=f"The reducer of {key} is {name}{signature}: expected a function of two positional arguments",
            remedy="Write it as reducer(value, write) -> value.",
        ) from error
    return reducer
