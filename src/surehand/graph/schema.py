"""From the class or annotation that a host gives as schema to the state that a graph works with.

Annotations are read once, when the graph is built; from then on a state is channels and values, and no class is looked
at to run a step. A key begins as the empty value of its type where that can be made and a reducer needs it: so the
first write is merged like every other, and a reducer never meets None.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, PydanticUndefinedAnnotation
from pydantic.fields import FieldInfo

from surehand.checkpoints.codec import types_in
from surehand.errors import GraphDefinitionError, shown
from surehand.graph.channels import Channel, Reducer, check_reducer
from surehand.graph.hints import callers_names, class_hints
from surehand.graph.state import MESSAGES, ROOT, MappingState, ModelState, RecordState, RootState, State
from surehand.messages import Message, add_messages

__all__ = ["read_schema", "types_of"]

_FORMS = "a TypedDict, a dataclass, a pydantic model or Annotated[list, add_messages]"
_QUALIFIERS = {"Required", "NotRequired", "ReadOnly", "Final", "ClassVar"}
_CONCRETE: dict[object, type] = {
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    collections.abc.Mapping: dict,
    collections.abc.MutableMapping: dict,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
}


def types_of(schema: object) -> frozenset[type]:
    """The classes that the values of a state may be of, as its annotations say."""
    hints: Sequence[object] = [schema]
    if inspect.isclass(schema) and (hasattr(schema, "__required_keys__") or dataclasses.is_dataclass(schema)):
        hints = list(class_hints(schema).values())
    return frozenset(type for hint in hints for type in types_in(hint))


def read_schema(schema: object) -> State:
    """The state that a schema describes.

    Raises:
        GraphDefinitionError: It is no schema, or a reducer in it is none.
    """
    if get_origin(schema) is Annotated:
        return _root(schema)
    if inspect.isclass(schema):
        if dict in schema.__mro__ and hasattr(schema, "__required_keys__"):
            return _typed_dict(schema)
        if issubclass(schema, BaseModel):
            return _model(schema)
        if dataclasses.is_dataclass(schema):
            return _record(schema)
    raise GraphDefinitionError(
        problem=f"A graph's state cannot be {shown(schema)}",
        remedy=f"Pass {_FORMS}; a list needs a reducer.",
    )


def _root(schema: object) -> State:
    annotation, *metadata = get_args(schema)
    reducer = _reducer_in("the state", metadata)
    if reducer is None:
        raise GraphDefinitionError(
            problem=f"The state {shown(schema)} has no reducer", remedy="Write Annotated[list, add_messages]."
        )
    channel = Channel(name=ROOT, label="the state", reducer=reducer, make_initial=_initial_of(annotation, reducer))
    return RootState(label="the state", channel=channel)


def _typed_dict(schema: type) -> State:
    hints = class_hints(schema)
    return MappingState(
        label=schema.__name__, channels=_not_empty(schema, {key: _channel(key, hint) for key, hint in hints.items()})
    )


def _record(schema: type) -> State:
    hints = class_hints(schema)
    channels = {
        field.name: _channel(field.name, hints[field.name], _default_of(field))
        for field in dataclasses.fields(schema)
        if field.init
    }
    return RecordState(type=schema, channels=_not_empty(schema, channels))


def _model(schema: type[BaseModel]) -> State:
    if not schema.__pydantic_complete__:
        _complete(schema)
    fields = schema.model_fields
    channels = {name: _channel(name, _hint_of(field), _model_default_of(field)) for name, field in fields.items()}
    wire_names = {name: _wire_name(schema, name, field) for name, field in fields.items()}
    return ModelState(type=schema, channels=_not_empty(schema, channels), wire_names=wire_names)


def _complete(schema: type[BaseModel]) -> None:
    try:
        schema.model_rebuild(_types_namespace=callers_names())
    except PydanticUndefinedAnnotation as error:
        raise GraphDefinitionError(
            problem=f"The annotations of {schema.__name__} cannot be resolved: {error.message}",
            remedy="Import the name where the class is defined, outside of TYPE_CHECKING.",
        ) from error


def _not_empty(schema: type, channels: Mapping[str, Channel]) -> Mapping[str, Channel]:
    if not channels:
        raise GraphDefinitionError(
            problem=f"The state {schema.__name__} has no keys", remedy="Declare at least one key with its type."
        )
    return channels


def _channel(key: str, hint: Any, default: Callable[[], Any] | None = None) -> Channel:
    """The channel of one key.

    A key called ``messages`` that holds a plain list of messages is merged by ``add_messages``: without a reducer the
    answers of a tool would take the place of the whole conversation.
    """
    annotation, metadata = _unwrapped(hint)
    reducer = _reducer_in(f"the key {key!r}", metadata)
    if reducer is None and key == MESSAGES and _is_message_list(annotation):
        reducer = add_messages
    make_initial = default
    if make_initial is None and reducer is not None:
        make_initial = _initial_of(annotation, reducer)
    return Channel(name=key, label=f"the key {key!r}", reducer=reducer, make_initial=make_initial)


def _unwrapped(hint: Any) -> tuple[Any, list[Any]]:
    """The bare type, and what stands beside it in ``Annotated``, under any mix of ``NotRequired`` and the like."""
    metadata: list[Any] = []
    while True:
        if get_origin(hint) is Annotated:
            hint, *found = get_args(hint)
            metadata += found
        elif getattr(get_origin(hint), "_name", None) in _QUALIFIERS:
            (hint,) = get_args(hint)
        else:
            return hint, metadata


def _reducer_in(label: str, metadata: list[Any]) -> Reducer | None:
    reducers = [entry for entry in metadata if callable(entry) and not inspect.isclass(entry)]
    if len(reducers) > 1:
        raise GraphDefinitionError(
            problem=f"There are {len(reducers)} reducers on {label}", remedy="Keep one function in Annotated[…]."
        )
    return check_reducer(label, reducers[0]) if reducers else None


def _initial_of(annotation: Any, reducer: Reducer) -> Callable[[], Any] | None:
    """Makes the empty value of a type, so that the first write is merged like every other; None where it has none."""
    if reducer is add_messages:
        return list
    kind = get_origin(annotation) or annotation
    kind = _CONCRETE.get(kind, kind)
    if not isinstance(kind, type):
        return None
    try:
        kind()
    except Exception:  # noqa: BLE001 - the host's class needs arguments; the first write is then the value
        return None
    return kind


def _is_message_list(annotation: Any) -> bool:
    kind = get_origin(annotation) or annotation
    if kind not in (list, collections.abc.Sequence, collections.abc.MutableSequence):
        return False
    return all(_is_message(entry) for entry in get_args(annotation))


def _is_message(annotation: Any) -> bool:
    annotation, _ = _unwrapped(annotation)
    if annotation is Any:
        return True
    if isinstance(annotation, type) and get_origin(annotation) is None:
        is_foreign = annotation.__module__.startswith("langchain_core.messages")
        return issubclass(annotation, Message) or is_foreign
    return bool(get_args(annotation)) and all(_is_message(part) for part in get_args(annotation))


def _default_of(field: dataclasses.Field[Any]) -> Callable[[], Any] | None:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory
    if field.default is not dataclasses.MISSING:
        return lambda: field.default
    return None


def _hint_of(field: FieldInfo) -> Any:
    return Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation


def _model_default_of(field: FieldInfo) -> Callable[[], Any] | None:
    """The field's default; one that is computed from other fields is left to the model."""
    if field.is_required() or getattr(field, "default_factory_takes_validated_data", False):
        return None
    return lambda: field.get_default(call_default_factory=True)


def _wire_name(schema: type[BaseModel], name: str, field: FieldInfo) -> str:
    config = schema.model_config
    if config.get("populate_by_name") or config.get("validate_by_name"):
        return name
    alias = field.validation_alias
    return alias if isinstance(alias, str) else name
