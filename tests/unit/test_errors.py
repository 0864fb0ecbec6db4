"""Errors: their exact words, their place in the tree, and that nothing of them is lost."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from surehand import errors
from surehand.errors import (
    ApprovalRequired,
    CheckpointConflict,
    CheckpointError,
    Complaint,
    GraphDefinitionError,
    GraphRecursionError,
    InputError,
    InterruptError,
    InterruptExpired,
    InvalidArguments,
    MalformedArguments,
    MissingExtraError,
    ModelError,
    ModelRetry,
    NodeError,
    NodeTimedOut,
    OptionError,
    ProcessDied,
    RemoteError,
    RoutingError,
    RunError,
    ScriptExhausted,
    StoreError,
    SurehandError,
    ToolCallError,
    ToolDefinitionError,
    ToolException,
    ToolServerError,
    ToolTimedOut,
    UsageError,
    shown,
)

WRONG = Complaint(path="$.n", problem="expected an integer, got the text 'x'", rule="int_parsing")

EXAMPLES: list[tuple[SurehandError, type[Exception], str, str]] = [
    (
        OptionError(option="timeout", value=0, expected="a number above 0", remedy="Use None for no limit."),
        ValueError,
        "option_error",
        "timeout=0 is not usable: expected a number above 0. Use None for no limit.",
    ),
    (
        InputError(problem="There is no AI message", value=[], remedy="Pass the model's reply."),
        ValueError,
        "input_error",
        "There is no AI message, got []. Pass the model's reply.",
    ),
    (
        ToolDefinitionError(tool="add", problem="two tools have this name", remedy="Rename one of them."),
        ValueError,
        "tool_definition_error",
        "Tool 'add': two tools have this name. Rename one of them.",
    ),
    (
        GraphDefinitionError(problem="The graph has no entry", remedy="Add an edge from START."),
        ValueError,
        "graph_definition_error",
        "The graph has no entry. Add an edge from START.",
    ),
    (
        MissingExtraError(feature="ChatOpenAI", package="openai", extra="openai"),
        ImportError,
        "missing_extra",
        (
            "ChatOpenAI needs the package 'openai', which is not installed. "
            "Install it with: pip install 'surehand[openai]'"
        ),
    ),
    (
        MalformedArguments(reason="the text ends inside a string", position=9, excerpt='{"a": "b', length=9),
        ValueError,
        "malformed_arguments",
        (
            "The arguments are not one JSON object: the text ends inside a string "
            '(at character 9 of 9, near \'{"a": "b\').'
        ),
    ),
    (
        InvalidArguments(tool="add", complaints=[WRONG], hint="Arguments: n (required)."),
        ValueError,
        "invalid_arguments",
        "Invalid arguments for tool 'add':\n- $.n: expected an integer, got the text 'x'\nArguments: n (required).",
    ),
    (ToolException("busy", retryable=True, retry_after=2), RunError, "tool_error", "busy"),
    (ModelRetry("give a date"), ToolException, "model_retry", "give a date"),
    (ApprovalRequired("Ask first.", amount=3), RunError, "approval_required", "Ask first."),
    (
        ToolCallError(call_id="c1", tool="add", kind="timeout", text="too slow"),
        RunError,
        "tool_call_error",
        "The call 'c1' of tool 'add' failed (timeout): too slow",
    ),
    (
        ToolTimedOut(call_id="c1", tool="add", kind="timeout", text="too slow"),
        TimeoutError,
        "tool_timed_out",
        "The call 'c1' of tool 'add' failed (timeout): too slow",
    ),
    (
        ProcessDied(tool="add", exit_code=-9),
        RunError,
        "process_died",
        "The process of tool 'add' was ended by SIGKILL before it had answered.",
    ),
    (RemoteError("refused with 503"), RunError, "remote_error", "refused with 503"),
    (
        ToolServerError(server="git", problem="did not start within 30 seconds", remedy="Nothing was executed."),
        RunError,
        "tool_server_error",
        "The tool server 'git' did not start within 30 seconds. Nothing was executed.",
    ),
    (
        NodeError(node="count", problem="it read 'secret'", remedy="Name it in reads=."),
        RunError,
        "node_error",
        "Node 'count': it read 'secret'. Name it in reads=.",
    ),
    (
        RoutingError(source="a", target="x", known=["a", "b"]),
        RunError,
        "routing_error",
        "Node 'a' leads to 'x', which is no node of this graph. Expected one of: a, b.",
    ),
    (
        GraphRecursionError(limit=5, state={"n": 1}),
        RecursionError,
        "graph_recursion_limit",
        (
            "The graph did not end within 5 steps. Look for a loop without an exit, "
            "or raise the limit with config={'recursion_limit': …}."
        ),
    ),
    (
        ModelError(model="gpt", problem="no key", remedy="Set OPENAI_API_KEY."),
        RunError,
        "model_error",
        "Model 'gpt': no key. Set OPENAI_API_KEY.",
    ),
    (
        ScriptExhausted(replies=2),
        AssertionError,
        "script_exhausted",
        "The script has 2 replies and was asked for one more. Add a reply, or ask less.",
    ),
    (
        InterruptError(problem="No question has this id", value="q1", remedy="The open ones are: q2."),
        ValueError,
        "interrupt_error",
        "No question has this id, got 'q1'. The open ones are: q2.",
    ),
    (
        InterruptExpired(question="Send it?", expired_at=100.0),
        TimeoutError,
        "interrupt_expired",
        "Nobody answered in time: 'Send it?'. Ask again if the answer still matters.",
    ),
    (
        CheckpointError(problem="the text is no JSON", remedy="Restore it.", thread_id="t", where="checkpoint 'c'"),
        StoreError,
        "checkpoint_error",
        "thread 't', checkpoint 'c': the text is no JSON. Restore it.",
    ),
    (
        NodeTimedOut(node="n", timeout=2.0),
        TimeoutError,
        "node_timed_out",
        "Node 'n' did not end within 2 s. What it did so far may have happened.",
    ),
    (
        CheckpointConflict(thread_id="t"),
        CheckpointError,
        "checkpoint_conflict",
        (
            "thread 't': another run has gone on with the thread meanwhile. "
            "Read the state again, and run from there if there is still something to do."
        ),
    ),
    (
        StoreError(problem="The disk is full", remedy="Free some space."),
        SurehandError,
        "store_error",
        "The disk is full. Free some space.",
    ),
]
IDS = [type(error).__name__ for error, *_ in EXAMPLES]


@pytest.mark.parametrize(("error", "kind", "code", "words"), EXAMPLES, ids=IDS)
def test_an_error_says_what_happened_what_was_expected_and_what_to_do(
    error: SurehandError, kind: type[Exception], code: str, words: str
) -> None:
    assert str(error) == words
    assert isinstance(error, kind)
    assert error.code == code


@pytest.mark.parametrize(("error", "kind", "code", "words"), EXAMPLES, ids=IDS)
def test_an_error_survives_pickling_with_all_it_holds(
    error: SurehandError, kind: type[Exception], code: str, words: str
) -> None:
    error.tool_messages = ["evidence"]  # type: ignore[attr-defined]  # what a node leaves on it
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.__dict__) == (type(error), words, error.__dict__)


def test_every_class_has_an_example_and_a_code_of_its_own() -> None:
    classes = [value for name in errors.__all__ if isinstance(value := getattr(errors, name), type)]
    concrete = {
        kind
        for kind in classes
        if issubclass(kind, SurehandError) and kind not in {SurehandError, UsageError, RunError}
    }
    assert concrete == {type(error) for error, *_ in EXAMPLES}
    assert len({kind.code for kind in concrete}) == len(concrete)


def test_a_subclass_with_a_constructor_of_its_own_pickles_too() -> None:
    copy = pickle.loads(pickle.dumps(PaymentFailed(402)))
    assert (str(copy), copy.status, copy.retryable) == ("status 402", 402, True)


class PaymentFailed(ToolException):
    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}", retryable=True)
        self.status = status


def test_the_model_is_told_what_to_do_about_arguments() -> None:
    cut = MalformedArguments(reason="the text ends inside a string", is_cut_off=True)
    broken = MalformedArguments(reason="there are two objects")

    assert cut.for_model().endswith("Nothing was executed. The call was cut off. Send it again, complete and shorter.")
    assert broken.for_model().endswith("Send the call again with one complete JSON object as its arguments.")
    assert "Correct the arguments" in InvalidArguments(tool="t", complaints=[WRONG]).for_model()


def test_a_value_in_a_message_is_short_and_never_breaks_it() -> None:
    class Rude:
        def __repr__(self) -> str:
            raise ValueError

    assert shown("x" * 500) == "'" + "x" * 78 + "…"
    assert shown(Rude()) == "<Rude, repr failed>"


@pytest.mark.parametrize("value", [None, 3, ["a"], {"k": "v"}])
def test_short_values_are_shown_as_they_are(value: Any) -> None:
    assert shown(value) == repr(value)


@pytest.mark.parametrize(
    ("exit_code", "words"),
    [(3, "ended itself with exit code 3"), (0, "exit code 0"), (-250, "was ended by the signal 250")],
)
def test_a_process_that_died_says_of_what(exit_code: int, words: str) -> None:
    assert words in str(ProcessDied(tool="add", exit_code=exit_code))
