"""What becomes of failures that the host decides about."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from surehand import AIMessage, ToolNode, create_agent, tool
from surehand.calls import Call, Host, ToolTable, Turn
from surehand.calls.failures.endings import classify
from surehand.calls.failures.rules import told
from surehand.errors import ToolCallError, ToolException, ToolTimedOut
from surehand.outcomes import FailureKind, Outcome
from surehand.policy import ErrorRule, ErrorRules, Tell
from surehand.testing import ScriptedModel

SECRET = "postgresql://app:hunter2@db/main"
FAILURE = Outcome(kind=FailureKind.TOOL_ERROR, text="busy", error=ToolException("busy"), error_id="0badf00d")


class DatabaseDown(Exception):
    """A class of the host's."""


class Refused(DatabaseDown):
    """A subclass of it."""


CALL = Call("c", "t", {}, 0, Turn(host=Host(table=ToolTable([])), message=AIMessage("")))


def _told(*rules: ErrorRule, outcome: Outcome = FAILURE) -> str | None:
    layers = dict(zip(("own", "node"), rules, strict=False))
    return told(CALL, outcome, ErrorRules(**layers))


def _told_of(error: BaseException, rule: ErrorRule) -> str | None:
    """What the model reads where a body raises the exception; the error id is cut off."""
    outcome = classify(CALL, error)
    text = _told(rule, outcome=outcome)
    return None if text is None else text.removesuffix(f" [error {outcome.error_id}]")


def _loud(error: BaseException) -> str:
    return str(error).upper()


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ((True,), "busy"),
        ((False,), None),
        ((), None),
        (("fixed",), "fixed"),
        ((ToolException,), "busy"),
        ((KeyError,), None),
        (((KeyError, ToolException),), "busy"),
        ((False, True), "busy"),
        ((KeyError, "second"), "second"),
        ((_loud,), "BUSY"),
        (({ToolException: False}, True), "busy"),
        (({KeyError: "own"}, "node"), "node"),
    ],
)
def test_the_first_rule_with_an_answer_is_told(rules: tuple[Any, ...], text: str | None) -> None:
    assert _told(*rules) == text


@pytest.mark.parametrize("answer", [None, "", "  "])
def test_a_function_without_an_answer_leaves_the_default(answer: Any) -> None:
    assert _told(lambda _: answer) == "busy"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (3, "3"),
        ({"retry": False}, '{"retry": false}'),
        ([{"type": "text", "text": "later"}], '[{"type": "text", "text": "later"}]'),
        (Tell.CLASS_ONLY, "ToolException: its text is not shown. [error 0badf00d]"),
    ],
)
def test_the_model_is_told_what_a_function_returns_text_or_not(answer: Any, text: str) -> None:
    assert _told(lambda _: answer) == text


@pytest.mark.parametrize(("kind", "cls"), [("timeout", ToolTimedOut), ("internal", ToolCallError)])
def test_a_failure_without_an_exception_is_given_to_a_function_as_one(kind: str, cls: type[ToolCallError]) -> None:
    seen: list[Any] = []

    def see(error: BaseException) -> str:
        seen.append(error)
        return "x"

    _told(see, outcome=Outcome(kind=FailureKind(kind), text="too slow"))
    assert [(type(error), error.kind) for error in seen] == [(cls, kind)]


def test_a_time_that_is_over_meets_the_rule_for_timeouts() -> None:
    slow = Outcome(kind=FailureKind.TIMEOUT, text="too slow")
    assert _told({TimeoutError: "Try a smaller range."}, outcome=slow) == "Try a smaller range."


@pytest.mark.parametrize(
    ("tell", "text"),
    [
        (True, "DatabaseDown: postgresql://[redacted]@db/main is down"),
        (Tell.REDACTED, "DatabaseDown: postgresql://[redacted]@db/main is down"),
        (Tell.VERBATIM, f"{SECRET} is down"),
        (Tell.CLASS_ONLY, "DatabaseDown: its text is not shown."),
    ],
)
def test_how_much_is_told_can_be_chosen(tell: Any, text: str) -> None:
    assert _told_of(DatabaseDown(f"{SECRET} is down"), tell) == text


@pytest.mark.parametrize(
    ("tell", "text"),
    [(True, SECRET), (Tell.VERBATIM, SECRET), (Tell.REDACTED, "postgresql://[redacted]@db/main")],
)
def test_an_authors_words_are_redacted_only_where_the_host_asks_for_it(tell: Any, text: str) -> None:
    assert _told_of(ToolException(SECRET), tell) == text


@pytest.mark.parametrize("tell", Tell)
def test_a_text_is_never_blank(tell: Tell) -> None:
    assert (_told_of(DatabaseDown(), tell) or "").startswith("DatabaseDown: ")


@pytest.mark.parametrize("rule", [True, Tell.VERBATIM, _loud])
def test_a_text_is_never_longer_than_a_result_may_be(rule: Any) -> None:
    assert len(_told_of(ToolException("x" * 1_000_000), rule) or "") <= 50_000


@pytest.mark.parametrize("tell", Tell)
def test_our_own_words_about_a_fault_of_the_application_stay(tell: Tell) -> None:
    fault = Outcome(kind=FailureKind.INTERNAL, text="Do not retry.", error=ValueError(SECRET))
    assert _told(tell, outcome=fault) == "Do not retry."


RULES: ErrorRule = {DatabaseDown: Tell.CLASS_ONLY, Refused: "refused", PermissionError: False, KeyError: _loud}


@pytest.mark.parametrize(
    ("errors", "text"),
    [
        ([Refused(SECRET)], "refused"),
        ([DatabaseDown(SECRET), Refused()], "2 errors:\n- DatabaseDown: its text is not shown. [error …]\n- refused"),
        ([Refused(), ToolException("no row 3")], "2 errors:\n- refused\n- no row 3"),
        ([Refused(), Refused()], "refused"),
        ([ValueError("a"), Refused()], "2 errors:\n- ValueError: a [error …]\n- refused"),
        ([KeyError("k")], "'K'"),
        ([Refused(), PermissionError()], None),
    ],
)
def test_in_a_group_each_exception_meets_the_rule_of_its_class(errors: list[Exception], text: str | None) -> None:
    outcome = classify(CALL, ExceptionGroup("g", [ExceptionGroup("h", errors)]))
    answer = _told(RULES, True, outcome=outcome) if text else _told(RULES, outcome=outcome)
    assert (answer and answer.replace(str(outcome.error_id), "…")) == text


@pytest.mark.parametrize("rule", [ValueError, ExceptionGroup, Exception])
def test_types_answer_for_a_group_by_what_is_in_it_or_by_its_own(rule: type[Exception]) -> None:
    assert _told_of(ExceptionGroup("g", [ValueError("a")]), rule) == "ValueError: a"


def test_types_that_do_not_cover_a_whole_group_let_it_out() -> None:
    assert _told_of(ExceptionGroup("g", [ValueError("a"), KeyError("b")]), ValueError) is None


def test_a_handler_that_raises_what_it_was_given_writes_no_secret_above_debug(caplog: pytest.LogCaptureFixture) -> None:
    def pass_on(error: BaseException) -> str:
        raise error

    failure = Outcome(kind=FailureKind.EXCEPTION, text="redacted", error=ValueError("password=hunter2"))
    caplog.set_level(logging.INFO, logger="surehand")

    assert _told(pass_on, outcome=failure) == "redacted"
    assert "ValueError at " in caplog.text
    assert "hunter2" not in caplog.text


@tool
def query(sql: str) -> str:
    """Ask the database."""
    raise Refused(SECRET)


def _asked(**options: Any) -> str:
    turn = AIMessage(tool_calls=[{"id": "c", "name": "query", "args": {"sql": "x"}}])
    given = options.pop("tool", query)
    (answer,) = ToolNode([given], **options).invoke([turn])
    text: str = answer.content
    return text


def _on_tool() -> str:
    return _asked(tool=query.with_config(handle_tool_errors={DatabaseDown: "resting"}))


def _on_node() -> str:
    return _asked(handle_tool_errors={DatabaseDown: "resting"})


def _on_override() -> str:
    return _asked(overrides={"query": {"handle_tool_errors": {DatabaseDown: "resting"}}}, handle_tool_errors="node")


@pytest.mark.parametrize("way", [_on_tool, _on_node, _on_override])
def test_a_mapping_is_taken_wherever_a_rule_is(way: Callable[[], str]) -> None:
    assert way() == "resting"


def test_a_direct_caller_is_given_what_no_entry_names() -> None:
    worded = query.with_config(handle_tool_errors={KeyError: "x"})
    with pytest.raises(Refused):
        worded.invoke({"sql": "x"})
    assert query.with_config(handle_tool_errors={DatabaseDown: "resting"}).invoke({"sql": "x"}) == "resting"


def test_a_mapping_that_changes_after_a_node_was_built_changes_nothing() -> None:
    rules: dict[type[Exception], Any] = {DatabaseDown: "resting"}
    node = ToolNode([query], handle_tool_errors=rules)
    rules[DatabaseDown] = "changed"
    (answer,) = node.invoke([AIMessage(tool_calls=[{"id": "c", "name": "query", "args": {"sql": "x"}}])])
    assert answer.content == "resting"


def test_an_agent_takes_rules_by_class_too() -> None:
    turn = AIMessage(tool_calls=[{"id": "c", "name": "query", "args": {"sql": "x"}}])
    model = ScriptedModel([turn, AIMessage("done")])
    create_agent(model, [query], handle_tool_errors={DatabaseDown: "resting"}).invoke("go")
    assert model.requests[1].messages[-1].text == "resting"


class Stubborn(str):
    """A text of the host's that does not want to be looked at."""

    __slots__ = ()

    def strip(self, *_: object) -> str:
        raise ValueError

    def __str__(self) -> str:
        raise ValueError


async def _later(error: Exception) -> str:
    return str(error)


def _in_a_while(error: Exception) -> Any:
    return _later(error)


def _stubbornly(_: Exception) -> str:
    return Stubborn("words")


@pytest.mark.parametrize(("answer", "text"), [(_stubbornly, "words"), (_in_a_while, "busy")])
def test_whatever_a_handler_returns_the_model_is_told_something(answer: Callable[[Exception], Any], text: str) -> None:
    assert _told(answer) == text


def test_a_group_of_any_depth_is_told_by_its_causes() -> None:
    @tool
    def deep() -> None:
        """Fail far inside."""
        error: Any = ValueError("the cause")
        for _ in range(900):
            error = ExceptionGroup("g", [error])
        raise error

    (message,) = ToolNode([deep]).invoke([AIMessage(tool_calls=[{"id": "c", "name": "deep", "args": {}}])])

    assert message.outcome is not None
    assert message.outcome.kind is FailureKind.EXCEPTION
    assert message.text.startswith("ValueError: the cause")
