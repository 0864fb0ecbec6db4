"""Injected parameters: in the spec of a tool, and in the calls of a node."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

from support.arguments import complaints, delivered
from support.turns import by_both_doors, run_sync, turn
from surehand import (
    AIMessage,
    FailureKind,
    InjectedStore,
    InMemoryStore,
    RetryPolicy,
    Tool,
    ToolException,
    ToolNode,
    ToolSetRequest,
    tool,
)
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


# --- in the calls of a node -------------------------------------------------------------------------------------------


class Shop:
    """A host's object that cannot be copied."""

    def __init__(self, user_id: str) -> None:
        self.user_id = user_id
        self.lock = threading.Lock()


def answer_to(tools: Any, name: str, *, state: dict[str, Any] | None = None, context: Any = None, **args: Any) -> Any:
    given = {**(state or {}), "messages": [turn((name, args))]}
    return ToolNode(tools).invoke(given, context=context)["messages"][0]


@by_both_doors
@pytest.mark.parametrize("schema", SCHEMAS)
def test_INJ_01_a_node_fills_what_the_signature_asks_for_whatever_the_schema_is(run: Any, schema: Any) -> None:
    node = ToolNode([Tool.from_function(search, args_schema=schema, name="search")])
    [answer] = run(node, [turn(("search", {"q": "a"}))])
    assert answer.status == "success"
    query, state, call_id = json.loads(answer.text)
    assert (query, list(state), call_id) == ("a", ["messages"], "c0")


def test_INJ_04_a_strict_schema_and_injection_go_together_in_a_node() -> None:
    strict = Tool.from_function(search, args_schema=StrictQuery, name="search")
    assert answer_to([strict], "search", q="a").status == "success"
    assert "r: unknown argument" in answer_to([strict], "search", q="a", r=1).text


def test_INJ_05_an_absent_field_gives_the_default_or_none() -> None:
    @tool
    def where(
        city: Annotated[str, InjectedState("city")] = "Hangzhou",
        zone: Annotated[str | None, InjectedState("zone")] = None,
    ) -> str:
        """Say where."""
        return f"{city} {zone}"

    @tool
    def who(user: Annotated[str | None, InjectedState("user")]) -> str:
        """Say who."""
        return str(user)

    assert answer_to([where], "where").text == "Hangzhou None"
    assert answer_to([where], "where", state={"city": "Beijing"}).text == "Beijing None"
    assert answer_to([who], "who").text == "None"


@by_both_doors
def test_INJ_05_where_there_is_nothing_to_inject_the_fault_is_the_hosts_and_no_body_runs(run: Any) -> None:
    ran: list[str] = []

    @tool
    def where(city: Annotated[str, InjectedState("city")]) -> None:
        """Say where."""
        ran.append(city)

    [answer] = run(ToolNode([where]), [turn("where")])
    assert answer.outcome.kind is FailureKind.INTERNAL
    assert "not in your arguments" in answer.text
    assert ran == []


@by_both_doors
def test_INJ_06_what_a_model_sends_for_an_injected_name_is_dropped_and_noted(run: Any) -> None:
    @tool
    def mine(q: str, call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Mine."""
        return f"{q} {call_id}"

    [answer] = run(ToolNode([mine]), [turn(("mine", {"q": "a", "call_id": "forged"}))])
    assert answer.text == "a c0"
    assert any("call_id" in repair for repair in answer.outcome.repairs)


@pytest.mark.parametrize(
    "args", [{"user_id": "admin"}, {"userId": "admin"}, {"user-id": "admin"}, {"USER_ID": "admin"}]
)
def test_INJ_06_no_spelling_of_the_name_gets_past(args: dict[str, Any]) -> None:
    @tool
    def mine(user_id: Annotated[str, InjectedToolArg], q: str = "") -> str:
        """Mine."""
        return user_id

    assert answer_to([mine], "mine", context={"user_id": "me"}, **args).text == "me"


@by_both_doors
def test_INJ_08_a_tool_with_nothing_but_a_typed_context_takes_empty_arguments(run: Any) -> None:
    @tool
    def now(ctx: ToolContext[Shop]) -> str:
        """Say now."""
        return ctx.tool_name

    nothing: list[Any] = [{}, None, "", "null"]
    for args in nothing:
        [answer] = run(ToolNode([now]), [AIMessage(tool_calls=[{"id": "c0", "name": "now", "args": args}])])
        assert answer.text == "now"


def greeting() -> Tool:
    @tool
    def greet(
        ctx: ToolContext,
        *,
        city: Annotated[str, InjectedState("city")],
        store: Annotated[Any, InjectedStore],
        user_id: Annotated[str, InjectedToolArg],
        call_id: Annotated[str, InjectedToolCallId],
        greeting: str = "hello",
    ) -> str:
        """Greet."""
        return f"{greeting} {user_id} in {city} ({call_id}, {ctx.call_id}, {store.get(('a',), 'b').value['n']})"

    return greet


@by_both_doors
def test_INJ_09_a_tool_of_a_computed_set_is_injected_like_one_of_a_list(run: Any) -> None:
    store = InMemoryStore()
    store.put(("a",), "b", {"n": 1})
    shop, greet = Shop("ann"), greeting()

    def computed(request: ToolSetRequest) -> list[Tool]:
        return [greet] if request.context is shop and request.state["city"] == "Rome" else []

    async def computed_async(request: ToolSetRequest) -> list[Tool]:
        return computed(request)

    texts: list[str] = []
    for tools in ([greet], computed, computed_async):
        node = ToolNode(tools, store=store)
        state = {"messages": [turn(("greet", {"user_id": "forged"}))], "city": "Rome"}
        update = node.invoke(state, context=shop) if run is run_sync else asyncio.run(node.ainvoke(state, context=shop))
        texts.append(update["messages"][0].text)
    assert texts == ["hello ann in Rome (c0, c0, 1)"] * 3


@by_both_doors
def test_INJ_10_each_call_has_fresh_arguments_and_no_message_changes(run: Any) -> None:
    seen: list[Any] = []

    @tool
    def consume(d: dict[str, Any], items: list[int]) -> None:
        """Consume."""
        seen.append((dict(d), list(items)))
        d.clear()
        items.append(9)

    args = {"d": {"a": [1]}, "items": [1, 2]}
    message = turn(("consume", args), ("consume", args))
    run(ToolNode([consume]), [message])

    assert seen == [({"a": [1]}, [1, 2])] * 2
    assert [call["args"] for call in message.tool_calls] == [{"d": {"a": [1]}, "items": [1, 2]}] * 2


def test_INJ_10_a_retry_has_fresh_arguments_too() -> None:
    seen: list[list[int]] = []

    @tool(retry=RetryPolicy(initial_interval=0.001))
    def consume(items: list[int]) -> str:
        """Consume."""
        seen.append(list(items))
        items.clear()
        if len(seen) == 1:
            raise ToolException("busy", retryable=True)
        return "done"

    assert answer_to([consume], "consume", items=[1, 2]).text == "done"
    assert seen == [[1, 2], [1, 2]]


def test_INJ_10_a_hosts_object_is_passed_as_it_is_and_the_state_cannot_be_changed() -> None:
    given: list[Any] = []

    @tool
    def look(shop: Annotated[Shop, InjectedToolArg], state: Annotated[dict[str, Any], InjectedState]) -> str:
        """Look."""
        given.append(shop)
        try:
            state["city"] = "changed"
        except TypeError:
            return "refused"
        return "changed"

    shop, state = Shop("ann"), {"city": "Rome"}
    answer = answer_to([look], "look", state=state, context={"shop": shop})
    assert answer.text == "refused"
    assert given == [shop]
    assert state == {"city": "Rome"}


class NoSignatureNode:
    __signature__ = "none"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return kwargs


@by_both_doors
@pytest.mark.parametrize("function", [Handler(), NoSignatureNode()])
def test_INJ_12_a_node_runs_callables_of_any_kind(run: Any, function: Any) -> None:
    node = ToolNode([Tool.from_function(function, name="any", args_schema={"type": "object"})])
    [answer] = run(node, [turn(("any", {"a": 1}))])
    assert answer.content == '{"a": 1}'
