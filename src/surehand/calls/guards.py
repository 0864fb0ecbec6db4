"""What keeps a run from using up too much, and from going round in circles: decided before the calls of a turn start.

Limits come last. A call that a guard answers from what is known needs nothing of the budget, and of a turn of eight
calls with six left the first six that can run do run.

A result is only the same for nothing if nothing happened meanwhile. A model that runs the tests after each change of
the code gets on, though the tests fail in the same words each time: so results are counted since the last new call of
a tool that may have changed something.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any, Final, Literal, TypeAlias

from surehand.calls.call import Call
from surehand.calls.failures import failed
from surehand.calls.history import (
    NOT_EXECUTED,
    NOTE,
    REPEATED,
    REPEATED_IN_DOUBT,
    STUCK,
    History,
    PastCall,
    likeness_of,
    result_of,
)
from surehand.calls.results import shorten
from surehand.calls.table import RegisteredTool, ToolTable
from surehand.concurrency import Clock
from surehand.outcomes import FailureKind
from surehand.policy import Limits, NoProgress

__all__ = ["Guard", "SpentLimit", "spent_limit"]

SpentLimit: TypeAlias = Literal["turns", "calls", "seconds", "output_chars"]
"""The limits that, once they are reached, end every further call of the run; named as in ``Limits``."""

_KNOWN_RESULT: Final = 2_000
"""The most characters of an earlier result that are repeated; the model has been given it before."""
_INSIST: Final = "(for that, the same call would have to come once more)"
_NO_RESULT: Final = frozenset({FailureKind.LIMIT, FailureKind.SKIPPED, FailureKind.CANCELLED, FailureKind.EXPIRED})
"""The answers to calls that came to nothing which could be the same again."""

_Stop: TypeAlias = tuple[FailureKind, str]
"""Why a call does not run, and the words for the model."""


def spent_limit(limits: Limits, history: History, *, executed: int, seconds: float) -> SpentLimit | None:
    """The first limit that leaves nothing for a further call; None while there is something left.

    Args:
        limits: The limits.
        history: What was called.
        executed: How many calls were executed.
        seconds: How long the run has been going on.
    """
    if limits.turns is not None and history.turn > limits.turns:
        return "turns"
    if limits.seconds is not None and seconds >= limits.seconds:
        return "seconds"
    if limits.output_chars is not None and history.output_chars >= limits.output_chars:
        return "output_chars"
    if limits.calls is not None and executed >= limits.calls:
        return "calls"
    return None


class Guard:
    """The limits and guards of one turn; made anew for each.

    Args:
        table: The tools of the turn.
        limits: None for no limits.
        no_progress: None where the same result may come as often as it likes.
        history: What was called in the run before, and in this turn.
        clock: The host's clock.
        started: When the run began, by that clock.
    """

    def __init__(
        self,
        *,
        table: ToolTable,
        limits: Limits | None,
        no_progress: NoProgress | None,
        history: History,
        clock: Clock,
        started: float,
    ) -> None:
        self._table = table
        self._limits = limits
        self._no_progress = no_progress
        self._history = history
        self._clock = clock
        self._started = started
        self._admitted = Counter[str]()

    def check(self, call: Call) -> Call:
        """The call as it may run, or ended by what keeps it from running.

        To be asked for each call of the turn that could run, in call order, before the first of them starts.
        """
        tool = call.tool
        if tool is None or call.outcome is not None:
            return call
        earlier = self._same_before(tool, call.arguments)
        stop = self._stuck(earlier) or self._repeated(tool, earlier) or self._beyond(tool)
        if stop is not None:
            return failed(call, *stop)
        self._admitted[tool.spec.name] += 1
        return call

    def after(self, call: Call) -> Call:
        """The call with a note below its result, where the run has come to this result before."""
        if self._no_progress is None or call.tool is None or call.rendered is None or call.outcome is None:
            return call
        if call.outcome.kind in _NO_RESULT:
            return call
        sent = call.raw if call.outcome.kind is FailureKind.MALFORMED else call.arguments
        times = 1 + self._times(self._same_before(call.tool, sent), result_of(call.rendered.content))
        if times < self._no_progress.warn_after:
            return call
        return call._replace(rendered=call.rendered.with_note(_note(times)))

    def spent(self) -> SpentLimit | None:
        """The limit that leaves nothing for any further call of the run; None while there is something left."""
        if self._limits is None:
            return None
        executed = self._executed.total() + self._admitted.total()
        return spent_limit(self._limits, self._history, executed=executed, seconds=self._clock.now() - self._started)

    def is_used_up(self, tool: str) -> bool:
        """Whether this tool has been executed as often as one tool may."""
        most = None if self._limits is None else self._limits.calls_per_tool
        return most is not None and self._executed[tool] + self._admitted[tool] >= most

    def _stuck(self, earlier: Sequence[PastCall]) -> _Stop | None:
        """Refuse a call that came to the same result again and again."""
        rule = self._no_progress
        results = [past for past in earlier if past.kind not in _NO_RESULT]
        if rule is None or not results:
            return None
        times = self._times(results, results[-1].result)
        if times < rule.refuse_after:
            return None
        text = (
            f"{STUCK}with these arguments it has come to the same result {times} times in this run. "
            "Change the arguments, use another tool, or answer with what you have."
        )
        return FailureKind.LIMIT, text

    def _repeated(self, tool: RegisteredTool, earlier: Sequence[PastCall]) -> _Stop | None:
        """Answer a call that was made before, or may have been, with what is known of it, unless the model insists."""
        if tool.may_run_twice or not tool.options.repeat_guard:
            return None
        last = next((past for past in reversed(earlier) if past.is_executed or past.is_done or past.is_repeat), None)
        if last is None or not (last.is_done or last.is_in_doubt):  # the first time, after a failure, or insisted on
            return None
        known = shorten(last.result, _KNOWN_RESULT)
        # Weak models do what they read last: with the way to insist at the end, they insist for ever.
        if last.is_done:
            text = f"{REPEATED} {_INSIST}. The result was: {known}\nTell the user what came of it."
        else:
            text = (
                f"{REPEATED_IN_DOUBT} {_INSIST}. All that is known: {known}\nTell the user that it may have been done."
            )
        return FailureKind.SKIPPED, text

    def _beyond(self, tool: RegisteredTool) -> _Stop | None:
        """Refuse a call that a limit leaves no room for."""
        limits, name = self._limits, tool.spec.name
        if limits is None:
            return None
        if (spent := self.spent()) is not None:
            return FailureKind.LIMIT, f"{NOT_EXECUTED}{_reached(limits, spent)} Answer with what you have."
        if self.is_used_up(name):
            reached = f"the limit of {_some(limits.calls_per_tool, 'call')} of {name!r} in this run is reached."
            return FailureKind.LIMIT, f"{NOT_EXECUTED}{reached} Use another tool, or answer with what you have."
        return None

    def _same_before(self, tool: RegisteredTool, arguments: Any) -> list[PastCall]:
        """The same call in earlier turns: the same tool with the same arguments."""
        candidates = self._by_tool.get(tool.spec.name)
        if candidates is None:
            return []
        digest = likeness_of(arguments)
        return [past for past in candidates if past.turn < self._history.turn and past.digest == digest]

    def _times(self, earlier: Sequence[PastCall], result: str) -> int:
        """In how many turns up to now the call came to this result, since something may have changed."""
        by_turn = {past.turn: past.result for past in earlier if past.kind not in _NO_RESULT}
        turns = list(takewhile(lambda turn: by_turn[turn] == result, reversed(by_turn)))
        if not turns:
            return 0
        changed = self._last_change(earlier[0])
        return sum(turn > changed for turn in turns)

    def _last_change(self, own: PastCall) -> int:
        """The newest turn in which another call, one that was new, may have changed something; 0 without one."""
        known, newest = {self._key(own)}, 0
        for past in self._history.calls:
            if past.kind is not None or self._key(past) in known:
                continue
            known.add(self._key(past))
            tool = self._table.find(past.name)
            if tool is not None and not tool.options.read_only:
                newest = past.turn
        return newest

    def _key(self, past: PastCall) -> tuple[str, str]:
        return self._name(past), past.digest

    def _name(self, past: PastCall) -> str:
        tool = self._table.find(past.name)
        return past.name if tool is None else tool.spec.name

    @cached_property
    def _by_tool(self) -> dict[str, list[PastCall]]:
        by_tool: dict[str, list[PastCall]] = {}
        for past in self._history.calls:
            by_tool.setdefault(self._name(past), []).append(past)
        return by_tool

    @cached_property
    def _executed(self) -> Counter[str]:
        # Several agents may share a conversation: each counts the calls of its own tools.
        tools = (self._table.find(past.name) for past in self._history.executed)
        return Counter(tool.spec.name for tool in tools if tool is not None)


def _reached(limits: Limits, spent: SpentLimit) -> str:
    match spent:
        case "turns":
            limit = _some(limits.turns, "turn")
        case "calls":
            limit = _some(limits.calls, "call")
        case "seconds":
            limit = f"{limits.seconds:g} seconds"
        case "output_chars":
            limit = f"{_some(limits.output_chars, 'character')} of results"
    return f"the limit of {limit} for this run is reached."


def _some(number: int | None, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _note(times: int) -> str:
    return (
        f"{NOTE}it has come {times} times now. To get on, change the arguments, use another tool, "
        "or answer with what you have.]"
    )
