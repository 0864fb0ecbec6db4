"""Messages as values: immutable, compared by what they hold, cheap to build."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import FrozenInstanceError
from typing import Any, ClassVar, Final, Literal, Self, TypeGuard, cast

from surehand.errors import InputError, OptionError
from surehand.messages.content import Content, text_of
from surehand.messages.printing import brief, title_lines
from surehand.outcomes import Outcome
from surehand.shapes import is_same

__all__ = [
    "REMOVE_ALL_MESSAGES",
    "HumanMessage",
    "Message",
    "RemoveMessage",
    "SystemMessage",
    "ToolMessage",
    "are_messages",
    "is_empty",
]

REMOVE_ALL_MESSAGES: Final = "__remove_all__"
"""The id of a ``RemoveMessage`` that removes everything before it."""

# Slotted classes that fill their slots themselves: a frozen dataclass with these checks costs several times as much,
# and a tool message is built for every call.
_set = object.__setattr__

_kinds: set[type] = set()
"""Every class of messages."""

_field_schemas: list[Callable[[type[Message]], Any]] = []
"""Filled by the module ``fields``, which knows what converts to a message; this one is below it."""


class Message:
    """One message of a conversation.

    Attributes are read-only: ``replace`` makes a changed copy. Two messages are equal when their types and all they
    hold are.

    Raises:
        InputError: The content is neither text nor a list, a name or id is no text, or what is beside is no mapping.
    """

    __slots__ = ("additional_kwargs", "content", "id", "name", "response_metadata")

    type: ClassVar[str] = "message"
    """The kind of message, in one word: ``human``, ``ai``, ``tool``, ``system``, ``remove``."""
    _fields: ClassVar[tuple[str, ...]] = ("content", "additional_kwargs", "response_metadata", "name", "id")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _kinds.add(cls)

    content: Content
    name: str | None
    """Who speaks, or which tool answers; None where nobody said."""
    id: str | None
    """The message's own id, given by the reducer when there is none."""
    additional_kwargs: dict[str, Any]
    """What the provider sent beside the content."""
    response_metadata: dict[str, Any]
    """What the provider tells about the reply: why it ended, the model, the request."""

    def __init__(
        self,
        content: Content = "",
        *,
        name: str | None = None,
        id: str | None = None,
        additional_kwargs: Mapping[str, Any] | None = None,
        response_metadata: Mapping[str, Any] | None = None,
    ) -> None:
        if type(content) is not str or (name is not None and type(name) is not str) or id is not None:
            _check(type(self).__name__, content, name, id)
        _set(self, "content", content)
        _set(self, "name", name)
        _set(self, "id", id)
        _set(self, "additional_kwargs", {} if additional_kwargs is None else _extras(additional_kwargs))
        _set(self, "response_metadata", {} if response_metadata is None else _extras(response_metadata))

    @property
    def text(self) -> str:
        """The content's text, without the blocks that are none."""
        return text_of(self.content)

    def replace(self, **changes: Any) -> Self:
        """A copy with these fields changed."""
        return type(self)(**{**self._given(), **changes})

    def pretty_repr(self) -> str:
        """The message as people read it: a title line of 80 columns, then name, content and calls."""
        return "\n".join(
            [*title_lines(self.type, self.name), *([str(self.content)] if self.content else ()), *self._call_lines()]
        )

    def pretty_print(self) -> None:
        """Print ``pretty_repr()``."""
        print(self.pretty_repr())  # noqa: T201 - it is what the method is for

    def _call_lines(self) -> list[str]:
        """The lines of ``pretty_repr`` after the content."""
        return []

    def _given(self) -> dict[str, Any]:
        """The fields as the constructor takes them."""
        return {field: getattr(self, field) for field in self._fields}

    def _with_id(self, message_id: str) -> Self:
        """A copy that is the same but for its id; nothing is read anew."""
        copy = cast("Self", _rebuild(type(self), _state(self)))
        _set(copy, "id", message_id)
        return copy

    def _shown(self) -> list[str]:
        """``field=value`` for the content and for every other field that holds something."""
        return [
            f"{field}={self._written(field, value)}"
            for field in self._fields
            if not is_empty(value := getattr(self, field)) or field == "content"
        ]

    def _written(self, field: str, value: Any) -> str:
        """How a field's value is printed."""
        del field
        return repr(value)

    def __str__(self) -> str:
        return " ".join(self._shown())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._shown())})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(is_same(getattr(self, field), getattr(other, field)) for field in self._fields)

    __hash__ = None  # type: ignore[assignment]  # holds dicts

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"{type(self).__name__}.{name} cannot be set: use message.replace({name}=…).")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"{type(self).__name__}.{name} cannot be deleted: messages do not change.")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), _state(self))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> Any:
        """Fields of pydantic models: takes whatever ``convert_to_messages`` takes for one message."""
        return _field_schemas[0](cls)

    @classmethod
    def __get_pydantic_json_schema__(cls, source: object, handler: object) -> dict[str, Any]:
        """Such fields in a JSON Schema: an object, since the stored form is one."""
        return {"type": "object", "title": cls.__name__}


_kinds.add(Message)


class SystemMessage(Message):
    """Instructions that stand above the conversation."""

    __slots__ = ()
    type = "system"


class HumanMessage(Message):
    """What the user says."""

    __slots__ = ()
    type = "human"


class ToolMessage(Message):
    """The answer to exactly one call.

    Raises:
        InputError: The content is neither text nor a list, or ``tool_call_id`` is missing or no text.
        OptionError: ``status`` is neither ``success`` nor ``error``.
    """

    __slots__ = ("artifact", "outcome", "status", "tool_call_id")
    type = "tool"
    _fields = (*Message._fields, "tool_call_id", "artifact", "status", "outcome")

    tool_call_id: str
    """The id of the call it answers."""
    artifact: Any
    """What the tool returned beside the text, for the program; providers never see it."""
    status: Literal["success", "error"]
    outcome: Outcome | None
    """How the call ended, as data; None where the answer was not made by a node."""

    def __init__(
        self,
        content: Content = "",
        *,
        tool_call_id: str = "",
        name: str | None = None,
        status: Literal["success", "error"] = "success",
        artifact: Any = None,
        outcome: Outcome | None = None,
        id: str | None = None,
        additional_kwargs: Mapping[str, Any] | None = None,
        response_metadata: Mapping[str, Any] | None = None,
    ) -> None:
        # The base's work, repeated: one call less is a fifth of the cost.
        if type(content) is not str or (name is not None and type(name) is not str) or id is not None:
            _check(type(self).__name__, content, name, id)
        if type(tool_call_id) is not str or not tool_call_id:
            raise InputError(
                problem="A tool message answers a call: expected tool_call_id to be that call's id",
                value=tool_call_id,
                remedy="Pass tool_call_id=call['id'].",
            )
        if status not in ("success", "error"):
            raise OptionError(option="status", value=status, expected="'success' or 'error'")
        _set(self, "content", content)
        _set(self, "tool_call_id", tool_call_id)
        _set(self, "name", name)
        _set(self, "status", status)
        _set(self, "artifact", artifact)
        _set(self, "outcome", outcome)
        _set(self, "id", id)
        _set(self, "additional_kwargs", {} if additional_kwargs is None else _extras(additional_kwargs))
        _set(self, "response_metadata", {} if response_metadata is None else _extras(response_metadata))

    def _shown(self) -> list[str]:
        hidden = ("status='success'", "outcome=")  # the printed form is what a reader of the conversation needs
        return [part for part in super()._shown() if not part.startswith(hidden)]

    def _written(self, field: str, value: Any) -> str:
        return brief(value) if field == "artifact" else repr(value)


class RemoveMessage(Message):
    """Asks the reducer to remove the message of this id, or everything before it with ``REMOVE_ALL_MESSAGES``.

    Raises:
        InputError: The id is missing or no text.
    """

    __slots__ = ()
    type = "remove"
    _fields = ("id",)

    def __init__(self, *, id: str) -> None:
        if not id or not isinstance(id, str):  # pyright: ignore[reportUnnecessaryIsInstance] - hosts need not type
            raise InputError(
                problem="A RemoveMessage names the message to remove: expected its id",
                value=id,
                remedy="Pass id=message.id, or id=REMOVE_ALL_MESSAGES.",
            )
        super().__init__(id=id)

    def _shown(self) -> list[str]:
        return [f"id={self.id!r}"]


def _extras(beside: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(beside, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise InputError(
            problem="What a message carries beside its content is a mapping",
            value=beside,
            remedy="Pass a dict as additional_kwargs and response_metadata, or None.",
        )
    return dict(beside)


def _check(kind: str, content: object, name: object, message_id: object) -> None:
    if not isinstance(content, str | list):
        raise InputError(
            problem=f"{kind} content is text or a list of content blocks",
            value=content,
            remedy="Turn the value into text first, for example with json.dumps.",
        )
    if isinstance(content, list):
        for block in cast("list[object]", content):
            if not isinstance(block, str | dict):
                raise InputError(
                    problem=f"{kind} content blocks are texts or dicts",
                    value=block,
                    remedy='Pass each block as the provider\'s own dict, such as {"type": "text", "text": …}.',
                )
    for field, value in (("name", name), ("id", message_id)):
        if value is not None and not isinstance(value, str):
            raise InputError(
                problem=f"{kind} {field} is text or None", value=value, remedy=f"Pass {field}=str(…) or leave it out."
            )


def are_messages(items: Iterable[object]) -> TypeGuard[list[Message]]:
    """Whether all of them are messages."""
    # At each step of a run the whole conversation is asked: a set of classes answers without a step of Python.
    return _kinds.issuperset(map(type, items))


_CONTAINERS: Final = frozenset({str, list, dict, tuple})


def is_empty(value: object) -> bool:
    """Whether a field holds nothing worth showing or storing; a zero and False are something."""
    # The very type is asked: an artifact may be of any class, with code of its own for all that is asked of it.
    return value is None or (type(value) in _CONTAINERS and not value)


_slots: dict[type, tuple[str, ...]] = {}
"""By class, as far as they were asked for."""


def _state(message: Message) -> dict[str, Any]:
    """Everything that the message holds; it is restored as it is, not read anew."""
    kind = type(message)
    if kind not in _slots:
        _slots[kind] = tuple(slot for base in kind.__mro__ for slot in getattr(base, "__slots__", ()))
    state = {slot: getattr(message, slot) for slot in _slots[kind]}
    return {**message.__dict__, **state} if hasattr(message, "__dict__") else state


def _rebuild(cls: type[Message], state: Mapping[str, Any]) -> Message:
    message = cls.__new__(cls)
    for field, value in state.items():
        _set(message, field, value)
    return message
