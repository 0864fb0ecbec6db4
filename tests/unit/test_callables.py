"""What can be learnt of a callable without calling it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from surehand.callables import caller_frames, closure_names, is_async_callable, name_of


async def fetch(_: int = 0) -> None: ...


def compute(_: int = 0) -> None: ...


class Fetcher:
    async def __call__(self) -> None: ...

    async def fetch(self) -> None: ...


@pytest.mark.parametrize("function", [fetch, partial(fetch, 1), Fetcher(), partial(Fetcher()), Fetcher().fetch])
def test_async_functions_methods_partials_and_callable_objects_are_async(function: Callable[..., Any]) -> None:
    assert is_async_callable(function)


@pytest.mark.parametrize("function", [compute, partial(compute, 1), Fetcher, len, 5])
def test_sync_functions_classes_and_what_is_no_function_are_not_async(function: object) -> None:
    assert not is_async_callable(function)


def test_a_closure_gives_its_names_but_for_those_not_assigned_yet() -> None:
    known = 1

    def inner() -> object:
        return known, later

    before = closure_names(inner)
    later = 2

    assert before == {"known": 1}
    assert closure_names(inner) == {"known": 1, "later": later}


def test_what_has_no_closure_has_no_names() -> None:
    assert closure_names(compute) == {}
    assert closure_names(len) == {}


def test_the_nearest_caller_comes_first() -> None:
    frame = next(caller_frames())

    assert frame.f_code.co_name == "test_the_nearest_caller_comes_first"


class Notifier:
    """Shows what it was made with."""

    def __repr__(self) -> str:
        return "Notifier(token='hunter2')"

    def __call__(self) -> None:
        """Do nothing."""

    def send(self, *_: int) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (Notifier(), "Notifier"),
        (Notifier().send, "Notifier.send"),
        (partial(partial(Notifier().send, 1), 2), "Notifier.send"),
        (Notifier, "Notifier"),
        (len, "len"),
        (3, "int"),
    ],
    ids=str,
)
def test_a_function_is_named_without_what_it_was_made_with(function: object, name: str) -> None:
    assert name_of(function) == name
