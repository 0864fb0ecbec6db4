"""Tools: requirements T1–T8."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from pydantic import AliasChoices, BaseModel, Field, create_model

from surehand import (
    AIMessage,
    BaseTool,
    InjectedToolCallId,
    InvalidArguments,
    MalformedArguments,
    ModelRetry,
    ToolException,
    ToolMessage,
    ToolNode,
    tool,
)
from surehand.errors import OptionError, ToolDefinitionError


def _call(name: str, args: Any, call_id: str = "c1") -> dict[str, Any]:
    return {"type": "tool_call", "name": name, "args": args, "id": call_id}


@tool
def get_weather(city: str, days: int = 1) -> str:
    """Look up the weather.

    Args:
        city: Full name of the city.
        days: How many days ahead.

    Returns:
        A sentence.
    """
    return f"{city}: sunny for {days} days"


@tool
async def aget_weather(city: str) -> str:
    """Look up the weather, later."""
    await asyncio.sleep(0)
    return f"{city}: sunny"


def test_T1_name_description_and_schema_come_from_the_function() -> None:
    assert get_weather.name == "get_weather"
    assert get_weather.description == "Look up the weather."
    assert get_weather.args["city"] == {"type": "string", "description": "Full name of the city."}
    assert get_weather.args["days"]["default"] == 1


def test_T1_async_functions_are_tools_too() -> None:
    assert aget_weather.invoke({"city": "Paris"}) == "Paris: sunny"
    assert asyncio.run(aget_weather.ainvoke({"city": "Paris"})) == "Paris: sunny"


class SearchArgs(BaseModel):
    query: str
    limit: int = 10


class AnnotatedTool(BaseTool):
    name: str = "annotated"
    description: str = "Attributes with annotations."
    args_schema: type[BaseModel] = SearchArgs

    def _run(self, query: str, limit: int) -> str:
        return f"{query}/{limit}"


class PlainTool(BaseTool):
    name = "plain"
    description = "Attributes without annotations."
    args_schema = create_model("Args", order_id=(str, ...), amount=(float, Field(gt=0)))

    def _run(self, order_id: str, amount: float) -> str:
        return f"{order_id} {amount:.2f}"


class WholeModelTool(BaseTool):
    description = "Takes the model itself."
    args_schema = SearchArgs

    def _run(self, args: SearchArgs) -> str:
        return f"{type(args).__name__} {args.query} {args.limit}"


class SetInInit(BaseTool):
    """Counts for one customer."""

    def __init__(self, customer: str) -> None:
        self.name = f"count_{customer}"
        self.customer = customer
        self.calls: list[int] = []

    def _run(self, step: int) -> int:
        self.calls.append(step)
        return sum(self.calls)


def test_T2_attributes_with_and_without_annotation() -> None:
    assert AnnotatedTool().invoke({"query": "q"}) == "q/10"
    assert PlainTool().invoke({"order_id": "U1", "amount": "5"}) == "U1 5.00"


def test_T2_run_with_one_parameter_of_the_args_model_gets_the_model() -> None:
    assert WholeModelTool().invoke({"query": "q", "limit": "3"}) == "SearchArgs q 3"


def test_T2_what_is_left_out_comes_from_the_class() -> None:
    whole = WholeModelTool()

    assert whole.spec.name == "whole_model_tool"
    assert SetInInit("a").spec.description == "Counts for one customer."
    assert set(SetInInit("a").args) == {"step"}


def test_T2_own_attributes_are_free_and_belong_to_the_instance() -> None:
    one, two = SetInInit("one"), SetInInit("two")

    assert [one.invoke({"step": 2}), one.invoke({"step": 3}), two.invoke({"step": 1})] == [2, 5, 1]
    assert one.spec.name == "count_one"


def test_T2_a_tool_with_both_runs_uses_the_one_of_its_door() -> None:
    class Both(BaseTool):
        """Says how it was run."""

        def _run(self, x: int) -> str:
            return f"sync {x}"

        async def _arun(self, x: int) -> str:
            return f"async {x}"

    assert Both().invoke({"x": 1}) == "sync 1"
    assert asyncio.run(Both().ainvoke({"x": 1})) == "async 1"


def test_T2_a_tool_without_a_run_is_refused_with_the_remedy() -> None:
    class Nothing(BaseTool):
        """Does nothing."""

    with pytest.raises(ToolDefinitionError, match="neither _run nor _arun"):
        _ = Nothing().spec


def test_T3_arguments_give_the_bare_result_and_a_call_a_tool_message() -> None:
    assert get_weather.invoke({"city": "Paris"}) == "Paris: sunny for 1 days"
    message = get_weather.invoke(_call("get_weather", {"city": "Paris", "days": 2}, "id-7"))
    assert isinstance(message, ToolMessage)
    assert (message.content, message.tool_call_id, message.name) == ("Paris: sunny for 2 days", "id-7", "get_weather")


def test_T3_ainvoke_does_the_same() -> None:
    message = asyncio.run(get_weather.ainvoke(_call("get_weather", '{"city": "Rome"}')))
    assert message.content == "Rome: sunny for 1 days"


def test_T4_return_direct_is_carried_and_a_node_still_answers() -> None:
    @tool(return_direct=True)
    def direct(keyword: str) -> str:
        """Answer directly."""
        return keyword.upper()

    assert direct.return_direct is True
    answers = ToolNode([direct]).invoke([AIMessage(tool_calls=[_call("direct", {"keyword": "a"})])])
    assert [type(answer).__name__ for answer in answers] == ["ToolMessage"]


@tool
def log_user_action(action: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
    """Log an action."""
    return f"logged (call {tool_call_id}): {action}"


def test_T5_the_calls_id_is_injected_and_unseen_by_the_model() -> None:
    assert set(log_user_action.args) == {"action"}
    result = log_user_action.invoke(_call("log_user_action", {"action": "query"}, "manual_call_1"))
    assert (
        str(result)
        == "content='logged (call manual_call_1): query' name='log_user_action' tool_call_id='manual_call_1'"
    )


def test_T5_the_model_cannot_set_it() -> None:
    forged = {"action": "query", "tool_call_id": "forged"}
    result = log_user_action.invoke(_call("log_user_action", forged, "real"))
    assert "call real" in result.content


@tool
def find_user(user_id: int) -> str:
    """Find a user."""
    if user_id < 1:
        raise ToolException(f"The id must be positive, got {user_id}.")
    return "Zhang"


def test_T6_called_directly_the_tool_raises() -> None:
    with pytest.raises(ToolException, match="must be positive, got -1"):
        find_user.invoke({"user_id": -1})


def test_T6_under_a_node_it_becomes_the_answer_word_for_word() -> None:
    (answer,) = ToolNode([find_user]).invoke([AIMessage(tool_calls=[_call("find_user", {"user_id": -1})])])
    assert (answer.content, answer.status) == ("The id must be positive, got -1.", "error")


def _named(error: BaseException) -> str:
    return f"handled {type(error).__name__}"


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (True, "The id must be positive, got -1."),
        ("Something went wrong.", "Something went wrong."),
        (ToolException, "The id must be positive, got -1."),
        ((ValueError, ToolException), "The id must be positive, got -1."),
        (_named, "handled ToolException"),
    ],
)
def test_T7_a_tool_handles_its_own_errors(rule: Any, told: str) -> None:
    assert find_user.with_config(handle_tool_errors=rule).invoke({"user_id": -1}) == told


@pytest.mark.parametrize("rule", [False, KeyError])
def test_T7_what_the_rule_does_not_cover_is_raised(rule: Any) -> None:
    with pytest.raises(ToolException):
        find_user.with_config(handle_tool_errors=rule).invoke({"user_id": -1})


def test_T7_argument_errors_are_covered_too() -> None:
    told = find_user.with_config(handle_tool_errors=True).invoke({"user_id": "x"})
    assert "$.user_id" in told
    with pytest.raises(InvalidArguments):
        find_user.invoke({"user_id": "x"})


@pytest.mark.parametrize("args", [{"user_id": "x"}, '{"user_id": 1'])
def test_T7_every_form_of_a_rule_holds_for_argument_errors(args: Any) -> None:
    error = InvalidArguments if isinstance(args, dict) else MalformedArguments

    assert find_user.with_config(handle_tool_errors="own words").invoke(args) == "own words"
    assert find_user.with_config(handle_tool_errors=_named).invoke(args) == f"handled {error.__name__}"
    assert "user_id" in find_user.with_config(handle_tool_errors=error).invoke(args)
    for rule in (False, KeyError):
        with pytest.raises(error):
            find_user.with_config(handle_tool_errors=rule).invoke(args)


def test_T7_a_request_to_correct_the_arguments_is_covered_like_any_exception_of_the_body() -> None:
    @tool
    def book(day: str) -> str:
        """Book a day."""
        raise ModelRetry("Give the day as a date.")

    assert book.with_config(handle_tool_errors="own words").invoke({"day": "soon"}) == "own words"
    assert book.with_config(handle_tool_errors=True).invoke({"day": "soon"}) == "Give the day as a date."
    with pytest.raises(ModelRetry):
        book.invoke({"day": "soon"})


def test_T7_under_a_node_the_tools_rule_goes_first_and_false_leaves_it_to_the_node() -> None:
    message = AIMessage(tool_calls=[_call("find_user", {"user_id": -1})])
    own = find_user.with_config(handle_tool_errors="own words")
    silent = find_user.with_config(handle_tool_errors=False)

    assert ToolNode([own]).invoke([message])[0].content == "own words"
    assert ToolNode([silent], handle_tool_errors="node's words").invoke([message])[0].content == "node's words"
    with pytest.raises(ToolException):
        ToolNode([silent], handle_tool_errors=False).invoke([message])


def test_T7_the_original_tool_is_untouched_and_unknown_options_are_refused() -> None:
    find_user.with_config(handle_tool_errors=True)

    with pytest.raises(ToolException):
        find_user.invoke({"user_id": -1})
    with pytest.raises(OptionError, match="handle_errors"):
        find_user.with_config(handle_errors=True)


@pytest.mark.parametrize("name", ["uid", "user", "user_id"])
def test_T8_a_field_takes_its_aliases_and_its_own_name(name: str) -> None:
    class Args(BaseModel):
        user_id: str = Field(validation_alias=AliasChoices("uid", "user"))

    @tool(args_schema=Args)
    def profile(user_id: str) -> str:
        """Show a profile."""
        return user_id

    assert profile.invoke({name: "U123"}) == "U123"
