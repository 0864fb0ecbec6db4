"""Schemas made of Python types: pydantic models, TypedDicts, dataclasses, signatures.

Pydantic checks all of them and writes their JSON Schema, once and when the tool is made. The hard one is a signature.
Pydantic can validate the call of a function, but then it calls it too, and knows nothing of parameters that the host
fills. So the model's parameters become the fields of a model class, which is checked, described and complained about
like any other. The price is that such a class has attributes of its own, whose names no field may have; ``_Fields``
goes round that. What would change our minds: pydantic's schema of arguments, once it is no experiment any more.

Values are taken from the instance and not dumped: a function that declares a nested model gets that model.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import types
import warnings
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from typing_extensions import is_typeddict, override

from surehand.errors import ToolDefinitionError, shown
from surehand.grammar import ExactFloat
from surehand.policy import Unset
from surehand.shapes import is_array, is_object, mapping_of
from surehand.spec.accepted import accepted
from surehand.spec.generation import directed_schema, shown_schema
from surehand.spec.problems import problems_of
from surehand.spec.schema import ArgumentSchema, SchemaMismatch, without
from surehand.spec.signature import MISSING, Parameter, Signature

__all__ = ["UNUSABLE", "AdapterSchema", "ModelSchema", "SignatureSchema", "is_typed_kind"]

UNUSABLE: Final = (PydanticUserError, TypeError, NameError, ValueError, AttributeError)
"""What pydantic raises on types it cannot make a schema of."""


class _TypedSchema(ArgumentSchema):
    """What the schemas that pydantic checks have in common."""

    def __init__(self, directed: dict[str, Any], *, hidden: frozenset[str] = frozenset()) -> None:
        visible = without(directed, hidden)
        self._direct(visible)
        self.json_schema = shown_schema(visible)

    def _mismatch(self, error: ValidationError, arguments: Mapping[str, Any]) -> SchemaMismatch:
        return SchemaMismatch(
            error=error,
            describe=lambda: problems_of(error, arguments, self.directions, is_shown=self.is_input_shown),
        )


def _check_of(validator: Any, kind: Any) -> Callable[[Any], Any]:
    """How arguments are validated: as Python objects, or as JSON where a part of the schema is strict.

    Strict validation of Python objects refuses dates and enums as text, which is how JSON carries them.
    """
    core: Any = kind.core_schema if isinstance(kind, TypeAdapter) else kind.__pydantic_core_schema__
    if not _is_strict(core, set()):
        check: Callable[[Any], Any] = validator.validate_python
        return check

    def check_as_json(arguments: Any) -> Any:
        try:
            return validator.validate_json(json.dumps(_with_digits(arguments)))
        except ValidationError:
            return validator.validate_json(json.dumps(arguments))

    return check_as_json


def _with_digits(value: Any) -> Any:
    """The value with text for numbers of more digits than a float holds, which a decimal reads in full."""
    if is_object(value):
        return {key: _with_digits(item) for key, item in value.items()}
    if is_array(value):
        return [_with_digits(item) for item in value]
    return str(value) if isinstance(value, ExactFloat) else value


_ALIKE: Final = frozenset({"str", "int", "float", "bool", "none"})
"""The types that are the same in JSON and in Python."""


def _is_strict(part: Any, seen: set[int]) -> bool:
    """Whether anything in a schema of pydantic's inside is checked strictly."""
    if id(part) in seen:
        return False
    seen.add(id(part))
    if is_array(part):
        return any(_is_strict(item, seen) for item in part)
    inner = mapping_of(part)
    is_own = inner.get("strict") is True and inner.get("type") not in _ALIKE
    return is_own or any(_is_strict(value, seen) for name, value in inner.items() if name != "strict_schema")


class ModelSchema(_TypedSchema):
    """A pydantic model class.

    Args:
        model: The class.
        hidden: Fields that the host fills; the model may neither see nor set them.
        whole: The parameter that gets the validated instance itself; None delivers its fields one by one.
    """

    def __init__(
        self, model: type[BaseModel], *, hidden: frozenset[str] = frozenset(), whole: str | None = None
    ) -> None:
        checked = _without(model, hidden) if hidden else model
        super().__init__(directed_schema(checked), hidden=hidden)
        self.model = model
        self.is_input_shown = not model.model_config.get("hide_input_in_errors")
        self._checked = checked
        self._hidden = hidden
        self._whole = whole
        self._check: Callable[[Any], BaseModel] = _check_of(checked.__pydantic_validator__, checked)

    @override
    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        instance = self._instance(arguments)
        if self._whole is not None:
            return {self._whole: instance}
        values = dict(instance.__dict__)
        if instance.__pydantic_extra__:
            values.update(instance.__pydantic_extra__)
        for name in self._hidden:
            values.pop(name, None)
        return values

    @override
    def dump_json(self, arguments: Mapping[str, Any]) -> str:
        instance = self._instance(arguments)
        return instance.model_dump_json(warnings=False, exclude=set(self._hidden) or None)

    def _instance(self, arguments: Mapping[str, Any]) -> BaseModel:
        try:
            return self._check(arguments)
        except ValidationError as error:
            raise self._mismatch(error, arguments) from error


class AdapterSchema(_TypedSchema):
    """A TypedDict or a dataclass."""

    def __init__(self, kind: Any, *, whole: str | None = None) -> None:
        adapter: TypeAdapter[Any] = TypeAdapter(accepted(kind))
        super().__init__(directed_schema(adapter))
        self.model = kind
        self._whole = whole
        self._adapter = adapter
        self._check = _check_of(adapter.validator, adapter)

    @override
    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        found = self._checked(arguments)
        if self._whole is not None:
            return {self._whole: found}
        if isinstance(found, dict):
            return cast("dict[str, Any]", found)
        return {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}

    @override
    def dump_json(self, arguments: Mapping[str, Any]) -> str:
        return self._adapter.dump_json(self._checked(arguments), warnings=False).decode()

    def _checked(self, arguments: Mapping[str, Any]) -> Any:
        try:
            return self._check(arguments)
        except ValidationError as error:
            raise self._mismatch(error, arguments) from error


class SignatureSchema(_TypedSchema):
    """The parameters of a function, checked by a pydantic model that is built for them."""

    def __init__(self, signature: Signature, *, tool: str, descriptions: Mapping[str, str]) -> None:
        fields = _Fields(signature.parameters, tool=tool, descriptions=descriptions)
        self._model = fields.model
        self._renamed = fields.renamed
        self._optional = frozenset(p.name for p in signature.parameters if p.default is MISSING)
        self._others = _others(signature, tool=tool)
        super().__init__(_with_others(fields.directed(), self._others))
        self.model = fields.model
        # Complaints and the function know a renamed field by its own name; the name inside must not be accepted.
        inner, self.names = self.names, {}
        self.names.update({given: name for given, name in inner.items() if given not in self._renamed})
        self.names.update({name: inner[internal] for internal, name in self._renamed.items()})
        self._check: Callable[[Any], BaseModel] = _check_of(fields.model.__pydantic_validator__, fields.model)

    @override
    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        values = self._instance(arguments).__dict__
        if self._renamed:
            values = {self._renamed.get(name, name): value for name, value in values.items()}
        if self._optional:
            values = {name: value for name, value in values.items() if value is not MISSING}
        others = self._other_values(arguments)
        return {**values, **others} if others else dict(values)

    @override
    def dump_json(self, arguments: Mapping[str, Any]) -> str:
        instance = self._instance(arguments)
        left_out = {name for name, value in instance.__dict__.items() if value is MISSING}
        text = instance.model_dump_json(warnings=False, by_alias=True, exclude=left_out or None)
        others = self._other_values(arguments)
        if not others or self._others is None:
            return text
        # Two JSON objects become one as text: each part is written by what knows its types.
        further = self._others.dump_json(others, warnings=False).decode()
        return further if text == "{}" else f"{text[:-1]},{further[1:]}"

    def _instance(self, arguments: Mapping[str, Any]) -> BaseModel:
        try:
            return self._check(arguments)
        except ValidationError as error:
            raise self._mismatch(error, arguments) from error

    def _other_values(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if self._others is None:
            return {}
        others = {name: value for name, value in arguments.items() if name not in self.names}
        try:
            return self._others.validate_python(others) if others else {}
        except ValidationError as error:
            raise self._mismatch(error, others) from error


class _Fields:
    """The pydantic model for some parameters.

    A parameter called like an attribute of pydantic's BaseModel (``schema``, ``copy``, ``json``), or with a leading
    underscore, cannot be a field of that name: such a field gets another name inside, and its own as an alias.
    """

    def __init__(self, parameters: tuple[Parameter, ...], *, tool: str, descriptions: Mapping[str, str]) -> None:
        self.tool = tool
        self.parameters = parameters
        self.renamed: dict[str, str] = {}
        taken = {parameter.name for parameter in parameters}
        definitions: dict[str, Any] = {}
        for parameter in parameters:
            name = _safe_name(parameter.name, taken)
            if name != parameter.name:
                self.renamed[name] = parameter.name
            description = descriptions.get(parameter.name, "")
            definitions[name] = _definition(parameter, description, is_renamed=name != parameter.name)
        self.model = self._build(definitions)

    def _build(self, definitions: dict[str, Any]) -> type[BaseModel]:
        config = ConfigDict(extra="ignore", protected_namespaces=())
        try:
            return create_model(self.tool, __config__=config, **definitions)
        except UNUSABLE as error:
            raise self._blame(error) from error

    def directed(self) -> dict[str, Any]:
        try:
            return directed_schema(self.model)
        except UNUSABLE as error:
            raise self._blame(error) from error

    def _blame(self, error: Exception) -> ToolDefinitionError:
        """The error of the first parameter whose type alone is unusable."""
        for parameter in self.parameters:
            try:
                directed_schema(TypeAdapter(accepted(parameter.annotation)))
            except UNUSABLE as own:
                return _unusable(self.tool, parameter, own)
        return ToolDefinitionError(
            tool=self.tool,
            problem=f"no schema can be made of its parameters ({_first_line(error)})",
            remedy="Give it args_schema=, or simpler annotations.",
        )


def _unusable(tool: str, parameter: Parameter, error: Exception) -> ToolDefinitionError:
    return ToolDefinitionError(
        tool=tool,
        problem=f"no schema can be made of parameter {parameter.name!r} with the annotation "
        f"{_type_text(parameter.annotation)} ({_first_line(error)})",
        remedy="Use a type that JSON can carry, or have the host fill it: Annotated[…, InjectedToolArg].",
    )


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")


def _type_text(annotation: Any) -> str:
    return annotation.__qualname__ if isinstance(annotation, type) else shown(annotation)


def _safe_name(name: str, taken: set[str]) -> str:
    if not name.startswith("_") and not hasattr(BaseModel, name):
        return name
    safe = f"{name.strip('_') or 'field'}_"
    while safe in taken or hasattr(BaseModel, safe):
        safe += "_"
    taken.add(safe)
    return safe


def _definition(parameter: Parameter, description: str, *, is_renamed: bool) -> tuple[Any, Any]:
    """A field's annotation and default, as ``create_model`` takes them."""
    annotation = accepted(parameter.annotation)
    known = _known_field(annotation, parameter.default)
    extra: dict[str, Any] = {}
    text = known.get("description") or _plain_description(annotation) or description
    if text:
        extra["description"] = text
    if is_renamed and not known.get("alias"):
        extra["alias"] = parameter.name
    if extra:
        annotation = Annotated[annotation, Field(**extra)]
    return annotation, _default(parameter.default)


def _known_field(annotation: Any, default: Any) -> dict[str, Any]:
    """What the author's own ``Field(…)`` says about description and alias."""
    metadata = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    fields = [item for item in (*metadata, default) if isinstance(item, FieldInfo)]
    return {
        "description": next((item.description for item in fields if item.description), None),
        "alias": next((item.validation_alias for item in fields if item.validation_alias), None),
    }


def _plain_description(annotation: Any) -> str:
    """The text of ``Annotated[T, "text"]`` or ``Annotated[T, Doc("text")]``."""
    if get_origin(annotation) is not Annotated:
        return ""
    for item in get_args(annotation)[1:]:
        text = getattr(item, "documentation", item)
        if isinstance(text, str):
            return text
    return ""


def _default(default: Any) -> Any:
    if default is MISSING:
        return Field(default_factory=lambda: MISSING)
    if isinstance(default, Unset):
        return Field()
    if isinstance(default, FieldInfo):
        return default
    try:
        copy.deepcopy(default)
    except Exception:  # noqa: BLE001 - any object of the host may refuse to be copied; it is then shared
        return Field(default_factory=lambda: default)
    return default


def _others(signature: Signature, *, tool: str) -> TypeAdapter[dict[str, Any]] | None:
    """What checks the values of ``**kwargs``; None where there is no such parameter."""
    if isinstance(signature.extras, Unset):
        return None
    try:
        kind: Any = types.GenericAlias(dict, (str, accepted(signature.extras)))
        adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(kind)
        return adapter
    except UNUSABLE as error:
        raise _unusable(tool, Parameter(name="**kwargs", annotation=signature.extras), error) from error


def _with_others(directed: dict[str, Any], others: TypeAdapter[dict[str, Any]] | None) -> dict[str, Any]:
    if others is None:
        return directed
    schema = directed_schema(others)
    definitions = {**schema.get("$defs", {}), **directed.get("$defs", {})}
    found = {**directed, "additionalProperties": schema.get("additionalProperties", True)}
    return {**found, "$defs": definitions} if definitions else found


def _without(model: type[BaseModel], hidden: frozenset[str]) -> type[BaseModel]:
    """The model with the host's fields optional, since they are not there when the rest is checked."""
    fields: dict[str, Any] = {name: (Any, None) for name in hidden if name in model.model_fields}
    if not fields:
        return model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # overriding a field on purpose is no accident
        return create_model(model.__name__, __base__=model, __module__=model.__module__, **fields)


def is_typed_kind(kind: object) -> bool:
    """Whether it is a TypedDict or dataclass class."""
    return is_typeddict(kind) or (isinstance(kind, type) and dataclasses.is_dataclass(kind))
