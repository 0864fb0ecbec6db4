"""What a LangGraph node has around each of its calls: a configuration and questions of its own, and the wrappers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn, cast

from langchain_core.messages import ToolMessage as ForeignAnswer
from langchain_core.runnables import RunnableConfig
from langgraph import errors
from langgraph.errors import GraphBubbleUp

from surehand.calls import Answers, Call, CallKey, RegisteredTool, Through, ToolTable, Turn, amended
from surehand.integrations.langchain.commands import received
from surehand.integrations.langchain.finished_calls import read_finished, write_finished
from surehand.integrations.langchain.frames import Frame, current_frame, entered
from surehand.integrations.langchain.inputs import GraphVisit
from surehand.integrations.langchain.outputs import Output
from surehand.integrations.langchain.questions import Asker, NodeQuestions
from surehand.integrations.langchain.tools import is_langchains
from surehand.integrations.langchain.traces import traced
from surehand.integrations.langchain.turn_journals import TurnJournal
from surehand.integrations.langchain.upstream import UpstreamErrors, check_answered, check_injected, plain_content
from surehand.integrations.langchain.wrappers import Wrapped, Wrappers
from surehand.interrupts import Interrupted, interrupted_in, use_scope
from surehand.messages import ToolMessage

__all__ = ["GraphTurn"]

_DETAILS: Final = ("execution_info", "server_info")


@dataclass(slots=True, kw_only=True, eq=False)
class GraphTurn:
    """A turn of calls in a LangGraph node."""

    visit: GraphVisit
    questions: NodeQuestions
    output: Output
    wrappers: Wrappers
    tools: Mapping[str, Any]
    """The node's tools, as LangChain's, by name."""
    table_of: Callable[[Any], ToolTable]
    """A table of a tool that a wrapper brings."""
    tags: Sequence[str] = ()
    journal: TurnJournal | None = None
    """The node's own; None where the host brought one."""
    errors: UpstreamErrors | None = None
    """LangGraph's way with failures; None for ours."""
    raw: dict[int, list[Any]] = field(default_factory=dict[int, "list[Any]"])
    """What wrappers returned that is handed on as it is, by position."""
    _askers: dict[int, Asker] = field(default_factory=dict[int, Asker])
    _worded: dict[CallKey, ToolMessage] = field(default_factory=dict[CallKey, ToolMessage])
    """Answers in LangGraph's words, which are made of the exception: that is nothing to be kept with a thread."""
    _turn: tuple[str, str] = ("", "")
    """The thread, and what tells the turn from others."""

    @property
    def needs_loop(self) -> bool:
        """Whether a call can only go through where there is an event loop."""
        return self.wrappers.needs_loop

    async def around(self, call: Call, through: Through) -> Call:
        """The call at its end."""
        asker = self._askers[call.position] = self.questions.asker(call)
        with entered(self._frame(call, asker)), use_scope(self.questions.scope()):
            try:
                ended = await self._ended(call, through)
            except BaseException as error:
                asked = interrupted_in(error) or self.asked(call, error)
                if asked is None:
                    raise
                return call._replace(asks=asked)
        return self._passing(ended)

    def asked(self, call: Call, error: BaseException) -> Interrupted | None:
        """The question that an exception of LangGraph's stands for."""
        return self.questions.question(self._askers[call.position], error) if isinstance(error, GraphBubbleUp) else None

    def received(self, call: Call, value: Any) -> Any:
        """What a body returned, as the calls know it."""
        known: Any = {
            "call_id": self._id_of(call),
            "name": call.name,
            "key": self.output.key,
            "form": self.output.form,
        }
        if self.errors is None:
            return received(value, **known)
        if isinstance(value, ForeignAnswer):
            value = plain_content(value)
        made = received(value, **known)
        check_answered(made, returned=value, **known)
        return made

    def open(self, turn: Turn) -> None:
        """Say that the node takes up the turn, whose calls are recorded in its own journal."""
        assert self.journal is not None  # noqa: S101 - narrows the type: the host brought none
        self._turn = turn.thread_id, turn.mark
        self.journal.open(*self._turn, is_retry=self.visit.node_attempt > 1)
        self.journal.learn(read_finished(self.questions.finished, thread_id=turn.thread_id, message_id=turn.mark))

    def put(self, asked: Interrupted) -> NoReturn:
        """Put a question before the graph, and leave with it what other calls came to."""
        self.questions.put(asked, self._finished())

    def is_over(self, answers: Answers) -> None:
        """Say that the node returns the answers."""
        if self.journal is not None:
            self.journal.end([call.key for call in answers.calls])

    def failed(self, error: Exception) -> None:
        """Say that the node fails: what was answered stays so, but for an answer that did not fit."""
        if not _is_misanswered(error):
            self.questions.keep(self._finished())

    def _finished(self) -> list[Any]:
        if self.journal is None or not self.questions.can_ask:
            return []
        entries = self.journal.finished(*self._turn)
        told = {key: replace(entry, answer=self._worded.get(key, entry.answer)) for key, entry in entries.items()}
        return write_finished(told, checkpointer=self.visit.checkpointer)

    async def _ended(self, call: Call, through: Through) -> Call:
        settled = self._settling(through)
        if not self.wrappers:
            return await settled(call)
        frame = current_frame()
        assert frame is not None  # noqa: S101 - narrows the type; it was entered right before
        wrapped = Wrapped(
            call,
            settled,
            frame=frame,
            tool=self.tools.get(call.name),
            table_of=self.table_of,
            output=self.output,
            is_unnamed=call.position in self.visit.unnamed,
        )
        ended = await wrapped.end(self.wrappers)
        if wrapped.raw is not None:
            self.raw[call.position] = wrapped.raw
        return ended if self.errors is None else self._settled(ended, call)

    def _settling(self, through: Through) -> Through:
        """The way to a call's end, with LangGraph's way with failures at its end where that is wanted."""

        async def settling(call: Call) -> Call:
            tool = call.turn.host.table.find(call.name)
            if self.errors is None:
                return await self._told(call, through, tool)
            if tool is not None:
                state = self.visit.state if call.turn.state is self.visit.request.state else call.turn.state
                try:
                    check_injected(tool, state=state, store=call.turn.store, key=self.output.key)
                except Exception as error:  # noqa: BLE001 - what LangGraph raises, when the other calls have ended
                    return amended(call, "", has_run=False)._replace(raises=error)
            ended = self._settled(await self._told(call, through, tool), call)
            if ended.message is not None:
                self._worded[ended.key] = ended.message
            return ended

        return settling

    async def _told(self, call: Call, through: Through, tool: RegisteredTool | None) -> Call:
        """The call at its end; LangChain's tools tell its callbacks themselves."""
        if tool is None or is_langchains(tool.spec):
            return await through(call)
        return await traced(call, through, spec=tool.spec, written=self._written)

    def _written(self, ended: Call) -> Any:
        parts = self.output.of(ended)
        return parts[0] if len(parts) == 1 else parts

    def _settled(self, ended: Call, call: Call) -> Call:
        assert self.errors is not None  # noqa: S101 - narrows the type
        if ended.asks is not None or call.position in self.raw:
            return ended
        return self.errors.settled(ended, sent=call.raw, names=list(self.tools))

    def _passing(self, ended: Call) -> Call:
        """The call, marked to be raised where an answer did not fit the question: then it can be answered again."""
        error = None if ended.outcome is None else ended.outcome.error
        if error is not None and _is_misanswered(error):
            ended = ended._replace(raises=error)
        if ended.raises is not None and self.journal is not None:
            self.journal.forget(ended.key)
        return ended

    def _id_of(self, call: Call) -> str:
        return self.output.ids.get(call.position, call.id)

    def _frame(self, call: Call, asker: Asker) -> Frame:
        visit, runtime = self.visit, self.visit.graph_runtime
        config: dict[str, Any] = dict(visit.config)
        config.pop("run_id", None)
        own = self.questions.config_for(asker, call.position)
        config["configurable"] = {**(config.get("configurable") or {}), **own}
        if self.tags:
            config["tags"] = [*(config.get("tags") or ()), *self.tags]
        return Frame(
            call_id=self._id_of(call),
            config=cast("RunnableConfig", config),
            shown=lambda: self._shown(call),
            store=visit.request.store,
            context=visit.request.context,
            write=getattr(runtime, "stream_writer", None),
            tools=list(self.tools.values()),
            details={name: getattr(runtime, name, None) for name in _DETAILS},
            is_compatible=self.errors is not None,
        )

    def _shown(self, call: Call) -> Any:
        shown = call.turn.shown_state
        return shown[self.output.key] if isinstance(self.visit.state, list) else shown


_is_misanswered: Callable[[BaseException], bool] = getattr(errors, "is_invalid_resume", lambda _: False)
"""Whether LangGraph's ``interrupt`` was given an answer that its schema does not allow; old versions have no schema."""
