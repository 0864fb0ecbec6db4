"""Our node of tools as LangGraph's: what it takes, what it gives back, what is around its calls."""

# LangChain's own types are partly unknown.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingTypeStubs=false

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import tool as their_tool
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolRuntime
from langgraph.types import Command, Send
from pydantic import BaseModel, ValidationError

import surehand
from support.langgraphs import asking, call, config, graph_of, texts
from surehand import InputError, OptionError, ToolContext, tool
from surehand.integrations.langchain.nodes import ToolNode
from surehand.integrations.langchain.validation import ValidationNode
from surehand.outcomes import FailureKind

ADD = call("add", a=1, b=2)


@their_tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@their_tool
def boom() -> str:
    """Boom."""
    raise LookupError("kaput")


def kind_of(message: Any) -> Any:
    return message.response_metadata["surehand"]["kind"]


class Model(BaseModel):
    messages: list[Any]


@dataclass
class Record:
    messages: list[Any]


REPLY = AIMessage("", tool_calls=[ADD])


@pytest.mark.parametrize(
    "given",
    [
        {"messages": [REPLY]},
        Model(messages=[REPLY]),
        Record(messages=[REPLY]),
        [ADD],
        [{"name": "add", "args": {"a": 1, "b": 2}, "id": "1"}],
        {"__type": "tool_call_with_context", "tool_call": ADD, "state": {"messages": []}},
    ],
)
def test_states_and_bare_calls_are_answered_by_an_update_of_the_state(given: Any) -> None:
    update = ToolNode([add]).invoke(given)
    assert texts(update) == ["3"]
    assert isinstance(update["messages"][0], ToolMessage)
    assert update["messages"][0].tool_call_id == "1"


def test_a_list_is_answered_by_a_list() -> None:
    assert texts(ToolNode([add]).invoke([HumanMessage("hi"), REPLY])) == ["3"]


def test_the_outcome_stands_in_the_response_metadata() -> None:
    (message,) = ToolNode([add]).invoke([AIMessage("", tool_calls=[call("add", a=1)])])
    assert (message.status, kind_of(message)) == ("error", "invalid_arguments")


def test_where_nothing_can_be_answered_is_an_error() -> None:
    nothing: list[Any] = [[], {"messages": []}, {}, [HumanMessage("hi")]]
    for given in nothing:
        with pytest.raises(InputError):
            ToolNode([add]).invoke(given)


def test_a_reply_without_calls_needs_no_answer() -> None:
    assert ToolNode([add]).invoke({"messages": [AIMessage("hi")]}) == {"messages": []}


def test_a_call_that_is_answered_is_not_run_again() -> None:
    given = [AIMessage("", tool_calls=[ADD, call("add", "2", a=2, b=2)]), ToolMessage("3", tool_call_id="1")]
    assert texts(ToolNode([add]).invoke(given)) == ["4"]


def test_a_call_whose_arguments_could_not_be_read_is_answered() -> None:
    bad = {"name": "add", "args": '{"a": 1', "id": "9", "error": None, "type": "invalid_tool_call"}
    (message,) = ToolNode([add]).invoke([AIMessage("", invalid_tool_calls=[bad])])
    assert (message.tool_call_id, kind_of(message)) == ("9", "malformed")


def test_calls_without_an_id_or_with_one_twice_are_answered_under_the_ids_they_came_with() -> None:
    calls = [call("add", "x", a=1, b=1), call("add", "x", a=2, b=2), {**call("add", a=3, b=3), "id": ""}]
    answers = ToolNode([add]).invoke([AIMessage("", tool_calls=calls)])
    assert [(m.content, m.tool_call_id) for m in answers] == [("2", "x"), ("4", "x"), ("6", "")]


def test_messages_of_ours_are_answered_by_ours() -> None:
    (message,) = ToolNode([add]).invoke([surehand.AIMessage(tool_calls=[ADD])])
    assert isinstance(message, surehand.ToolMessage)


def test_it_is_a_runnable() -> None:
    node = ToolNode([add], name="runner")
    assert isinstance(node, Runnable)
    assert node.get_name() == "runner"
    assert [texts(found) for found in node.batch([[REPLY], [REPLY]])] == [["3"], ["3"]]
    assert [texts(found) for found in node.stream([REPLY])] == [["3"]]
    assert list(node.tools_by_name) == ["add"]


def test_it_may_be_subclassed() -> None:
    class Loud(ToolNode):
        def invoke(self, input: Any, config: Any = None, **more: Any) -> Any:
            return [m.content.upper() for m in super().invoke(input, config, **more)]

    @their_tool
    def say() -> str:
        """Say."""
        return "hi"

    assert Loud([say]).invoke([AIMessage("", tool_calls=[call("say")])]) == ["HI"]


def test_functions_and_tools_of_ours_are_tools_of_the_node() -> None:
    def plain(state: Annotated[dict[str, Any], InjectedState], runtime: ToolRuntime) -> str:
        return f"{len(state['messages'])} {runtime.tool_call_id}"

    @tool
    def ours(ctx: ToolContext) -> str:
        """Ours."""
        return f"{len(ctx.state['messages'])} {ctx.call_id}"

    node = ToolNode([plain, ours])
    assert texts(node.invoke(asking(call("plain", "a"), call("ours", "b")))) == ["1 a", "1 b"]


def test_options_that_cannot_be_meant_are_refused() -> None:
    with pytest.raises(OptionError, match="compat"):
        ToolNode([add], compat="langchain")  # type: ignore[arg-type]  # what is tried
    with pytest.raises(OptionError, match="wrap_tool_call"):
        ToolNode([add], wrap_tool_call="no")  # type: ignore[arg-type]  # what is tried
    with pytest.raises(OptionError, match="timeot"):
        ToolNode([add], timeot=3)


# -- failures --------------------------------------------------------------------------------------------------------


def test_what_a_tool_raises_is_told() -> None:
    (message,) = ToolNode([boom]).invoke([AIMessage("", tool_calls=[call("boom")])])
    assert kind_of(message) == "exception"
    assert "kaput" in message.content


def test_a_validation_error_of_the_body_is_no_error_of_the_arguments() -> None:
    @their_tool
    def parse() -> str:
        """Parse."""
        return str(Model.model_validate({}))

    given = [AIMessage("", tool_calls=[call("parse")])]
    assert kind_of(ToolNode([parse]).invoke(given)[0]) == "exception"
    with pytest.raises(ValidationError):
        ToolNode([parse], compat="langgraph").invoke(given)


def test_an_argument_called_runtime_is_the_models_where_its_type_says_so() -> None:
    @their_tool
    def run(runtime: str) -> str:
        """Run."""
        return runtime

    given = [AIMessage("", tool_calls=[call("run", runtime="python3")])]
    assert texts(ToolNode([run]).invoke(given)) == ["python3"]
    assert texts(ToolNode([run], compat="langgraph").invoke(given)) == ["python3"]


def test_what_cannot_be_injected_costs_no_other_call_its_answer() -> None:
    @their_tool
    def city(name: Annotated[str, InjectedState("city")]) -> str:
        """City."""
        return name

    found = ToolNode([city, add]).invoke(asking(call("city", "c"), ADD))["messages"]
    assert [kind_of(message) for message in found] == ["internal", None]
    with pytest.raises(KeyError):
        ToolNode([city, add], compat="langgraph", handle_tool_errors=True).invoke(asking(call("city", "c"), ADD))


def test_a_tool_cannot_change_the_state() -> None:
    @their_tool
    def meddle(state: Annotated[Any, InjectedState]) -> str:
        """Meddle."""
        state["messages"].clear()
        return "done"

    state = asking(call("meddle"))
    assert kind_of(ToolNode([meddle]).invoke(state)["messages"][0]) == "exception"
    assert len(state["messages"]) == 1


def test_a_slow_tool_is_answered_in_time_and_hurts_nobody() -> None:
    release = threading.Event()

    @their_tool
    def hang() -> str:
        """Hang."""
        release.wait(20)
        return "late"

    begun = time.monotonic()
    node = ToolNode([hang, add], timeout=20, overrides={"hang": {"timeout": 0.05}})
    found = node.invoke(asking(call("hang", "h"), ADD))["messages"]
    assert [kind_of(message) for message in found] == ["timeout", None]
    assert time.monotonic() - begun < 15
    release.set()


def test_the_number_of_calls_at_a_time_is_kept_in_asynchronous_runs() -> None:
    running: list[int] = [0, 0]

    @their_tool
    async def count() -> str:
        """Count."""
        running[0] += 1
        running[1] = max(running)
        await asyncio.sleep(0.01)
        running[0] -= 1
        return "ok"

    given = asking(*[call("count", str(n)) for n in range(6)])
    found = asyncio.run(ToolNode([count]).ainvoke(given, {"max_concurrency": 2}))
    assert (len(texts(found)), running[1]) == (6, 2)


# -- commands --------------------------------------------------------------------------------------------------------


def answered(id: str, content: str = "moved") -> ToolMessage:
    return ToolMessage(content, tool_call_id=id)


@their_tool
def move(runtime: ToolRuntime) -> Command[Any]:
    """Move."""
    id = runtime.tool_call_id or ""
    return Command(update={"messages": [answered(id)], "place": "there"}, goto="there")


@their_tool
def hand_off(to: str, runtime: ToolRuntime) -> Command[Any]:
    """Hand off."""
    messages = [*runtime.state["messages"], answered(runtime.tool_call_id or "", f"to {to}")]
    return Command(update={"messages": messages}, goto=to, graph=Command.PARENT)


def test_a_command_goes_out_with_its_answer_in_it() -> None:
    update, command = ToolNode([add, move]).invoke(asking(ADD, call("move", "2")))
    assert texts(update) == ["3"]
    assert (command.goto, command.update["place"]) == ("there", "there")
    assert texts(command.update) == ["moved"]
    assert command.update["messages"][0].name == "move"


def test_a_command_without_an_answer_is_answered_for_it() -> None:
    @their_tool
    def jump() -> Command[Any]:
        """Jump."""
        return Command(goto="there")

    update, command = ToolNode([jump]).invoke(asking(call("jump")))
    assert update["messages"][0].tool_call_id == "1"
    assert command.goto == "there"


def test_after_all_messages_are_removed_no_answer_follows() -> None:
    @their_tool
    def forget() -> Command[Any]:
        """Forget."""
        return Command(update={"messages": [RemoveMessage(id="__remove_all__")]})

    assert len(ToolNode([forget]).invoke(asking(call("forget")))) == 1


def test_a_list_of_commands_and_messages_has_one_answer() -> None:
    @their_tool
    def both() -> list[Any]:
        """Both."""
        return [Command(update={"a": 1}), answered("1", "x"), Command(update={"b": 2})]

    first, update, last = ToolNode([both]).invoke(asking(call("both")))
    assert (first.update, texts(update), last.update) == ({"a": 1}, ["x"], {"b": 2})

    @their_tool
    def twice() -> list[Any]:
        """Twice."""
        return [answered("1", "x"), answered("1", "y")]

    (message,) = ToolNode([twice]).invoke(asking(call("twice")))["messages"]
    assert message.status == "error"
    assert "2 messages bound" in message.content


def test_two_hand_offs_and_another_call_become_one_command_to_the_graph_around() -> None:
    *rest, command = ToolNode([add, hand_off]).invoke(
        asking(call("hand_off", "1", to="ada"), ADD | {"id": "2"}, call("hand_off", "3", to="bob"))
    )
    assert command.goto == ["ada", "bob"]
    assert texts(command.update) == ["to ada", "to bob", "3"]
    assert [texts(update) for update in rest] == [["3"]]


def test_sends_to_the_graph_around_keep_the_updates_beside_them() -> None:
    @their_tool
    def send(to: str, runtime: ToolRuntime) -> Command[Any]:
        """Send."""
        return Command(
            graph=Command.PARENT,
            goto=[Send(to, {})],
            update={"messages": [answered(runtime.tool_call_id or "", to)], "sent": to},
        )

    (command,) = ToolNode([send]).invoke(asking(call("send", "1", to="a"), call("send", "2", to="b")))
    assert [target.node for target in command.goto] == ["a", "b"]
    assert [pair for pair in command.update if pair[0] == "sent"] == [("sent", "a"), ("sent", "b")]


def test_a_command_of_ours_is_obeyed() -> None:
    @tool
    def ours() -> surehand.Command[Any]:
        """Ours."""
        return surehand.Command(update={"place": "x"}, goto="there")

    update, command = ToolNode([ours]).invoke(asking(call("ours")))
    assert texts(update) == ["Done; control moves on."]
    assert (command.goto, command.update) == ("there", {"place": "x"})


# -- in a graph ------------------------------------------------------------------------------------------------------


def test_what_a_tool_writes_on_the_stream_is_read() -> None:
    @their_tool
    def theirs(runtime: ToolRuntime) -> str:
        """Theirs."""
        get_stream_writer()({"n": 1})
        runtime.stream_writer({"n": 2})
        return "x"

    @tool
    def ours(ctx: ToolContext) -> str:
        """Ours."""
        ctx.progress("half")
        return "y"

    graph = graph_of(ToolNode([theirs, ours], sequential=True))
    found = list(graph.stream(asking(call("theirs", "a"), call("ours", "b")), config(), stream_mode="custom"))
    assert found == [{"n": 1}, {"n": 2}, {"call_id": "b", "tool": "ours", "progress": "half"}]


def test_a_send_with_a_call_finds_the_state() -> None:
    class State(MessagesState):
        city: str

    @their_tool
    def where(city: Annotated[str, InjectedState("city")]) -> str:
        """Where."""
        return city

    found = _sending(State, ToolNode([where])).invoke({"messages": [], "city": "Rome"})
    assert texts(found) == ["Rome"]


def _sending(schema: Any, node: Any) -> Any:
    graph: Any = StateGraph(schema).add_node("tools", node)
    return graph.add_conditional_edges(START, lambda _: [Send("tools", [call("where")])], ["tools"]).compile()


def test_tags_of_the_node_reach_callbacks() -> None:
    seen: list[Any] = []

    @their_tool
    def look(runtime: ToolRuntime) -> str:
        """Look."""
        seen.append(runtime.config.get("tags"))
        return "x"

    ToolNode([look], tags=["mine"]).invoke(asking(call("look")), {"tags": ["theirs"]})
    assert seen == [["theirs", "mine"]]


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_callbacks_hear_of_tools_of_ours_as_of_langchains(way: str) -> None:
    heard: list[Any] = []

    class Ears(BaseCallbackHandler):
        def on_tool_start(self, serialized: Any, input_str: str, **more: Any) -> None:
            heard.append((serialized["name"], more["inputs"], more["tool_call_id"]))

        def on_tool_end(self, output: Any, **_: Any) -> None:
            heard.append(output.content)

        def on_tool_error(self, error: BaseException, **_: Any) -> None:
            heard.append(str(error))

    @tool
    def ours(n: int) -> str:
        """Ours."""
        if n == 0:
            raise ValueError("zero")
        return "ok"

    heeding: Any = {"callbacks": [Ears()]}
    for n, errors in ((1, True), (0, False)):
        node = ToolNode([ours], handle_tool_errors=errors)
        with suppress(ValueError):
            given = asking(call("ours", "c", n=n))
            asyncio.run(node.ainvoke(given, heeding)) if way == "ainvoke" else node.invoke(given, heeding)
    assert heard == [("ours", {"n": 1}, "c"), "ok", ("ours", {"n": 0}, "c"), "zero"]


# -- ValidationNode --------------------------------------------------------------------------------------------------


class Pick(BaseModel):
    n: int


@pytest.mark.parametrize("compat", [None, "langgraph"])
def test_validation_answers_in_langchains_messages(compat: Literal["langgraph"] | None) -> None:
    @their_tool
    def picked(n: int, runtime: ToolRuntime) -> str:
        """Picked."""
        return str(n)

    node = ValidationNode([Pick, picked], compat=compat)
    calls = [call("Pick", "1", n="3"), call("picked", "2", n=4), call("Pick", "3", n="x"), call("nobody", "4")]
    found = node.invoke(asking(*calls))["messages"]
    assert [message.content for message in found[:2]] == ['{"n":3}', '{"n":4}']
    assert [bool(message.additional_kwargs.get("is_error")) for message in found] == [False, False, True, True]
    assert {message.status for message in found} == ({"success"} if compat else {"success", "error"})
    assert asyncio.run(node.ainvoke(asking(*calls)))["messages"][0].content == '{"n":3}'
    assert isinstance(node, Runnable)


def test_a_failed_check_says_what_kind_of_failure_it_is() -> None:
    (message,) = ValidationNode([Pick]).invoke([AIMessage("", tool_calls=[call("Pick", n="x")])])
    assert kind_of(message) == FailureKind.INVALID_ARGUMENTS
