"""A tool's body in a process of its own: what goes with it, and what has to stay behind.

Arguments, injected values and results are pickled. What a body may ask of its call goes along as plain data; its
progress and its signs of life come back as messages. A store or an object of the host's that cannot be pickled stays
behind, and says so when the body reaches for it: most bodies that take a ToolContext want neither.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Final, NoReturn

from surehand.calls.attempts.injection import injected_values
from surehand.calls.call import Call
from surehand.calls.results import MAX_ITEMS
from surehand.calls.watch import Signs, Watch
from surehand.concurrency import run_in_process, send_heartbeat, send_progress, why_left_behind
from surehand.errors import InterruptError, ToolDefinitionError
from surehand.spec import ToolContext

__all__ = ["LeftBehind", "run_apart"]

_CARRIED: Final = ("state", "store", "context")
"""The attributes of a ToolContext that hold objects of the host's."""


async def run_apart(call: Call, attempt: int, signs: Signs, watch: Watch | None) -> Any:
    """What the tool's function returns, run in a process of its own; the time starts when the function does.

    Raises:
        InterruptError: The function asked.
        ToolDefinitionError: Something that the function is given cannot be pickled.
        BaseException: What the function raises, or how its process ended; see ``run_in_process``.
    """
    tool = call.tool
    if tool is None or tool.target is None:
        return None
    injected = {name: _sendable(call, value) for name, value in injected_values(call, attempt, signs).items()}
    args, kwargs = replace(tool.spec.body, function=_as_given).call(call.values, injected)

    def hear(message: tuple[Any, ...]) -> None:
        match message:
            case ("item", item):
                signs.item(item)
            case ("progress", value):
                signs.progress(value)
            case _:
                signs.beat()

    def start() -> None:
        signs.begin()
        if watch is not None:
            watch.start()

    try:
        return await run_in_process(tool.target, args, kwargs, on_start=start, on_message=hear, max_items=MAX_ITEMS)
    except InterruptError as error:
        raise InterruptError(
            problem="A tool in a process of its own cannot ask",
            value=error.value,
            remedy="Leave isolation='process' out, or have the call approved before it runs (requires_approval=True).",
        ) from error


def _as_given(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """In the place of the function: how it would have been called."""
    return args, kwargs


def _sendable(call: Call, value: Any) -> Any:
    """The injected value as it goes to the process."""
    if not issubclass(type(value), ToolContext):
        return value
    carried = {name: _carried(call, name, getattr(value, name)) for name in _CARRIED}
    if value.deadline is not None:
        carried["deadline"] = _FromNow(value.deadline - time.monotonic())
    return replace(value, on_progress=send_progress, on_heartbeat=send_heartbeat, on_interrupt=None, **carried)


class _FromNow:
    """A time from now, which turns into a moment when a process unpickles it: there the time starts to count."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __reduce__(self) -> tuple[Any, ...]:
        return _moment, (self._seconds,)


def _moment(seconds: float) -> float:
    return time.monotonic() + seconds


def _carried(call: Call, name: str, value: Any) -> Any:
    reason = why_left_behind(value)
    return value if reason is None else LeftBehind(call.name, name, reason)


class LeftBehind:
    """Stands for an object that could not be taken to the process of a tool; says so when it is used."""

    def __init__(self, tool: str, name: str, reason: str) -> None:
        self.__dict__.update(_tool=tool, _name=name, _reason=reason)

    def __getattr__(self, attribute: str) -> NoReturn:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        self._refuse()

    def __getitem__(self, key: object) -> NoReturn:
        self._refuse()

    def __repr__(self) -> str:
        return f"<{self.__dict__['_name']}, left behind>"

    def _refuse(self) -> NoReturn:
        fields = self.__dict__
        raise ToolDefinitionError(
            tool=fields["_tool"],
            problem=f"its {fields['_name']} cannot be taken to a process of its own ({fields['_reason']})",
            remedy="Give it what it needs as an argument, or leave isolation='process' out.",
        )
