"""LangGraph's own way with failures, for nodes with ``compat="langgraph"``.

The calls are run as ever; what is said of a failure, and whether it is told at all, is decided here from what LangGraph
decides by: the exception alone.
"""

# LangChain's own types are partly unknown, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import UnionType
from typing import Any, Final, Union, cast, get_args, get_origin

from langchain_core.messages import ToolMessage as ForeignAnswer
from langgraph.prebuilt.tool_node import TOOL_CALL_ERROR_TEMPLATE, ToolInvocationError
from pydantic import ValidationError

from surehand.calls import Call, RegisteredTool
from surehand.errors import InvalidArguments, OptionError
from surehand.integrations.langchain.commands import Form, GraphCommand, answers_nothing, is_foreign_command
from surehand.outcomes import FailureKind, Outcome
from surehand.policy import UNSET
from surehand.shapes import is_array, is_object
from surehand.spec import Injection, InjectionKind

__all__ = [
    "UPSTREAM_OPTIONS",
    "UpstreamErrors",
    "check_answered",
    "check_injected",
    "invocation_errors",
    "plain_content",
]

UPSTREAM_OPTIONS: Final[dict[str, Any]] = {
    "timeout": None,
    "retry": None,
    "repeat_guard": False,
    "max_output": None,
}
"""What LangGraph's node does not do, as defaults for the tools."""

_BLOCKS: Final = frozenset(
    {"text", "image_url", "image", "json", "search_result", "custom_tool_call_output", "document", "file"}
)
"""The content blocks that LangChain leaves as they are in a tool message."""
_UNKNOWN: Final = "Error: {name} is not a valid tool, try one of [{names}]."
_TOLD: Final = frozenset(
    {FailureKind.TOOL_ERROR, FailureKind.EXCEPTION, FailureKind.TIMEOUT, FailureKind.INTERNAL, FailureKind.CANCELLED}
)
"""What becomes of an exception; the other failures have none, and LangGraph does not know them."""


def invocation_errors(error: Exception) -> str:
    """LangGraph's default: arguments that do not fit are told, what a tool raises is raised."""
    if isinstance(error, ToolInvocationError):
        return error.message
    raise error


class UpstreamErrors:
    """What is told of an exception, by LangGraph's ``handle_tool_errors``.

    Args:
        rule: True, a text, exception types, a function whose first parameter's annotation says which exceptions it
            takes; anything false tells nothing.

    Raises:
        OptionError: It is none of these, or the annotation names no exceptions.
    """

    def __init__(self, rule: Any) -> None:
        self._rule = rule
        self._types = _types_of(rule)

    def text(self, error: BaseException) -> str | None:
        """What the model is told; None where the exception is to be raised.

        Raises:
            Exception: What a function raises that is the rule.
        """
        rule = self._rule
        if not rule or not isinstance(error, self._types):
            return None
        if isinstance(rule, str):
            return rule
        if isinstance(rule, bool | tuple | type):
            return TOOL_CALL_ERROR_TEMPLATE.format(error=repr(error))
        return str(rule(error))

    def settled(self, call: Call, *, sent: Any, names: Sequence[str]) -> Call:
        """The call as LangGraph would have ended it.

        Args:
            call: The call as it ended.
            sent: The arguments as the model sent them.
            names: The node's tools.
        """
        outcome = call.outcome
        if outcome is None or outcome.kind is None or call.message is None or call.raises is not None:
            return call
        if outcome.kind is FailureKind.UNKNOWN_TOOL:
            return _told(call, outcome, _UNKNOWN.format(name=call.name, names=", ".join(names)))
        error = _error_of(call, outcome, sent)
        if error is None:
            return call
        try:
            text = self.text(error)
        except Exception as raised:  # noqa: BLE001 - the host's own function, which may say by it that it tells nothing
            return call._replace(raises=raised)
        return call._replace(raises=error) if text is None else _told(call, outcome, text)


def _told(call: Call, outcome: Outcome, text: str) -> Call:
    assert call.message is not None  # noqa: S101 - narrows the type; a call that ended has one
    return call._replace(message=call.message.replace(content=text, status="error"), outcome=outcome)


def _error_of(call: Call, outcome: Outcome, sent: Any) -> BaseException | None:
    """What the rule is asked about; None where the tool has said it itself, and where there is no exception."""
    error = outcome.error
    if isinstance(error, InvalidArguments) and not call.is_told:
        source = cast("Any", error.__cause__ or error)
        found = source.errors() if isinstance(source, ValidationError) else _complaints(error)
        made = ToolInvocationError(call.name, source, sent, found)
        made.__cause__ = source
        return made
    return error if outcome.kind in _TOLD else None


def _complaints(error: InvalidArguments) -> Any:
    return [{"loc": (complaint.path,), "msg": complaint.problem} for complaint in error.complaints]


def _types_of(rule: Any) -> tuple[type[BaseException], ...]:
    if isinstance(rule, type) and issubclass(rule, Exception):
        return (rule,)
    if isinstance(rule, tuple):
        return cast("tuple[type[BaseException], ...]", rule)
    if not rule or isinstance(rule, bool | str):
        return (Exception,)
    if not callable(rule) or isinstance(rule, type):
        raise OptionError(
            option="handle_tool_errors", value=rule, expected="a bool, a text, exception types or a function"
        )
    return _annotated_types(rule)


def _annotated_types(function: Callable[..., Any]) -> tuple[type[BaseException], ...]:
    """The exceptions that a function's first parameter is annotated with; all where it says nothing of them."""
    annotation = _first_annotation(function)
    if annotation is inspect.Parameter.empty or annotation is typing.Any:
        return (Exception,)
    is_union = get_origin(annotation) in (Union, UnionType)
    kinds: tuple[Any, ...] = get_args(annotation) if is_union else (annotation,)
    if not all(isinstance(kind, type) and issubclass(kind, Exception) for kind in kinds):
        raise OptionError(
            option="handle_tool_errors",
            value=function,
            expected="a function whose parameter is annotated with exceptions",
        )
    return kinds


def _first_annotation(function: Any) -> Any:
    try:
        first = next(iter(inspect.signature(function).parameters.values()), None)
    except (TypeError, ValueError):  # its signature cannot be read
        return inspect.Parameter.empty
    if first is None or not isinstance(first.annotation, str):
        return inspect.Parameter.empty if first is None else first.annotation
    with suppress(Exception):  # a name in it that only type checkers know
        inner = getattr(function, "__func__", function)
        return typing.get_type_hints(inner if hasattr(inner, "__globals__") else type(inner).__call__)[first.name]
    return inspect.Parameter.empty


# -- what cannot be injected -----------------------------------------------------------------------------------------


def check_injected(tool: RegisteredTool, *, state: Any, store: Any, key: str) -> None:
    """Raise what LangGraph raises where there is nothing to inject; no rule about errors has a say in it.

    Raises:
        KeyError: A mapping has no such field.
        AttributeError: An object has no such field.
        ValueError: The state is a bare list and more than messages are wanted, or there is no store.
    """
    injections = tool.spec.body.injections
    states = [injection for injection in injections if injection.kind is InjectionKind.STATE]
    if states and is_array(state):
        _check_list(tool.spec.name, states, key)
    for injection in () if is_array(state) else states:
        _check_field(injection, state)
    if store is None and any(injection.kind is InjectionKind.STORE for injection in injections):
        raise ValueError(
            "Cannot inject store into tools with InjectedStore annotations - please compile your graph with a store."
        )


def _check_list(name: str, states: Sequence[Injection], key: str) -> None:
    fields = [injection.key for injection in states]
    if fields[0] is None or fields == [key]:
        return
    wanted = ", ".join(field for field in fields if field)
    raise ValueError(
        f"Invalid input to ToolNode. Tool {name} requires graph state dict as input. "
        f"State should contain fields {wanted}."
    )


def _check_field(injection: Injection, state: Any) -> None:
    if injection.key is None or injection.default is not UNSET:
        return
    if is_object(state):
        if injection.key not in state:
            raise KeyError(injection.key)
    elif not hasattr(state, injection.key):
        raise AttributeError(injection.key)


# -- what a result has to be -----------------------------------------------------------------------------------------


def check_answered(value: Any, *, call_id: str, name: str, key: str, form: Form, returned: Any) -> None:
    """Raise what LangGraph raises where a command brings no answer to its call.

    Raises:
        ValueError: It brings none, and leads to nowhere but this graph.
    """
    if not isinstance(value, GraphCommand) or value.update is not None:
        return
    if isinstance(returned, list):
        raise ValueError(  # noqa: TRY004 - it is what LangGraph raises
            f"Tool {name} returned a list with 0 messages bound to tool_call_id {call_id!r}; "
            "expected exactly one terminating ToolMessage."
        )
    (command,) = value.items
    if not is_foreign_command(command) or command.graph is not None or not isinstance(command.update, dict | list):
        return
    if answers_nothing(command, key):
        return
    example = (
        f'{{"{key}": [ToolMessage("Success", tool_call_id=tool_call_id), ...]}}'
        if form != "list"
        else ('[ToolMessage("Success", tool_call_id=tool_call_id), ...]')
    )
    raise ValueError(
        f"Expected to have a matching ToolMessage in Command.update for tool '{name}', got: {command.update}. "
        "Every tool call (LLM requesting to call a tool) in the message history MUST have a corresponding "
        f"ToolMessage. You can fix it by modifying the tool to return `Command(update={example}, ...)`."
    )


def plain_content(answer: ForeignAnswer) -> ForeignAnswer:
    """A tool message with its content as LangGraph writes it: text, or blocks that LangChain knows; else JSON."""
    content: Any = answer.content
    if isinstance(content, str) or all(isinstance(part, dict) and part.get("type") in _BLOCKS for part in content):
        return answer
    try:
        text = json.dumps(content, ensure_ascii=False)
    except (TypeError, ValueError):
        text = str(content)
    return answer.model_copy(update={"content": text})
