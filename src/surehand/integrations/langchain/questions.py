"""Questions of the calls in a LangGraph node, each with its own answer.

LangGraph counts the questions of a node, and gives the first answer to whoever asks first. Of calls that run side by
side, that may be any. So each call has a count of its own here; of the questions that are open, the one of the first
call is put before the graph; and beside each answer in the list that LangGraph keeps for the node stands which question
it is the answer to. That list outlives the process, and so does who was meant. What finished calls came to rides along
in it, beside the newest question: in a place of its own it would move those of the answers.

What would change our minds: an interrupt in LangGraph that says by a key of its own which question it is.
"""

# LangChain's own types are partly unknown, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import hashlib
import importlib
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NoReturn, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config

from surehand.calls import Call
from surehand.calls.journal import digest_of
from surehand.interrupts import Answer, Interrupt, Interrupted, InterruptScope, Questions

__all__ = ["Asker", "NodeQuestions"]

_PAD: Final = "__pregel_scratchpad"
_SEND: Final = "__pregel_send"
_CHECKPOINTER: Final = "__pregel_checkpointer"
_RESUME: Final = "__resume__"
_MARK: Final = "__surehand_question__"
_FINISHED: Final = "__surehand_finished__"
_SUBGRAPHS: Final = 1_000
"""The most graphs that one call may run; each has a number of its own among those of the node, also after a resume."""


@dataclass(eq=False)
class Asker:
    """A call that may ask."""

    call: Call
    known: int = 0
    """How many of its questions are answered."""
    asked: int = 0
    """How many it has asked in this run."""

    @cached_property
    def key(self) -> str:
        """Tells it from the other calls of the node, in whichever process; most calls never ask."""
        call = self.call
        parts = [str(call.position), call.id, call.name, digest_of(call.raw)]  # the list is this run of the node's own
        return hashlib.sha256("\x1f".join(parts).encode(errors="surrogatepass")).hexdigest()[:32]

    def count(self) -> int:
        """The number of its next question, from 0."""
        number, self.asked = self.asked, self.asked + 1
        return number


@dataclass(slots=True, eq=False)
class NodeQuestions:
    """What the calls of a node have asked and heard.

    Args:
        config: The node's configuration, as LangGraph gave it.
    """

    config: RunnableConfig
    answers: dict[str, Any] = field(default_factory=dict[str, Any])
    """By the question's key."""
    is_open: str | None = None
    """The question that was put before the graph last, where it has no answer."""
    finished: Sequence[Any] = ()
    """What the node was left of calls that finished in an earlier run, in whichever process."""
    _kept: list[Any] = field(default_factory=list[Any])
    _was_kept: int = 0

    def __post_init__(self) -> None:
        pad = self._conf.get(_PAD)
        if pad is None:
            return
        self._kept = list(pad.resume)
        self._was_kept = len(self._kept)
        self.finished = next((item[_FINISHED] for item in reversed(self._kept) if _is_ours(item, _FINISHED)), ())
        self._read()
        if self.is_open is not None and not self.is_open.endswith(_INSIDE):
            answer = pad.get_null_resume(True)
            if answer is not None:
                self._kept.append(answer)
                self._read()

    def _read(self) -> None:
        """Find the answers in the list: each question's mark, and behind it what it was answered."""
        self.is_open = None
        for item, following in itertools.pairwise([*self._kept, _NOTHING]):
            mark = _mark_in(item)
            if mark is None:
                continue
            if following is _NOTHING or _mark_in(following) is not None:
                self.is_open = mark if following is _NOTHING else None
            else:
                self.answers[mark] = following

    @property
    def can_ask(self) -> bool:
        """Whether somebody could answer: there is a graph with a checkpointer."""
        return self._conf.get(_PAD) is not None and self._conf.get(_CHECKPOINTER) not in (None, False)

    @property
    def _conf(self) -> Mapping[str, Any]:
        return self.config.get("configurable") or {}

    def scope(self) -> InterruptScope | None:
        """Where our own code asks: approvals, and the context of a tool; None where nobody could answer."""
        if not self.can_ask:
            return None
        heard = {key: Answer(value=value, given_at=time.time()) for key, value in self.answers.items()}  # noqa: TID251
        return InterruptScope(Questions(answers=heard), ("langgraph",))

    def asker(self, call: Call) -> Asker:
        """The call, among those that ask."""
        asker = Asker(call)
        if self.answers:
            asker.known = next(n for n in itertools.count() if f"{asker.key}/{n}" not in self.answers)
        return asker

    def config_for(self, asker: Asker, position: int) -> dict[str, Any]:
        """What stands in a call's configuration in the place of what the node's says about questions."""
        pad = self._conf.get(_PAD)
        if pad is None:
            return {}
        graphs = itertools.count(position * _SUBGRAPHS).__next__
        own = replace(
            pad,
            resume=[self.answers[f"{asker.key}/{number}"] for number in range(asker.known)],
            interrupt_counter=asker.count,
            get_null_resume=self._heard_inside(asker, pad),
            subgraph_counter=graphs,
        )
        return {_PAD: own, _SEND: self._without_answers(self._conf.get(_SEND))}

    def _heard_inside(self, asker: Asker, pad: Any) -> Callable[..., Any]:
        """The answer that was given without a name, for the graph inside of the call that had asked, and no other."""

        def heard(consume: bool = False) -> Any:  # noqa: FBT001, FBT002 - LangGraph's own signature
            return pad.get_null_resume(consume) if self.is_open == asker.key + _INSIDE else None

        return heard

    def _without_answers(self, send: Any) -> Any:
        if send is None:
            return None

        def sending(writes: Sequence[tuple[str, Any]]) -> None:
            send([write for write in writes if write[0] != _RESUME])

        return sending

    def question(self, asker: Asker, error: Any) -> Interrupted:
        """What LangGraph's ``interrupt``, or a graph inside of the call, has raised."""
        number = asker.asked - 1
        is_own = asker.asked > asker.known and self._is_from_here(error, number)
        key = f"{asker.key}/{number}" if is_own else asker.key + _INSIDE
        return Interrupted([Interrupt(id=key, value=error)])

    def _is_from_here(self, error: Any, number: int) -> bool:
        """Whether a question has the id that LangGraph gives to one that a call asks itself."""
        interrupts: Sequence[Any] = error.args[0] if error.args else ()
        if len(interrupts) != 1:
            return False
        kind: Any = type(interrupts[0])
        place = str(self._conf.get("checkpoint_ns", ""))
        ids = {kind.from_ns(value=None, ns=where).id for where in (place, f"{place}|{number}")}
        return interrupts[0].id in ids

    def put(self, asked: Interrupted, finished: Sequence[Any] = ()) -> NoReturn:
        """Put the question of the first call before the graph.

        Args:
            asked: The questions of all calls.
            finished: What is to be left of calls that are finished.

        Raises:
            GraphBubbleUp: Always; the graph ends the run with it, or goes where it says.
        """
        question = asked.interrupts[0]
        signal = question.value if isinstance(question.value, BaseException) else None
        if signal is not None and (not self.can_ask or not _is_question(signal)):
            raise signal
        # Asked once more, it keeps its place, and so the id that somebody may have in hand.
        kept = self._kept if self.is_open == question.id else [*self._kept, {_MARK: question.id}]
        kept = _leaving(kept, finished)
        self._conf[_SEND]([(_RESUME, kept)])
        if signal is not None and question.id.endswith(_INSIDE):
            raise signal
        self._raise(kept, signal, question)

    def _raise(self, kept: list[Any], signal: BaseException | None, question: Interrupt) -> NoReturn:
        """Ask once more, in the place that the answer will be found in."""
        types = importlib.import_module("langgraph.types")
        asked: Any = None if signal is None else signal.args[0][0]
        value = question.value if asked is None else asked.value
        schema = getattr(asked, "response_schema", None)
        pad = replace(self._conf[_PAD], resume=kept, interrupt_counter=kept.__len__, get_null_resume=_nothing_heard)
        config = {**self.config, "configurable": {**self._conf, _PAD: pad}}
        token = var_child_runnable_config.set(cast("RunnableConfig", config))
        try:
            types.interrupt(value, **({} if schema is None else {"response_schema": schema}))
        finally:
            var_child_runnable_config.reset(token)
        raise AssertionError  # an interrupt without an answer always raises

    def keep(self, finished: Sequence[Any] = ()) -> None:
        """Have the answers stay known though the node fails: LangGraph forgets those that were given by an id.

        Args:
            finished: What is to be left of calls that are finished.
        """
        is_news = len(self._kept) > self._was_kept or bool(finished)
        if is_news and (send := self._conf.get(_SEND)) is not None:
            send([(_RESUME, _leaving(self._kept, finished))])


_INSIDE: Final = "/inside"
"""Ends the key of what a graph inside of a call asks: LangGraph finds its answer by itself."""
_NOTHING: Final = object()


def _nothing_heard(consume: bool = False) -> None:  # noqa: FBT001, FBT002 - LangGraph's own signature
    del consume


def _mark_in(item: Any) -> str | None:
    return item[_MARK] if _is_ours(item, _MARK) else None


def _is_ours(item: Any, key: str) -> bool:
    return isinstance(item, dict) and key in item


def _leaving(kept: Sequence[Any], finished: Sequence[Any]) -> list[Any]:
    """The list with what is left of finished calls beside the newest question, and nowhere else.

    No item moves: answers and ids go by their places. Where nothing was asked yet, it is an item of its own, the first.
    """
    bare = [{**item, _FINISHED: []} if _is_ours(item, _FINISHED) else item for item in kept]
    places = [place for place, item in enumerate(bare) if _mark_in(item) is not None]
    if not finished:
        return bare
    left = {_FINISHED: list(finished)}
    if places:
        bare[places[-1]] = {**bare[places[-1]], **left}
        return bare
    return [left, *(bare[1:] if bare and _is_ours(bare[0], _FINISHED) else bare)]


def _is_question(signal: BaseException) -> bool:
    return any(kind.__name__ == "GraphInterrupt" for kind in type(signal).__mro__)
