"""Names of tools: what a model may call them, and which tools it may call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from support.turns import by_both_doors, run_sync, turn
from surehand import (
    AIMessage,
    FailureKind,
    HumanMessage,
    MessagesState,
    StateGraph,
    Tool,
    ToolDefinitionError,
    ToolMessage,
    ToolNode,
    ToolSetRequest,
    create_agent,
    prefixed,
    tool,
)
from surehand.testing import ScriptedModel


def answering(name: str, **options: Any) -> Tool:
    def answer() -> str:
        return f"{name} ran"

    return Tool.from_function(answer, name=name, **options)


def asked(node: ToolNode, name: str) -> ToolMessage:
    answers: list[ToolMessage] = run_sync(node, [turn(name)])
    return answers[0]


# --- NAME-01: names that nobody has -----------------------------------------------------------------------------------


@by_both_doors
def test_NAME_01_an_unknown_name_is_answered_and_the_other_calls_run(run: Any) -> None:
    node = ToolNode([answering("get_data"), answering("send")])
    unknown, known = run(node, [turn("get_dat", "send")])
    assert unknown.outcome.kind is FailureKind.UNKNOWN_TOOL
    assert unknown.tool_call_id == "c0"
    assert "Did you mean 'get_data'?" in unknown.text
    assert "The tools are: get_data, send." in unknown.text
    assert known.content == "send ran"


def test_NAME_01_of_many_tools_a_limited_list_is_named() -> None:
    answer = asked(ToolNode([answering(f"tool_{number:03}") for number in range(200)]), "nothing_like_it")
    assert "and 180 more" in answer.text
    assert len(answer.text) < 500


def test_NAME_01_the_run_goes_on() -> None:
    model = ScriptedModel([turn("get_dat"), turn("get_data"), AIMessage("done")])
    result = create_agent(model, [answering("get_data")]).invoke({"messages": "go"})
    assert result["messages"][-1].text == "done"
    assert result["end_reason"] == "answer"


# --- NAME-03: exact names win, spelling is forgiven -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["search ", " search", "search()", "Search", "SEARCH"])
def test_NAME_03_blanks_case_and_brackets_are_forgiven_where_one_tool_is_meant(name: str) -> None:
    answer = asked(ToolNode([answering("search"), answering("send")]), name)
    assert (answer.content, answer.name) == ("search ran", "search")
    assert answer.outcome is not None
    assert answer.outcome.repairs == (f"read the tool name {name!r} as 'search'",)


@pytest.mark.parametrize("name", ["get-user", "Get_User"])
def test_NAME_03_separators_are_forgiven(name: str) -> None:
    assert asked(ToolNode([answering("get_user")]), name).name == "get_user"


def test_NAME_03_an_exact_name_wins_over_one_that_is_spelled_alike() -> None:
    node = ToolNode([answering("get_user"), answering("get-user")])
    assert [asked(node, name).name for name in ("get_user", "get-user")] == ["get_user", "get-user"]
    assert asked(node, "GET_USER").status == "error"


def test_NAME_03_a_destructive_tool_is_run_by_its_own_name_only() -> None:
    node = ToolNode([answering("delete_all", destructive=True)])
    assert asked(node, "delete-all").status == "error"
    assert asked(node, "delete_all").content == "delete_all ran"


# --- NAME-05: namespace prefixes --------------------------------------------------------------------------------------


def test_NAME_05_the_namespace_that_models_put_before_functions_is_dropped() -> None:
    answer = asked(ToolNode([answering("get_weather")]), "functions.get_weather")
    assert (answer.content, answer.name) == ("get_weather ran", "get_weather")


@pytest.mark.parametrize("name", ["x", "c.x", "functions.x"])
def test_NAME_05_a_part_of_a_name_is_not_the_name(name: str) -> None:
    answer = asked(ToolNode([answering("a.x"), answering("b.x")]), name)
    assert answer.outcome is not None
    assert answer.outcome.kind is FailureKind.UNKNOWN_TOOL


def test_NAME_05_a_tool_that_has_the_namespace_in_its_name_is_not_another() -> None:
    node = ToolNode([answering("functions.search"), answering("search")])
    assert asked(node, "functions.search").content == "functions.search ran"
    assert asked(node, "search").content == "search ran"


# --- NAME-06: two tools of one name -----------------------------------------------------------------------------------


def test_NAME_06_two_tools_of_one_name_are_refused_when_they_are_registered() -> None:
    with pytest.raises(ToolDefinitionError, match="Tool 'send': two tools have this name"):
        ToolNode([answering("send"), answering("send")])
    with pytest.raises(ToolDefinitionError, match="'send'"):
        create_agent(ScriptedModel([]), [answering("send"), answering("send")])


def test_NAME_06_a_prefix_tells_them_apart() -> None:
    node = ToolNode([*prefixed("mail", [answering("send")]), *prefixed("sms", [answering("send")])])
    answers = run_sync(node, [turn("mail_send", "sms_send", "send")])
    assert [answer.name for answer in answers] == ["mail_send", "sms_send", "send"]
    assert [answer.status for answer in answers] == ["success", "success", "error"]


def test_NAME_06_computed_tools_are_refused_too() -> None:
    node = ToolNode(lambda request: [answering("send"), answering("send")])
    with pytest.raises(ToolDefinitionError, match="two tools have this name"):
        node.invoke([turn("send")])


# --- NAME-07: names on the wire ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [("get.user", "get user"), ("get_user", "get user"), ("查询", "u67e5u8be2")])
def test_NAME_07_tools_that_a_provider_could_not_tell_apart_are_refused(names: tuple[str, str]) -> None:
    with pytest.raises(ToolDefinitionError, match="would both be called"):
        ToolNode([answering(name) for name in names])
    with pytest.raises(ToolDefinitionError, match="would both be called"):
        prefixed("p", [answering(name) for name in names])


# --- NAME-08: names that no provider takes ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "  ", " search", "search ", "sea\nrch", "x" * 65])
def test_NAME_08_a_name_that_can_only_be_a_slip_is_refused_when_it_is_given(name: str) -> None:
    with pytest.raises(ToolDefinitionError, match="name"):
        tool(name)(lambda: None)


# --- NAME-11: the tools of a turn -------------------------------------------------------------------------------------


class Catalogue:
    """Tools that come and go."""

    def __init__(self, *names: str) -> None:
        self.tools = {name: answering(name) for name in names}

    def __call__(self, request: ToolSetRequest) -> list[Tool]:
        return list(self.tools.values())

    def add(self, name: str) -> None:
        self.tools[name] = answering(name)

    def remove(self, name: str) -> None:
        del self.tools[name]


@by_both_doors
def test_NAME_11_a_tool_that_is_added_between_two_turns_is_offered_and_runs(run: Any) -> None:
    catalogue = Catalogue("search")
    node = ToolNode(catalogue)
    assert [offered.spec.name for offered in node.offered([HumanMessage("hi")])] == ["search"]
    catalogue.add("send")
    assert [offered.spec.name for offered in node.offered([HumanMessage("hi")])] == ["search", "send"]
    assert run(node, [turn("send")])[0].content == "send ran"


def looping(node: ToolNode, replies: list[AIMessage], between: Callable[[], None]) -> list[list[str]]:
    """A graph of model and tools; what was offered in each turn."""
    offers: list[list[str]] = []

    async def model(state: MessagesState) -> dict[str, Any]:
        offers.append([offered.spec.name for offered in await node.aoffered(state)])
        between()
        return {"messages": [replies.pop(0)]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", node)
    graph.add_edge("__start__", "model")
    graph.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else "__end__")
    graph.add_edge("tools", "model")
    asyncio.run(graph.compile().ainvoke({"messages": [HumanMessage("hi")]}))
    return offers


def test_NAME_11_a_turn_is_resolved_against_what_was_offered_for_it() -> None:
    catalogue, answers = Catalogue("search", "send"), list[ToolMessage]()
    changes: list[Callable[[], object]] = [partial(catalogue.remove, "send"), partial(catalogue.add, "late"), list]

    def watch(request: Any, run: Any) -> Any:
        answers.append(run(request))
        return answers[-1]

    node = ToolNode(catalogue, middleware=[watch])
    replies = [turn("send"), turn("search"), AIMessage("done")]

    def between() -> None:
        changes.pop(0)()

    offers = looping(node, replies, between)

    assert [answer.content for answer in answers] == ["send ran", "search ran"]
    assert offers == [["search", "send"], ["search"], ["search", "late"]]


def test_NAME_11_a_tool_that_is_gone_is_called_gone() -> None:
    catalogue = Catalogue("search", "send")
    ended: list[ToolMessage] = []

    def between() -> None:
        catalogue.tools.pop("send", None)

    class Recording(ToolNode):
        async def ainvoke(self, input: Any, config: Any = None, *, context: Any = None) -> Any:
            update = await super().ainvoke(input, config, context=context)
            ended.extend(update["messages"])
            return update

    looping(Recording(catalogue), [turn("search"), turn("send", "nothing"), AIMessage("done")], between)

    _, gone, never = ended
    assert gone.outcome is not None
    assert gone.outcome.kind is FailureKind.UNKNOWN_TOOL
    assert "it is no longer available. The tools are: search." in gone.text
    assert "no longer available" not in never.text


def test_NAME_11_an_agent_runs_what_it_offered() -> None:
    catalogue = Catalogue("search", "send")
    told: list[list[str]] = []

    def changing(request: ToolSetRequest) -> list[Tool]:
        tools = catalogue(request)
        told.append([each.spec.name for each in tools])
        catalogue.tools.pop("send", None)
        return tools

    model = ScriptedModel([turn("send"), turn("send"), AIMessage("done")])
    result = create_agent(model, changing).invoke({"messages": "go"})
    answers = [message for message in result["messages"] if isinstance(message, ToolMessage)]
    assert told == [["search", "send"], ["search"], ["search"]]
    assert answers[0].content == "send ran"
    assert "no longer available" in answers[1].text


def test_NAME_11_a_tool_that_answered_earlier_in_the_conversation_is_called_gone_too() -> None:
    history = [HumanMessage("hi"), turn("send"), ToolMessage("send ran", tool_call_id="c0", name="send")]
    [answer] = ToolNode([answering("search")]).invoke([*history, turn("send")])
    assert "'send' any more: it is no longer available" in answer.text


def test_NAME_11_a_name_that_was_unknown_before_is_still_unknown() -> None:
    node = ToolNode([answering("search")])
    messages: list[Any] = [turn("sned")]
    messages += node.invoke(messages)
    [again] = node.invoke([*messages, turn("sned")])
    assert "no longer available" not in again.text
