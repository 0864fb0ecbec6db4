"""The two nodes of an agent: the model's turn and the tools' turn."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from surehand.agent.asking import Asker, Question
from surehand.agent.offers import BoundModels, Offer
from surehand.agent.state import AgentState, EndReason
from surehand.agent.structured import MISSING, AnswerForm, Taken
from surehand.agent.verdicts import Verdicts, closed, newest_reply, texts_in_a_row
from surehand.calls import READER_NAME, SpentLimit, past_calls, spent_limit
from surehand.concurrency import Clock
from surehand.control import Command, RunConfig, current_runtime
from surehand.messages import (
    REMOVE_ALL_MESSAGES,
    AIMessage,
    HumanMessage,
    Message,
    ProblemKind,
    RemoveMessage,
    ToolCall,
    ToolMessage,
    as_new,
    check_transcript,
    repair_transcript,
    unanswered_calls,
    with_id,
)
from surehand.nodes import ToolNode
from surehand.nodes.visit import thread_of
from surehand.outcomes import FailureKind
from surehand.policy import Limits

__all__ = ["Loop", "attach_state"]

logger = logging.getLogger("surehand.agent")

_LAST_WORDS: Final = (
    "No tool can be called any more in this run. Answer now, with what you have, and say what could not be done."
)
_NO_TOOLS: Final = "The call was not executed: there are no tools here. Answer without calling one."
_NO_SUCH_TOOL: Final = "The call was not executed: there is no tool of this name here."

_SPENT: Final[dict[SpentLimit, EndReason]] = {
    "turns": "max_iterations",
    "calls": "max_calls",
    "seconds": "max_seconds",
    "output_chars": "max_output",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Loop:
    """The two nodes of the loop, and what they need."""

    asker: Asker
    tools: ToolNode | None
    form: AnswerForm | None
    verdicts: Verdicts
    clock: Clock
    judges_later: bool
    """Whether hooks look at a reply before it is decided what follows from it."""
    has_hooks: bool
    """Whether hooks write of the conversation while the run goes on."""

    @property
    def models(self) -> BoundModels:
        """The model, for any set of tools."""
        return self.asker.models

    @property
    def limits(self) -> Limits:
        """What one run may use up."""
        return self.verdicts.limits

    async def ask(self, state: AgentState, config: RunConfig) -> dict[str, Any]:
        """The model's turn; where it is the last one, the calls it makes are closed."""
        messages, update = await self._mended(state, config)
        try:
            offer, spent = await self._offer(state, messages, config)
            question = self._question(state, messages, offer=offer, spent=spent)
            response, asked = await self.asker.reply(question, config)
        except Exception as error:  # whatever the model raises goes on as it is, with the conversation as evidence
            attach_state(error, messages)
            raise
        written = {**response.update, "model_calls": asked}
        reply = as_new(response.message, messages)
        if self.judges_later:
            return {**written, "messages": [*update, self._looked_through(reply, offer)], "end_reason": spent}
        verdict = self.verdicts.on_reply(reply, messages, offer=offer, asked=asked, spent=spent)
        if verdict.reason == "text_call":
            reply = _marked(reply)
        if verdict.value is not MISSING:
            written["structured_response"] = verdict.value
        closing = closed(reply.tool_calls) if verdict.reason else []
        return {**written, "messages": [*update, reply, *closing], "end_reason": verdict.reason}

    async def _mended(self, state: AgentState, config: RunConfig) -> tuple[list[Message], list[Message]]:
        """The conversation as it may be sent, and what the state has to take in for it.

        A conversation that was loaded, or that goes on after a run was left, may hold calls that nobody answered.
        During a run only a hook can leave some.
        """
        messages, is_under_way = state.get("messages", []), state.get("model_calls", 0) > 0
        if is_under_way and not (self.has_hooks and _has_open_calls(messages)):
            return messages, []
        if not check_transcript(messages):
            return messages, []
        # What a hook took out of a run under way is not to be put back.
        known = [] if self.tools is None or is_under_way else await self.tools.asettle(state, config)
        mended = [with_id(message) for message in repair_transcript([*messages, *known])]
        return mended, [RemoveMessage(id=REMOVE_ALL_MESSAGES), *mended]

    async def run_tools(self, state: AgentState, config: RunConfig) -> Any:
        """The tools' turn: one answer per call."""
        messages = state.get("messages", [])
        try:
            offer = await self.known_offer(state, config)
            answers, value, commands = await self._answers(state, offer, config)
        except Exception as error:  # what the host's rule lets out goes on as it is, with the conversation as evidence
            attach_state(error, [*messages, *_answers_on(error)])
            raise
        asked = state.get("model_calls", 0)
        update: dict[str, Any] = {"messages": answers}
        if value is not MISSING:
            update |= {"structured_response": value, "end_reason": "structured_response"}
        else:
            update["end_reason"] = self.verdicts.on_answers(messages, answers, offer=offer, asked=asked)
        return [Command(update=update), *commands] if commands else update

    # What the model is asked

    async def _offer(
        self, state: AgentState, messages: list[Message], config: RunConfig
    ) -> tuple[Offer, EndReason | None]:
        """What is offered in this turn, and why it is nothing where these are to be the model's last words."""
        stuck = self.verdicts.if_stuck(messages)
        if self.tools is None:
            return self.models.known, stuck
        offered = () if stuck else await self.tools.aoffered({**state, "messages": messages}, config)
        offer = self.models.of(offered)
        _remember(self, offer)
        return offer, stuck or (None if offered else self._spent(messages))

    async def known_offer(self, state: AgentState, config: RunConfig) -> Offer:
        """What was offered for the newest reply; where another process asked for it, what would be offered now."""
        runtime = current_runtime()
        offer = None if runtime is None else runtime.shared.get(self)
        if offer is not None:
            return cast("Offer", offer)
        if self.tools is None or self.models.known.tools:  # what is fixed is known to every process
            return self.models.known
        messages = state.get("messages", [])
        newest = max((place for place, each in enumerate(messages) if isinstance(each, AIMessage)), default=0)
        offer, _ = await self._offer(state, messages[:newest], config)
        return offer

    def _spent(self, messages: Sequence[Message]) -> EndReason | None:
        """Which limit is used up, for good; None where nothing is offered for a reason that may pass."""
        history, known = past_calls(messages), self.models.known.names
        own = [past.answer.name or past.name for past in history.executed]
        executed = Counter(name for name in own if name in known or name == READER_NAME or not known)
        seconds = _elapsed(self.clock)
        spent = spent_limit(self.limits, history, executed=executed.total(), seconds=seconds)
        if spent is not None:
            return _SPENT[spent]
        most = self.limits.calls_per_tool
        is_used_up = most is not None and all(executed[name] >= most for name in known)
        return "max_calls" if is_used_up and known else None

    def _question(
        self, state: AgentState, messages: list[Message], *, offer: Offer, spent: EndReason | None
    ) -> Question:
        asked, form = state.get("model_calls", 0), self.form
        private: list[Message] = [HumanMessage(_LAST_WORDS)] if spent else []
        # Words where something else was asked for: they are the newest message, and of this run.
        has_missed = form is not None and texts_in_a_row(messages, asked) > 0
        if form is not None and has_missed:
            private.append(form.words_after(cast("AIMessage", messages[-1])))
        return Question(
            state=state,
            messages=messages,
            private=private,
            offer=offer,
            asked=asked,
            is_forced=form is not None and form.is_called and (has_missed or spent is not None),
        )

    def _looked_through(self, reply: AIMessage, offer: Offer) -> AIMessage:
        """The reply, marked where it looks like a call that the model wrote as text."""
        is_plain = not reply.tool_calls and self.form is None
        return _marked(reply) if is_plain and self.verdicts.on_words(reply, offer) == "text_call" else reply

    # What the tools say

    async def _answers(
        self, state: AgentState, offer: Offer, config: RunConfig
    ) -> tuple[list[ToolMessage], Any, Sequence[Command[Any]]]:
        """The answers in call order, the structured answer among them, and what tools ask of the graph."""
        if self.form is None:
            answers, commands = await self._run(state, config)
            return answers, MISSING, commands
        reply, calls = newest_reply(state.get("messages", []))
        given = [call for call in calls if self.form.takes(call["name"], offer.names)]
        taken = Taken([])
        if reply is not None and given:
            taken = await self.form.take(reply, given, thread_id=thread_of(config))
        if given and len(given) == len(calls):
            return taken.messages, taken.value, ()
        # What is answered by now is not run again; and what tools are shown is the whole turn.
        shown = {**state, "messages": [*state.get("messages", []), *taken.messages]} if given else state
        answers, commands = await self._run(shown, config)
        return _in_call_order([*answers, *taken.messages], calls), taken.value, commands

    async def _run(
        self, state: Mapping[str, Any], config: RunConfig
    ) -> tuple[list[ToolMessage], Sequence[Command[Any]]]:
        if self.tools is None:
            _, calls = unanswered_calls(state.get("messages", []))
            return closed(calls, FailureKind.UNKNOWN_TOOL, _NO_TOOLS if self.form is None else _NO_SUCH_TOOL), ()
        update: Any = await self.tools.ainvoke(state, config)
        if not isinstance(update, list):
            return cast("list[ToolMessage]", update["messages"]), ()
        first, *commands = cast("list[Command[Any]]", update)  # the messages go first, then what tools ask for
        return first.update["messages"], commands


def _has_open_calls(messages: Sequence[Message]) -> bool:
    return any(problem.kind is ProblemKind.UNANSWERED for problem in check_transcript(messages))


def _in_call_order(answers: list[ToolMessage], calls: Sequence[ToolCall]) -> list[ToolMessage]:
    places = {call["id"]: place for place, call in enumerate(calls)}
    return sorted(answers, key=lambda answer: places.get(answer.tool_call_id, len(places)))


def _remember(loop: Loop, offer: Offer) -> None:
    """Keep what was offered for the turn that answers, which belongs to this run and to no other."""
    runtime = current_runtime()
    if runtime is not None:
        runtime.shared[loop] = offer


def _elapsed(clock: Clock) -> float:
    """Seconds since the run began."""
    runtime = current_runtime()
    return 0.0 if runtime is None else clock.now() - runtime.began(clock.now)


def _marked(reply: AIMessage) -> AIMessage:
    logger.warning("the answer looks like a tool call written as text; text_calls=True on the model reads such calls")
    return reply.replace(response_metadata={**reply.response_metadata, "suspicious": "text_call"})


def _answers_on(error: Exception) -> list[ToolMessage]:
    """The answers of a turn that an exception carries."""
    answers: object = getattr(error, "tool_messages", None)
    return cast("list[ToolMessage]", answers) if isinstance(answers, list) else []


def attach_state(error: Exception, messages: Sequence[Message]) -> None:
    """Put what was reached on the error, unless it has a state of its own or cannot carry one."""
    if getattr(error, "state", None) is None:
        try:
            error.state = {"messages": list(messages), "end_reason": None}  # type: ignore[attr-defined]  # evidence for whoever goes on
        except AttributeError:
            logger.debug("a %s cannot carry the agent's state", type(error).__name__)
