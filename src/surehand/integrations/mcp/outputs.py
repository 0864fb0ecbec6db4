"""What our tools give back as data: the schema of their results, and results that fit it.

A client that is told an output schema refuses, as a whole, a result without data that fits it. So a schema is told only
where a return annotation promises an object with known fields or values, and nothing is sent that was not checked by
it. A text, a number or a list is told no schema: it stands in the text already, and wrapped into an object it would
come twice, the second time in a form that some clients show to their models in place of the text.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import logging
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, get_args, get_origin

from pydantic import TypeAdapter
from typing_extensions import is_typeddict

from surehand.callables import closure_names
from surehand.calls import ToolReturn
from surehand.control import Command
from surehand.messages import Message, ToolMessage
from surehand.shapes import is_object
from surehand.spec import ToolSpec
from surehand.spec.accepted import accepted
from surehand.spec.generation import UntitledGenerator
from surehand.spec.signature import inner_function
from surehand.wording import one_line

__all__ = ["Output", "output_of"]

logger = logging.getLogger("surehand.mcp")

_ENVELOPES: Final = (ToolReturn, Command, Message)
"""What holds a result and is none."""
_BARE: Final = (dict, Mapping, str, int, float, list, tuple, set, bytes, types.NoneType)
"""Types that say nothing of what their values hold, or whose values are no objects."""
_HAS_BY_NAME: Final = "by_name" in inspect.signature(typing.cast("Any", TypeAdapter).validate_python).parameters
_ANY_NAME: Final[dict[str, Any]] = {"by_alias": True, "by_name": True} if _HAS_BY_NAME else {}
"""Has fields found by names and by aliases: texts are written with the one, data with the other."""


class Output:
    """The results of a tool, as the type that it is annotated with.

    Args:
        kind: The type.

    Raises:
        Exception: No schema of an object can be made of it; of any class.
    """

    def __init__(self, kind: Any) -> None:
        self._adapter: TypeAdapter[Any] = TypeAdapter(accepted(kind))
        self.schema = _object_schema(self._adapter)
        """The JSON Schema of every structured result."""
        package = importlib.import_module("jsonschema_rs")
        self._fits: Callable[[Any], bool] = package.Draft202012Validator(self.schema, offline=True).is_valid

    def data(self, value: Any, message: ToolMessage) -> dict[str, Any] | None:
        """The structured result of a call that succeeded; None where it is not what was declared.

        Args:
            value: What the tool, or a middleware in its place, returned.
            message: The answer to the call.
        """
        for way in self._ways(_content_of(value), message):
            try:
                found = json.loads(way(), parse_constant=_refused)
                if is_object(found) and self._fits(found):
                    return dict(found)
            except Exception as error:  # the value's own code; there may be another way
                logger.debug("a result is not as declared", exc_info=error)
        return None

    def _ways(self, content: Any, message: ToolMessage) -> Iterator[Callable[[], bytes | str]]:
        """How the JSON of a result may be come by."""
        if not isinstance(content, str):
            yield functools.partial(self._dumped, content)
        if isinstance(message.content, str):  # which a middleware may have kept, and the value not
            yield functools.partial(str, message.content)
        yield lambda: self._dumped(self._validated(content))

    def _validated(self, content: Any) -> Any:
        validate = self._adapter.validate_json if isinstance(content, str) else self._adapter.validate_python
        return validate(content, **_ANY_NAME)

    def _dumped(self, value: Any) -> bytes:
        return self._adapter.dump_json(value, by_alias=True, warnings=False)


def output_of(spec: ToolSpec) -> Output | None:
    """The structured results of a tool; None where its annotation promises no object."""
    if spec.response_format != "content":
        return None
    try:
        kind = _returned(spec.body.function)
        return Output(kind) if _may_promise(kind) else None
    except Exception as error:  # an annotation is the host's code, and need not be meant for this
        logger.debug("the tool %s has no output schema", one_line(spec.name), exc_info=error)
        return None


def _returned(function: Any) -> Any:
    """The annotation of what a function returns, resolved where that is possible."""
    annotation = inspect.signature(function).return_annotation
    inner = inner_function(function)
    holder = types.SimpleNamespace(__annotations__={"return": annotation})
    names = dict(getattr(inner, "__globals__", {}))
    return typing.get_type_hints(holder, names, closure_names(inner), include_extras=True)["return"]


def _may_promise(kind: Any) -> bool:
    """Whether a type may say what is in an object; a bare ``dict`` does not."""
    bare = get_args(kind)[0] if get_origin(kind) is typing.Annotated else kind
    if is_typeddict(bare):
        return True
    whole = get_origin(bare) or bare
    is_envelope = isinstance(whole, type) and issubclass(whole, _ENVELOPES)
    return not is_envelope and not (isinstance(bare, type) and issubclass(bare, _BARE))


def _content_of(value: Any) -> Any:
    return value.content if isinstance(value, ToolReturn | ToolMessage) else value


def _object_schema(adapter: TypeAdapter[Any]) -> dict[str, Any]:
    """The schema of a type whose values are JSON objects, with that said at its root.

    Raises:
        ValueError: They are none.
    """
    schema = adapter.json_schema(schema_generator=UntitledGenerator, mode="serialization", by_alias=True)
    reference = schema.get("$ref")
    if isinstance(reference, str):  # a type that refers to itself
        schema = {**schema["$defs"][reference.removeprefix("#/$defs/")], "$defs": schema["$defs"]}
    if schema.get("type") != "object":
        raise ValueError("its results are no objects")
    return schema


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
