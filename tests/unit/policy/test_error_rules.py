"""Rules about exceptions: what is one, and which of them decides."""

from __future__ import annotations

from typing import Any

import pytest

from surehand.errors import OptionError, ToolException
from surehand.policy import UNSET, ErrorRule, ErrorRules, Tell, check_error_rule


class NotFound(LookupError):
    """Nearer to LookupError than to Exception."""


def _word(_: object) -> str:
    return "x"


@pytest.mark.parametrize("rule", [True, False, "text", ValueError, (ValueError, KeyError), _word, *Tell])
def test_rules_pass_as_they_are(rule: Any) -> None:
    assert check_error_rule(rule) is rule


@pytest.mark.parametrize("rule", [None, 0, 1, "", "  ", [], (), (int,), int, KeyboardInterrupt, (ValueError, "x")])
def test_anything_else_is_refused_with_the_value(rule: Any) -> None:
    with pytest.raises(OptionError, match="handle_tool_errors="):
        check_error_rule(rule)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({}, "at least one class"),
        ({"ValueError": True}, "an exception class as each key"),
        ({int: True}, "an exception class as each key"),
        ({KeyboardInterrupt: True}, "an exception class as each key"),
        ({(ValueError, KeyError): True}, "Write one entry per class"),
        ({ExceptionGroup: True}, "Groups are taken apart"),
        ({ValueError: ""}, r"handle_tool_errors\[ValueError\]=''"),
        ({ValueError: None}, r"handle_tool_errors\[ValueError\]=None"),
        ({ValueError: KeyError}, r"handle_tool_errors\[ValueError\]="),
        ({ValueError: {KeyError: True}}, r"handle_tool_errors\[ValueError\]="),
    ],
)
def test_a_mapping_is_checked_entry_by_entry(rules: Any, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        check_error_rule(rules)


def test_a_mapping_is_copied_so_that_a_later_change_does_not_count() -> None:
    rules: dict[type[Exception], Any] = {ValueError: "x"}
    checked = check_error_rule(rules)
    rules[KeyError] = "y"
    assert checked == {ValueError: "x"}


@pytest.mark.parametrize(
    ("error", "rule"),
    [
        (NotFound(), "nearest"),
        (KeyError(), "above"),
        (ValueError(), "all"),
        (ToolException("x"), "all"),
    ],
)
def test_of_a_mapping_the_nearest_class_wins(error: Exception, rule: str) -> None:
    rules: ErrorRule = {Exception: "all", LookupError: "above", NotFound: "nearest"}
    assert ErrorRules(own=rules, node="node").rules_for(error) == (rule, "node")


@pytest.mark.parametrize(
    ("layers", "chosen"),
    [
        ({"override": "o", "own": "t", "node": "n"}, ("o",)),
        ({"own": "t", "node": "n"}, ("t", "n")),
        ({"node": "n"}, ("n",)),
        ({"override": {KeyError: "o"}, "own": "t", "node": "n"}, ("t", "n")),
        ({"override": {ValueError: False}, "own": "t", "node": "n"}, (False,)),
        ({"own": {KeyError: "t"}, "node": "n"}, ("n",)),
        ({"own": {KeyError: "t"}, "node": False}, (False,)),
        ({"node": {KeyError: "n"}}, (True,)),
        ({"own": False, "node": {KeyError: "n"}}, (False, True)),
        ({"own": {KeyError: "t"}}, ()),
    ],
)
def test_the_override_speaks_before_the_tool_and_the_tool_before_the_node(
    layers: dict[str, Any], chosen: tuple[Any, ...]
) -> None:
    assert ErrorRules(**layers).rules_for(ValueError()) == chosen


def test_nobody_said_anything_is_no_rule() -> None:
    assert ErrorRules(override=UNSET, own=UNSET, node=UNSET).rules_for(ValueError()) == ()


async def _later(_: Exception) -> str:
    return "x"


@pytest.mark.parametrize("rule", [_later, {ValueError: _later}])
def test_an_asynchronous_function_is_refused_because_nobody_awaits_it(rule: Any) -> None:
    with pytest.raises(OptionError, match="Write it without async"):
        check_error_rule(rule)
