"""What stands around a request to the model."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from support.agents import add, asking, call, kinds
from surehand import (
    AgentMiddleware,
    AIMessage,
    HumanMessage,
    InputError,
    ModelError,
    ModelRequest,
    ModelResponse,
    OptionError,
    SystemMessage,
    create_agent,
    tool,
)
from surehand.agent import AgentState, ToolStrategy, dynamic_prompt, wrap_model_call
from surehand.testing import FunctionModel, ScriptedModel


class Counted(AgentState, total=False):
    tokens: int


class Wrapped(AgentMiddleware[Any]):
    """Writes down when it is entered and left."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self.log = log

    def wrap_model_call(self, request: ModelRequest, handler: Any) -> ModelResponse:
        self.log.append(f"{self.name} in")
        response: ModelResponse = handler(request)
        self.log.append(f"{self.name} out")
        return response


def asked_with(
    model: ScriptedModel, wrap: Callable[[Any, Any], Any], tools: Sequence[Any] = (add,), **options: Any
) -> dict[str, Any]:
    """The result of an agent whose requests go through a function."""
    return create_agent(model, tools, middleware=[wrap_model_call(wrap)], **options).invoke("hi")


def test_the_first_middleware_is_the_outermost() -> None:
    log: list[str] = []
    create_agent(ScriptedModel(["5"]), middleware=[Wrapped("x", log), Wrapped("y", log)]).invoke("hi")
    assert log == ["x in", "y in", "y out", "x out"]


def test_a_synchronous_wrapper_runs_on_a_thread_and_an_asynchronous_one_on_the_loop() -> None:
    threads: list[bool] = []

    def here(request: ModelRequest, handler: Any) -> Any:
        threads.append(threading.current_thread() is threading.main_thread())
        return handler(request)

    async def there(request: ModelRequest, handler: Any) -> Any:
        threads.append(threading.current_thread() is threading.main_thread())
        return await handler(request)

    agent = create_agent(ScriptedModel(["5"]), middleware=[wrap_model_call(here), wrap_model_call(there)])
    asyncio.run(agent.ainvoke("hi"))
    assert threads == [False, True]


def test_a_request_holds_what_the_model_is_asked_with() -> None:
    found: list[ModelRequest] = []

    def look(request: ModelRequest, handler: Any) -> Any:
        found.append(request)
        return handler(request)

    model = ScriptedModel([asking(), "5"])
    asked_with(model, look, system_prompt="Be short.", tool_choice="add")
    first, second = found
    assert [message.text for message in first.messages] == ["hi"]
    assert (first.system_prompt, first.tools, first.tool_choice) == ("Be short.", (add,), "add")
    assert (first.model, first.response_format, second.tool_choice) == (model, None, None)
    assert first.state["messages"] == first.messages


def test_what_is_changed_is_what_the_model_is_asked_with() -> None:
    def change(request: ModelRequest, handler: Any) -> Any:
        return handler(
            request.override(
                messages=[*request.messages, HumanMessage("please")],
                system_prompt="Be kind.",
                tool_choice="required",
            )
        )

    model = ScriptedModel(["5"])
    result = asked_with(model, change)
    assert [message.text for message in model.requests[0]] == ["Be kind.", "hi", "please"]
    assert model.requests[0].tool_choice == "required"
    assert kinds(result) == ["human", "ai"]


def test_without_a_system_prompt_none_is_sent() -> None:
    model = ScriptedModel(["5"])
    asked_with(model, lambda request, handler: handler(request.override(system_prompt=None)), system_prompt="Hello.")
    assert [message.type for message in model.requests[0]] == ["human"]


def test_another_model_may_be_asked() -> None:
    other = ScriptedModel([ModelError(model="x", problem="down", remedy="Wait."), "from the other"])
    main = ScriptedModel([ModelError(model="m", problem="down", remedy="Wait.")])

    async def fall_back(request: ModelRequest, handler: Any) -> Any:
        for model in (request.model, other, other):
            try:
                return await handler(request.override(model=model))
            except ModelError:
                continue
        return AIMessage("nobody is there")

    result = asked_with(main, fall_back)
    assert result["messages"][-1].text == "from the other"
    assert other.requests[1].tool_names == ("add",)


def test_fewer_tools_may_be_offered_and_described_in_other_words() -> None:
    @tool
    def other() -> str:
        """Do something else."""
        return "done"

    def only_add(request: ModelRequest, handler: Any) -> Any:
        return handler(request.override(tools=[tool("add", description="Plus.")(add.func)]))

    model = ScriptedModel([asking(), "5"])
    result = asked_with(model, only_add, [add, other])
    assert model.requests[0].tool_names == ("add",)
    assert result["messages"][2].text == "5"


@pytest.mark.parametrize(
    "stranger",
    [tool("other")(lambda: "x"), tool("add", description="Another one.")(lambda: "x")],
    ids=["another name", "the same name"],
)
def test_tools_that_nobody_could_run_are_refused_at_once(stranger: Any) -> None:
    def offer(request: ModelRequest, handler: Any) -> Any:
        return handler(request.override(tools=[*request.tools[:0], stranger]))

    with pytest.raises(OptionError, match=r"tools that the agent runs: add.*tools of the middleware 'offer'") as caught:
        asked_with(ScriptedModel(["5"]), offer)
    assert "In wrap_model_call of the middleware 'offer'." in caught.value.__notes__


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"model": None}, "model=None"),
        ({"model": "deepseek:x"}, "model='deepseek:x'"),
        ({"messages": ["hi"]}, "holds what is no message"),
        ({"response_format": ToolStrategy(dict)}, "response_format="),
        ({"tool_choice": "nosuch"}, "tool_choice='nosuch'"),
    ],
)
def test_a_request_that_cannot_be_made_is_refused_at_once(changed: Any, message: str) -> None:
    with pytest.raises((InputError, OptionError), match=message):
        asked_with(ScriptedModel(["5"]), lambda request, handler: handler(request.override(**changed)))


def test_a_system_prompt_that_is_no_text_is_refused() -> None:
    with pytest.raises(OptionError, match="system_prompt"):
        asked_with(ScriptedModel(["5"]), lambda request, handler: handler(request.override(system_prompt=5)))


def test_what_is_no_request_is_refused() -> None:
    with pytest.raises(InputError, match="takes the request"):
        asked_with(ScriptedModel(["5"]), lambda request, handler: handler(request.messages))


@pytest.mark.parametrize("returned", [None, "5", HumanMessage("5"), ModelResponse(message="5")])  # type: ignore[arg-type]
def test_what_is_no_reply_is_refused(returned: Any) -> None:
    with pytest.raises(InputError, match="wrap_model_call of the middleware 'wrong' returned no reply"):
        create_agent(
            ScriptedModel(["5"]), middleware=[wrap_model_call(lambda request, handler: returned, name="wrong")]
        ).invoke("hi")


def test_a_reply_may_be_another_one() -> None:
    async def loud(request: ModelRequest, handler: Any) -> AIMessage:
        response: ModelResponse = await handler(request)
        return response.message.replace(content=response.message.text.upper())

    assert asked_with(ScriptedModel(["five"]), loud)["messages"][-1].text == "FIVE"


def test_the_model_need_not_be_asked_and_the_loop_ends_all_the_same() -> None:
    def made_up(request: ModelRequest, handler: Any) -> AIMessage:
        return asking(call(call_id=f"c{len(request.messages)}", a=len(request.messages), b=1))

    model = ScriptedModel([])
    result = asked_with(model, made_up, max_iterations=3)
    assert (result["end_reason"], kinds(result).count("ai"), model.requests) == ("max_iterations", 3, [])


def test_each_reply_counts_towards_the_limit() -> None:
    async def twice(request: ModelRequest, handler: Any) -> Any:
        await handler(request)
        return await handler(request)

    model = FunctionModel(lambda messages: asking(call(call_id=f"c{len(messages)}", a=len(messages), b=1)))
    result = create_agent(model, [add], middleware=[wrap_model_call(twice)], max_iterations=4).invoke("hi")
    assert (result["end_reason"], kinds(result).count("ai")) == ("max_iterations", 2)


def test_replies_that_are_asked_for_at_once_count_each() -> None:
    async def both(request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]) -> ModelResponse:
        return (await asyncio.gather(handler(request), handler(request)))[0]

    model = FunctionModel(lambda messages: asking(call(call_id=f"c{len(messages)}", a=len(messages), b=1)))
    result = create_agent(model, [add], middleware=[wrap_model_call(both)], max_iterations=4).invoke("hi")
    assert (result["end_reason"], kinds(result).count("ai")) == ("max_iterations", 2)


def test_a_response_may_write_keys_of_the_middleware() -> None:
    @wrap_model_call(state_schema=Counted)
    async def count(request: ModelRequest, handler: Any) -> ModelResponse:
        response: ModelResponse = await handler(request)
        return ModelResponse(message=response.message, update={"tokens": 7})

    result = create_agent(ScriptedModel(["5"]), middleware=[count]).invoke("hi")
    assert result["tokens"] == 7


def test_what_is_to_be_written_survives_another_reply_further_out() -> None:
    @wrap_model_call
    async def loud(request: ModelRequest, handler: Any) -> AIMessage:
        response: ModelResponse = await handler(request)
        assert response.result == [response.message]
        return response.message.replace(content="FIVE")

    @wrap_model_call(state_schema=Counted)
    async def count(request: ModelRequest, handler: Any) -> ModelResponse:
        return ModelResponse(message=(await handler(request)).message, update={"tokens": 7})

    result = create_agent(ScriptedModel(["five"]), middleware=[loud, count]).invoke("hi")
    assert (result["tokens"], result["messages"][-1].text) == (7, "FIVE")


@pytest.mark.parametrize("key", ["messages", "end_reason", "model_calls", "jump_to", "nosuch"])
def test_a_response_that_writes_what_it_may_not_is_refused(key: str) -> None:
    async def write(request: ModelRequest, handler: Any) -> ModelResponse:
        return ModelResponse(message=(await handler(request)).message, update={key: 1})

    with pytest.raises(InputError, match="wants to write what it may not"):
        asked_with(ScriptedModel(["5"]), write)


def test_an_exception_of_a_wrapper_says_whose_it_is() -> None:
    def fail(request: ModelRequest, handler: Any) -> Any:
        handler(request)
        raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        asked_with(ScriptedModel(["5"]), fail)
    assert "In wrap_model_call of the middleware 'fail'." in caught.value.__notes__


def test_an_exception_of_the_model_is_nobody_elses() -> None:
    error = ModelError(model="m", problem="down", remedy="Wait.")
    log: list[str] = []
    with pytest.raises(ModelError) as caught:
        create_agent(ScriptedModel([error]), middleware=[Wrapped("x", log)]).invoke("hi")
    assert caught.value is error
    assert not any("middleware" in note for note in caught.value.__notes__)
    assert log == ["x in"]


def test_lost_replies_are_asked_for_again_inside() -> None:
    lost = AIMessage("", response_metadata={"finish_reason": "other"})
    seen: list[str] = []

    async def look(request: ModelRequest, handler: Any) -> Any:
        response = await handler(request)
        seen.append(response.message.text)
        return response

    model = ScriptedModel([lost, "5"])
    assert asked_with(model, look)["end_reason"] == "answer"
    assert (seen, len(model.requests)) == (["5"], 2)


def test_a_prompt_may_depend_on_the_request() -> None:
    @dynamic_prompt
    def prompt(request: ModelRequest) -> str:
        return f"You speak with {request.runtime.context}."

    @dynamic_prompt
    async def longer(request: ModelRequest) -> SystemMessage:
        return SystemMessage(f"{request.system_prompt} Be short.")

    model = ScriptedModel(["5"])
    create_agent(model, middleware=[prompt, longer]).invoke("hi", context="Ann")
    assert model.requests[0][0].text == "You speak with Ann. Be short."


def test_a_model_is_bound_once_for_the_same_changes() -> None:
    bound: list[tuple[str, ...]] = []

    class Watched(ScriptedModel):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            bound.append(tuple(each.spec.name for each in tools))
            return super().bind_tools(tools, **options)

    replies: list[Any] = [reply for n in range(3) for reply in (asking(call(call_id=f"c{n}", a=n, b=n)), "done")]
    agent = create_agent(
        Watched(replies),
        [add],
        middleware=[wrap_model_call(lambda request, handler: handler(request.override(tool_choice="auto")), name="x")],
    )
    for _ in range(3):
        agent.invoke("hi")
    assert bound == [("add",), ("add",)]


@pytest.mark.parametrize("choice", ["add", "required"])
def test_a_choice_of_what_a_wrapper_leaves_out_is_left_open(choice: str) -> None:
    def hide(request: ModelRequest, handler: Any) -> Any:
        return handler(request.override(tools=[]))

    model = ScriptedModel(["hi"])
    create_agent(model, [add], middleware=[wrap_model_call(hide)], tool_choice=choice).invoke("hi")
    assert [(request.tool_names, request.tool_choice) for request in model.requests] == [((), None)]
