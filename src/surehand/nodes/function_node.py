"""The node that runs a plain function: state in, partial state out."""

# States of any type are read here, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from surehand.callables import is_async_callable
from surehand.concurrency import SYSTEM_CLOCK, Clock, has_running_loop, run_in_thread, run_sync
from surehand.control import Command, RunConfig
from surehand.errors import GraphDefinitionError, NodeError, OptionError, shown
from surehand.freeze import ReadOnlyError, freeze, thaw
from surehand.nodes.parameters import Parameter, parameters_of, takes_whole_state
from surehand.nodes.window import fields_of, window
from surehand.policy import RetryPolicy, text
from surehand.retries import Retries
from surehand.wording import did_you_mean

__all__ = ["FunctionNode"]


class FunctionNode:
    """Runs a plain function on the state and gives back the update it returns.

    Each parameter is filled from the state's key of the same name, checked against its annotation; a parameter with a
    default may be missing from the state, and further keys of the state are no error. A function with one positional
    parameter that is called ``state``, or annotated with the state's type, gets the whole state instead.

    What the function is shown is a read-only copy. What it returns is a mapping of the keys to change, None for no
    change, or a ``Command``. What it raises is raised: a node of internal work has nobody to tell.

    Args:
        fn: A function, synchronous or asynchronous.
        reads: The keys the function may see; None for all.
        writes: The keys the function may change; None for all.
        name: The node's name; None for the function's.
        retry: When to run the function again after an exception. Without ``retry_on`` it covers every exception but
            those that point at a mistake in the program, such as TypeError, and requests that were refused for what
            they are, such as by HTTP 404. None for never.
        clock: Time, for tests.

    Raises:
        OptionError: ``fn`` cannot be called, or an option has a value that cannot be meant.
        GraphDefinitionError: An annotation of ``fn`` cannot be resolved.

    Example:
        def total(prices: list[float], discount: float = 0.0) -> dict[str, float]:
            return {"total": sum(prices) * (1 - discount)}

        FunctionNode(total, writes=["total"]).invoke({"prices": [2.0, 3.0]})
        # {'total': 5.0}
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        reads: Iterable[str] | None = None,
        writes: Iterable[str] | None = None,
        name: str | None = None,
        retry: RetryPolicy | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        if not callable(fn):
            raise OptionError(option="fn", value=fn, expected="a function")
        if not isinstance(retry, RetryPolicy | None):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
            raise OptionError(option="retry", value=retry, expected="a RetryPolicy or None")
        self.name = _name_of(fn) if name is None else text("name", name)
        self.reads = _keys("reads", reads)
        self.writes = _keys("writes", writes)
        self.retry = retry
        self._fn = fn
        self._clock = clock
        self._is_async = is_async_callable(fn)
        try:
            self._parameters = parameters_of(fn)
        except (NameError, TypeError, ValueError) as error:
            raise GraphDefinitionError(
                problem=f"The parameters of node {self.name!r} cannot be read: {error}",
                remedy="Import the names of its annotations where the function is defined, outside of TYPE_CHECKING.",
            ) from error

    def invoke(self, input: Any, config: RunConfig | None = None) -> Any:
        """Run the function; see ``ainvoke``. A synchronous function runs in the caller's thread."""
        # With no loop around, nothing else could run meanwhile: a thread of its own would cost and gain nothing.
        is_alone = not has_running_loop()
        return run_sync(lambda: self._run(input, config or {}, is_alone=is_alone))

    async def ainvoke(self, input: Any, config: RunConfig | None = None) -> Any:
        """Run the function on a state: a mapping, a dataclass or a Pydantic model.

        A synchronous function runs in a worker thread, an asynchronous one on the loop.

        Returns:
            The update as a mapping, empty where the function returns None; a ``Command`` as it came.

        Raises:
            NodeError: A parameter cannot be filled, the function read or wrote a key that it may not, or it returned
                something that is no update.
            Exception: What the function raises, the same object.
        """
        return await self._run(input, config or {}, is_alone=False)

    async def _run(self, state: Any, config: RunConfig, *, is_alone: bool) -> Any:
        retries = Retries(self.retry, clock=self._clock)
        while True:
            try:
                return self._update(await self._call(state, config, is_alone=is_alone))
            except Exception as error:  # whatever the host's function raises goes on as it is
                delay = retries.delay_after(error)
                if delay is None:
                    raise
            await self._clock.sleep(delay)

    async def _call(self, state: Any, config: RunConfig, *, is_alone: bool) -> Any:
        args, kwargs = self._arguments(state, config)
        try:
            if self._is_async or is_alone:
                result = self._fn(*args, **kwargs)
            else:
                result = await run_in_thread(lambda: self._fn(*args, **kwargs))
            return await result if inspect.isawaitable(result) else result
        except ReadOnlyError as error:
            key = f"the state's {error.place!r}" if error.place else "the state"
            raise self._fault(
                f"it tried to change {key} in place ({error.act})", "Return the change as an update instead."
            ) from error

    # -- the way in --------------------------------------------------------------------------------------------------

    def _arguments(self, state: Any, config: RunConfig) -> tuple[list[Any], dict[str, Any]]:
        fields = fields_of(state)
        if fields is None:
            raise self._fault(
                f"it was given {shown(state)} as its state",
                "Pass a mapping, a dataclass instance or a Pydantic model.",
            )
        if takes_whole_state(self._parameters, state, fields):
            return self._whole(state)
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for parameter in self._parameters:
            if parameter.is_config:
                kwargs[parameter.name] = config
            elif parameter.is_rest:
                kwargs.update(self._rest(fields))
            elif parameter.is_positional_only:  # a missing one takes its default, as a later one may be there
                args.append(self._value(parameter, fields))
            elif parameter.name in fields or not parameter.has_default:
                kwargs[parameter.name] = self._value(parameter, fields)
        return args, kwargs

    def _whole(self, state: Any) -> tuple[list[Any], dict[str, Any]]:
        parameter = self._parameters[0]
        shown_state = window(state, reads=self.reads, node=self.name)
        if parameter.is_model_of(state):
            shown_state = freeze(self._checked(parameter, dict(shown_state), what="the state"))
        return [shown_state], {}

    def _value(self, parameter: Parameter, fields: Mapping[str, Any]) -> Any:
        key = parameter.name
        if self.reads is not None and key not in self.reads:
            raise self._fault(
                f"its parameter {key!r} reads the state's key {key!r}, which its reads= does not declare",
                f"Add {key!r} to reads=, or drop the parameter.",
            )
        if key in fields:
            return freeze(self._checked(parameter, fields[key], what=f"the state's {key!r}"), place=key)
        if parameter.has_default:
            return parameter.default
        hint = did_you_mean(key, filter(self._may_read, fields), most=3)
        raise self._fault(
            f"its parameter {key!r} cannot be filled, the state has no key {key!r}",
            f"Add the key to the state, or give the parameter a default.{hint}",
        )

    def _checked(self, parameter: Parameter, value: Any, *, what: str) -> Any:
        try:
            return parameter.check(value)
        except ValidationError as error:
            raise self._fault(
                f"{what} does not fit its parameter {parameter.name!r}: {_first_complaint(error)}",
                "Change the annotation, or what is written to the state.",
            ) from error

    def _rest(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        named = {parameter.name for parameter in self._parameters}
        return {
            key: freeze(value, place=key)
            for key, value in fields.items()
            if key not in named and key.isidentifier() and self._may_read(key)
        }

    def _may_read(self, key: str) -> bool:
        return self.reads is None or key in self.reads

    # -- the way out -------------------------------------------------------------------------------------------------

    def _update(self, result: Any) -> Any:
        if result is None:
            return {}
        if isinstance(result, Command):
            update = None if result.update is None else self._own_keys(result.update)
            return replace(result, update=update)
        return self._own_keys(result)

    def _own_keys(self, update: Any) -> Any:
        if not isinstance(update, Mapping):
            raise self._fault(
                f"it returned {shown(update)}, which is no update",
                "Return a mapping of the keys to change, None for no change, or a Command.",
            )
        keys: Mapping[Any, Any] = update
        for key in keys:
            if not isinstance(key, str):
                raise self._fault(f"its update has the key {shown(key)}", "Name the keys of the state by text.")
            if self.writes is not None and key not in self.writes:
                raise self._fault(
                    f"it wrote the key {key!r}, which its writes= does not declare",
                    f"Add {key!r} to writes=, or leave it out of the update.",
                )
        return thaw(dict(keys))

    def _fault(self, problem: str, remedy: str) -> NodeError:
        return NodeError(node=self.name, problem=problem, remedy=remedy)

    def __repr__(self) -> str:
        return f"FunctionNode({self.name!r})"


def _keys(option: str, keys: Iterable[str] | None) -> frozenset[str] | None:
    if keys is None:
        return None
    if isinstance(keys, str):
        raise OptionError(option=option, value=keys, expected="a list of keys", remedy=f"Pass [{keys!r}].")
    found = frozenset(keys)
    if not all(isinstance(key, str) for key in found):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise OptionError(option=option, value=keys, expected="keys as text")
    return found


def _name_of(fn: Any) -> str:
    while hasattr(fn, "func"):  # a partial
        fn = fn.func
    return str(getattr(fn, "__name__", type(fn).__name__))


def _first_complaint(error: ValidationError) -> str:
    """The first of pydantic's complaints with its place, and how many more there are."""
    complaints = error.errors(include_url=False, include_context=False)
    place = "".join(f"[{part!r}]" for part in complaints[0]["loc"])
    more = f" (and {len(complaints) - 1} more)" if len(complaints) > 1 else ""
    text = complaints[0]["msg"].rstrip(".")
    return f"{text}{f' at {place}' if place else ''}, got {shown(complaints[0]['input'])}{more}"
