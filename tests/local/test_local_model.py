"""The embedded model for real: Qwen2.5-Coder-1.5B calls tools, corrects itself and answers.

``make test-local`` runs these. They need the extra ``local`` and a GGUF file that ``SUREHAND_LOCAL_MODEL`` names
(``scripts/fetch_test_model.py`` gets one).
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from surehand import (
    AIMessage,
    HumanMessage,
    LocalModel,
    ModelError,
    ToolException,
    create_agent,
    run_tool_calls,
    tool,
)

MODEL = os.environ.get("SUREHAND_LOCAL_MODEL", "")

pytestmark = [
    pytest.mark.local,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not MODEL, reason="SUREHAND_LOCAL_MODEL names no GGUF file"),
]

KNOWN = {"Beijing": 21, "Mumbai": 33, "New York": 12}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def get_weather(city: str) -> dict[str, Any]:
    """Get the current weather for a city."""
    if city not in KNOWN:
        raise ToolException(f"Unknown city {city!r}. Valid cities: {', '.join(KNOWN)}.")
    return {"city": city, "temp_c": KNOWN[city]}


@tool
def send_email(to: str, subject: str) -> str:
    """Send an email."""
    return "sent"


@tool
def search_web(query: str) -> str:
    """Search the web."""
    return "no result"


@pytest.fixture(scope="module")
def model() -> LocalModel:
    return LocalModel(MODEL, context=4096, max_tokens=200)


def calls_of(message: AIMessage) -> list[tuple[str, Any]]:
    return [(call["name"], call["args"]) for call in message.tool_calls]


def test_the_add_program_runs(model: LocalModel) -> None:
    bound = model.bind_tools([add])
    question = HumanMessage("计算 2+3，必须用 add 工具。")
    ai = bound.invoke([question])
    assert calls_of(ai) == [("add", {"a": 2, "b": 3})]
    result = create_agent(model, [add]).invoke({"messages": [question]})
    assert result["messages"][2].text == "5"
    assert "5" in result["messages"][-1].text


def test_the_weather_program_runs(model: LocalModel) -> None:
    result = create_agent(model, [get_weather]).invoke({"messages": "What's the weather in Beijing?"})
    assert calls_of(result["messages"][1]) == [("get_weather", {"city": "Beijing"})]
    assert result["end_reason"] == "answer"
    assert "21" in result["messages"][-1].text


CHOICES: list[tuple[str, str, dict[str, Any]]] = [
    ("What is the weather in Paris?", "get_weather", {"city": "Paris"}),
    ("How warm is it in Tokyo right now?", "get_weather", {"city": "Tokyo"}),
    ("Is it raining in Mumbai?", "get_weather", {"city": "Mumbai"}),
    ("What is 17 plus 25?", "add", {"a": 17, "b": 25}),
    ("Add 100 and 250.", "add", {"a": 100, "b": 250}),
    ("Compute 3+4 with the tool.", "add", {"a": 3, "b": 4}),
    ("Send an email to bob@example.com with the subject Lunch.", "send_email", {"to": "bob@example.com"}),
    ("Email alice@example.com, subject: Report", "send_email", {"to": "alice@example.com", "subject": "Report"}),
    ("Search the web for the Python release schedule.", "search_web", {}),
    ("Look up llama.cpp on the web.", "search_web", {"query": "llama.cpp"}),
]


@pytest.mark.parametrize(("question", "name", "args"), CHOICES)
def test_one_of_four_tools_is_chosen(model: LocalModel, question: str, name: str, args: dict[str, Any]) -> None:
    reply = model.bind_tools([get_weather, add, send_email, search_web]).invoke(question)
    ((chosen, given),) = calls_of(reply)
    assert chosen == name
    assert {key: given.get(key) for key in args} == args


@pytest.mark.parametrize(
    ("question", "wrong", "right"),
    [
        ("What's the weather in Pekin?", "Pekin", "Beijing"),
        ("What's the weather in Bombay?", "Bombay", "Mumbai"),
        ("What's the weather in NYC?", "NYC", "New York"),
    ],
)
def test_a_city_is_corrected_after_the_error(model: LocalModel, question: str, wrong: str, right: str) -> None:
    asked = AIMessage(tool_calls=[{"id": "c1", "name": "get_weather", "args": {"city": wrong}}])
    (failed,) = run_tool_calls(asked, [get_weather])
    reply = model.bind_tools([get_weather]).invoke([HumanMessage(question), asked, failed])
    assert calls_of(reply) == [("get_weather", {"city": right})]


def test_a_number_in_words_is_corrected_after_the_error(model: LocalModel) -> None:
    asked = AIMessage(tool_calls=[{"id": "c1", "name": "add", "args": {"a": 2, "b": "three"}}])
    (failed,) = run_tool_calls(asked, [add])
    reply = model.bind_tools([add]).invoke([HumanMessage("Add 2 and three."), asked, failed])
    assert calls_of(reply) == [("add", {"a": 2, "b": 3})]


def test_a_whole_run_corrects_itself_and_answers(model: LocalModel) -> None:
    result = create_agent(model, [get_weather]).invoke({"messages": "What's the weather in Pekin?"})
    assert [message.status for message in result["messages"] if message.type == "tool"][-1] == "success"
    assert "21" in result["messages"][-1].text


def test_a_reply_can_be_streamed(model: LocalModel) -> None:
    pieces = list(model.bind_tools([add]).stream("What is 2 + 3? Use the add tool."))
    whole = pieces[0]
    for piece in pieces[1:]:
        whole = whole + piece
    assert len(pieces) > 1
    assert calls_of(whole) == [("add", {"a": 2, "b": 3})]


def test_a_stream_can_be_left_early(model: LocalModel) -> None:
    async def first() -> str:
        pieces = model.astream("Count from 1 to 100.")
        async for piece in pieces:
            if piece.text:
                await pieces.aclose()
                return piece.text
        return ""

    assert asyncio.run(first())
    assert model.invoke("Say hello.").text


def test_several_callers_take_turns(model: LocalModel) -> None:
    async def ask_all() -> list[AIMessage]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(model.bind_tools([add]).ainvoke(f"What is {n} + 1?")) for n in (10, 20)]
        return [task.result() for task in tasks]

    assert [calls_of(reply) for reply in asyncio.run(ask_all())] == [
        [("add", {"a": 10, "b": 1})],
        [("add", {"a": 20, "b": 1})],
    ]


def test_a_request_that_is_too_long_is_an_error_with_the_remedy(model: LocalModel) -> None:
    with pytest.raises(ModelError, match="larger context"):
        model.invoke("word " * 6000)
