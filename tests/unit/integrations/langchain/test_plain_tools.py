"""A plain tool of LangChain's whose function is run straight away comes to what its own ``invoke`` comes to."""

# LangChain's own types are partly unknown.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import asyncio
import copy
import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.callbacks import BaseCallbackHandler, dispatch_custom_event
from langchain_core.globals import set_debug
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.runnables.config import ensure_config, var_child_runnable_config
from langchain_core.tools import (
    BaseTool,
    InjectedToolArg,
    InjectedToolCallId,
    StructuredTool,
    Tool,
    ToolException,
    tool,
)
from langchain_core.tracers.context import collect_runs, tracing_v2_enabled
from langgraph.types import Command
from langsmith import tracing_context
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.v1 import BaseModel as LegacyModel

from surehand.integrations.langchain import ToolNode
from surehand.integrations.langchain.listeners import is_heard
from surehand.integrations.langchain.plain_tools import PlainTool, plain_tool

_got: ContextVar[list[Any]] = ContextVar("got")
"""What the functions of the tools under test were given."""
_left = ContextVar("left", default="nothing")


def got(**given: Any) -> None:
    _got.get().append({name: (type(value).__name__, value) for name, value in given.items()})


class Point(BaseModel):
    x: int = 0
    y: float = 1.5


class Strange(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    a: int = Field(validation_alias=AliasChoices("first", "a"))
    b: list[int] = Field(default_factory=list)
    c: Point = Field(default_factory=Point)
    d: str = Field(default="d", alias="dee")
    hidden: int = Field(default=3, exclude=True)

    @field_validator("b", mode="before")
    @classmethod
    def longer(cls, value: Any) -> Any:
        if isinstance(value, list):
            value.append(len(value))  # an effect on what was sent
        return value

    @model_validator(mode="after")
    def doubled(self) -> Strange:
        self.a = 2 * self.a
        return self


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    a: int


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    a: int
    b: Literal["x", "y"] | None = None


class Refusing(BaseModel):
    a: int

    @field_validator("a")
    @classmethod
    def small(cls, value: int) -> int:
        if value > 3:
            raise ToolException("Too much.")
        return value


class Legacy(LegacyModel):
    a: int = 1


def simple(a: int, b: str = "b", c: list[int] | None = None) -> Any:
    """Take simple things."""
    got(a=a, b=b, c=c)
    return {"a": a, "b": b, "c": c}


def strange(**given: Any) -> Any:
    """Take what a strange model has."""
    got(**given)
    return sorted(given)


def failing(a: int) -> Any:
    """Fail in many ways."""
    got(a=a)
    if a == 0:
        raise ToolException("Not zero.")
    if a == 1:
        Point.model_validate({"x": "no"})
    if a == 2:
        raise ToolException
    return 1 / (a - 3)


def both(a: int) -> Any:
    """Return content and an artifact, or something else."""
    got(a=a)
    return [("text", {"a": a}), (["x"], None), ("one",), ("1", "2", "3"), "text", None][abs(a) % 6]


def many(a: int) -> Any:
    """Return results of many kinds."""
    got(a=a)
    kinds: list[Callable[[], Any]] = [
        lambda: "text",
        lambda: None,
        lambda: [{"type": "text", "text": "block"}],
        lambda: ({"type": "text", "text": "block"}, "x"),
        lambda: {"ü": [a]},
        lambda: ToolMessage("own", tool_call_id="c1"),
        lambda: ToolMessage("own", tool_call_id="c1", status="error"),
        lambda: Command(update={"a": a}),
        lambda: [Command(update={"a": a}), ToolMessage("own", tool_call_id="c1")],
        lambda: Point(x=a),
        lambda: b"bytes",
    ]
    return kinds[abs(a) % len(kinds)]()


def told(a: int, config: RunnableConfig, *, more: int = 2) -> Any:
    """Take the configuration."""
    seen = {name: config.get(name) for name in ("tags", "metadata", "configurable", "recursion_limit", "run_id")}
    got(a=a, more=more, seen=seen, child=seen_of(var_child_runnable_config.get()))
    _left.set("something")
    return a


def seen_of(config: Any) -> Any:
    around = config["callbacks"]
    tags, metadata = sorted(around.inheritable_tags), around.inheritable_metadata
    known = [config.get(name) for name in ("tags", "metadata", "configurable", "recursion_limit", "run_name")]
    return [known, type(around).__name__, around.parent_run_id is not None, tags, metadata]


def hosted(a: int, held: Annotated[Any, InjectedToolArg], id: Annotated[str, InjectedToolCallId] = "none") -> Any:
    """Take what the host has."""
    got(a=a, held=held, id=id)
    return "ok"


def nothing() -> str:
    """Take nothing."""
    got()
    return "done"


def text(given: str) -> str:
    """Take a text."""
    got(given=given)
    return given.upper()


def any_arguments(**given: Any) -> Any:
    """Take anything."""
    got(**given)
    return len(given)


JSON_SCHEMA = {"title": "j", "description": "j", "type": "object", "properties": {"a": {"type": "integer"}}}
STRANGE: Any = {"name": "strange", "description": "Strange.", "func": strange}

PLAIN: dict[str, BaseTool] = {
    "simple": tool(simple),
    "strange": StructuredTool(**STRANGE, args_schema=Strange),
    "open": StructuredTool(**STRANGE, args_schema=Open),
    "closed": StructuredTool(**STRANGE, args_schema=Closed),
    "closed, told": StructuredTool(**STRANGE, args_schema=Closed, handle_validation_error=True),
    "closed, in own words": StructuredTool(**STRANGE, args_schema=Closed, handle_validation_error=str),
    "refusing": StructuredTool(**STRANGE, args_schema=Refusing, handle_tool_error=True),
    "failing": tool(failing),
    "failing, told": StructuredTool.from_function(failing, handle_tool_error=True, handle_validation_error="Wrong."),
    "failing, in own words": StructuredTool.from_function(failing, handle_tool_error=lambda e: [f"<{e}>"]),
    "both": tool(response_format="content_and_artifact")(both),
    "many": tool(many),
    "told": tool(told),
    "hosted": tool(hosted),
    "nothing": tool(nothing),
    "text": Tool(name="text", func=text, description="Text."),
    "json": StructuredTool(**STRANGE, args_schema=JSON_SCHEMA),
    "anything": tool(any_arguments),
}


def later(plain: BaseTool) -> BaseTool:
    """The same tool with an asynchronous function alone."""
    function: Any = getattr(plain, "func", None)
    if plain.name == "told":

        async def told_later(a: int, config: RunnableConfig, *, more: int = 2) -> Any:
            await asyncio.sleep(0)
            return told(a, config, more=more)

        return plain.model_copy(update={"func": None, "coroutine": told_later})

    async def run_later(*args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(0)
        return function(*args, **kwargs)

    return plain.model_copy(update={"func": None, "coroutine": run_later})


LATER = {name: later(plain) for name, plain in PLAIN.items() if name != "hosted"}

VALUES = st.one_of(
    st.integers(-1, 12), st.booleans(), st.none(), st.sampled_from(["", "x", "7", "ü"]), st.lists(st.integers(0, 3))
)
NAMES = ("a", "b", "c", "first", "d", "dee", "hidden", "held", "args", "kwargs", "x y", "__arg1", "more", "id")
ARGUMENTS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4) | st.fixed_dictionaries(
    {"a": st.integers(0, 12)}, optional={"b": VALUES, "c": VALUES}
)
CONFIGS: list[Any] = [
    None,
    {
        "tags": ["t"],
        "metadata": {"m": 1},
        "configurable": {"k": 1, "model": "m"},
        "run_name": "n",
        "max_concurrency": 2,
    },
    {"callbacks": [], "recursion_limit": 4},
]


def came_to(run: Callable[[], Any]) -> Any:
    """What a run comes to, and what the function was given."""
    given: list[Any] = []
    token = _got.set(given)
    try:
        answer = run()
    except Exception as error:  # noqa: BLE001 - both ways are to raise the same
        is_about_pair = "content_and_artifact" in str(error)
        answer = (type(error), "pair" if is_about_pair else str(error))
    finally:
        _got.reset(token)
    return _comparable(answer), given, _left.get()


def _comparable(answer: Any) -> Any:
    return answer.model_dump() if isinstance(answer, ToolMessage) else repr(answer)


def by_itself(plain: BaseTool, arguments: Any, config: Any) -> Any:
    call: Any = {"type": "tool_call", "id": "c1", "name": plain.name, "args": copy.deepcopy(arguments)}
    return plain.invoke(call, config)


async def by_itself_later(plain: BaseTool, arguments: Any, config: Any) -> Any:
    call: Any = {"type": "tool_call", "id": "c1", "name": plain.name, "args": copy.deepcopy(arguments)}
    return await plain.ainvoke(call, config)


def straight(known: PlainTool, arguments: Any, config: Any) -> Any:
    return known.answer(known.now(copy.deepcopy(arguments), "c1", ensure_config(config)), "c1")


async def straight_later(known: PlainTool, arguments: Any, config: Any) -> Any:
    returned = await known.later(copy.deepcopy(arguments), "c1", ensure_config(config))
    return known.answer(returned, "c1")


def known_of(plain: BaseTool) -> PlainTool:
    known = plain_tool(plain)
    assert known is not None
    return known


@pytest.mark.parametrize("kind", PLAIN)
@given(arguments=ARGUMENTS, config=st.sampled_from(CONFIGS))
@settings(max_examples=60)
def test_a_function_is_given_and_its_result_made_into_the_same(kind: str, arguments: Any, config: Any) -> None:
    plain = PLAIN[kind]
    known = known_of(plain)
    if known.fits(arguments):
        expected = came_to(lambda: by_itself(plain, arguments, config))
        assert came_to(lambda: straight(known, arguments, config)) == expected


@pytest.mark.parametrize("kind", LATER)
@given(arguments=ARGUMENTS, config=st.sampled_from(CONFIGS))
@settings(max_examples=30)
def test_so_it_is_with_an_asynchronous_function(kind: str, arguments: Any, config: Any) -> None:
    plain = LATER[kind]
    known = known_of(plain)
    if known.fits(arguments):
        expected = came_to(lambda: asyncio.run(by_itself_later(plain, arguments, config)))
        assert came_to(lambda: asyncio.run(straight_later(known, arguments, config))) == expected


@pytest.mark.parametrize("kind", [*PLAIN])
def test_every_kind_is_run_both_ways_at_least_once(kind: str) -> None:
    arguments: dict[str, Any] = (
        {"given": "x"} if kind == "text" else {} if kind == "nothing" else {"a": 3, "held": 1, "dee": "e"}
    )
    if kind in ("simple", "closed", "closed, told", "closed, in own words", "failing", "failing, told", "both", "many"):
        arguments = {"a": 4}
    known = known_of(PLAIN[kind])
    assert known.fits(arguments)
    answer, given, _ = came_to(lambda: straight(known, arguments, None))
    assert (answer, given) == came_to(lambda: by_itself(PLAIN[kind], arguments, None))[:2]
    assert given or kind in ("refusing", "told")


# -- what is left to ``invoke`` ----------------------------------------------------------------------------------------


class Own(StructuredTool):
    def _run(self, *args: Any, **kwargs: Any) -> Any:
        return "own"


def with_callbacks(a: int, callbacks: Any = None) -> str:
    """Take callbacks."""
    return f"{a}{callbacks}"


@pytest.mark.parametrize(
    "other",
    [
        Own(**STRANGE, args_schema=Open),
        StructuredTool(**STRANGE, args_schema=Legacy),
        Tool(name="t", func=text, description="T.", args_schema=Open),
        tool(with_callbacks),
        StructuredTool(name="none", args_schema=Open),
    ],
)
def test_a_tool_that_is_not_plain_is_left_to_its_own_invoke(other: BaseTool) -> None:
    assert plain_tool(other) is None


def test_a_call_is_left_to_invoke_once_somebody_has_put_a_method_round_it(monkeypatch: pytest.MonkeyPatch) -> None:
    known = known_of(tool(simple))
    monkeypatch.setattr(StructuredTool, "run", functools.wraps(StructuredTool.run)(lambda *_, **__: "watched"))
    assert not known.fits({"a": 1})


@pytest.mark.parametrize("name", ["self", "config", "run_manager", "callbacks"])
def test_arguments_that_are_called_as_those_of_langchains_methods_are_left_to_it(name: str) -> None:
    assert not known_of(PLAIN["open"]).fits({"a": 1, name: 2})


# -- who hears -------------------------------------------------------------------------------------------------------

PLAINEST = PLAIN["simple"]


class Hearing(BaseCallbackHandler):
    def __init__(self) -> None:
        self.heard: list[Any] = []

    def on_tool_start(self, serialized: Any, input_str: str, **kwargs: Any) -> None:
        self.heard.append(("tool", kwargs["run_id"], kwargs.get("inputs")))

    def on_tool_end(self, output: Any, **kwargs: Any) -> None:
        self.heard.append(("end", kwargs["run_id"], output.content))

    def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
        self.heard.append(("chain", kwargs["parent_run_id"], inputs))


def test_nobody_hears_of_a_run_without_a_handler_or_a_trace() -> None:
    assert not is_heard(PLAINEST, ensure_config())
    assert not is_heard(PLAINEST, ensure_config({"tags": ["t"], "callbacks": []}))


def test_handlers_of_the_run_and_of_the_tool_hear() -> None:
    assert is_heard(PLAINEST, ensure_config({"callbacks": [Hearing()]}))
    assert is_heard(PLAINEST.model_copy(update={"callbacks": [Hearing()]}), ensure_config())
    assert is_heard(PLAINEST.model_copy(update={"verbose": True}), ensure_config())


def test_traces_and_switches_hear(monkeypatch: pytest.MonkeyPatch) -> None:
    with collect_runs():
        assert is_heard(PLAINEST, ensure_config())
    with tracing_v2_enabled(client=object()):  # type: ignore[arg-type]  # nothing is sent
        assert is_heard(PLAINEST, ensure_config())
    options: tuple[Any, ...] = ({"enabled": True}, {"tags": ["t"]}, {"metadata": {"m": 1}})
    for seen in options:
        with tracing_context(**seen):
            assert is_heard(PLAINEST, ensure_config())
    set_debug(True)
    try:
        assert is_heard(PLAINEST, ensure_config())
    finally:
        set_debug(False)
    monkeypatch.setenv("LANGCHAIN_TRACING", "true")
    assert is_heard(PLAINEST, ensure_config())
    monkeypatch.undo()
    assert not is_heard(PLAINEST, ensure_config())


PLUS_ONE = RunnableLambda[int, int](lambda x: x + 1)


def nested(a: int) -> Any:
    """Run a chain inside."""
    dispatch_custom_event("inside", {"a": a})
    return PLUS_ONE.invoke(a)


def nested_heard(a: int) -> Any:
    """Run a chain inside that somebody hears of."""
    hearing = Hearing()
    around: Any = var_child_runnable_config.get()
    around["callbacks"].add_handler(hearing)
    PLUS_ONE.invoke(a)
    ((_, parent, _),) = hearing.heard
    return str(parent == around["callbacks"].parent_run_id is not None)


def answered(made: BaseTool, config: Any = None) -> Any:
    calls: Any = [{"id": "c1", "name": made.name, "args": {"a": 1}, "type": "tool_call"}]
    (message,) = ToolNode([made]).invoke([AIMessage("", tool_calls=calls)], config)
    return message.content


def test_what_runs_inside_of_a_tool_is_a_child_of_its_run() -> None:
    hearing = Hearing()
    assert answered(tool(nested), {"callbacks": [hearing]}) == "2"
    (_, run, inputs), (_, parent, _), (_, end, content) = hearing.heard
    assert (inputs, run == parent == end, content) == ({"a": 1}, True, "2")


def test_it_has_a_parent_where_nobody_hears_of_the_tool_too() -> None:
    assert answered(tool(nested)) == "2"
    assert answered(tool(nested_heard)) == "True"


def test_what_a_function_puts_into_the_context_stays_inside() -> None:
    known = known_of(PLAIN["told"])
    came_to(lambda: straight(known, {"a": 1}, None))
    assert _left.get() == "nothing"


async def lingering(a: int) -> str:
    """Stay in its own context over all its waits."""
    _left.set(f"inside {a}")
    try:
        async with asyncio.timeout(0):
            await asyncio.Event().wait()
    except TimeoutError:
        async with asyncio.TaskGroup() as group:
            other = group.create_task(asyncio.sleep(0, _left.get()))
        return f"{other.result()}, {_left.get()}"
    return "never"


def test_a_coroutine_keeps_its_context_over_its_waits_and_leaks_nothing_of_it() -> None:
    known = known_of(tool(lingering))

    async def two() -> list[Any]:
        values = [(await known.later({"a": a}, "c1", ensure_config())).value for a in (1, 2)]
        return [*values, _left.get()]

    assert asyncio.run(two()) == ["inside 1, inside 1", "inside 2, inside 2", "nothing"]


def test_a_cancellation_reaches_the_coroutine_and_gets_out_of_it() -> None:
    seen: list[str] = []

    async def hanging(a: int) -> None:
        """Hang."""
        _left.set(f"inside {a}")
        try:
            await asyncio.Event().wait()
        finally:
            seen.append(_left.get())

    async def in_time() -> None:
        async with asyncio.timeout(0.01):
            await known_of(tool(hanging)).later({"a": 1}, "c1", ensure_config())

    with pytest.raises(TimeoutError):
        asyncio.run(in_time())
    assert seen == ["inside 1"]
