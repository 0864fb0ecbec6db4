"""What goes to a tool's process is named where it cannot be pickled, and what comes back is known all the same."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from surehand import RemoteError, ToolDefinitionError
from surehand.concurrency.parcels import packed_request, rebuilt, why_left_behind
from surehand.concurrency.targets import ProcessTarget

TARGET = ProcessTarget(tool="resize", module="images", qualname="resize")


def link(**fields: Any) -> dict[str, Any]:
    """One exception of a chain, as a child describes it."""
    return {"pickled": None, "classes": [("shop", "OutOfStock")], "message": "no chairs", "fields": {}, **fields}


def test_the_argument_that_cannot_be_pickled_is_named() -> None:
    with pytest.raises(ToolDefinitionError, match="its argument 'lock' cannot be taken to a process of its own"):
        packed_request(TARGET, (1,), {"lock": threading.Lock()})


def test_plain_arguments_need_no_main_script() -> None:
    _, has_main = packed_request(TARGET, (1,), {"to": "a.png"})
    assert not has_main


def test_what_stays_behind_has_a_reason_and_what_goes_has_none() -> None:
    assert why_left_behind({"a": [1]}) is None
    assert "pickle" in str(why_left_behind(threading.Lock()))


def test_an_exception_without_a_pickle_keeps_its_name_its_message_and_its_fields() -> None:
    error = rebuilt([link(fields={"article": "chair"})], "Traceback")
    assert isinstance(error, RemoteError)
    assert (type(error).__name__, type(error).__module__, str(error)) == ("OutOfStock", "shop", "no chairs")
    assert vars(error)["article"] == "chair"


def test_the_chain_of_an_exception_is_rebuilt_in_its_order() -> None:
    error = rebuilt([link(), link(message="the store is closed")], "")
    assert str(error.__cause__) == "the store is closed"
