"""What the host puts into a tool call and the model never sees.

A parameter is injected because of its annotation, and for no other reason: a plain parameter belongs to the model,
whatever it is called.
"""

from __future__ import annotations

import types
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Union, get_args, get_origin

from surehand.policy import UNSET, text
from surehand.spec.context import ToolContext

__all__ = [
    "InjectedState",
    "InjectedStore",
    "InjectedToolArg",
    "InjectedToolCallId",
    "Injection",
    "InjectionKind",
    "injection_of",
]


class InjectionKind(StrEnum):
    """Where an injected value comes from."""

    CALL_ID = "call_id"
    """The id of the call."""
    STATE = "state"
    """The state of the node, or one field of it."""
    STORE = "store"
    """The store that the node or graph was given."""
    CONTEXT = "context"
    """The ToolContext of the attempt."""
    HOST = "host"
    """The host's own object, as given to ``invoke(…, context=…)``: its entry or attribute of the parameter's name."""


class InjectedToolArg:
    """Marks a parameter that the host fills: ``Annotated[Session, InjectedToolArg]``.

    The value is the entry or attribute of the host's ``context=`` that has the parameter's name.
    """

    kind: InjectionKind = InjectionKind.HOST
    key: str | None = None


class InjectedToolCallId(InjectedToolArg):
    """Marks the parameter that gets the id of the call: ``Annotated[str, InjectedToolCallId]``."""

    kind = InjectionKind.CALL_ID


class InjectedStore(InjectedToolArg):
    """Marks the parameter that gets the store: ``Annotated[Store, InjectedStore]``."""

    kind = InjectionKind.STORE


class InjectedState(InjectedToolArg):
    """Marks a parameter that gets the state, read-only: ``Annotated[dict, InjectedState]``.

    Args:
        key: The one field to inject, as in ``Annotated[str, InjectedState("city")]``; None injects the whole state.

    Raises:
        OptionError: The key is no text, or a blank one.
    """

    kind = InjectionKind.STATE

    def __init__(self, key: str | None = None) -> None:
        self.key = None if key is None else text("key", key)

    def __repr__(self) -> str:
        return f"InjectedState({self.key!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """One injected parameter of a tool."""

    parameter: str
    """The parameter's name in the function."""
    kind: InjectionKind
    """Where the value comes from."""
    key: str | None = None
    """The state's field, or the entry of the host's context; None for the whole."""
    default: Any = UNSET
    """The parameter's default, used where there is nothing to inject; UNSET where it has none."""
    accepts_none: bool = False
    """Whether None may be given where there is nothing to inject and no default."""
    shows_state: bool = True
    """Whether a ToolContext holds the state, which has to be made read-only for it."""


def injection_of(parameter: str, annotation: object, *, default: Any = UNSET) -> Injection | None:
    """The injection that the annotation asks for; None where the parameter belongs to the model."""
    if _is_context(annotation):
        return Injection(
            parameter=parameter,
            kind=InjectionKind.CONTEXT,
            default=default,
            accepts_none=_accepts_none(annotation),
        )
    marker = _marker_in(annotation)
    if marker is None:
        return None
    key = parameter if marker.kind is InjectionKind.HOST and marker.key is None else marker.key
    return Injection(
        parameter=parameter, kind=marker.kind, key=key, default=default, accepts_none=_accepts_none(annotation)
    )


def _marker_in(annotation: object) -> InjectedToolArg | None:
    """The first marker among the annotation's metadata; also inside ``Optional[Annotated[…]]``."""
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        for item in metadata:
            if isinstance(item, InjectedToolArg):
                return item
            if isinstance(item, type) and issubclass(item, InjectedToolArg):
                return item()
        return _marker_in(inner)
    for branch in _branches(annotation):
        if (marker := _marker_in(branch)) is not None:
            return marker
    return None


def _is_context(annotation: object) -> bool:
    if get_origin(annotation) is Annotated:
        return _is_context(get_args(annotation)[0])
    if annotation is ToolContext or get_origin(annotation) is ToolContext:
        return True
    return any(_is_context(branch) for branch in _branches(annotation))


def _accepts_none(annotation: object) -> bool:
    if get_origin(annotation) is Annotated:
        return _accepts_none(get_args(annotation)[0])
    return annotation in (None, type(None)) or any(_accepts_none(branch) for branch in _branches(annotation))


def _branches(annotation: object) -> tuple[Any, ...]:
    """The members of a union; nothing for any other annotation."""
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else ()
