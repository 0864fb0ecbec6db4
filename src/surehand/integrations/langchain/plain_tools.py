"""Plain tools of LangChain's, whose functions are run straight away where nobody listens.

``invoke`` finds out again at every call what never changes: which parameters are injected, which one takes the
configuration, whether the function wants callbacks. For a ``StructuredTool`` or ``Tool`` as LangChain makes them that
is found out once, and a call is what ``invoke`` would make of it: the arguments checked by the tool's own model, the
same fields of it given to the function, a configuration whose runs are children of this one, the same things done about
errors. What is not plain is left to ``invoke``: a class or a method that is another's, a model of pydantic.v1, a
function that takes callbacks, and every run that somebody hears of. So it is with a LangChain that was not tried: tests
compare the two ways.
"""

# LangChain's own types are partly unknown, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextvars import Context, copy_context
from dataclasses import dataclass
from importlib.metadata import version
from operator import attrgetter
from types import FunctionType
from typing import Any, Final, NamedTuple, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tools import BaseTool as ForeignTool
from langchain_core.tools import InjectedToolCallId, StructuredTool, ToolException
from langchain_core.tools import Tool as ForeignTextTool
from langchain_core.tools import base as foreign
from langchain_core.tools.base import get_all_basemodel_annotations
from pydantic import BaseModel, ValidationError
from pydantic.v1 import ValidationError as LegacyValidationError

from surehand.integrations.langchain.listeners import quiet_config

__all__ = ["PlainTool", "Returned", "plain_tool"]

_TRIED: Final = ((1, 6), (2, 0))
"""From which version of langchain-core on, and before which, a tool is run as here."""
_format_output: Final[Any] = getattr(foreign, "_format_output", None)
_config_parameter: Final[Any] = getattr(foreign, "_get_runnable_config_param", None)
_handle_tool_error: Final[Any] = getattr(foreign, "_handle_tool_error", None)
_handle_validation_error: Final[Any] = getattr(foreign, "_handle_validation_error", None)
_is_injected: Final[Any] = getattr(foreign, "_is_injected_arg_type", None)
_INSIDE: Final = (_format_output, _config_parameter, _handle_tool_error, _handle_validation_error, _is_injected)
"""What is used of LangChain's inside; None where it is not there."""
_METHODS: Final = (
    "invoke",
    "ainvoke",
    "run",
    "arun",
    "_run",
    "_arun",
    "_parse_input",
    "_to_args_and_kwargs",
)
_TAKEN: Final = frozenset({"self", "config", "run_manager", "callbacks"})
"""Names that LangChain's own methods take, so that no function gets an argument of them."""


_methods_of: Final = attrgetter(*_METHODS)


def _is_tried() -> bool:
    first, end = _TRIED
    installed = tuple(int(part) for part in version("langchain-core").split(".")[:2] if part.isdigit())
    return first <= installed < end and None not in _INSIDE


def _own_methods(kind: type) -> tuple[Any, ...] | None:
    """The methods of a class of LangChain's; None where they are not, or not all, as LangChain wrote them."""
    found = _methods_of(kind)
    return found if all(map(_is_langchains, found)) and _is_tried() else None


def _is_langchains(method: Any) -> bool:
    """Whether a function is LangChain's, and nobody's who wraps it to watch it: of that one the type is another."""
    return type(method) is FunctionType and method.__globals__["__name__"].startswith("langchain_core.tools.")


_OWN: Final[dict[type, tuple[Any, ...] | None]] = {
    kind: _own_methods(kind) for kind in (StructuredTool, ForeignTextTool)
}


_HANDLED: Final = (ValidationError, LegacyValidationError, ToolException)
"""What a tool may handle itself."""


class Returned(NamedTuple):
    """What a function returned, and what LangChain makes of it."""

    value: Any
    """What it returned; None where an error was handled."""
    content: Any
    artifact: Any = None
    is_error: bool = False

    @property
    def is_value(self) -> bool:
        """Whether it can be taken as it was returned; else there is nothing but LangChain's answer."""
        is_failed = self.is_error or getattr(self.content, "status", "") == "error"
        return not is_failed and not inspect.isawaitable(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainTool:
    """What there is to know about a plain tool."""

    tool: ForeignTool
    function: Callable[..., Any] | None
    coroutine: Callable[..., Any] | None
    function_config: str | None
    """The function's parameter that takes the configuration; None where it takes none."""
    coroutine_config: str | None
    model: type[BaseModel] | None
    """What checks the arguments; None where LangChain checks none."""
    is_empty: bool
    """Whether the model has no fields: then the function is given nothing."""
    defaults: frozenset[str]
    """The fields that are passed where they were not sent, too."""
    injected: frozenset[str]
    """The parameters that are passed as the host gave them."""
    call_ids: frozenset[str]
    """The fields that get the call's id."""
    is_text: bool
    """Whether the function takes one argument, by position."""

    def fits(self, arguments: Mapping[str, Any]) -> bool:
        """Whether a call with these arguments is one that is understood here."""
        kind = type(self.tool)
        return (
            _methods_of(kind) == _OWN[kind]
            and _TAKEN.isdisjoint(arguments)
            and (not self.is_text or len(arguments) == 1)
        )

    def now(self, arguments: dict[str, Any], call_id: str, config: RunnableConfig) -> Returned:
        """Run the function.

        Args:
            arguments: As they were sent, with what the host adds; they are the run's own.
            call_id: The id that LangChain knows the call by.
            config: The configuration of the tool's run, complete.

        Raises:
            Exception: What the function or the check of its arguments raised, where the tool does not handle it.
        """
        run_id = config.pop("run_id", None)
        try:
            args, kwargs = self._passed(arguments, call_id)
            if self.function_config:
                kwargs[self.function_config] = config
            child = quiet_config(config, run_id=run_id, is_async=False)
            return self._returned(copy_context().run(_inside, child, cast("Any", self.function), args, kwargs))
        except _HANDLED as error:
            return self._handled(error)

    async def later(self, arguments: dict[str, Any], call_id: str, config: RunnableConfig) -> Returned:
        """Run the coroutine function; see ``now``."""
        run_id = config.pop("run_id", None)
        try:
            args, kwargs = self._passed(arguments, call_id)
            if self.coroutine_config:
                kwargs[self.coroutine_config] = config
            child = quiet_config(config, run_id=run_id, is_async=True)
            running = _inside_later(child, cast("Any", self.coroutine), args, kwargs)
            return self._returned(await _Within(running, copy_context()))
        except _HANDLED as error:
            return self._handled(error)

    def answer(self, returned: Returned, call_id: str) -> Any:
        """The answer as LangChain writes it."""
        status = "error" if returned.is_error else "success"
        return _format_output(returned.content, returned.artifact, call_id, self.tool.name, status)

    def _passed(self, arguments: dict[str, Any], call_id: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if self.is_empty:
            return (), {}
        if self.is_text:
            return tuple(arguments.values()), {}
        if self.model is None:
            return (), arguments
        arguments.update(dict.fromkeys(self.call_ids, call_id))
        checked = self.model.model_validate(arguments)
        sent = checked.model_fields_set
        passed = {
            name: getattr(checked, name)
            for name in checked.model_dump()
            if name in arguments or name in sent or name in self.defaults
        }
        for name in self.injected:
            if name in arguments:
                passed[name] = arguments[name]
            elif name == "tool_call_id":
                passed[name] = call_id
        return (), passed

    def _returned(self, value: Any) -> Returned:
        if self.tool.response_format != "content_and_artifact":
            return Returned(value, value)
        if isinstance(value, tuple) and len(value) == 2:  # noqa: PLR2004 - the two that it is made of
            return Returned(value, *value)
        raise ValueError(
            f"Tool {self.tool.name!r} returned {type(value).__name__}, but its response_format='content_and_artifact' "
            f"expects a tuple of two: (content, artifact)."
        )

    def _handled(self, error: Exception) -> Returned:
        is_own = isinstance(error, ToolException)
        rule = self.tool.handle_tool_error if is_own else self.tool.handle_validation_error
        if not rule:
            raise error
        handle = _handle_tool_error if is_own else _handle_validation_error
        return Returned(None, handle(error, flag=rule), is_error=True)


def _inside(child: RunnableConfig, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the function where the configuration is that of its own runs; in a context that is thrown away."""
    var_child_runnable_config.set(child)
    return function(*args, **kwargs)


async def _inside_later(
    child: RunnableConfig, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    var_child_runnable_config.set(child)
    return await function(*args, **kwargs)


@dataclass(frozen=True, slots=True)
class _Within:
    """Runs a coroutine in a context of its own, without the task that would do the same."""

    running: Coroutine[Any, Any, Any]
    context: Context

    def __await__(self) -> Generator[Any, Any, Any]:
        step, sent = self.running.send, cast("Any", None)
        while True:
            try:
                waits_for = self.context.run(step, sent)
            except StopIteration as end:
                return end.value
            try:
                step, sent = self.running.send, (yield waits_for)
            except GeneratorExit:
                self.context.run(self.running.close)
                raise
            except BaseException as error:  # noqa: BLE001 - it is the coroutine's: a cancellation, as a rule
                step, sent = self.running.throw, error


def plain_tool(tool: ForeignTool) -> PlainTool | None:
    """What there is to know about a plain tool; None for any other."""
    if _OWN.get(type(tool)) is None:
        return None
    plain: Any = tool
    is_text, declared = isinstance(tool, ForeignTextTool), tool.args_schema
    model = declared if isinstance(declared, type) and issubclass(declared, BaseModel) else None
    is_legacy = model is None and declared is not None and not isinstance(declared, Mapping)
    if is_legacy or (is_text and declared is not None) or not _are_usual(plain.func, plain.coroutine):
        return None
    fields = {} if model is None else model.model_fields
    if not _TAKEN.isdisjoint(fields):
        return None
    return PlainTool(
        tool=tool,
        function=plain.func,
        coroutine=plain.coroutine,
        function_config=_config_of(plain.func),
        coroutine_config=_config_of(plain.coroutine),
        model=model,
        is_empty=model is not None and not fields,
        defaults=frozenset(
            name for name, field in fields.items() if name not in ("args", "kwargs") and not field.is_required()
        ),
        injected=getattr(plain, "_injected_args_keys", frozenset()),
        call_ids=frozenset() if model is None else _call_ids_of(model),
        is_text=is_text,
    )


def _are_usual(*functions: Any) -> bool:
    """Whether none of the functions takes callbacks, and at least one is there."""
    given = [function for function in functions if function is not None]
    try:
        return bool(given) and all("callbacks" not in inspect.signature(function).parameters for function in given)
    except (TypeError, ValueError, NameError):  # it says nothing of its parameters, or they cannot be resolved
        return False


def _config_of(function: Any) -> str | None:
    name: str | None = None if function is None else _config_parameter(function)
    return name


def _call_ids_of(model: type[BaseModel]) -> frozenset[str]:
    return frozenset(
        name
        for name, annotation in get_all_basemodel_annotations(model).items()
        if _is_injected(annotation, injected_type=InjectedToolCallId)
    )
