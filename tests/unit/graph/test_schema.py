from __future__ import annotations

import operator
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NotRequired, TypedDict

import pytest
import typing_extensions
from pydantic import BaseModel, ConfigDict, Field, field_validator

from surehand.errors import GraphDefinitionError, InputError, NodeError
from surehand.graph import END, START, MessagesState, StateGraph, add_messages
from surehand.messages import AIMessage, AnyMessage, HumanMessage, Message, RemoveMessage


def run(schema: Any, node: Callable[[Any], Any], given: Any) -> Any:
    return (
        StateGraph(schema).add_node("node", node).add_edge(START, "node").add_edge("node", END).compile().invoke(given)
    )


def typed_dict(annotation: Any) -> Any:
    return types.new_class(
        "Made", (TypedDict,), exec_body=lambda names: names.update(__annotations__={"messages": annotation})
    )


class Count(TypedDict):
    count: int


@dataclass
class Record:
    count: int
    name: str = "x"
    log: Annotated[list[str], operator.add] = field(default_factory=list[str])


class Model(BaseModel):
    count: int
    name: str = "x"
    log: Annotated[list[str], operator.add] = []


def test_a_typed_dict_is_seen_and_returned_as_a_dict() -> None:
    assert run(Count, lambda state: {"count": state["count"] + 1}, {"count": 1}) == {"count": 2}


def test_a_dataclass_is_seen_and_returned_as_an_instance() -> None:
    result = run(Record, lambda state: {"count": state.count + 1, "log": ["up"]}, {"count": 1})
    assert result == Record(2, "x", ["up"])


def test_a_pydantic_model_is_seen_and_returned_as_an_instance() -> None:
    result = run(Model, lambda state: {"count": state.count + 1, "log": ["up"]}, Model(count=1))
    assert result == Model(count=2, name="x", log=["up"])


def test_a_root_list_is_seen_and_returned_as_a_list() -> None:
    result = run(Annotated[list[Any], add_messages], lambda state: AIMessage(f"{len(state)}"), "hi")
    assert [message.content for message in result] == ["hi", "1"]


def test_a_root_with_a_reducer_of_its_own_is_any_value() -> None:
    assert run(Annotated[int, operator.add], lambda state: 2, 1) == 3


def test_a_typed_dict_of_typing_extensions_is_a_state() -> None:
    class State(typing_extensions.TypedDict):
        count: typing_extensions.ReadOnly[Annotated[int, operator.add]]

    assert run(State, lambda state: {"count": 1}, {"count": 1}) == {"count": 2}


def test_not_required_keys_are_missing_until_they_are_written() -> None:
    class State(TypedDict):
        a: int
        b: NotRequired[Annotated[list[int], operator.add]]
        c: NotRequired[int]

    assert run(State, lambda state: {"b": [1]} if "c" not in state else None, {"a": 1}) == {"a": 1, "b": [1]}


def test_postponed_annotations_find_names_that_are_local_to_a_function() -> None:
    def longest(left: str, right: str) -> str:
        return max(left, right, key=len)

    class State(TypedDict):
        word: Annotated[str, longest]

    assert run(State, lambda state: {"word": "ab"}, {"word": "abc"}) == {"word": "abc"}


def test_an_annotation_that_names_nothing_is_refused() -> None:
    class State(TypedDict):
        word: Nowhere  # type: ignore[name-defined]  # noqa: F821  # pyright: ignore[reportUndefinedVariable]

    with pytest.raises(GraphDefinitionError, match="annotations of State cannot be resolved"):
        StateGraph(State)


def no_argument() -> Any: ...


def one_argument(a: Any) -> Any: ...


def three_arguments(a: Any, b: Any, c: Any) -> Any: ...


def the_newer(left: Any, right: Any) -> Any:
    return right


@pytest.mark.parametrize("reducer", [no_argument, one_argument, three_arguments])
def test_a_reducer_of_another_arity_is_refused_at_construction(reducer: Any) -> None:
    with pytest.raises(GraphDefinitionError, match="expected a function of two positional arguments"):
        StateGraph(Annotated[int, reducer])


def test_an_asynchronous_reducer_is_refused() -> None:
    async def reducer(left: int, right: int) -> int:
        return left + right

    with pytest.raises(GraphDefinitionError, match="asynchronous"):
        StateGraph(Annotated[int, reducer])


def test_two_reducers_on_one_key_are_refused() -> None:
    with pytest.raises(GraphDefinitionError, match="2 reducers"):
        StateGraph(Annotated[int, operator.add, operator.mul])


def test_builtin_reducers_without_a_signature_work() -> None:
    class State(TypedDict):
        most: Annotated[int, max]

    assert run(State, lambda state: {"most": 3}, {"most": 5}) == {"most": 5}


def test_metadata_of_pydantic_beside_a_reducer_is_no_reducer() -> None:
    class State(BaseModel):
        total: Annotated[int, operator.add, Field(ge=0)] = 0

    assert run(State, lambda state: {"total": 2}, {"total": 1}).total == 3


@pytest.mark.parametrize("schema", [int, list, dict, None, "State", Annotated[list[Any], "no reducer"], object()])
def test_what_is_no_state_is_refused(schema: Any) -> None:
    with pytest.raises(GraphDefinitionError, match=r"state|State"):
        StateGraph(schema)


def test_a_state_without_keys_is_refused() -> None:
    class Empty(TypedDict):
        pass

    with pytest.raises(GraphDefinitionError, match="has no keys"):
        StateGraph(Empty)


def test_a_reducers_value_begins_empty() -> None:
    class State(TypedDict):
        log: Annotated[Sequence[str], operator.add]
        total: Annotated[int, operator.add]

    seen: list[Any] = []
    run(State, seen.append, {})
    assert seen == [{"log": [], "total": 0}]


def test_a_reducers_type_that_cannot_be_made_begins_with_the_first_write() -> None:
    class State(TypedDict):
        pair: Annotated[slice, the_newer]

    assert run(State, lambda state: {"pair": slice(1)}, {}) == {"pair": slice(1)}


@pytest.mark.parametrize(
    "annotation",
    [list, list[Any], list[AnyMessage], list[Message], list[HumanMessage | AIMessage], Sequence[AnyMessage]],
)
def test_a_plain_messages_list_is_merged_like_a_conversation(annotation: Any) -> None:
    schema = typed_dict(annotation)
    result = run(schema, lambda state: {"messages": [AIMessage("b")]}, {"messages": [HumanMessage("a")]})
    assert [message.content for message in result["messages"]] == ["a", "b"]


@pytest.mark.parametrize("annotation", [list[str], list[dict[str, Any]], str])
def test_messages_that_are_no_list_of_messages_are_left_alone(annotation: Any) -> None:
    schema = typed_dict(annotation)
    assert run(schema, lambda state: {"messages": "new"}, {"messages": "old"}) == {"messages": "new"}


def test_a_messages_key_with_a_reducer_of_its_own_keeps_it() -> None:
    class State(TypedDict):
        messages: Annotated[list[AnyMessage], the_newer]

    new = [AIMessage("b")]
    assert run(State, lambda state: {"messages": new}, {"messages": [HumanMessage("a")]}) == {"messages": new}


class ModelChat(BaseModel):
    messages: list[AnyMessage] = []


@dataclass
class RecordChat:
    messages: list[Message] = field(default_factory=list[Message])


@pytest.mark.parametrize("schema", [ModelChat, RecordChat])
def test_the_messages_of_an_object_are_merged_too(schema: Any) -> None:
    result = run(schema, lambda state: AIMessage(f"{len(state.messages)}"), ("user", "hi"))
    assert [message.content for message in result.messages] == ["hi", "1"]


def test_messages_state_can_be_subclassed() -> None:
    class State(MessagesState):
        count: int

    result = run(State, lambda state: {"count": len(state["messages"])}, {"messages": "hi", "count": 0})
    assert result["count"] == 1


@pytest.mark.parametrize(
    "given",
    [
        "hi",
        ("user", "hi"),
        HumanMessage("hi"),
        [HumanMessage("hi")],
        [("user", "hi")],
        {"role": "user", "content": "hi"},
    ],
)
def test_a_root_message_list_takes_every_form_of_a_message(given: Any) -> None:
    (message,) = run(Annotated[list[Any], add_messages], lambda state: None, given)
    assert (message.type, message.content) == ("human", "hi")


@pytest.mark.parametrize("given", ["hi", ("user", "hi"), HumanMessage("hi"), [HumanMessage("hi")], {"messages": "hi"}])
def test_a_messages_key_takes_every_form_of_a_message(given: Any) -> None:
    (message,) = run(MessagesState, lambda state: None, given)["messages"]
    assert (message.type, message.content) == ("human", "hi")


def test_messages_get_ids_and_are_replaced_and_removed_by_them() -> None:
    def node(state: dict[str, Any]) -> Any:
        first, second = state["messages"]
        return [RemoveMessage(id=first.id), second.replace(content="changed")]

    (message,) = run(MessagesState, node, {"messages": ["a", "b"]})["messages"]
    assert message.content == "changed"


@pytest.mark.parametrize("given", [None, "text", 1, [1], {"cuont": 1}, {1: 1}])
def test_an_input_that_is_no_state_is_an_input_error(given: Any) -> None:
    with pytest.raises(InputError, match=r"The keys are: count\."):
        run(Count, lambda state: None, given)


def test_an_unknown_input_key_names_its_neighbour() -> None:
    with pytest.raises(InputError, match="Did you mean 'count'"):
        run(Count, lambda state: None, {"cuont": 1})


def test_a_message_list_refuses_an_input_without_messages() -> None:
    with pytest.raises(InputError):
        run(Annotated[list[Any], add_messages], lambda state: None, None)
    with pytest.raises(InputError, match="cannot take this value"):
        run(Annotated[list[Any], add_messages], lambda state: None, 7)


def test_an_empty_input_is_legal_where_the_schema_allows_it() -> None:
    assert run(Count, lambda state: {"count": 1}, {}) == {"count": 1}
    assert run(MessagesState, lambda state: None, {}) == {"messages": []}


@pytest.mark.parametrize("schema", [Record, Model])
def test_an_input_without_a_required_field_is_an_input_error(schema: Any) -> None:
    with pytest.raises(InputError, match="count"):
        run(schema, lambda state: None, {})


def test_a_pydantic_state_is_validated_after_every_step() -> None:
    with pytest.raises(NodeError, match=r"Node 'node': after the step of 'node' the state is no valid Model.*count"):
        run(Model, lambda state: {"count": "many"}, {"count": 1})


def test_a_pydantic_state_coerces_what_it_accepts() -> None:
    assert run(Model, lambda state: {"count": "2"}, {"count": "1"}).count == 2


def test_a_dataclass_that_refuses_its_values_is_a_node_error() -> None:
    @dataclass
    class Positive:
        count: int

        def __post_init__(self) -> None:
            if self.count < 0:
                raise ValueError("count is negative")

    with pytest.raises(NodeError, match="count is negative"):
        run(Positive, lambda state: {"count": -1}, {"count": 1})


def test_validators_run_once_on_what_was_written_not_on_their_own_output() -> None:
    class Marked(BaseModel):
        text: str = ""

        @field_validator("text")
        @classmethod
        def mark(cls, value: str) -> str:
            return value + "!"

    assert run(Marked, lambda state: None, {"text": "a"}).text == "a!"


def test_fields_with_an_alias_are_written_by_name() -> None:
    class Aliased(BaseModel):
        city: str = Field(alias="cityName")

    assert run(Aliased, lambda state: {"city": state.city + "!"}, {"city": "Oslo"}).city == "Oslo!"


@pytest.mark.parametrize("schema", [Record, Model])
def test_a_returned_instance_writes_the_fields_that_changed(schema: Any) -> None:
    def node(state: Any) -> Any:
        state.count += 1
        return state

    assert run(schema, node, {"count": 1, "name": "y", "log": ["a"]}) == schema(count=2, name="y", log=["a"])


@pytest.mark.parametrize("schema", [Record, Model])
def test_a_state_changed_in_place_and_returned_is_refused_where_a_reducer_would_double_it(schema: Any) -> None:
    def node(state: Any) -> Any:
        state.log.append("b")
        return state

    with pytest.raises(NodeError, match="changed the key 'log' in place"):
        run(schema, node, {"count": 1, "log": ["a"]})


def test_the_whole_dict_handed_back_does_not_double_a_list() -> None:
    class State(TypedDict):
        log: Annotated[list[str], operator.add]
        count: int

    result = run(State, lambda state: {**state, "count": 2}, {"log": ["a"], "count": 1})
    assert result == {"log": ["a"], "count": 2}


def test_fields_may_be_given_by_name_where_the_model_allows_it() -> None:
    class Named(BaseModel):
        model_config = ConfigDict(populate_by_name=True)
        city: str = Field(alias="cityName")

    assert run(Named, lambda state: {"city": state.city + "!"}, {"city": "Oslo"}).city == "Oslo!"


def test_a_model_that_waits_for_a_name_is_completed() -> None:
    class Outer(BaseModel):
        inner: Later | None = None
        count: int = 0

    class Later(BaseModel):
        text: str

    assert run(Outer, lambda state: {"inner": {"text": "x"}}, {}).inner == Later(text="x")


def test_a_model_that_waits_for_a_name_that_never_comes_is_refused() -> None:
    class Waiting(BaseModel):
        inner: Nowhere  # type: ignore[name-defined]  # noqa: F821  # pyright: ignore[reportUndefinedVariable]

    with pytest.raises(GraphDefinitionError, match="annotations of Waiting cannot be resolved"):
        StateGraph(Waiting)


def test_a_reducer_on_an_optional_value_begins_with_the_first_write() -> None:
    class State(TypedDict):
        best: Annotated[int | None, max]

    graph = StateGraph(State).add_node("a", lambda state: {"best": 3}).add_node("b", lambda state: {"best": 2})
    assert graph.add_edge(START, "a").add_edge("a", "b").compile().invoke({}) == {"best": 3}


def test_a_root_list_streams_what_nodes_returned() -> None:
    builder = StateGraph(Annotated[list[Any], operator.add]).add_node("a", lambda state: [2])
    assert list(builder.add_edge(START, "a").compile().stream([1])) == [{"a": [2]}]


@pytest.mark.parametrize("wrong", ["text", b"x", 3])
def test_a_root_conversation_refuses_what_is_no_message(wrong: Any) -> None:
    with pytest.raises(NodeError, match="none of a message list"):
        run(Annotated[list[Any], add_messages], lambda state: wrong, "hi")


def test_fields_that_a_dataclass_fills_itself_are_no_keys() -> None:
    @dataclass
    class Derived:
        count: int
        double: int = field(init=False)

        def __post_init__(self) -> None:
            self.double = 2 * self.count

    assert run(Derived, lambda state: {"count": state.double}, {"count": 2}).double == 8


def test_defaults_are_made_anew_for_every_run() -> None:
    graph = StateGraph(Record).add_node("node", lambda state: {"log": ["a"]}).add_edge(START, "node").compile()
    assert [graph.invoke({"count": 1}).log for _ in range(2)] == [["a"], ["a"]]
