"""Injected parameters, as far as a tool's spec goes."""

from __future__ import annotations

import asyncio
import threading
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

from support.arguments import complaints, delivered
from surehand.arguments import validate_arguments
from surehand.policy import UNSET
from surehand.spec import (
    InjectedState,
    InjectedToolArg,
    InjectedToolCallId,
    Injection,
    InjectionKind,
    ToolContext,
    ToolSpec,
    spec_from_function,
)


class Query(BaseModel):
    q: str


class StrictQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    q: str


class QueryDict(TypedDict):
    q: str


def search(q: str, state: Annotated[dict[str, Any], InjectedState], call_id: Annotated[str, InjectedToolCallId]) -> Any:
    return q, state, call_id


def called(spec: ToolSpec, arguments: dict[str, Any], injected: dict[str, Any]) -> Any:
    names = frozenset(injection.parameter for injection in spec.injections)
    found = validate_arguments(spec.schema, arguments, tool=spec.name, injected=names)
    return spec.body.call(found.values, injected)


SCHEMAS = [None, Query, StrictQuery, QueryDict, {"type": "object", "properties": {"q": {"type": "string"}}}]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_INJ_01_the_signature_decides_whatever_the_schema_is(schema: Any) -> None:
    spec = spec_from_function(search, args_schema=schema)

    assert [(i.parameter, i.kind) for i in spec.injections] == [
        ("state", InjectionKind.STATE),
        ("call_id", InjectionKind.CALL_ID),
    ]
    assert called(spec, {"q": "a"}, {"state": {}, "call_id": "c"}) == ("a", {}, "c")


@pytest.mark.parametrize("schema", SCHEMAS)
def test_INJ_01_the_model_never_sees_injected_parameters(schema: Any) -> None:
    assert list(spec_from_function(search, args_schema=schema).schema.json_schema["properties"]) == ["q"]


def test_INJ_04_a_forbidding_schema_validates_the_models_arguments_alone() -> None:
    spec = spec_from_function(search, args_schema=StrictQuery)

    assert called(spec, {"q": "a"}, {"state": {}, "call_id": "c"}) == ("a", {}, "c")
    assert complaints(StrictQuery, {"q": "a", "r": 1}) == ["$.r: unknown argument"]


class Marked(BaseModel):
    q: str
    call_id: Annotated[str, InjectedToolCallId]


def test_INJ_01_a_field_of_the_schema_may_carry_the_marker_too() -> None:
    def tool(q: str, call_id: str) -> tuple[str, str]:
        return q, call_id

    spec = spec_from_function(tool, args_schema=Marked)

    assert list(spec.schema.json_schema["properties"]) == ["q"]
    assert called(spec, {"q": "a", "call_id": "forged"}, {"call_id": "real"}) == ("a", "real")


def test_INJ_05_the_spec_says_what_to_use_where_there_is_nothing_to_inject() -> None:
    def tool(
        city: Annotated[str | None, InjectedState("city")] = None,
        zone: Annotated[str, InjectedState("zone")] = "UTC",
    ) -> None: ...

    def bare(
        user: Annotated[str | None, InjectedState("user")], name: Annotated[str, InjectedState("name")]
    ) -> None: ...

    found = {i.parameter: (i.default, i.accepts_none) for i in spec_from_function(tool).injections}
    without = {i.parameter: (i.default, i.accepts_none) for i in spec_from_function(bare).injections}

    assert found == {"city": (None, True), "zone": ("UTC", False)}
    assert without == {"user": (UNSET, True), "name": (UNSET, False)}


def test_INJ_06_what_the_model_sends_for_an_injected_parameter_is_discarded() -> None:
    def tool(q: str, user_id: Annotated[str, InjectedToolArg]) -> tuple[str, str]:
        return q, user_id

    assert delivered(tool, {"q": "a", "user_id": "admin"}, {"user_id": "me"}) == ("a", "me")


def test_INJ_06_an_injected_value_never_comes_in_through_var_keywords() -> None:
    def tool(user_id: Annotated[str, InjectedToolArg], **kw: Any) -> Any:
        return user_id, kw

    assert delivered(tool, {"user_id": "admin", "x": 1}, {"user_id": "me"}) == ("me", {"x": 1})


@pytest.mark.parametrize("annotation", [ToolContext, ToolContext[int], ToolContext | None, "ToolContext"])
def test_INJ_08_a_tool_with_nothing_but_a_context_takes_empty_arguments(annotation: Any) -> None:
    def now(ctx: Any) -> Any:
        return ctx

    now.__annotations__["ctx"] = annotation
    spec = spec_from_function(now)

    assert [injection.kind for injection in spec.injections] == [InjectionKind.CONTEXT]
    assert called(spec, {}, {"ctx": "the context"}) == "the context"


def test_INJ_10_a_tool_that_changes_its_arguments_changes_no_message() -> None:
    sent = {"d": {"a": [1, {"b": 2}]}, "anything": [[1]], "o": {"x": {"y": 1}}}

    def tool(d: dict[str, Any], anything: Any, o: dict[str, dict[str, int]]) -> None:
        d["a"][1].clear()
        anything[0].append(2)
        o["x"].clear()

    delivered(tool, sent)

    assert sent == {"d": {"a": [1, {"b": 2}]}, "anything": [[1]], "o": {"x": {"y": 1}}}


def test_INJ_10_injected_objects_are_passed_as_they_are() -> None:
    def tool(lock: Annotated[Any, InjectedToolArg]) -> Any:
        return lock

    lock = threading.Lock()

    assert delivered(tool, {}, {"lock": lock}) is lock


class Handler:
    async def __call__(self, **k: Any) -> dict[str, Any]:
        return k


class NoSignature:
    __signature__ = "none"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return kwargs


@pytest.mark.parametrize("function", [Handler(), NoSignature(), dict])
def test_INJ_12_callables_of_any_kind_are_read_without_an_error(function: Any) -> None:
    spec = spec_from_function(function, name="tool")

    assert spec.injections == ()


def test_INJ_12_an_async_callable_object_is_awaited() -> None:
    spec = spec_from_function(Handler())

    assert spec.body.is_async
    assert asyncio.run(spec.body.call({"a": 1}, {})) == {"a": 1}


def test_host_values_are_looked_up_by_the_parameters_name() -> None:
    def tool(session: Annotated[Any, InjectedToolArg]) -> None: ...

    assert spec_from_function(tool).injections == (
        Injection(parameter="session", kind=InjectionKind.HOST, key="session"),
    )
