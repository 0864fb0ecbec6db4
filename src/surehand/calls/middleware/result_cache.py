"""Results that are kept, so that the same question need not be asked twice.

A result may be used again where nothing but the arguments decided it, and nothing but the result came of it. So only
tools that say they are ``read_only`` are considered. One that is merely idempotent is not: setting a value to 1, then
to 2, then to 1 again has to set it three times.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Lock
from typing import Any, ClassVar, Final

from surehand.calls.journal import digest_of
from surehand.calls.middleware.copies import copy_of
from surehand.calls.middleware.protocol import AsyncRun, ToolCallRequest
from surehand.calls.results import is_cut_note, names_handle
from surehand.concurrency import SYSTEM_CLOCK, Clock
from surehand.errors import OptionError
from surehand.interrupts import EDITED, RESPONDED
from surehand.messages import ToolMessage
from surehand.outcomes import Outcome
from surehand.policy import check_function, count, flag, seconds_or_none
from surehand.spec import InjectionKind

__all__ = ["ResultCache"]

logger = logging.getLogger("surehand.calls")

_SAME_FOR_ALL: Final = frozenset({InjectionKind.CALL_ID})
"""What may be injected into a tool without its result depending on who asks."""


@dataclass(frozen=True, slots=True)
class _Kept:
    answer: ToolMessage
    at: float


class ResultCache:
    """A middleware that keeps the results of read-only tools and answers the same calls from them.

    A result is kept under the tool and its arguments. Kept are successes of tools that are ``read_only``, need no
    approval and are given nothing by the host but the call's id: what a state, a store or a user decides could be
    another's. With ``key=`` the host says what else decides, and such tools are kept too. A tool made anew, as in a set
    of tools that is computed for each turn, is another tool.

    An answer from here has a note in its outcome and no attempts. Each holds copies of its own; a result whose artifact
    cannot be copied is not kept, nor is one that came with a ``Command`` or that a human had a hand in, nor one that
    was cut and names a handle: that opens in one conversation, and not for ever. Thread-safe; several nodes may share a
    cache.

    Args:
        ttl: Seconds a result may be used; None for no end.
        max_entries: The most results kept; the one that was not used for longest goes first.
        key: What a result depends on besides the tool and its arguments, such as
            ``lambda request: request.context.user_id``; has to be hashable, and None keeps nothing of that call.
        per_thread: Whether results are used only in the conversation they came from.
        clock: Time, for tests.

    Raises:
        OptionError: An option has a value that cannot be meant.

    Example:
        node = ToolNode([search], middleware=[ResultCache(ttl=60)])
    """

    never_waits: ClassVar = True

    def __init__(
        self,
        *,
        ttl: float | None = None,
        max_entries: int = 1_000,
        key: Callable[[ToolCallRequest], Hashable] | None = None,
        per_thread: bool = False,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        check_function("key", key)
        self._ttl = seconds_or_none("ttl", ttl)
        self._max_entries = count("max_entries", max_entries)
        self._key = key
        self._per_thread = flag("per_thread", per_thread)
        self._clock = clock
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()

    async def awrap_tool_call(self, request: ToolCallRequest, run: AsyncRun, /) -> ToolMessage:
        """The result that was kept for the call, or the one that it comes to."""
        key = self._place_of(request)
        if key is None:
            return await run(request)
        known = self._recall(key)
        if known is not None:
            logger.debug("%s: tool %s answered from the result cache", request.tool_call["id"], request.tool.name)
            return known.replace(tool_call_id=request.tool_call["id"], name=request.tool_call["name"])
        answer = await run(request)
        is_own = not request.came_with_command() and not _is_on_a_shelf(answer) and not _is_a_humans(answer)
        if answer.status == "success" and is_own:
            self._keep(key, answer)
        return answer

    def clear(self) -> None:
        """Forget all results."""
        with self._lock:
            self._kept.clear()

    def __len__(self) -> int:
        return len(self._kept)

    def __repr__(self) -> str:
        return f"ResultCache({len(self._kept)} results)"

    def _place_of(self, request: ToolCallRequest) -> Hashable | None:
        """Where the call's result is kept; None where it may not be."""
        options = request.options
        if not options.read_only or options.requires_approval:
            return None
        kinds = {injection.kind for injection in request.tool.injections}
        if self._key is None:
            extra: Any = ()
            if kinds - _SAME_FOR_ALL:
                return None
        elif (extra := self._key(request)) is None:
            return None
        thread_id = request.thread_id if self._per_thread else None
        arguments = digest_of(request.tool_call["args"])
        return _checked((request.tool.name, request.tool.body.function, arguments, thread_id, extra))

    def _recall(self, key: Hashable) -> ToolMessage | None:
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            age = self._clock.now() - kept.at
            if self._ttl is not None and age >= self._ttl:
                del self._kept[key]
                return None
            self._kept.move_to_end(key)
        known = copy_of(kept.answer)
        notes = kept.answer.outcome.notes if kept.answer.outcome is not None else ()
        return known and known.replace(outcome=Outcome(notes=(*notes, f"from the result cache, {age:.3g} s old")))

    def _keep(self, key: Hashable, answer: ToolMessage) -> None:
        own = copy_of(answer)
        if own is None:
            return
        with self._lock:
            self._kept[key] = _Kept(own, self._clock.now())
            self._kept.move_to_end(key)
            while len(self._kept) > self._max_entries:
                self._kept.popitem(last=False)


def _is_on_a_shelf(answer: ToolMessage) -> bool:
    """Whether the rest of the result is to be read from a shelf."""
    was_cut = answer.outcome is not None and any(map(is_cut_note, answer.outcome.notes))
    return was_cut and names_handle(answer.text)


def _is_a_humans(answer: ToolMessage) -> bool:
    """Whether a human decided what the call ran with, or what it was answered."""
    outcome = answer.outcome
    return outcome is not None and (EDITED in outcome.repairs or RESPONDED in outcome.notes)


def _checked(key: Hashable) -> Hashable:
    try:
        hash(key)
    except TypeError:
        raise OptionError(
            option="key", value=key, expected="a function that returns something hashable, such as a text"
        ) from None
    return key
