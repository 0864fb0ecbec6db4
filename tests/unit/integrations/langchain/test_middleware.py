"""LangChain's agent with our middleware: its calls are checked, run, answered and told by our rules."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType] - its overloads
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ToolCallLimitMiddleware,
    wrap_tool_call,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, InvalidToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, InjectedToolCallId, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import InjectedState
from langgraph.types import Command, interrupt
from pydantic import BaseModel, Field

from surehand import RetryPolicy
from surehand.integrations.langchain.middleware import as_middleware


class Scripted(BaseChatModel):
    """Gives prepared replies and keeps what it was asked."""

    replies: list[AIMessage]
    asked: list[list[Any]] = Field(default_factory=list[Any])

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        self.asked.append(messages)
        return ChatResult(generations=[ChatGeneration(message=self.replies[len(self.asked) - 1])])


Answers = Callable[..., list[ToolMessage]]


@pytest.fixture(params=["sync", "async"])
def answers(request: pytest.FixtureRequest) -> Answers:
    """Runs an agent of LangChain's with our middleware, and gives its tool messages."""

    def run(
        tools: list[BaseTool],
        *replies: AIMessage,
        middleware: list[AgentMiddleware[Any, Any]] | None = None,
        **options: Any,
    ) -> list[ToolMessage]:
        model = Scripted(replies=[*replies, AIMessage("done")])
        agent: Any = create_agent(model, tools, middleware=[as_middleware(**options), *(middleware or [])])
        state = {"messages": [HumanMessage("go")]}
        end = asyncio.run(agent.ainvoke(state)) if request.param == "async" else agent.invoke(state)
        assert end["messages"][-1].content == "done"
        return [message for message in end["messages"] if isinstance(message, ToolMessage)]

    return run


def call(name: str, call_id: str = "c1", /, **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args, "id": call_id, "type": "tool_call"}


def invalid(name: str, args: str, call_id: str = "c1") -> InvalidToolCall:
    return InvalidToolCall(type="invalid_tool_call", name=name, args=args, id=call_id, error="bad")


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def outcome(message: ToolMessage) -> dict[str, Any]:
    found: dict[str, Any] = message.response_metadata["surehand"]
    return found


def test_a_call_is_run_and_its_outcome_is_on_the_message(answers: Answers) -> None:
    (message,) = answers([add], AIMessage("", tool_calls=[call("add", a=1, b="2")]))

    assert (message.content, message.tool_call_id, message.name, message.status) == ("3", "c1", "add", "success")
    assert outcome(message)["attempts"] == 1


def test_all_that_is_wrong_with_arguments_is_told_at_once(answers: Answers) -> None:
    (message,) = answers([add], AIMessage("", tool_calls=[call("add", a="one", c=3)]))

    assert outcome(message)["kind"] == "invalid_arguments"
    assert "a" in message.text
    assert "b" in message.text
    assert message.status == "error"


def test_a_tool_that_raises_ends_no_run(answers: Answers) -> None:
    @tool
    def boom(x: int) -> str:
        """Fail."""
        raise RuntimeError("postgres://admin:hunter2@db/prod refused")

    (message,) = answers([boom], AIMessage("", tool_calls=[call("boom", x=1)]))

    assert outcome(message)["kind"] == "exception"
    assert "hunter2" not in message.text


def test_what_a_tools_author_says_is_told_word_for_word(answers: Answers) -> None:
    @tool
    def book(day: str) -> str:
        """Book a table."""
        raise ToolException("Closed on Mondays; try Tuesday.")

    (message,) = answers([book], AIMessage("", tool_calls=[call("book", day="Monday")]))

    assert (outcome(message)["kind"], message.content) == ("tool_error", "Closed on Mondays; try Tuesday.")


def test_an_unknown_name_is_answered_with_near_ones(answers: Answers) -> None:
    (message,) = answers([add], AIMessage("", tool_calls=[call("ad", a=1, b=2)]))

    assert outcome(message)["kind"] == "unknown_tool"
    assert "add" in message.text


def test_transient_failures_are_tried_again_where_that_is_allowed(answers: Answers) -> None:
    tries: list[int] = []

    @tool
    def fetch(x: int) -> str:
        """Fetch it."""
        tries.append(x)
        if len(tries) < 3:
            raise ConnectionError("reset")
        return "got it"

    (message,) = answers(
        [fetch], AIMessage("", tool_calls=[call("fetch", x=1)]),
        idempotent=True, retry=RetryPolicy(initial_interval=0.001),
    )  # fmt: skip

    assert (message.content, len(tries)) == ("got it", 3)
    assert outcome(message)["attempts"] == 3


def test_a_hanging_tool_is_answered_in_time(answers: Answers) -> None:
    release = threading.Event()

    @tool
    def hang(x: int) -> str:
        """Hang."""
        release.wait(20)
        return "late"

    (message,) = answers([hang], AIMessage("", tool_calls=[call("hang", x=1)]), timeout=0.1)
    release.set()

    assert outcome(message)["kind"] == "timeout"


def test_calls_that_cannot_be_read_are_answered_and_the_model_is_asked_again(answers: Answers) -> None:
    (message,) = answers([add], AIMessage("", invalid_tool_calls=[invalid("add", '{"a": 1, "b"')]))

    assert outcome(message)["kind"] == "malformed"
    assert message.tool_call_id == "c1"


def test_calls_that_only_langchain_cannot_read_are_run(answers: Answers) -> None:
    (message,) = answers([add], AIMessage("", invalid_tool_calls=[invalid("add", "{'a': 1, 'b': 2,}")]))

    assert message.content == "3"


def test_readable_calls_beside_unreadable_ones_are_run(answers: Answers) -> None:
    reply = AIMessage("", tool_calls=[call("add", "c1", a=1, b=2)], invalid_tool_calls=[invalid("add", "{", "c2")])

    found = {message.tool_call_id: message for message in answers([add], reply)}

    assert found["c1"].content == "3"
    assert outcome(found["c2"])["kind"] == "malformed"


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_a_call_that_only_langchain_cannot_read_is_asked_about_like_any(way: str, is_first: bool) -> None:  # noqa: FBT001
    reply = AIMessage("", invalid_tool_calls=[invalid("add", "{'a': 1, 'b': 2,}")])
    asking: AgentMiddleware[Any, Any] = HumanInTheLoopMiddleware(interrupt_on={"add": True})
    middlewares = [as_middleware(), asking] if is_first else [asking, as_middleware()]
    model = Scripted(replies=[reply, AIMessage("done")])
    agent: Any = create_agent(model, [add], middleware=middlewares, checkpointer=InMemorySaver())
    given, config = {"messages": [HumanMessage("go")]}, {"configurable": {"thread_id": "t"}}

    end = agent.invoke(given, config) if way == "invoke" else asyncio.run(agent.ainvoke(given, config))

    assert end["__interrupt__"][0].value["action_requests"][0]["args"] == {"a": 1, "b": 2}


def test_a_structured_answer_that_cannot_be_read_is_answered() -> None:
    class City(BaseModel):
        name: str

    broken = AIMessage("", invalid_tool_calls=[invalid("City", "{'name': 'Rome',}")])
    model = Scripted(replies=[broken, AIMessage("", tool_calls=[call("City", "c2", name="Rome")])])
    agent: Any = create_agent(model, [add], middleware=[as_middleware()], response_format=ToolStrategy(City))

    end = agent.invoke({"messages": [HumanMessage("go")]})

    assert [message.tool_call_id for message in end["messages"] if message.type == "tool"] == ["c1", "c2"]
    assert end["structured_response"] == City(name="Rome")


def test_nothing_of_a_reply_that_was_cut_off_runs_when_another_middleware_has_answered_a_part() -> None:
    calls = [call("add", "c1", a=1, b=2), call("add", "c2", a=3, b=4)]
    cut = AIMessage("", tool_calls=calls, response_metadata={"finish_reason": "length"})
    limit: AgentMiddleware[Any, Any] = ToolCallLimitMiddleware(run_limit=1)
    model = Scripted(replies=[cut, AIMessage("done")])
    agent: Any = create_agent(model, [add], middleware=[as_middleware(), limit])

    found = agent.invoke({"messages": [HumanMessage("go")]})["messages"]

    assert sorted(message.tool_call_id for message in found if message.type == "tool") == ["c1", "c2"]
    assert "3" not in [message.content for message in found]
    assert found[-1].content == "done"


def test_nothing_of_a_reply_that_was_cut_off_runs(answers: Answers) -> None:
    ran: list[str] = []

    @tool
    def delete(path: str) -> str:
        """Delete it."""
        ran.append(path)
        return "deleted"

    cut = AIMessage("", tool_calls=[call("delete", path="/da")], response_metadata={"finish_reason": "length"})
    (message,) = answers([delete], cut)

    assert ran == []
    assert outcome(message)["kind"] == "truncated"


def test_a_model_that_never_sends_a_readable_call_is_not_asked_for_ever() -> None:
    broken = [AIMessage("", invalid_tool_calls=[invalid("add", "{", f"c{number}")]) for number in range(30)]
    model = Scripted(replies=broken)
    agent: Any = create_agent(model, [add], middleware=[as_middleware()])

    end = agent.invoke({"messages": [HumanMessage("go")]})

    assert len(model.asked) == 11
    assert isinstance(end["messages"][-1], ToolMessage)


def test_injected_values_reach_the_tool_and_cannot_be_forged(answers: Answers) -> None:
    @tool
    def who(
        x: int, state: Annotated[dict[str, Any], InjectedState], call_id: Annotated[str, InjectedToolCallId]
    ) -> str:
        """Tell who."""
        return f"{x} {len(state['messages'])} {call_id}"

    (message,) = answers(
        [who], AIMessage("", tool_calls=[call("who", x="7", state={"messages": []}, call_id="forged")])
    )

    assert message.content == "7 2 c1"


def test_commands_of_tools_reach_the_agent(answers: Answers) -> None:
    @tool
    def note(text: str, call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Note it."""
        return Command(update={"messages": [ToolMessage(f"noted {text}", tool_call_id=call_id)]})

    (message,) = answers([note], AIMessage("", tool_calls=[call("note", text="this")]))

    assert message.content == "noted this"


def test_artifacts_stay(answers: Answers) -> None:
    @tool(response_format="content_and_artifact")
    def chart(n: int) -> tuple[str, list[int]]:
        """Draw."""
        return f"{n} points", list(range(n))

    (message,) = answers([chart], AIMessage("", tool_calls=[call("chart", n=3)]))

    assert (message.content, message.artifact) == ("3 points", [0, 1, 2])


def test_what_is_further_inside_sees_only_calls_that_are_right(answers: Answers) -> None:
    seen: list[dict[str, Any]] = []

    class Watch(AgentMiddleware[Any, Any]):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            seen.append(request.tool_call["args"])
            return handler(request)

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            seen.append(request.tool_call["args"])
            return await handler(request)

    reply = AIMessage("", tool_calls=[call("add", "c1", a=1, b=2), call("add", "c2", a="x", b=2)])
    answers([add], reply, middleware=[Watch()])

    assert seen == [{"a": 1, "b": 2}]


def test_a_sync_wrapper_inside_works_with_ours_in_a_sync_run() -> None:
    @wrap_tool_call
    def double(request: Any, handler: Any) -> Any:
        answer = handler(request)
        return answer.model_copy(update={"content": answer.content * 2})

    model = Scripted(replies=[AIMessage("", tool_calls=[call("add", a=1, b=2)]), AIMessage("done")])
    agent: Any = create_agent(model, [add], middleware=[as_middleware(), double])

    assert agent.invoke({"messages": [HumanMessage("go")]})["messages"][2].content == "33"


def test_a_tool_may_ask_a_human_and_goes_on_with_the_answer() -> None:
    ran: list[str] = []

    @tool
    def send(to: str) -> str:
        """Send it."""
        answer = interrupt(f"send to {to}?")
        ran.append(f"{to}: {answer}")
        return f"sent: {answer}"

    reply = AIMessage("", tool_calls=[call("send", "c1", to="Ada"), call("add", "c2", a=1, b=2)])
    model = Scripted(replies=[reply, AIMessage("done")])
    agent: Any = create_agent(model, [send, add], middleware=[as_middleware()], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}

    first = agent.invoke({"messages": [HumanMessage("go")]}, config)
    assert first["__interrupt__"][0].value == "send to Ada?"
    end = agent.invoke(Command(resume="yes"), config)

    assert ran == ["Ada: yes"]
    assert [m.content for m in end["messages"] if isinstance(m, ToolMessage)] == ["sent: yes", "3"]


def test_the_same_effect_asked_for_again_word_for_word_is_not_had_twice() -> None:
    sent: list[str] = []

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        sent.append(str(amount))
        return "paid"

    replies = [AIMessage("", tool_calls=[call("pay", f"c{n}", amount=5)]) for n in range(2)]
    agent: Any = create_agent(Scripted(replies=[*replies, AIMessage("done")]), [pay], middleware=[as_middleware()])

    end = agent.invoke({"messages": [HumanMessage("pay 5")]})

    assert sent == ["5"]
    assert [outcome(m)["kind"] for m in end["messages"] if isinstance(m, ToolMessage)] == [None, "skipped"]
