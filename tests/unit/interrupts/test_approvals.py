"""What somebody decides about a call, in every form that programs send it in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from surehand import Decision, Interrupt, InterruptError, check_answer, read_decision
from surehand.interrupts import APPROVAL_DECISIONS, DOUBT_DECISIONS, know

APPROVAL = Interrupt(
    id="a" * 32,
    value={"tool": "pay", "arguments": {"amount": 5}, "decisions": list(APPROVAL_DECISIONS), "schema": "of a test"},
    kind="approval",
)
DOUBT = Interrupt(id="d" * 32, value={"tool": "pay", "decisions": list(DOUBT_DECISIONS)}, kind="doubt")


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        (True, Decision(kind="approve")),
        ("approve", Decision(kind="approve")),
        ({"type": "approve"}, Decision(kind="approve")),
        ({"decisions": [{"type": "approve"}]}, Decision(kind="approve")),
        (False, Decision(kind="reject")),
        ("reject", Decision(kind="reject")),
        ({"type": "reject"}, Decision(kind="reject")),
        ({"type": "reject", "message": None}, Decision(kind="reject")),
        ({"type": "reject", "message": "Too much."}, Decision(kind="reject", message="Too much.")),
        ({"type": "respond", "message": "It is paid."}, Decision(kind="respond", message="It is paid.")),
        ({"type": "edit", "args": {"amount": 1}}, Decision(kind="edit", arguments={"amount": 1})),
        ({"type": "edit", "args": {}}, Decision(kind="edit", arguments={})),
        (
            {"decisions": [{"type": "edit", "edited_action": {"name": "pay", "args": {"amount": 1}}}]},
            Decision(kind="edit", arguments={"amount": 1}, tool="pay"),
        ),
        ("run_again", Decision(kind="run_again")),
        ({"type": "give_up"}, Decision(kind="give_up")),
        ({"type": "done", "result": None}, Decision(kind="done")),
        ({"type": "done", "result": [1]}, Decision(kind="done", result=[1])),
    ],
)
def test_a_decision_is_read_in_each_of_its_forms(answer: Any, decision: Decision) -> None:
    assert read_decision(answer) == decision


@pytest.mark.parametrize(
    "answer",
    [
        None,
        1,
        "yes",
        "edit",
        "respond",
        "done",
        {},
        [],
        {"type": "accept"},
        {"type": ["approve"]},
        {"type": "edit"},
        {"type": "edit", "args": '{"amount": 1}'},
        {"type": "edit", "edited_action": "pay"},
        {"type": "reject", "message": 5},
        {"type": "respond"},
        {"type": "respond", "message": "  "},
        {"type": "done"},
        {"decisions": []},
        {"decisions": [{"type": "approve"}, {"type": "reject"}]},
        {"decisions": "approve"},
        [{"type": "approve"}],
    ],
)
def test_what_is_no_decision_is_refused_and_what_is_one_is_said(answer: Any) -> None:
    with pytest.raises(InterruptError, match="Answer with True, False"):
        read_decision(answer)


@pytest.mark.parametrize("answer", [True, "reject", {"type": "edit", "args": {}}, {"type": "respond", "message": "ok"}])
def test_an_approval_takes_its_decisions(answer: Any) -> None:
    check_answer(APPROVAL, answer)


@pytest.mark.parametrize("answer", ["run_again", {"type": "done", "result": 1}, "maybe", None])
def test_an_approval_takes_no_others(answer: Any) -> None:
    with pytest.raises(InterruptError):
        check_answer(APPROVAL, answer)


def test_a_doubt_takes_its_decisions_and_no_others() -> None:
    check_answer(DOUBT, "give_up")
    with pytest.raises(InterruptError, match="allows run_again, done, give_up"):
        check_answer(DOUBT, True)


def test_only_the_decisions_that_a_question_allows_are_taken() -> None:
    question = replace(APPROVAL, value={"tool": "pay", "decisions": ["approve", "reject"]})
    check_answer(question, False)
    with pytest.raises(InterruptError, match="allows approve, reject"):
        check_answer(question, {"type": "edit", "args": {}})


def test_an_edit_cannot_change_the_tool() -> None:
    edit: Any = {"type": "edit", "edited_action": {"name": "delete", "args": {}}}
    with pytest.raises(InterruptError, match="about the tool 'pay', and the edit is for 'delete'"):
        check_answer(APPROVAL, edit)


@pytest.mark.parametrize("answer", [None, {}, "maybe", {"type": "edit"}])
def test_a_plain_question_takes_every_answer(answer: Any) -> None:
    check_answer(replace(APPROVAL, kind="question"), answer)


class _Refusing:
    def check(self, arguments: Any, /) -> None:
        raise InterruptError(problem="no", value=arguments, remedy="Other ones.")


def test_an_edit_is_checked_by_the_tool_as_long_as_there_is_one() -> None:
    check = _Refusing()
    know("of a test", check)
    with pytest.raises(InterruptError, match="no, got"):
        check_answer(APPROVAL, {"type": "edit", "args": {"amount": "much"}})
    check_answer(APPROVAL, True)
    del check
    check_answer(APPROVAL, {"type": "edit", "args": {"amount": "much"}})
