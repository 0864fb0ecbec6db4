"""Short forms for tests about schemas and arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from surehand.arguments import InvalidArguments, ValidArguments, validate_arguments
from surehand.spec import schema_of, spec_from_function


def valid(kind: Any, arguments: Mapping[str, Any], **options: Any) -> ValidArguments:
    """The arguments, valid for a function, model, JSON Schema or schema."""
    return validate_arguments(schema_of(kind), arguments, tool="tool", **options)


def values(kind: Any, arguments: Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """The typed values of valid arguments."""
    return valid(kind, arguments, **options).values


def refused(kind: Any, arguments: Mapping[str, Any], **options: Any) -> InvalidArguments:
    """The error about arguments that are not valid."""
    with pytest.raises(InvalidArguments) as caught:
        valid(kind, arguments, **options)
    return caught.value


def complaints(kind: Any, arguments: Mapping[str, Any], **options: Any) -> list[str]:
    """What is told about arguments that are not valid."""
    return [str(complaint) for complaint in refused(kind, arguments, **options).complaints]


def delivered(function: Any, arguments: Mapping[str, Any], injected: Mapping[str, Any] | None = None) -> Any:
    """What a function returns when it is called with the arguments as a tool would call it."""
    spec = spec_from_function(function)
    names = spec.body.reserved | {injection.parameter for injection in spec.injections}
    found = validate_arguments(spec.schema, arguments, tool=spec.name, injected=names)
    return spec.body.call(found.values, injected or {})
