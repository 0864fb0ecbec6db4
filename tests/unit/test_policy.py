"""Policies: checked when made, and what they decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.errors import OptionError
from surehand.policy import (
    DEFAULT_OPTIONS,
    UNSET,
    CircuitBreaker,
    Limits,
    NoProgress,
    RateLimit,
    RetryPolicy,
    ToolOptions,
    count,
    seconds,
)


def test_waits_grow_by_the_factor_up_to_the_longest() -> None:
    policy = RetryPolicy(initial_interval=0.5, backoff_factor=2, max_interval=3, jitter=False)
    assert [policy.delay(attempt) for attempt in (1, 2, 3, 4, 5)] == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_what_the_failure_asks_for_is_the_least_that_is_waited() -> None:
    policy = RetryPolicy(initial_interval=0.5, jitter=False)
    assert policy.delay(1, after=7) == 7
    assert policy.delay(1, after=0.1) == 0.5


def test_a_wait_of_any_attempt_stays_within_the_longest() -> None:
    assert RetryPolicy(jitter=False, max_interval=3).delay(5_000) == 3


class _Asking(Exception):
    def __init__(self, retry_after: object) -> None:
        self.retry_after = retry_after


class _Unreadable(Exception):
    @property
    def retry_after(self) -> float:
        raise RuntimeError("unreadable")


@pytest.mark.parametrize(
    ("error", "delay"),
    [
        (_Asking(7), 7),
        (_Asking(float("inf")), None),
        (_Asking(float("nan")), 0.5),
        (_Asking("60"), 0.5),
        (_Asking(-1), 0.5),
        (_Unreadable(), 0.5),
        (None, 0.5),
    ],
)
def test_a_wish_that_is_no_number_is_not_heard_and_infinity_means_never(error: Any, delay: float | None) -> None:
    assert RetryPolicy(jitter=False).next_delay(1, error, elapsed=0) == delay


@given(st.integers(1, 60))
def test_jitter_shortens_a_wait_by_at_most_half(attempt: int) -> None:
    fixed = RetryPolicy(jitter=False).delay(attempt)
    assert fixed / 2 <= RetryPolicy().delay(attempt) <= fixed


def _is_busy(error: Exception) -> bool:
    return "busy" in str(error)


@pytest.mark.parametrize(
    ("retry_on", "error", "covers"),
    [
        (None, ValueError(), False),
        (None, TimeoutError(), False),
        (ValueError, ValueError(), True),
        ((KeyError, OSError), ConnectionError(), True),
        (KeyError, ValueError(), False),
        (_is_busy, RuntimeError("busy"), True),
    ],
)
def test_retry_on_names_exceptions_or_decides(retry_on: Any, error: Exception, covers: bool) -> None:  # noqa: FBT001
    assert RetryPolicy(retry_on=retry_on).names(error) is covers
    assert RetryPolicy(retry_on=retry_on, transient=False).covers(error) is covers


def test_a_policy_covers_what_passes_by_itself_beside_what_it_names() -> None:
    policy = RetryPolicy(retry_on=KeyError)
    assert [policy.covers(error) for error in (KeyError(), TimeoutError(), ValueError())] == [True, True, False]


class _Answered(Exception):
    def __init__(self, seconds: str) -> None:
        self.headers = {"retry-after": seconds}


@pytest.mark.parametrize(
    ("seconds", "limit", "delay", "refused"),
    [
        ("5", 60, 5, None),
        ("60", 60, 60, None),
        ("61", 60, None, 61),
        ("61", None, 61, None),
        ("9" * 99, None, 1e99, None),
    ],
)
def test_a_server_that_asks_for_a_longer_wait_than_allowed_is_not_waited_for(
    seconds: str, limit: float | None, delay: float | None, refused: float | None
) -> None:
    policy = RetryPolicy(jitter=False, max_retry_after=limit)
    assert policy.next_delay(1, _Answered(seconds), elapsed=0) == delay
    assert policy.refused_wait(_Answered(seconds)) == refused


@given(st.integers(1, 9), st.floats(0.001, 1e6), st.one_of(st.none(), st.floats(0.001, 1e6)))
def test_a_wait_is_never_shorter_than_asked_nor_longer_than_allowed(
    attempt: int, wish: float, limit: float | None
) -> None:
    policy = RetryPolicy(max_attempts=10, max_retry_after=limit)
    delay = policy.next_delay(attempt, _Asking(wish), elapsed=0)
    if delay is None:
        assert limit is not None
        assert wish > limit
    else:
        assert wish <= delay <= max(wish, policy.max_interval)


def test_never_is_refused_whatever_the_limit_is() -> None:
    assert RetryPolicy(max_retry_after=None).refused_wait(_Asking(float("inf"))) == float("inf")


@pytest.mark.parametrize(
    "fields",
    [
        {"max_attempts": 0},
        {"max_attempts": True},
        {"max_attempts": 2.5},
        {"initial_interval": 0},
        {"initial_interval": -1},
        {"max_interval": float("inf")},
        {"max_elapsed": 0},
        {"backoff_factor": 0.5},
        {"backoff_factor": "2"},
        {"backoff_factor": float("inf")},
        {"jitter": "no"},
        {"transient": 1},
        {"max_retry_after": 0},
        {"retry_on": "ConnectionError"},
        {"retry_on": [ConnectionError]},
        {"retry_on": ()},
        {"retry_on": KeyboardInterrupt},
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_with_the_value(fields: dict[str, Any]) -> None:
    name, value = next(iter(fields.items()))
    with pytest.raises(OptionError, match=f"{name}="):
        RetryPolicy(**fields)
    assert value == fields[name]


@pytest.mark.parametrize(
    "fields",
    [
        {"timeout": 0},
        {"timeout": "3"},
        {"timeout": True},
        {"retry": 3},
        {"idempotent": "yes"},
        {"concurrency": 0},
        {"max_output": -5},
        {"requires_approval": "always"},
        {"handle_tool_errors": 5},
    ],
)
def test_an_option_that_makes_no_sense_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(fields))):
        ToolOptions(**fields)


async def never_awaited(_: Any) -> bool:
    return False


@pytest.mark.parametrize(
    ("policy", "option"),
    [(ToolOptions, "requires_approval"), (ToolOptions, "exclusive"), (RetryPolicy, "retry_on")],
)
def test_a_rule_whose_answer_nobody_would_await_is_refused(policy: Any, option: str) -> None:
    with pytest.raises(OptionError, match=r"Write it without async\.$"):
        policy(**{option: never_awaited})


def test_stronger_options_win_and_none_is_a_choice_of_its_own() -> None:
    strong, weak = ToolOptions(timeout=None), ToolOptions(timeout=3.0, exclusive=True)

    assert strong.over(weak).timeout is None
    assert strong.over(weak).exclusive is True
    assert strong.over(weak, DEFAULT_OPTIONS).max_output == 50_000


def test_the_defaults_leave_nothing_unset() -> None:
    assert UNSET not in [getattr(DEFAULT_OPTIONS, name) for name in DEFAULT_OPTIONS.__slots__]
    assert not UNSET
    assert repr(UNSET) == "UNSET"


def test_numbers_pass_as_seconds_and_counts() -> None:
    assert seconds("timeout", 3) == 3.0
    assert count("limit", 7) == 7


@pytest.mark.parametrize(
    "refused", [lambda: ToolOptions(timeout=0), lambda: Limits(calls=0), lambda: RetryPolicy(max_elapsed=0)]
)
def test_where_none_is_no_limit_the_refusal_says_so(refused: Callable[[], object]) -> None:
    with pytest.raises(OptionError, match="Use None for no limit"):
        refused()


@pytest.mark.parametrize(
    "refused",
    [
        lambda: RetryPolicy(max_attempts=0),
        lambda: RateLimit(0),
        lambda: CircuitBreaker(window=0),
        lambda: NoProgress(warn_after=0),
    ],
)
def test_where_there_is_always_a_limit_the_refusal_offers_no_none(refused: Callable[[], object]) -> None:
    with pytest.raises(OptionError) as refusal:
        refused()

    assert "None" not in str(refusal.value)
