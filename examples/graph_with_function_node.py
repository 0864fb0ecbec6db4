"""Tools for what the model decides, plain functions for what the program decides: both in one graph.

The model is scripted, so that this runs without a key; ``init_chat_model("openai:…")`` goes in the same place.
"""

from typing import Annotated, TypedDict

from surehand import (
    START,
    AIMessage,
    AnyMessage,
    FunctionNode,
    StateGraph,
    ToolNode,
    add_messages,
    tool,
    tools_condition,
)
from surehand.testing import ScriptedModel


class State(TypedDict, total=False):
    """What the graph knows."""

    messages: Annotated[list[AnyMessage], add_messages]
    order_id: int
    language: str


@tool
def order_status(order_id: int) -> str:
    """Look up where an order is."""
    return f"Order {order_id} is on its way."


def read_order_id(messages: list[AnyMessage]) -> dict[str, int]:
    """Takes the order's number from the question: no model is needed for that."""
    return {"order_id": int("".join(sign for sign in messages[0].text if sign.isdigit()))}


model = ScriptedModel(
    [
        AIMessage(tool_calls=[{"id": "call_1", "name": "order_status", "args": '{"order_id": "4711"}'}]),
        AIMessage("It is on its way."),
    ]
).bind_tools([order_status])


def ask_model(state: State) -> State:
    return {"messages": [model.invoke(state["messages"])]}


builder = StateGraph(State)
builder.add_node("read_order_id", FunctionNode(read_order_id, reads=["messages"], writes=["order_id"]))
builder.add_node("model", ask_model)
builder.add_node("tools", ToolNode([order_status]))
builder.add_edge(START, "read_order_id")
builder.add_edge("read_order_id", "model")
builder.add_conditional_edges("model", tools_condition)
builder.add_edge("tools", "model")

result = builder.compile().invoke({"messages": [("user", "Where is my order 4711?")]})
print("order_id:", result["order_id"])
for message in result["messages"]:
    message.pretty_print()
