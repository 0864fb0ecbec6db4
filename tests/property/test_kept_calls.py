"""Turns that are cut off, asked about, answered in part and taken up again, at any point and through either door.

Whatever happens on the way: no call that may not run twice is begun twice, every call is answered once, and what a
human said stands with the call that he said it about.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from support.kept import THREAD, answers_in, kept, questions_in, turn_of
from surehand import Command, ToolContext, check_transcript, tool
from surehand.checkpoints.memory import MemorySaver

ROUNDS: Final = 40
"""More than any of these runs takes."""

Kind = Literal["pay", "look", "ask", "guarded", "asks_twice"]
KINDS: Final[tuple[Kind, ...]] = ("pay", "look", "ask", "guarded", "asks_twice")


@dataclass
class Bench:
    """Tools that count what they do, and a program that may end in any of them."""

    crashes: list[int]
    """The numbers of the bodies, in the order of their ends, in which the program ends."""
    is_async: bool
    begun: Counter[str] = field(default_factory=Counter[str])
    done: Counter[str] = field(default_factory=Counter[str])
    ended: int = 0

    def end(self, name: str) -> None:
        """Have the effect, and end the program where it is its time."""
        self.done[name] += 1
        self.ended += 1
        if self.ended in self.crashes:
            raise KeyboardInterrupt

    def tools(self) -> list[Any]:
        """The tools, as functions of one kind."""

        def pay(name: str) -> str:
            """Pay."""
            self.begun[name] += 1
            self.end(name)
            return f"paid {name}"

        def look(name: str) -> str:
            """Look."""
            self.begun[name] += 1
            self.end(name)
            return f"seen {name}"

        def ask(name: str, ctx: ToolContext) -> str:
            """Ask, then act."""
            said = ctx.interrupt(name)
            self.begun[name] += 1
            self.end(name)
            return f"{name}: {said}"

        def asks_twice(name: str, ctx: ToolContext) -> str:
            """Ask twice, then act."""
            said = [ctx.interrupt(f"{name} first"), ctx.interrupt(f"{name} second")]
            self.begun[name] += 1
            self.end(name)
            return f"{name}: {', '.join(said)}"

        def guarded(name: str) -> str:
            """Act where somebody allows it."""
            self.begun[name] += 1
            self.end(name)
            return f"allowed {name}"

        return [
            tool(self._on_loop(pay)),
            tool(idempotent=True)(self._on_loop(look)),
            tool(self._on_loop(ask)),
            tool(self._on_loop(asks_twice)),
            tool(requires_approval=True)(self._on_loop(guarded)),
        ]

    def _on_loop(self, function: Any) -> Any:
        if not self.is_async:
            return function

        async def on_loop(**arguments: Any) -> str:
            await asyncio.sleep(0)
            text: str = function(**arguments)
            return text

        on_loop.__name__, on_loop.__doc__ = function.__name__, function.__doc__
        on_loop.__annotations__ = function.__annotations__
        on_loop.__wrapped__ = function  # type: ignore[attr-defined]  # for its signature
        return on_loop


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A turn, and what comes between."""

    kinds: list[Kind]
    crashes: list[int]
    answered_at_a_time: int
    is_async: bool
    is_sequential: bool
    by_async_door: bool
    width: int | None


PLANS = st.builds(
    Plan,
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=6),
    crashes=st.lists(st.integers(1, 8), max_size=3),
    answered_at_a_time=st.integers(1, 3),
    is_async=st.booleans(),
    is_sequential=st.booleans(),
    by_async_door=st.booleans(),
    width=st.sampled_from([None, 1, 2]),
)


def said_about(question: Any) -> Any:
    """What somebody says: approvals are given to every second one."""
    if question.kind == "approval":
        return int(question.value["arguments"]["name"]) % 2 == 0
    return f"about {question.value}"


def _by_async_door(graph: Any, given: Any) -> Any:
    return asyncio.run(graph.ainvoke(given, THREAD))


def run(plan: Plan, bench: Bench) -> dict[str, Any]:
    """Run the turn to its end, however often the program ends on the way."""
    saver = MemorySaver()
    turn = turn_of(*[(kind, {"name": str(position)}) for position, kind in enumerate(plan.kinds)])
    given: Any = turn
    for _ in range(ROUNDS):
        graph = kept(*bench.tools(), saver=saver, sequential=plan.is_sequential, max_concurrency=plan.width)
        try:
            state: dict[str, Any] = _by_async_door(graph, given) if plan.by_async_door else graph.invoke(given, THREAD)
        except KeyboardInterrupt:
            given = None
            continue
        questions = questions_in(state)
        if not questions:
            return state
        given = Command(resume={q.id: said_about(q) for q in questions[: plan.answered_at_a_time]})
    raise AssertionError("it does not end")


@settings(max_examples=80, deadline=None)
@given(PLANS)
def test_whatever_comes_between_each_call_runs_once_and_is_answered_once(plan: Plan) -> None:
    bench = Bench(crashes=plan.crashes, is_async=plan.is_async)
    state = run(plan, bench)
    answers = answers_in(state)
    assert [answer.tool_call_id for answer in answers] == [f"c{position}" for position in range(len(plan.kinds))]
    assert check_transcript(state["messages"]) == []
    for position, (kind, answer) in enumerate(zip(plan.kinds, answers, strict=True)):
        name = str(position)
        outcome = answer.outcome.kind if answer.outcome is not None else None
        if kind != "look":
            assert bench.begun[name] <= 1
        if outcome == "unknown_outcome":
            assert kind != "look"
            assert plan.crashes
        elif kind == "guarded" and position % 2:
            assert (outcome, bench.begun[name]) == ("denied", 0)
        else:
            assert (outcome, bench.done[name] >= 1) == (None, True)
            assert (
                answer.text
                == {
                    "pay": f"paid {name}",
                    "look": f"seen {name}",
                    "ask": f"{name}: about {name}",
                    "asks_twice": f"{name}: about {name} first, about {name} second",
                    "guarded": f"allowed {name}",
                }[kind]
            )
