"""A tool as data: its name, its schema, what is injected, and the callable."""

from surehand.spec.body import Body
from surehand.spec.context import ToolContext
from surehand.spec.define import schema_of, spec_from_function
from surehand.spec.directions import Direction, direction_at, type_name
from surehand.spec.directions import direct as read_directions
from surehand.spec.doubt import DidNotHappen, DoubtfulCall, Happened, Reconciled
from surehand.spec.injection import (
    InjectedState,
    InjectedStore,
    InjectedToolArg,
    InjectedToolCallId,
    Injection,
    InjectionKind,
    injection_of,
)
from surehand.spec.names import check_tool_name, name_of, snake_case
from surehand.spec.places import Place, value_at, with_value
from surehand.spec.schema import ArgumentSchema, Problem, SchemaMismatch, Wanted
from surehand.spec.toolspec import ResponseFormat, ToolSpec
from surehand.spec.wire import export_names, original_names, wire_name
from surehand.spec.wording import date_or_time, expectation, one_of, received

__all__ = [
    "ArgumentSchema",
    "Body",
    "DidNotHappen",
    "Direction",
    "DoubtfulCall",
    "Happened",
    "InjectedState",
    "InjectedStore",
    "InjectedToolArg",
    "InjectedToolCallId",
    "Injection",
    "InjectionKind",
    "Place",
    "Problem",
    "Reconciled",
    "ResponseFormat",
    "SchemaMismatch",
    "ToolContext",
    "ToolSpec",
    "Wanted",
    "check_tool_name",
    "date_or_time",
    "direction_at",
    "expectation",
    "export_names",
    "injection_of",
    "name_of",
    "one_of",
    "original_names",
    "read_directions",
    "received",
    "schema_of",
    "snake_case",
    "spec_from_function",
    "type_name",
    "value_at",
    "wire_name",
    "with_value",
]
