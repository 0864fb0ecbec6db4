"""Random conversations: a limit refuses nothing that it leaves room for, and lets nothing through beyond it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from support.conversations import FORMS, Conversation, Form
from surehand import ToolNode, tool
from surehand.calls.history import NOT_EXECUTED, REPEATED, STUCK
from surehand.errors import ToolException
from surehand.policy import Limits, NoProgress

Made = tuple[str, Any]

RIGHT: st.SearchStrategy[Made] = st.tuples(
    st.sampled_from(["first", "second", "failing", "declining"]),
    st.fixed_dictionaries({"number": st.integers(0, 3)}),
)
WRONG_CALLS: list[Made] = [("frist", {}), ("first", {"number": "x"}), ("second", {})]
WRONG: st.SearchStrategy[Made] = st.sampled_from(WRONG_CALLS)
TURNS = st.lists(st.lists(RIGHT | WRONG, min_size=1, max_size=6), max_size=6)
LIMITS = st.builds(
    Limits,
    turns=st.none() | st.integers(1, 6),
    calls=st.none() | st.integers(1, 12),
    calls_per_tool=st.none() | st.integers(1, 6),
    output_chars=st.none() | st.integers(1, 600),
)


@dataclass(slots=True)
class Ran:
    """What the tools did, as they know it themselves."""

    names: Counter[str] = field(default_factory=Counter[str])

    def node(self, **options: Any) -> ToolNode:
        @tool
        def first(number: int) -> str:
            """The first."""
            self.names["first"] += 1
            return f"{number}"

        @tool(read_only=True)
        def second(number: int) -> list[int]:
            """The second."""
            self.names["second"] += 1
            return [number] * number

        @tool
        def failing(number: int) -> str:
            """It fails."""
            self.names["failing"] += 1
            raise ValueError(number)

        @tool(idempotent=True)
        def declining(number: int) -> str:
            """It declines."""
            self.names["declining"] += 1
            raise ToolException("not now")

        return ToolNode([first, second, failing, declining], **options)


@settings(max_examples=150, deadline=None)
@given(TURNS, LIMITS, st.sampled_from(FORMS))
def test_a_call_runs_exactly_where_the_limits_leave_room(turns: list[list[Made]], limits: Limits, form: Form) -> None:
    ran = Ran()
    conversation = Conversation(ran.node(limits=limits, no_progress=None, repeat_guard=False), form)
    told = 0
    for number, calls in enumerate(turns, start=1):
        left = Counter(ran.names)
        is_over = (limits.turns is not None and number > limits.turns) or (
            limits.output_chars is not None and told >= limits.output_chars
        )
        expected: list[bool | None] = []
        for made in calls:
            if made in WRONG_CALLS:
                expected.append(None)
                continue
            may_run = not is_over and has_room(limits, left, made[0])
            left[made[0]] += may_run
            expected.append(may_run)
        answers = conversation.turn(*calls)
        told += sum(map(len, answers))
        refused = [answer.startswith(NOT_EXECUTED) for answer in answers]
        assert refused == [may_run is False for may_run in expected]
        assert ran.names == +left


def has_room(limits: Limits, executed: Counter[str], name: str) -> bool:
    in_all = limits.calls is None or executed.total() < limits.calls
    return in_all and (limits.calls_per_tool is None or executed[name] < limits.calls_per_tool)


@settings(max_examples=150, deadline=None)
@given(TURNS, LIMITS, st.sampled_from(FORMS), st.booleans())
def test_with_every_guard_on_nothing_new_is_held_back_and_no_limit_is_exceeded(
    turns: list[list[Made]],
    limits: Limits,
    form: Form,
    speaks: bool,  # noqa: FBT001 - drawn
) -> None:
    ran = Ran()
    rule = NoProgress(warn_after=1, refuse_after=2)
    conversation = Conversation(ran.node(limits=limits, no_progress=rule), form)
    known: set[str] = set()
    in_run: Counter[str] = Counter()
    for number, calls in enumerate(turns):
        if speaks and number == 3:
            conversation.say("go on")
            known, in_run = set(), Counter()
        before = Counter(ran.names)
        answers = conversation.turn(*calls)
        assert len(answers) == len(calls)
        for made, answer in zip(calls, answers, strict=True):
            assert repr(made) in known or not answer.startswith((STUCK, REPEATED))
        known |= {repr(made) for made in calls}
        in_run += ran.names - before
        assert limits.calls is None or in_run.total() <= limits.calls
        assert limits.calls_per_tool is None or max(in_run.values(), default=0) <= limits.calls_per_tool


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 2), max_size=14), st.sampled_from(FORMS))
def test_an_effect_never_happens_twice_without_being_asked_for_twice(numbers: list[int], form: Form) -> None:
    ran = Ran()
    conversation = Conversation(ran.node(no_progress=None), form)
    asked: Counter[int] = Counter()
    for number in numbers:
        (answer,) = conversation.turn(("first", {"number": number}))
        asked[number] += 1
        assert answer.startswith(REPEATED) == (asked[number] % 2 == 0)
