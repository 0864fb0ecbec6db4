"""The two nodes of an agent: the model's turn and the tools' turn, and when there is to be no further one."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from surehand.agent.offers import BoundModels, Offer
from surehand.agent.state import AgentState, EndReason
from surehand.calls import READER_NAME, History, SpentLimit, past_calls, spent_limit
from surehand.concurrency import Clock
from surehand.control import RunConfig, current_runtime
from surehand.dialects import text_calls
from surehand.errors import InputError
from surehand.messages import (
    REMOVE_ALL_MESSAGES,
    AIMessage,
    HumanMessage,
    Message,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    check_transcript,
    close_call,
    repair_transcript,
    unanswered_calls,
    with_id,
)
from surehand.nodes import ToolNode
from surehand.outcomes import FailureKind
from surehand.policy import Limits, NoProgress

__all__ = ["MAX_RE_ASKS", "Loop"]

logger = logging.getLogger("surehand.agent")

MAX_RE_ASKS: Final = 2
"""How often a reply that the provider lost is asked for again."""

_LOST: Final = "Your last reply did not arrive: it was empty. Please give it again."
_LAST_WORDS: Final = (
    "The limit of this run is reached, and no tool can be called any more. Answer now, with what you have."
)
_LIMIT: Final = "The call was not executed: the limit of this run is reached, and there will be no further turn."
_NO_TOOLS: Final = "The call was not executed: there are no tools here. Answer without calling one."

_SPENT: Final[dict[SpentLimit, EndReason]] = {
    "turns": "max_iterations",
    "calls": "max_calls",
    "seconds": "max_seconds",
    "output_chars": "max_output",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Loop:
    """The two nodes of the loop, and what they need."""

    models: BoundModels
    tools: ToolNode | None
    system: SystemMessage | None
    max_iterations: int
    limits: Limits
    no_progress: NoProgress | None
    clock: Clock

    async def ask(self, state: AgentState, config: RunConfig) -> dict[str, Any]:
        """The model's turn; where it is the last one, the calls it makes are closed."""
        messages, update = _mended(state)
        asked = state.get("model_calls", 0)
        try:
            offer, spent = await self._offer(state, messages, config)
            reply, asked = await self._reply(self._request(messages, spent), offer, asked, config)
        except Exception as error:  # whatever the model raises goes on as it is, with the conversation as evidence
            _attach(error, messages)
            raise
        reason = spent or self._reason_to_end(reply, asked, offer)
        if reason == "text_call":
            reply = _marked(reply)
        closed = [close_call(call, FailureKind.LIMIT, _LIMIT) for call in reply.tool_calls] if reason else []
        return {"messages": [*update, reply, *closed], "end_reason": reason, "model_calls": asked}

    async def run_tools(self, state: AgentState, config: RunConfig) -> dict[str, Any]:
        """The tools' turn: one answer per call."""
        messages = state.get("messages", [])
        try:
            answers = await self._answers(state, config)
        except Exception as error:  # what the host's rule lets out goes on as it is, with the conversation as evidence
            _attach(error, [*messages, *_answers_on(error)])
            raise
        return {"messages": answers, "end_reason": self._reason_after(messages, answers, state.get("model_calls", 0))}

    # What the model is offered

    async def _offer(
        self, state: AgentState, messages: list[Message], config: RunConfig
    ) -> tuple[Offer, EndReason | None]:
        """What is offered in this turn, and which limit is used up, so that it is nothing."""
        if self.tools is None:
            return self.models.known, None
        offered = await self.tools.aoffered({**state, "messages": messages}, config)
        offer = self.models.of(offered)
        _remember(self, offer)
        return offer, None if offered else self._spent(messages)

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

    # What the model says

    def _request(self, messages: Sequence[Message], spent: EndReason | None) -> list[Message]:
        # What is added here is said to the model only: the state keeps the conversation as the user had it.
        last_words = [HumanMessage(_LAST_WORDS)] if spent else []
        return [*([self.system] if self.system else []), *messages, *last_words]

    async def _reply(
        self, request: list[Message], offer: Offer, asked: int, config: RunConfig
    ) -> tuple[AIMessage, int]:
        """The model's reply and how often it was asked by then; a lost reply is asked for again, a few times."""
        model = offer.first if asked == 0 else offer.free
        again = [*request, HumanMessage(_LOST)]
        limit = min(self.max_iterations, asked + 1 + MAX_RE_ASKS)
        while True:
            reply = _checked(await model.ainvoke(request, config))
            asked += 1
            if not _is_lost(reply) or asked >= limit:
                return reply, asked
            logger.warning("the reply was empty (finish reason %r); asking again", reply.finish_reason)
            request = again

    def _reason_to_end(self, reply: AIMessage, asked: int, offer: Offer) -> EndReason | None:
        if reply.tool_calls:
            # Results of return_direct tools are the answer: such calls are run though the model may not be asked again.
            needs_another_turn = not all(call["name"] in offer.direct for call in reply.tool_calls)
            return "max_iterations" if asked >= self.max_iterations and needs_another_turn else None
        if _is_lost(reply):
            return "empty_reply"
        if reply.finish_reason in ("length", "content_filter"):
            return "truncated"
        is_call = bool(offer.names) and bool(text_calls.read_text_calls(reply.text, offer.names))
        return "text_call" if is_call else "answer"

    # What the tools say

    async def _answers(self, state: AgentState, config: RunConfig) -> list[ToolMessage]:
        if self.tools is None:
            _, calls = unanswered_calls(state.get("messages", []))
            return [close_call(call, FailureKind.UNKNOWN_TOOL, _NO_TOOLS) for call in calls]
        update = await self.tools.ainvoke(state, config)
        return cast("list[ToolMessage]", update["messages"])

    def _reason_after(
        self, messages: Sequence[Message], answers: Sequence[ToolMessage], asked: int
    ) -> EndReason | None:
        direct = _remembered(self).direct
        # One failure among them, and the model is asked: it has to tell the user, or to correct the call.
        if all(answer.status == "success" and answer.name in direct for answer in answers):
            return "return_direct"
        if not any(answer.status == "success" for answer in answers):
            reason = self._reason_of_failure(past_calls([*messages, *answers]))
            if reason is not None:
                return reason
        return "max_iterations" if asked >= self.max_iterations else None

    def _reason_of_failure(self, history: History) -> EndReason | None:
        """Why there is no use in going on after a turn in which nothing succeeded; None where there may be."""
        if self.limits.corrections is not None and history.corrections >= self.limits.corrections:
            return "corrections"
        if self.no_progress is None or history.stuck_turns < self.no_progress.stop_after:
            return None
        return "repeated_failure" if history.is_stuck_failing else "no_progress"


def _remember(loop: Loop, offer: Offer) -> None:
    """Keep what was offered for the turn that answers, which belongs to this run and to no other."""
    runtime = current_runtime()
    if runtime is not None:
        runtime.shared[loop] = offer


def _remembered(loop: Loop) -> Offer:
    runtime = current_runtime()
    return loop.models.known if runtime is None else cast("Offer", runtime.shared.get(loop, loop.models.known))


def _elapsed(clock: Clock) -> float:
    """Seconds since the run began."""
    runtime = current_runtime()
    return 0.0 if runtime is None else clock.now() - runtime.began(clock.now)


def _mended(state: AgentState) -> tuple[list[Message], list[Message]]:
    """The conversation as it may be sent, and what the state has to take in for it.

    A conversation that was loaded may hold calls that nobody answered. During a run that cannot happen.
    """
    messages = state.get("messages", [])
    if state.get("model_calls", 0) or not check_transcript(messages):
        return messages, []
    mended = [with_id(message) for message in repair_transcript(messages)]
    return mended, [RemoveMessage(id=REMOVE_ALL_MESSAGES), *mended]


def _checked(reply: object) -> AIMessage:
    if isinstance(reply, AIMessage):
        return reply
    raise InputError(
        problem="The model's reply is no AIMessage", value=reply, remedy="Return a surehand AIMessage from ainvoke."
    )


def _is_lost(reply: AIMessage) -> bool:
    """Whether the provider says that something else than an answer happened, and nothing came."""
    is_empty = not reply.tool_calls and (
        not reply.content if isinstance(reply.content, list) else not reply.text.strip()
    )
    # Nothing at all with "stop" is an answer too: after a tool's result, models do say nothing.
    return is_empty and reply.finish_reason not in (None, "stop")


def _marked(reply: AIMessage) -> AIMessage:
    logger.warning("the answer looks like a tool call written as text; text_calls=True on the model reads such calls")
    return reply.replace(response_metadata={**reply.response_metadata, "suspicious": "text_call"})


def _answers_on(error: Exception) -> list[ToolMessage]:
    """The answers of a turn that an exception carries."""
    answers: object = getattr(error, "tool_messages", None)
    return cast("list[ToolMessage]", answers) if isinstance(answers, list) else []


def _attach(error: Exception, messages: list[Message]) -> None:
    """Put what was reached on the error, unless it has a state of its own or cannot carry one."""
    if getattr(error, "state", None) is None:
        try:
            error.state = {"messages": messages, "end_reason": None}  # type: ignore[attr-defined]  # evidence for whoever goes on
        except AttributeError:
            logger.debug("a %s cannot carry the agent's state", type(error).__name__)
