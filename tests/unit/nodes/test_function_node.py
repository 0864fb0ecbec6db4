"""FunctionNode: state in, partial state out, and nothing that was not declared."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pytest
from pydantic import BaseModel, Field

from surehand.control import Command, RunConfig, Send
from surehand.errors import GraphDefinitionError, NodeError, OptionError, ToolException
from surehand.messages import AnyMessage, HumanMessage
from surehand.nodes import FunctionNode
from surehand.policy import RetryPolicy
from surehand.testing import FakeClock


class Shop(TypedDict):
    order: str
    count: int


@dataclass
class ShopRecord:
    order: str = "U1"
    items: list[int] = field(default_factory=lambda: [1])


class ShopModel(BaseModel):
    order: str = "U1"
    items: list[int] = [1]


def node(fn: Callable[..., Any], **options: Any) -> FunctionNode:
    return FunctionNode(fn, name="calc", **options)


def failing(fn: Callable[..., Any], state: Any, **options: Any) -> NodeError:
    with pytest.raises(NodeError) as caught:
        node(fn, **options).invoke(state)
    return caught.value


# -- the way in ------------------------------------------------------------------------------------------------------


def test_parameters_are_filled_by_name_and_defaults_where_the_state_has_nothing() -> None:
    def fn(a: int, b: int = 3, *, c: int = 4) -> dict[str, Any]:
        return {"sum": a + b + c}

    assert node(fn).invoke({"a": 1, "c": 10, "unrelated": 5}) == {"sum": 14}


@pytest.mark.parametrize("state", [ShopRecord(), ShopModel(), {"order": "U1", "items": [1]}])
def test_a_state_may_be_a_mapping_a_dataclass_or_a_model(state: Any) -> None:
    def fn(order: str, items: list[int]) -> dict[str, Any]:
        return {"seen": [order, *items]}

    assert node(fn).invoke(state) == {"seen": ["U1", 1]}


def test_values_are_checked_and_made_the_annotated_type() -> None:
    def fn(count: int, order: ShopModel) -> dict[str, Any]:
        return {"kinds": [type(count), order.order]}

    assert node(fn).invoke({"count": "5", "order": {"order": "U2"}}) == {"kinds": [int, "U2"]}


def test_a_value_of_another_type_is_an_error_that_names_node_key_and_value() -> None:
    def fn(count: Annotated[int, Field(gt=0)]) -> None: ...

    assert str(failing(fn, {"count": "many"})) == (
        "Node 'calc': the state's 'count' does not fit its parameter 'count': Input should be a valid integer, "
        "unable to parse string as an integer, got 'many'. Change the annotation, or what is written to the state."
    )


def test_a_missing_key_is_an_error_with_near_names() -> None:
    def fn(user_id: str) -> None: ...

    text = str(failing(fn, {"userid": "U1", "x": 1}))
    assert "Node 'calc': its parameter 'user_id' cannot be filled, the state has no key 'user_id'" in text
    assert "Did you mean 'userid'?" in text


def test_messages_are_a_type_like_any_other() -> None:
    def fn(messages: list[AnyMessage]) -> dict[str, Any]:
        return {"last": messages[-1].text}

    assert node(fn).invoke({"messages": [HumanMessage("hi")]}) == {"last": "hi"}


def test_types_that_pydantic_does_not_know_are_checked_by_instance() -> None:
    def fn(lock: threading.Event) -> None: ...

    assert node(fn).invoke({"lock": threading.Event()}) == {}
    assert "'lock'" in str(failing(fn, {"lock": 3}))


def test_annotations_local_to_the_maker_are_resolved() -> None:
    class Local(BaseModel):
        n: int

    def fn(item: Local) -> dict[str, Any]:
        return {"n": item.n}

    assert node(fn).invoke({"item": {"n": 2}}) == {"n": 2}


def test_an_annotation_that_cannot_be_resolved_is_refused_at_construction() -> None:
    def fn(item: Any) -> None: ...

    fn.__annotations__["item"] = "Nowhere"
    with pytest.raises(GraphDefinitionError, match=r"'calc'.*Nowhere"):
        node(fn)


def test_positional_only_variadic_and_keyword_parameters_are_filled() -> None:
    def fn(a: int, /, *args: int, **rest: Any) -> dict[str, Any]:
        return {"seen": (a, args, rest)}

    assert node(fn).invoke({"a": 1, "b": 2}) == {"seen": (1, (), {"b": 2})}


def test_a_parameter_of_the_run_configuration_gets_it() -> None:
    def fn(a: int, config: RunConfig) -> dict[str, Any]:
        return {"thread": config.get("configurable")}

    assert node(fn).invoke({"a": 1}, {"configurable": {"thread_id": "t"}}) == {"thread": {"thread_id": "t"}}


def test_what_is_no_state_is_refused() -> None:
    def fn(a: int) -> None: ...

    assert "was given 3 as its state" in str(failing(fn, 3))


# -- the whole state -------------------------------------------------------------------------------------------------


def by_name(state: Any) -> dict[str, Any]:
    return {"seen": state["order"]}


def by_typed_dict(shop: Shop) -> dict[str, Any]:
    return {"seen": shop["order"]}


def by_mapping(all_of_it: Mapping[str, Any]) -> dict[str, Any]:
    return {"seen": all_of_it["order"]}


@pytest.mark.parametrize("fn", [by_name, by_typed_dict, by_mapping])
def test_the_one_parameter_for_the_state_gets_all_of_it(fn: Callable[..., Any]) -> None:
    assert node(fn).invoke({"order": "U1", "count": 1}) == {"seen": "U1"}


@pytest.mark.parametrize("kind", [ShopRecord, ShopModel])
def test_a_state_of_the_annotated_class_is_given_whole(kind: Any) -> None:
    def fn(shop: Any) -> dict[str, Any]:
        return {"seen": shop.order}

    fn.__annotations__["shop"] = kind
    assert node(fn).invoke(kind(order="U3")) == {"seen": "U3"}


def test_a_mapping_is_made_the_annotated_model() -> None:
    def fn(shop: ShopModel) -> dict[str, Any]:
        return {"seen": shop.order}

    assert node(fn).invoke({"order": "U4"}) == {"seen": "U4"}


def test_a_parameter_named_like_a_key_is_that_keys() -> None:
    def fn(shop: dict[str, Any]) -> dict[str, Any]:
        return {"seen": dict(shop)}

    assert node(fn).invoke({"shop": {"a": 1}, "b": 2}) == {"seen": {"a": 1}}


# -- read-only -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [{"order": "a", "items": [1]}, ShopRecord(), ShopModel()])
def test_a_change_in_place_is_an_error_that_names_node_and_key_and_changes_nothing(state: Any) -> None:
    def fn(items: list[int]) -> None:
        items.append(2)

    error = failing(fn, state)
    assert str(error) == (
        "Node 'calc': it tried to change the state's 'items' in place (append). Return the change as an update instead."
    )
    assert (state["items"] if isinstance(state, dict) else state.items) == [1]


def test_the_whole_state_cannot_be_written() -> None:
    def fn(state: Any) -> None:
        state["order"] = "x"

    state = {"order": "a"}
    assert "tried to change the state in place" in str(failing(fn, state))
    assert state == {"order": "a"}


def test_a_record_cannot_be_assigned_to() -> None:
    def fn(state: Any) -> None:
        state.order = "x"

    state = ShopRecord()
    assert "'order'" in str(failing(fn, state))
    assert state.order == "U1"


def test_what_was_shown_can_be_returned_and_is_ordinary_again() -> None:
    def fn(items: list[int]) -> dict[str, Any]:
        return {"items": items, "nested": [{"again": items}]}

    update = node(fn).invoke({"items": [1]})
    update["items"].append(2)
    update["nested"][0]["again"].append(3)
    assert update["items"] == [1, 2]


# -- reads and writes ------------------------------------------------------------------------------------------------


def test_a_parameter_outside_of_reads_is_an_error_that_names_node_and_key() -> None:
    def fn(a: int, secret: str) -> None: ...

    error = failing(fn, {"a": 1, "secret": "s"}, reads=["a"])
    assert "Node 'calc': its parameter 'secret' reads the state's key 'secret'" in str(error)


LOOKS: list[Callable[[Any], Any]] = [
    lambda s: s["secret"],
    lambda s: s.get("secret"),
    lambda s: "secret" in s,
    lambda s: s["nowhere"],
]


@pytest.mark.parametrize("look", LOOKS)
def test_a_look_outside_of_reads_is_an_error_that_names_node_and_key(look: Callable[[Any], Any]) -> None:
    def fn(state: Any) -> None:
        look(state)

    error = failing(fn, {"a": 1, "secret": "s"}, reads=["a"])
    assert str(error).startswith("Node 'calc': it read the state's key '")
    assert "which its reads= does not declare" in str(error)


@pytest.mark.parametrize("state", [ShopRecord(), ShopModel()])
def test_an_attribute_outside_of_reads_is_an_error(state: Any) -> None:
    def fn(state: Any) -> None:
        assert state.order == "U1"
        _ = state.items

    assert "'items'" in str(failing(fn, state, reads=["order"]))


def test_what_is_declared_can_be_read_by_every_way() -> None:
    def fn(state: Any) -> dict[str, Any]:
        return {"seen": [state["a"], state.get("b"), "b" in state, dict(state)]}

    assert node(fn, reads=["a", "b"]).invoke({"a": 1, "secret": 2}) == {"seen": [1, None, False, {"a": 1}]}


def test_keyword_rest_holds_only_what_is_declared() -> None:
    def fn(**rest: Any) -> dict[str, Any]:
        return {"seen": sorted(rest)}

    assert node(fn, reads=["a"]).invoke({"a": 1, "b": 2}) == {"seen": ["a"]}


def test_a_key_outside_of_writes_is_an_error_that_names_node_and_key() -> None:
    def fn(a: int) -> dict[str, Any]:
        return {"ok": a, "other": a}

    assert str(failing(fn, {"a": 1}, writes=["ok"])) == (
        "Node 'calc': it wrote the key 'other', which its writes= does not declare. "
        "Add 'other' to writes=, or leave it out of the update."
    )


def test_the_update_of_a_command_keeps_to_writes_too() -> None:
    def fn(a: int) -> Command:
        return Command(update={"other": a}, goto="end")

    assert "'other'" in str(failing(fn, {"a": 1}, writes=["ok"]))


# -- the way out -----------------------------------------------------------------------------------------------------


def test_none_is_an_empty_update() -> None:
    def fn(a: int) -> None: ...

    assert node(fn).invoke({"a": 1}) == {}


def test_a_command_passes_through() -> None:
    command = Command(update={"b": 1}, goto=[Send("next", {"c": 2})])

    def fn(a: int) -> Command:
        return command

    assert node(fn).invoke({"a": 1}) == command


@pytest.mark.parametrize("result", [3, "text", [("a", 1)], {1: 2}])
def test_anything_else_is_no_update(result: Any) -> None:
    def fn(a: int) -> Any:
        return result

    assert "Node 'calc': " in str(failing(fn, {"a": 1}))


# -- errors and retries ----------------------------------------------------------------------------------------------


def test_what_the_function_raises_is_raised_the_same_object() -> None:
    error = ToolException("no")

    def fn(a: int) -> None:
        raise error

    with pytest.raises(ToolException) as caught:
        node(fn).invoke({"a": 1})
    assert caught.value is error


def flaky(failures: int, error: Exception) -> Callable[..., Any]:
    left = [failures]

    def fn(a: int) -> dict[str, Any]:
        if left[0]:
            left[0] -= 1
            raise error
        return {"ok": a}

    return fn


def test_a_policy_runs_the_function_again() -> None:
    clock = FakeClock()
    policy = RetryPolicy(max_attempts=3, initial_interval=1, backoff_factor=2, jitter=False)
    assert node(flaky(2, OSError("x")), retry=policy, clock=clock).invoke({"a": 1}) == {"ok": 1}
    assert clock.sleeps == [1, 2]


def test_a_policy_ends_with_the_last_error() -> None:
    with pytest.raises(OSError, match="x"):
        node(flaky(3, OSError("x")), retry=RetryPolicy(max_attempts=3), clock=FakeClock()).invoke({"a": 1})


@pytest.mark.parametrize("error", [TypeError("t"), KeyError("k"), ToolException("final")])
def test_mistakes_and_final_failures_are_not_retried_unasked(error: Exception) -> None:
    with pytest.raises(type(error)):
        node(flaky(1, error), retry=RetryPolicy(), clock=FakeClock()).invoke({"a": 1})


@pytest.mark.parametrize(
    ("error", "policy"),
    [
        (KeyError("k"), RetryPolicy(retry_on=KeyError)),
        (ValueError("v"), RetryPolicy(retry_on=(ValueError, KeyError))),
        (ToolException("busy", retryable=True), RetryPolicy(retry_on=KeyError)),
    ],
)
def test_retry_on_decides_what_is_retried(error: Exception, policy: RetryPolicy) -> None:
    assert node(flaky(1, error), retry=policy, clock=FakeClock()).invoke({"a": 1}) == {"ok": 1}


def test_what_retry_on_does_not_name_is_not_retried() -> None:
    with pytest.raises(OSError, match="x"):
        node(flaky(1, OSError("x")), retry=RetryPolicy(retry_on=KeyError), clock=FakeClock()).invoke({"a": 1})


class Refused(Exception):
    status_code = 404


def test_what_was_refused_for_what_it_is_is_not_retried_unless_asked() -> None:
    with pytest.raises(Refused):
        node(flaky(1, Refused()), retry=RetryPolicy(), clock=FakeClock()).invoke({"a": 1})
    for policy in (RetryPolicy(retry_on=Refused), RetryPolicy(transient=False)):
        assert node(flaky(1, Refused()), retry=policy, clock=FakeClock()).invoke({"a": 1}) == {"ok": 1}


def test_retry_on_names_all_that_is_retried_also_of_what_passes_by_itself() -> None:
    with pytest.raises(TimeoutError):
        node(flaky(1, TimeoutError()), retry=RetryPolicy(retry_on=KeyError), clock=FakeClock()).invoke({"a": 1})


def test_a_wish_for_a_longer_wait_than_the_policy_s_ends_the_attempts() -> None:
    error = ToolException("busy", retryable=True, retry_after=100)
    clock = FakeClock()
    with pytest.raises(ToolException):
        node(flaky(1, error), retry=RetryPolicy(), clock=clock).invoke({"a": 1})
    assert node(flaky(1, error), retry=RetryPolicy(max_retry_after=100), clock=clock).invoke({"a": 1}) == {"ok": 1}
    assert clock.sleeps == [100]


def test_a_broken_contract_is_never_retried() -> None:
    calls: list[int] = []

    def fn(a: int) -> Any:
        calls.append(a)
        return 3

    failing(fn, {"a": 1}, retry=RetryPolicy(retry_on=Exception), clock=FakeClock())
    assert calls == [1]


def test_no_attempt_starts_after_max_elapsed() -> None:
    clock = FakeClock()
    policy = RetryPolicy(max_attempts=9, initial_interval=2, jitter=False, max_elapsed=5)
    with pytest.raises(OSError, match="x"):
        node(flaky(8, OSError("x")), retry=policy, clock=clock).invoke({"a": 1})
    assert clock.now() <= 5


# -- sync and async --------------------------------------------------------------------------------------------------

where: ContextVar[str] = ContextVar("where", default="nowhere")


async def waiting(a: int) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"ok": a}


def not_marked(a: int) -> Any:
    return waiting(a)


class Caller:
    async def __call__(self, a: int) -> dict[str, Any]:
        return {"ok": a}


@pytest.mark.parametrize("fn", [waiting, functools.partial(waiting), Caller(), not_marked])
def test_asynchronous_functions_run_from_both_doors(fn: Callable[..., Any]) -> None:
    assert node(fn).invoke({"a": 1}) == {"ok": 1}
    assert asyncio.run(node(fn).ainvoke({"a": 1})) == {"ok": 1}


def test_a_synchronous_function_does_not_block_the_loop() -> None:
    started, go = threading.Event(), threading.Event()

    def fn(a: int) -> dict[str, Any]:
        started.set()
        assert go.wait(5)
        return {"thread": threading.current_thread() is not threading.main_thread(), "where": where.get()}

    async def run() -> Any:
        where.set("here")
        task = asyncio.create_task(node(fn).ainvoke({"a": 1}))
        assert await asyncio.to_thread(started.wait, 5)
        go.set()
        return await task

    assert asyncio.run(run()) == {"thread": True, "where": "here"}


def test_a_synchronous_function_runs_in_the_callers_thread_at_the_sync_door() -> None:
    def fn(a: int) -> dict[str, Any]:
        return {"thread": threading.get_ident()}

    assert node(fn).invoke({"a": 1}) == {"thread": threading.get_ident()}


@pytest.mark.filterwarnings("ignore:A synchronous call was made inside a running event loop")
def test_the_sync_door_works_inside_a_running_loop() -> None:
    async def run() -> Any:
        return node(waiting).invoke({"a": 1})

    assert asyncio.run(run()) == {"ok": 1}


# -- construction ----------------------------------------------------------------------------------------------------


def test_the_name_is_the_functions() -> None:
    assert FunctionNode(waiting).name == "waiting"
    assert FunctionNode(functools.partial(waiting)).name == "waiting"
    assert FunctionNode(Caller()).name == "Caller"


@pytest.mark.parametrize(
    "options",
    [
        {"fn": 3},
        {"fn": waiting, "reads": "a"},
        {"fn": waiting, "writes": [1]},
        {"fn": waiting, "retry": 3},
        {"fn": waiting, "name": 3},
    ],
)
def test_options_that_cannot_be_meant_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        FunctionNode(**options)
