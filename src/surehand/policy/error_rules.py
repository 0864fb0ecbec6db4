"""What becomes of an exception that a tool raises, and who decides it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias, cast

from surehand.callables import is_async_callable
from surehand.errors import OptionError
from surehand.policy.checks import are_exceptions, is_function
from surehand.policy.unset import UNSET, Unset

__all__ = ["ClassRule", "ErrorRule", "ErrorRules", "OneRule", "Tell", "check_error_rule"]


class Tell(Enum):
    """How much of an exception the model is told.

    Without one, a ``ToolException`` is told word for word and anything else redacted.
    """

    VERBATIM = "verbatim"
    """Its text word for word, unredacted: the host's word that it is safe."""
    REDACTED = "redacted"
    """Class and text, without secrets, host paths and stack; of a ``ToolException`` the text, redacted too."""
    CLASS_ONLY = "class_only"
    """Its class and the error id; nothing of its text."""


ClassRule: TypeAlias = bool | str | Tell | Callable[[Any], Any]
"""What becomes of exceptions of one class: tell (True), raise (False), tell so much, a fixed text, a function's answer.
"""
OneRule: TypeAlias = ClassRule | type[Exception] | tuple[type[Exception], ...]
"""A rule for all exceptions; exception types limit the telling to them."""
ErrorRule: TypeAlias = OneRule | Mapping[type[Exception], ClassRule]
"""A rule for all exceptions, or rules by class: the nearest class in the exception's MRO wins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRules:
    """The rules that a call's exceptions are put to, one above the other."""

    override: ErrorRule | Unset = UNSET
    """The node's rule for this very tool: what it says is final."""
    own: ErrorRule | Unset = UNSET
    """The tool's rule; its False, and its types that do not fit, hand the exception on to the node's."""
    node: ErrorRule | Unset = UNSET
    """The node's rule for all its tools."""

    def rules_for(self, error: BaseException) -> tuple[OneRule, ...]:
        """The rules that have a say about the exception, the strongest first.

        A mapping has none about classes it does not name. Where nobody has, the exception is told: who words one class
        did not ask for all others to be raised.
        """
        override = _rule_for(self.override, error)
        if not isinstance(override, Unset):
            return (override,)
        found = [_rule_for(self.own, error), _rule_for(self.node, error)]
        rules = tuple(rule for rule in found if not isinstance(rule, Unset))
        return (*rules, True) if isinstance(self.node, Mapping) and isinstance(found[1], Unset) else rules


def _rule_for(rule: ErrorRule | Unset, error: BaseException) -> OneRule | Unset:
    if not isinstance(rule, Mapping):
        return rule
    rules = cast("Mapping[type, ClassRule]", rule)
    return next((rules[kind] for kind in type(error).__mro__ if kind in rules), UNSET)


def check_error_rule(rule: object) -> ErrorRule:
    """The rule, if it is one; of a mapping a copy.

    Raises:
        OptionError: The rule is none, or a mapping has a key that is no exception class, or a rule that is none.
    """
    if isinstance(rule, Mapping):
        return _checked_mapping(cast("Mapping[object, object]", rule))
    _refuse_async("handle_tool_errors", rule)
    if _is_class_rule(rule) or are_exceptions(rule):
        return cast("OneRule", rule)
    raise OptionError(
        option="handle_tool_errors",
        value=rule,
        expected="True, False, a Tell, a text, exception types, a function of the exception or a mapping of these",
    )


def _refuse_async(option: str, rule: object) -> None:
    """Nobody awaits what a rule says: its coroutine would be told to the model in place of words."""
    if is_function(rule) and is_async_callable(rule):
        expected = "a function of the exception that returns the words"
        raise OptionError(option=option, value=rule, expected=expected, remedy="Write it without async.")


def _is_class_rule(rule: object) -> bool:
    if isinstance(rule, str):
        return bool(rule.strip())
    return isinstance(rule, bool | Tell) or is_function(rule)


def _checked_mapping(rules: Mapping[object, object]) -> Mapping[type[Exception], ClassRule]:
    if not rules:
        raise OptionError(option="handle_tool_errors", value=rules, expected="a mapping with at least one class")
    for kind, rule in rules.items():
        if not isinstance(kind, type) or not issubclass(kind, Exception):
            raise OptionError(
                option="handle_tool_errors",
                value=kind,
                expected="an exception class as each key of the mapping",
                remedy="Write one entry per class; KeyboardInterrupt and its like always get through.",
            )
        if issubclass(kind, BaseExceptionGroup):
            raise OptionError(
                option="handle_tool_errors",
                value=kind,
                expected="the classes of the exceptions themselves",
                remedy="Groups are taken apart: each exception in one meets the rule of its own class.",
            )
        _refuse_async(f"handle_tool_errors[{kind.__name__}]", rule)
        if not _is_class_rule(rule):
            raise OptionError(
                option=f"handle_tool_errors[{kind.__name__}]",
                value=rule,
                expected="True, False, a Tell, a text or a function of the exception",
            )
    return cast("Mapping[type[Exception], ClassRule]", dict(rules))
