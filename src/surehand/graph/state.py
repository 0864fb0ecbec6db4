"""A graph's state: what goes in, what nodes see, what they may return.

Inside the engine a state is always a plain dict of channel values. The classes here stand at the doors: they turn the
host's input and the nodes' updates into writes, and values into what a node or the host is given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from pydantic import BaseModel, ValidationError

from surehand.control import START
from surehand.errors import InputError, NodeError
from surehand.graph.channels import MISSING, Channel, Write, copied, refusal
from surehand.messages import Message
from surehand.shapes import is_object, is_same, mapping_of
from surehand.wording import did_you_mean

__all__ = ["MESSAGES", "ROOT", "MappingState", "ModelState", "RecordState", "RootState", "State", "Values"]

ROOT: Final = "__root__"
"""The one channel of a state that is a single value."""
MESSAGES: Final = "messages"
"""The key that holds the conversation."""

Values: TypeAlias = Mapping[str, Any]
"""The values of the channels; a key that was never written is absent."""


class State(ABC):
    """A state schema, ready for use."""

    def __init__(self, *, label: str, channels: Mapping[str, Channel], conversation: str) -> None:
        self.label = label
        """How messages name the schema."""
        self.channels = channels
        channel = channels.get(conversation)
        self.messages_channel = conversation if channel is not None and channel.holds_messages else None
        """The channel that holds the conversation; None where the state has none."""

    def initial(self) -> dict[str, Any]:
        """The values before the input."""
        values = {name: channel.initial() for name, channel in self.channels.items()}
        return {name: value for name, value in values.items() if value is not MISSING}

    def merge(self, values: Values, writes: Iterable[Write]) -> dict[str, Any]:
        """The values after the writes of one step.

        Raises:
            NodeError: Two nodes wrote a key that has no reducer, or a reducer failed.
            InputError: A reducer failed on the input.
        """
        by_key: dict[str, list[Write]] = {}
        for write in writes:
            by_key.setdefault(write.key, []).append(write)
        merged = {key: self.channels[key].merge(values.get(key, MISSING), of_key) for key, of_key in by_key.items()}
        return {**values, **merged}

    def check(self, values: Values, sources: Sequence[str]) -> None:  # noqa: B027 - most states allow every value
        """Refuse values that the schema does not allow.

        Raises:
            NodeError: The nodes in ``sources`` brought the state there.
            InputError: The input did.
        """

    @abstractmethod
    def read_input(self, given: object) -> list[Write]:
        """The writes that the host's input asks for.

        Raises:
            InputError: It is no input for this state.
        """

    @abstractmethod
    def read_update(self, source: str, returned: object, *, seen: object = None, values: Values) -> list[Write]:
        """The writes that an update asks for.

        Args:
            source: The node, or START for the input.
            returned: The update; not None, not a Command.
            seen: The view that the node was given.
            values: The values that the view was made from.

        Raises:
            NodeError: It is no update of this state.
            InputError: The same, of the input.
        """

    @abstractmethod
    def view(self, values: Values) -> Any:
        """The state as a node, a path or the host sees it: the reader's own copy, one level deep."""

    @abstractmethod
    def messages_in(self, view: Any) -> Any:
        """The conversation in a view, for nodes that are chat models."""

    def written(self, writes: Sequence[Write]) -> list[Any]:
        """Writes as updates that people can read, for streams: as few as hold every write."""
        updates: list[dict[str, Any]] = []
        for write in writes:
            if not updates or write.key in updates[-1]:
                updates.append({})
            updates[-1][write.key] = write.value
        return [*updates]

    def write(self, source: str, key: str, value: Any) -> Write:
        """A write of one key, ready to be merged."""
        return self.channels[key].prepared(Write(source, key, value))


class RootState(State):
    """A state that is one value with a reducer, such as ``Annotated[list, add_messages]``."""

    def __init__(self, *, label: str, channel: Channel) -> None:
        super().__init__(label=label, channels={ROOT: channel}, conversation=ROOT)

    def read_input(self, given: object) -> list[Write]:
        """The input is the first write; message lists take text, ``(role, text)``, a message or a list."""
        if given is None:
            raise InputError(problem="The graph needs an input", value=None, remedy="Pass a value to start from.")
        return [self.write(START, ROOT, given)]

    def read_update(self, source: str, returned: object, *, seen: object = None, values: Values) -> list[Write]:
        """The update is the write; for message lists it has to look like messages."""
        is_text = isinstance(returned, str | bytes)
        if self.messages_channel and (is_text or not isinstance(returned, Message | Sequence | Mapping)):
            raise refusal(
                source,
                problem="The update is none of a message list",
                value=returned,
                remedy="Return a message, a list of messages, a Command or None.",
            )
        return _unless_handed_back(self.write(source, ROOT, returned), seen, self.channels[ROOT], values)

    def view(self, values: Values) -> Any:
        """The value; None before the first write."""
        return copied(values.get(ROOT))

    def messages_in(self, view: Any) -> Any:
        """The value itself."""
        return view

    def written(self, writes: Sequence[Write]) -> list[Any]:
        """The values of the writes."""
        return [write.value for write in writes]


class MappingState(State):
    """A state of named keys that nodes see as a dict: a TypedDict."""

    update_form = "a mapping of state keys"

    def __init__(self, *, label: str, channels: Mapping[str, Channel]) -> None:
        super().__init__(label=label, channels=channels, conversation=MESSAGES)

    def read_input(self, given: object) -> list[Write]:
        """A mapping of keys; with a message list also text, ``(role, text)``, a message or a list of them."""
        if self.messages_channel and isinstance(given, str | Message | list | tuple):
            return [self.write(START, MESSAGES, given)]
        return self.read_update(START, given, values={})

    def read_update(self, source: str, returned: object, *, seen: object = None, values: Values) -> list[Write]:
        """A mapping of keys; with a message list also a message or a list of messages."""
        if is_object(returned):
            return self._read_members(source, returned, seen, values)
        if self.messages_channel and isinstance(returned, Message | list):
            return [self.write(source, MESSAGES, returned)]
        also = ", a message, a list of messages" if self.messages_channel else ""
        raise refusal(
            source,
            problem=f"The {'input' if source == START else 'update'} is none of {self.label}",
            value=returned,
            remedy=f"Expected {self.update_form}{also}{'' if source == START else ', a Command or None'}. "
            f"The keys are: {', '.join(self.channels)}.",
        )

    def view(self, values: Values) -> Any:
        """A dict of the keys that were written."""
        return {key: copied(value) for key, value in values.items()}

    def messages_in(self, view: Any) -> Any:
        """The ``messages`` key; a ``Send`` may also carry the messages themselves."""
        return cast("Mapping[str, Any]", view).get(MESSAGES, []) if isinstance(view, Mapping) else view

    def _read_members(self, source: str, update: Mapping[Any, object], seen: object, values: Values) -> list[Write]:
        before = mapping_of(seen)
        writes: list[Write] = []
        for key, value in update.items():
            channel = self.channels.get(key) if isinstance(key, str) else None
            if channel is None:
                raise self._unknown_key(source, key)
            write = channel.prepared(Write(source, channel.name, value))
            writes += _unless_handed_back(write, before.get(channel.name), channel, values)
        return writes

    def _unknown_key(self, source: str, key: object) -> InputError | NodeError:
        return refusal(
            source,
            problem=f"The {'input' if source == START else 'update'} has a key that {self.label} does not have",
            value=key,
            remedy=f"The keys are: {', '.join(self.channels)}.{did_you_mean(key, self.channels)}",
        )


class ObjectState(MappingState):
    """A state that nodes see as an object: each gets an instance of its own, built from the values."""

    def __init__(self, *, type: type[Any], channels: Mapping[str, Channel]) -> None:
        super().__init__(label=type.__name__, channels=channels)
        self.type = type
        self.update_form = f"a {type.__name__}, a mapping of state keys"

    def read_update(self, source: str, returned: object, *, seen: object = None, values: Values) -> list[Write]:
        """An instance is an update of the fields that differ from what the node saw."""
        if not isinstance(returned, self.type):
            return super().read_update(source, returned, values=values)
        # Compared with a view made anew, not with the one the node was given, which it may have changed in place.
        before = None if source == START else self.view(values)
        writes: list[Write] = []
        for name in self._given_fields(returned):
            value = getattr(returned, name)
            if before is None or not is_same(value, getattr(before, name)):
                handed = getattr(seen, name, None)
                writes += _unless_handed_back(self.write(source, name, value), handed, self.channels[name], values)
        return writes

    def view(self, values: Values) -> Any:
        """A new instance."""
        return self._build({key: copied(value) for key, value in values.items()})

    def messages_in(self, view: Any) -> Any:
        """The ``messages`` attribute; a ``Send`` may also carry a mapping or the messages themselves."""
        return getattr(view, MESSAGES) if isinstance(view, self.type) else super().messages_in(view)

    def check(self, values: Values, sources: Sequence[str]) -> None:
        """Build an instance, so that the schema's own rules speak."""
        try:
            self.view(values)
        except (TypeError, ValueError) as error:
            problem = f"no valid {self.type.__name__}: {_complaints(error)}"
            remedy = f"See what {self.type.__name__} requires."
            if START in sources:
                raise InputError(problem=f"The input makes {problem}", value=dict(values), remedy=remedy) from error
            names = " and ".join(repr(source) for source in sources)
            raise NodeError(
                node=sources[0], problem=f"after the step of {names} the state is {problem}", remedy=remedy
            ) from error

    @abstractmethod
    def _build(self, values: dict[str, Any]) -> Any:
        """An instance of the schema."""

    def _given_fields(self, instance: object) -> Iterable[str]:
        """The fields of an instance that count as given."""
        return self.channels


class RecordState(ObjectState):
    """A dataclass."""

    def _build(self, values: dict[str, Any]) -> Any:
        return self.type(**values)


class ModelState(ObjectState):
    """A pydantic model; every instance is validated, from the values as they were written."""

    def __init__(
        self,
        *,
        type: type[BaseModel],
        channels: Mapping[str, Channel],
        wire_names: Mapping[str, str],
    ) -> None:
        super().__init__(type=type, channels=channels)
        self._wire_names = wire_names
        """The name under which the model takes each field."""

    def _build(self, values: dict[str, Any]) -> Any:
        return self.type.model_validate({self._wire_names[key]: value for key, value in values.items()})

    def _given_fields(self, instance: object) -> Iterable[str]:
        given = cast("BaseModel", instance).model_fields_set
        return [name for name in self.channels if name in given]


def _unless_handed_back(write: Write, handed: object, channel: Channel, values: Values) -> list[Write]:
    """The write, unless it is the very list, dict or set that the node was given.

    ``return state`` and ``return {**state, …}`` hand the old value back. A reducer would merge it with itself.

    Raises:
        NodeError: It was changed in place meanwhile: old and new cannot be told apart.
    """
    if write.value is not handed or channel.reducer is None or channel.holds_messages or copied(handed) is handed:
        return [write]
    if is_same(handed, values.get(write.key)):
        return []
    raise NodeError(
        node=write.source,
        problem=f"it changed {channel.label} in place and returned the whole of it, but its reducer takes what is new",
        remedy="Return only what is new, and leave the state that was given as it is.",
    )


def _complaints(error: Exception) -> str:
    """What a schema says about its values, in one line: every field with its complaint."""
    if not isinstance(error, ValidationError):
        return str(error)
    complaints = error.errors(include_url=False, include_context=False)
    return "; ".join(f"{'.'.join(['$', *map(str, each['loc'])])}: {each['msg']}" for each in complaints)
