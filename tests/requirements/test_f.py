"""F1 – F4: plain functions as nodes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel

from surehand.errors import NodeError
from surehand.messages import HumanMessage
from surehand.nodes import FunctionNode
from surehand.policy import RetryPolicy


def test_F1_a_function_takes_state_and_gives_a_partial_state() -> None:
    def total(prices: list[float]) -> dict[str, float]:
        return {"total": sum(prices)}

    assert FunctionNode(total).invoke({"prices": [1.5, 2.5], "customer": "A"}) == {"total": 4.0}


def test_F1_an_asynchronous_function_is_a_node_too() -> None:
    async def double(n: int) -> dict[str, int]:
        return {"n": n * 2}

    assert FunctionNode(double).invoke({"n": 2}) == {"n": 4}
    assert asyncio.run(FunctionNode(double).ainvoke({"n": 2})) == {"n": 4}


def fetch_user_profile(user_id: str, *, include_history: bool = False) -> dict[str, Any]:
    return {"profile": [user_id, include_history]}


def test_F2_parameters_come_from_keys_of_the_same_name_with_defaults() -> None:
    node = FunctionNode(fetch_user_profile)
    assert node.invoke({"user_id": "U123"}) == {"profile": ["U123", False]}
    assert node.invoke({"user_id": "U123", "include_history": "true"}) == {"profile": ["U123", True]}


def test_F2_a_missing_key_is_an_error_before_the_function_runs() -> None:
    with pytest.raises(NodeError, match="'user_id'"):
        FunctionNode(fetch_user_profile).invoke({"usr_id": "U123"})


def test_F2_a_value_of_another_type_is_an_error_before_the_function_runs() -> None:
    with pytest.raises(NodeError, match="'include_history'"):
        FunctionNode(fetch_user_profile).invoke({"user_id": "U", "include_history": "maybe"})


class Shop(TypedDict):
    payload: dict[str, Any]


@dataclass
class ShopRecord:
    payload: dict[str, Any]


class ShopModel(BaseModel):
    payload: dict[str, Any]


def test_F2_a_function_of_the_state_gets_the_whole_of_it() -> None:
    def call(state: dict[str, Any]) -> dict[str, Any]:
        return {"result": state["payload"]["q"]}

    assert FunctionNode(call).invoke({"payload": {"q": 1}}) == {"result": 1}


def test_F2_a_parameter_of_the_states_type_gets_the_whole_of_it() -> None:
    def of_typed_dict(shop: Shop) -> dict[str, Any]:
        return {"result": shop["payload"]["q"]}

    def of_record(shop: ShopRecord) -> dict[str, Any]:
        return {"result": shop.payload["q"]}

    def of_model(shop: ShopModel) -> dict[str, Any]:
        return {"result": shop.payload["q"]}

    payload = {"q": 1}
    assert FunctionNode(of_typed_dict).invoke({"payload": payload}) == {"result": 1}
    assert FunctionNode(of_record).invoke(ShopRecord(payload)) == {"result": 1}
    assert FunctionNode(of_model).invoke(ShopModel(payload=payload)) == {"result": 1}


def test_F3_reading_beyond_reads_is_an_error_that_names_node_and_key() -> None:
    def peek(state: Any) -> dict[str, Any]:
        return {"result": state["retry_count"]}

    with pytest.raises(NodeError, match=r"'peek'.*'retry_count'"):
        FunctionNode(peek, reads=["user_input"]).invoke({"user_input": "x", "retry_count": 2})


def test_F3_writing_beyond_writes_is_an_error_that_names_node_and_key() -> None:
    def wipe(user_input: str) -> dict[str, Any]:
        return {"messages": []}

    with pytest.raises(NodeError, match=r"'wipe'.*'messages'"):
        FunctionNode(wipe, writes=["payment_result"]).invoke({"user_input": "x"})


def test_F3_what_is_read_cannot_be_changed_in_place() -> None:
    def wipe(state: Any) -> None:
        state["messages"].clear()

    state = {"messages": [HumanMessage("hi")]}
    with pytest.raises(NodeError, match=r"'wipe'.*'messages'"):
        FunctionNode(wipe).invoke(state)
    assert len(state["messages"]) == 1


def test_F4_an_error_is_the_nodes_own() -> None:
    error = ConnectionError("down")

    def fail(n: int) -> None:
        raise error

    with pytest.raises(ConnectionError) as caught:
        FunctionNode(fail).invoke({"n": 1})
    assert caught.value is error


def test_F4_a_retry_policy_can_be_set() -> None:
    seen: list[int] = []

    def flaky(n: int) -> dict[str, int]:
        seen.append(n)
        if len(seen) < 3:
            raise ConnectionError("down")
        return {"ok": n}

    policy = RetryPolicy(max_attempts=3, initial_interval=0.001, retry_on=ConnectionError)
    assert FunctionNode(flaky, retry=policy).invoke({"n": 1}) == {"ok": 1}
    assert len(seen) == 3
