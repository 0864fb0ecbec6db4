"""What a model is told about calling again after a failure."""

from __future__ import annotations

import json

import pytest

from surehand import AIMessage, RetryPolicy, ToolException, ToolMessage, ToolNode, tool
from surehand.calls.failures.advice import IN_DOUBT


class Limited(Exception):
    """As a client raises it."""

    status_code = 429

    def __init__(self, seconds: float) -> None:
        super().__init__("Too Many Requests")
        self.headers = {"retry-after": str(seconds)}


def told(error: BaseException, *, is_safe: bool = False, retry: RetryPolicy | None = None) -> str:
    """What the model reads of a failure, without the error id."""

    @tool(read_only=is_safe, retry=retry)
    def send() -> None:
        """Send it."""
        raise error

    message = AIMessage(tool_calls=[{"id": "c", "name": "send", "args": {}}])
    answer: ToolMessage = ToolNode([send]).invoke([message])[-1]
    assert answer.outcome is not None
    return answer.text.removesuffix(f" [error {answer.outcome.error_id}]")


def test_an_effect_in_doubt_is_told_as_such() -> None:
    assert told(ConnectionResetError("reset")) == f"ConnectionResetError: reset. {IN_DOUBT}"


def test_what_may_run_twice_leaves_nothing_in_doubt() -> None:
    assert told(ConnectionResetError("reset"), is_safe=True) == "ConnectionResetError: reset"


def test_what_was_never_sent_leaves_nothing_in_doubt() -> None:
    assert told(ConnectionRefusedError("refused")) == "ConnectionRefusedError: refused"


def test_of_a_group_the_advice_stands_below_the_causes() -> None:
    text = told(ExceptionGroup("g", [ValueError("a"), TimeoutError("b")]))
    assert text.splitlines() == ["2 errors:", "- ValueError: a", "- TimeoutError: b", IN_DOUBT]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 second"),
        (5, "5 seconds"),
        (119, "119 seconds"),
        (120, "2 minutes"),
        (901, "16 minutes"),
        (7_200, "2 hours"),
        (200_000, "3 days"),
    ],
)
def test_a_wait_is_told_in_words(seconds: float, words: str) -> None:
    assert f"The service asks to wait {words} before the next call." in told(Limited(seconds))


def test_a_wait_that_was_not_granted_comes_with_what_to_do_meanwhile() -> None:
    assert told(Limited(100), is_safe=True, retry=RetryPolicy()) == (
        "Limited: Too Many Requests. The service asks to wait 100 seconds before the next call. "
        "Go on without it for now, or say that it has to wait."
    )


def test_the_author_s_words_stand_alone_unless_his_wait_is_not_granted() -> None:
    assert told(ToolException("busy", retryable=True, retry_after=20)) == "busy"
    assert told(ToolException("busy", retryable=True, retry_after=90)).startswith(
        "busy. The service asks to wait 90 sec"
    )


def test_never_is_said() -> None:
    assert told(ToolException("closed", retryable=True, retry_after=float("inf"))) == (
        "closed. The service asks not to be called again."
    )


# -- other arguments -------------------------------------------------------------------------------------------------


def told_of(error: BaseException, **arguments: object) -> str:
    """What the model reads of a failure of a call with arguments, without the error id."""

    @tool
    def paint(colour: str, coats: int = 1) -> None:
        """Paint it."""
        raise error

    message = AIMessage(tool_calls=[{"id": "c", "name": "paint", "args": arguments}])
    answer: ToolMessage = ToolNode([paint]).invoke([message])[-1]
    assert answer.outcome is not None
    return answer.text.removesuffix(f" [error {answer.outcome.error_id}]")


AGAIN = "Call paint again, with the arguments corrected as the error says."


@pytest.mark.parametrize(
    ("sent", "error", "near"),
    [
        ("dark blue", ValueError("unknown colour 'dark blue'; known are dark_blue, light_blue"), "dark_blue"),
        ("Munchen", KeyError("no 'Munchen', only: München, Berlin"), "München"),
        ("BLUE", ValueError("must be one of ['red', 'blue']"), "blue"),
        ("feature_login", LookupError("Branches: feature-login, main."), "feature-login"),
        ("Q-3", ValueError("The quarter must be one of Q1, Q2, Q3 or Q4; got 'Q-3'."), "Q3"),
    ],
)
def test_a_value_that_may_have_been_meant_is_named(sent: str, error: Exception, near: str) -> None:
    assert told_of(error, colour=sent).partition("Did you mean ")[2].startswith(f"{near!r}? Call paint again")


def test_the_argument_that_an_exception_complains_of_is_named() -> None:
    text = told_of(ValueError("'octarine' is no colour"), colour="octarine", coats=2)
    assert text.endswith("Call paint again, with colour corrected as the error says.")
    text = told_of(ValueError("no octarine for 12 coats"), colour="octarine", coats=12)
    assert text.endswith("Call paint again, with colour or coats corrected as the error says.")


def test_a_value_in_the_form_that_was_asked_for_is_offered() -> None:
    text = told_of(ValueError("colour must look like RAL-5010"), colour="ral 3020")
    assert text.endswith("Did you mean 'RAL-3020'? Call paint again, with colour corrected as the error says.")


def test_of_what_may_destroy_something_no_value_is_offered() -> None:
    @tool(destructive=True)
    def wipe(disk: str) -> None:
        """Wipe it."""
        raise LookupError(f"no disk {disk!r}, only: disk-a, main")

    message = AIMessage(tool_calls=[{"id": "c", "name": "wipe", "args": {"disk": "disk_a"}}])
    text = ToolNode([wipe]).invoke([message])[-1].text
    assert "Did you mean" not in text
    assert "Call wipe again, with disk corrected as the error says." in text


def told_among(*others: str, text: str) -> str:
    """What the model reads of a failure of ``get_status``, where the node has other tools too."""

    @tool
    def get_status(order_id: str) -> None:
        """Get it."""
        raise LookupError(text)

    message = AIMessage(tool_calls=[{"id": "c", "name": "get_status", "args": {"order_id": "12"}}])
    node = ToolNode([get_status, *(tool(name)(lambda: "") for name in others)])
    answer: ToolMessage = node.invoke([message])[-1]
    assert answer.outcome is not None
    return answer.text.removesuffix(f" [error {answer.outcome.error_id}]").removeprefix(f"LookupError: {text}. ")


def test_a_tool_that_an_exception_names_is_to_be_called_first() -> None:
    assert told_among("find_order", "search", text="no order '12'; find_order finds ids") == (
        "Call find_order first, then get_status again, with order_id corrected as the error says."
    )
    assert told_among("find_order", "listOrders", text="no order '12': see listOrders or find_order") == (
        "Call listOrders or find_order first, then get_status again, with order_id corrected as the error says."
    )


@pytest.mark.parametrize(
    "text", ["no order '12' found in a search", "get_status knows no '12'", "find_orders, no '12'"]
)
def test_a_word_that_is_a_tool_s_name_too_is_a_word(text: str) -> None:
    assert told_among("find_order", "search", text=text) == (
        "Call get_status again, with order_id corrected as the error says."
    )


def test_an_exception_that_complains_of_a_value_asks_for_another_call() -> None:
    assert told_of(ValueError("no such colour"), colour="octarine") == f"ValueError: no such colour. {AGAIN}"


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("blue is sold out"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        json.JSONDecodeError("Expecting value", "<html>", 0),
        ToolException("blue is sold out"),
        PermissionError("not yours"),
    ],
)
def test_other_failures_ask_for_nothing(error: Exception) -> None:
    assert "again" not in told_of(error, colour="blu")


def test_a_secret_is_not_what_was_meant() -> None:
    text = told_of(ValueError("bad key 'sk-live-4f9aK2mQ8vX1bZ7c'"), colour="sk-live-4f9aK2mQ8vX1bZ7")
    assert "4f9aK2mQ8vX1bZ7c" not in text


def test_a_call_without_arguments_has_none_to_correct() -> None:
    assert told(ValueError("closed")) == "ValueError: closed"


def test_of_a_thousand_arguments_a_few_are_looked_at() -> None:
    @tool
    def save(colour: str, others: str = "", **more: str) -> None:
        """Save them."""
        raise ValueError("there are red and green")

    def told_after(number: int) -> str:
        args = {**{f"k{place}": "a" for place in range(number)}, "more": "gren", "colour": "x"}
        message = AIMessage(tool_calls=[{"id": "c", "name": "save", "args": args}])
        (answer,) = ToolNode([save]).invoke([message])
        return str(answer.text)

    assert "Did you mean 'green'?" in told_after(3)
    assert "Did you mean 'green'?" not in told_after(1_000)
