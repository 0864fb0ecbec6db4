"""What a LangChain tool wants from its host, and in which of its parameters.

LangChain marks such a parameter in the function's signature, in the model of the arguments or in both. LangGraph has
markers of its own, which are known by their classes, where LangGraph has been imported: without it nothing can be
marked with them.
"""

# LangChain's own types are partly unknown, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Union, get_args, get_origin

from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId
from langchain_core.tools.base import get_all_basemodel_annotations

from surehand.policy import UNSET
from surehand.spec import Injection, InjectionKind
from surehand.spec.signature import read_signature

__all__ = ["RUN_PARAMETERS", "Wanted", "body_of", "is_marked", "wanted_by"]

RUN_PARAMETERS: Final = frozenset({"run_manager", "callbacks"})
"""What LangChain fills by name, whatever it is annotated with."""
_GRAPH: Final = "langgraph.prebuilt.tool_node"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The parameters of a tool that the model neither sees nor sets."""

    injections: tuple[Injection, ...] = ()
    """What the calls fill."""
    runtimes: frozenset[str] = frozenset()
    """The parameters that get LangGraph's ``ToolRuntime``."""

    @property
    def names(self) -> frozenset[str]:
        """All of them."""
        return self.runtimes | {injection.parameter for injection in self.injections}


@dataclass(frozen=True, slots=True)
class _Found:
    """A parameter as it stands in a signature or a model."""

    name: str
    annotation: Any
    default: Any
    """UNSET where it has none."""


def wanted_by(tool: BaseTool, *, by_name: bool = False) -> Wanted:
    """What the tool wants from its host.

    Args:
        tool: The tool.
        by_name: Whether a parameter that is called ``runtime`` and says nothing of its type gets the runtime, too.

    Raises:
        ToolDefinitionError: An annotation cannot be resolved.
        ValueError: A parameter is marked with one marker twice.
    """
    injections: dict[str, Injection] = {}
    runtimes: set[str] = set()
    for found in _parameters_of(tool):
        if _is_runtime(found.annotation) or (by_name and found.name == "runtime" and found.annotation is Any):
            runtimes.add(found.name)
        elif (injection := _injection_of(found)) is not None:
            known = injections.get(found.name)
            has_default = known is not None and known.default is not UNSET
            injections[found.name] = known if known is not None and has_default else injection
    return Wanted(injections=tuple(injections.values()), runtimes=frozenset(runtimes))


def is_marked(function: Any) -> bool:
    """Whether a function has a parameter that is marked with a marker of LangChain's or LangGraph's.

    Raises:
        ToolDefinitionError: An annotation cannot be resolved.
    """
    parameters = read_signature(function, tool=getattr(function, "__name__", "function")).parameters
    return any(_is_runtime(p.annotation) or _marker_in(p.name, p.annotation) is not None for p in parameters)


def body_of(tool: BaseTool) -> Any:
    """The function whose signature counts: the one the tool was made of, or its ``_run``."""
    named = (getattr(tool, name, None) for name in ("func", "coroutine", "_run"))
    return next(function for function in named if function is not None)


def _parameters_of(tool: BaseTool) -> Iterator[_Found]:
    """Those of the function, then those of the model, which may say more of them."""
    signature = read_signature(body_of(tool), tool=tool.name)
    for parameter in signature.parameters:
        yield _Found(parameter.name, parameter.annotation, parameter.default)
    schema = tool.args_schema
    if isinstance(schema, type):
        for name, annotation in get_all_basemodel_annotations(schema).items():
            yield _Found(name, annotation, _default_of(schema, name))


def _default_of(schema: Any, name: str) -> Any:
    fields: Mapping[str, Any] = getattr(schema, "model_fields", None) or getattr(schema, "__fields__", {})
    field = fields.get(name)
    if field is None:
        return UNSET
    is_required = field.is_required() if hasattr(field, "is_required") else bool(field.required)
    return UNSET if is_required else field.default


def _injection_of(found: _Found) -> Injection | None:
    """What is to be put into a parameter; None where it is the model's."""
    marker = _marker_in(found.name, found.annotation)
    if marker is None:
        return None
    kind, key = _kind_of(marker)
    if kind is InjectionKind.HOST:
        key = found.name
    return Injection(
        parameter=found.name,
        kind=kind,
        key=key,
        default=found.default,
        accepts_none=_accepts_none(found.annotation),
    )


def _kind_of(marker: Any) -> tuple[InjectionKind, str | None]:
    kind: type = marker if isinstance(marker, type) else type(marker)
    if issubclass(kind, InjectedToolCallId):
        return InjectionKind.CALL_ID, None
    if _is_graphs(kind, "InjectedStore"):
        return InjectionKind.STORE, None
    if _is_graphs(kind, "InjectedState"):
        return InjectionKind.STATE, getattr(marker, "field", None)
    return InjectionKind.HOST, None


def _marker_in(name: str, annotation: Any) -> Any:
    """The marker among an annotation's metadata, also inside of a union; None where there is none."""
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        markers = [item for item in metadata if _is_marker(item)]
        if len(markers) > 1:
            raise ValueError(f"Parameter {name!r} is marked as injected more than once: {markers}.")
        return markers[0] if markers else _marker_in(name, inner)
    return next((found for part in _branches(annotation) if (found := _marker_in(name, part)) is not None), None)


def _is_marker(item: Any) -> bool:
    return isinstance(item, InjectedToolArg) or (isinstance(item, type) and issubclass(item, InjectedToolArg))


def _is_runtime(annotation: Any) -> bool:
    origin = get_origin(annotation)
    if origin is Annotated:
        return any(map(_is_runtime, get_args(annotation)))
    kind = annotation if origin is None else origin
    if isinstance(kind, type) and _is_graphs(kind, "ToolRuntime"):
        return True
    return any(map(_is_runtime, _branches(annotation)))


def _is_graphs(kind: type, name: str) -> bool:
    """Whether a class is LangGraph's of this name, or one made of it."""
    own = getattr(sys.modules.get(_GRAPH), name, None)
    return own is not None and issubclass(kind, own)


def _accepts_none(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return _accepts_none(get_args(annotation)[0])
    return annotation in (None, type(None)) or any(map(_accepts_none, _branches(annotation)))


def _branches(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else ()
