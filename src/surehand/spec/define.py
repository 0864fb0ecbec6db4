"""From a function, model or JSON Schema to a tool's spec or schema."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel

from surehand.errors import OptionError, ToolDefinitionError, shown
from surehand.policy import UNSET, ToolOptions, Unset
from surehand.shapes import is_object
from surehand.spec.body import Body
from surehand.spec.docstrings import Documentation, read_docstring
from surehand.spec.injection import Injection, injection_of
from surehand.spec.json_schema import JsonSchema
from surehand.spec.legacy_schema import LegacySchema, is_legacy_model
from surehand.spec.names import check_tool_name, name_of
from surehand.spec.schema import ArgumentSchema
from surehand.spec.signature import Signature, inner_function, read_signature
from surehand.spec.toolspec import ResponseFormat, ToolSpec
from surehand.spec.typed_schema import UNUSABLE, AdapterSchema, ModelSchema, SignatureSchema, is_typed_kind

__all__ = ["schema_of", "spec_from_function"]


def spec_from_function(
    function: Any,
    *,
    name: str | None = None,
    description: str | None = None,
    args_schema: object = None,
    options: ToolOptions | None = None,
    return_direct: bool = False,
    response_format: ResponseFormat = "content",
    tags: tuple[str, ...] = (),
    metadata: Mapping[str, Any] | None = None,
) -> ToolSpec:
    """A tool from anything that can be called: function, method, partial, callable object.

    Args:
        function: What the tool runs; sync or async.
        name: None for the function's own name.
        description: None for the prose of the docstring.
        args_schema: A model (pydantic 2 or v1), TypedDict, dataclass, JSON Schema or ArgumentSchema that says what the
            model may send; None for the signature. What is injected, the signature decides in any case.
        options: How the tool is run.
        return_direct: Whether an agent ends with the result as its answer.
        response_format: Whether the function returns a pair of content and artifact.
        tags: Free-form words for traces and filters.
        metadata: The host's own notes.

    Raises:
        ToolDefinitionError: No usable name, an annotation that cannot be resolved or carried by JSON, or an
            ``args_schema`` that does not fit the function.
        MissingExtraError: A JSON Schema was given and the ``jsonschema`` extra is not installed.
    """
    tool = name_of(function) if name is None else check_tool_name(name)
    signature = read_signature(function, tool=tool)
    documentation = _documentation(function)
    if args_schema is None:
        schema: ArgumentSchema = SignatureSchema(signature, tool=tool, descriptions=documentation.parameters)
    else:
        signature = _with_marked_fields(signature, args_schema)
        schema = _given_schema(args_schema, signature, tool=tool)
    return ToolSpec(
        name=tool,
        description=documentation.description if description is None else _stripped(description),
        schema=schema,
        body=_body(signature),
        options=options or ToolOptions(),
        return_direct=return_direct,
        response_format=response_format,
        tags=tuple(tags),
        metadata=dict(metadata or {}),
    )


def _stripped(description: object) -> str:
    if not isinstance(description, str):
        raise OptionError(option="description", value=description, expected="a text or None")
    return description.strip()


def schema_of(kind: object, *, tool: str | None = None) -> ArgumentSchema:
    """The schema of a model class, TypedDict, dataclass, JSON Schema or function.

    Raises:
        ToolDefinitionError: It is none of them, or no schema can be made of it.
        MissingExtraError: A JSON Schema was given and the ``jsonschema`` extra is not installed.
    """
    if isinstance(kind, ArgumentSchema):
        return kind
    named = tool or getattr(kind, "__name__", None) or "schema"
    schema = _kind_schema(kind, tool=named, hidden=frozenset(), whole=None)
    if schema is not None:
        return schema
    if not isinstance(kind, type) and (callable(kind) or isinstance(kind, classmethod | staticmethod)):
        signature = read_signature(kind, tool=named)
        return SignatureSchema(signature, tool=named, descriptions=_documentation(kind).parameters)
    raise ToolDefinitionError(
        tool=named,
        problem=f"{shown(kind)} describes no arguments",
        remedy="Give a pydantic model, TypedDict, dataclass, JSON Schema or function.",
    )


def _kind_schema(kind: Any, *, tool: str, hidden: frozenset[str], whole: str | None) -> ArgumentSchema | None:
    if getattr(kind, "__pydantic_root_model__", False):  # asked so that RootModel, itself a model, is not built here
        raise ToolDefinitionError(
            tool=tool,
            problem=f"{kind.__name__} is a RootModel",
            remedy="Arguments are named: give a model with fields.",
        )
    if is_object(kind):
        return JsonSchema(kind, tool=tool, hidden=hidden)
    try:
        if _is_class(kind, BaseModel):
            return ModelSchema(kind, hidden=hidden, whole=whole)
        if is_legacy_model(kind):
            return LegacySchema(kind, whole=whole)
        if is_typed_kind(kind):
            return AdapterSchema(kind, whole=whole)
    except UNUSABLE as error:
        raise ToolDefinitionError(
            tool=tool,
            problem=f"no schema can be made of {shown(kind)} ({str(error).partition(chr(10))[0].rstrip('.')})",
            remedy="Give its fields types that JSON can carry.",
        ) from error
    return None


def _is_class(kind: object, base: type) -> bool:
    return isinstance(kind, type) and issubclass(kind, base)


def _given_schema(args_schema: object, signature: Signature, *, tool: str) -> ArgumentSchema:
    if isinstance(args_schema, ArgumentSchema):
        schema = args_schema
        whole = None
    else:
        whole = _whole_parameter(args_schema, signature)
        hidden = frozenset(injection.parameter for injection in signature.injections)
        found = _kind_schema(args_schema, tool=tool, hidden=hidden, whole=whole)
        schema = schema_of(args_schema, tool=tool) if found is None else found
    if whole is None:
        _check_fit(schema, signature, tool=tool)
    return schema


def _whole_parameter(args_schema: Any, signature: Signature) -> str | None:
    """The function's one parameter, where it is annotated with the arguments' class: it gets the instance itself."""
    if len(signature.parameters) != 1 or not isinstance(args_schema, type):
        return None
    parameter = signature.parameters[0]
    annotation = parameter.annotation
    if annotation is args_schema:
        return parameter.name
    is_base = isinstance(annotation, type) and annotation is not object and issubclass(args_schema, annotation)
    return parameter.name if is_base and issubclass(args_schema, BaseModel) else None


def _check_fit(schema: ArgumentSchema, signature: Signature, *, tool: str) -> None:
    """Every field has a parameter and every parameter a field; else each call would fail."""
    if not isinstance(signature.extras, Unset):
        return
    fields = _python_names(schema)
    surplus = sorted(fields - signature.accepted)
    if surplus:
        raise ToolDefinitionError(
            tool=tool,
            problem=f"its args_schema has the field {surplus[0]!r}, which the function does not take",
            remedy="Add the parameter, or annotate the function's one parameter with the args_schema class.",
        )
    unfilled = [p.name for p in signature.parameters if isinstance(p.default, Unset) and p.name not in fields]
    if unfilled and schema.extras != "collect":
        raise ToolDefinitionError(
            tool=tool,
            problem=f"parameter {unfilled[0]!r} is not in its args_schema and has no default",
            remedy="Add the field, give the parameter a default, or have the host fill it.",
        )


def _python_names(schema: ArgumentSchema) -> set[str]:
    model: Any = schema.model
    fields = getattr(model, "model_fields", None) or getattr(model, "__fields__", None)
    hidden = set(schema.json_schema.get("properties", {}))
    if is_object(fields):
        return {name for name in fields if schema.names.get(name, name) in hidden or name in hidden}
    annotations = getattr(model, "__dataclass_fields__", None) or getattr(model, "__annotations__", None)
    return set(annotations) if annotations else set(schema.directions)


def _with_marked_fields(signature: Signature, args_schema: Any) -> Signature:
    """The signature with injections that only the schema's fields are marked for."""
    fields = getattr(args_schema, "model_fields", None)
    if not is_object(fields):
        return signature
    known = {injection.parameter for injection in signature.injections}
    marked = [
        found for name, info in fields.items() if name not in known and (found := _marked(name, info)) is not None
    ]
    if not marked:
        return signature
    names = {injection.parameter for injection in marked}
    return replace(
        signature,
        injections=(*signature.injections, *marked),
        parameters=tuple(p for p in signature.parameters if p.name not in names),
    )


def _marked(name: str, info: Any) -> Injection | None:
    for item in (info.annotation, *info.metadata):
        found = injection_of(name, _as_annotation(info.annotation, item))
        if found is not None:
            return replace(found, default=UNSET if info.is_required() else info.get_default(call_default_factory=True))
    return None


def _as_annotation(annotation: Any, item: Any) -> Any:
    return annotation if item is annotation else Annotated[annotation, item]


def _body(signature: Signature) -> Body:
    return Body(
        function=signature.function,
        is_async=signature.is_async,
        injections=signature.injections,
        positional=signature.positional,
        variadic=signature.variadic,
        receiver=signature.receiver,
        reserved=signature.reserved,
    )


def _documentation(function: Any) -> Documentation:
    """The docstring of the innermost function; a callable object may describe itself in its class instead."""
    inner = inner_function(function)
    own = read_docstring(_doc(inner))
    outer = inner if inspect.isroutine(function) else function
    if outer is inner or hasattr(function, "func"):
        return own
    described = read_docstring(_doc(type(function)) or _doc(function))
    return Documentation(
        description=described.description or own.description,
        parameters={**described.parameters, **own.parameters},
    )


def _doc(thing: Any) -> str | None:
    text = getattr(thing, "__doc__", None)
    return text if isinstance(text, str) else None
