"""Whether a run has come to its end, and why: what follows from a reply, from a turn's answers, from a jump."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final, NamedTuple, cast

from surehand.agent.asking import is_lost
from surehand.agent.offers import Offer
from surehand.agent.state import EndReason
from surehand.agent.structured import MISSING, AnswerForm
from surehand.calls import History, past_calls
from surehand.dialects import text_calls
from surehand.messages import AIMessage, Message, ToolCall, ToolMessage, close_call, unanswered_calls
from surehand.outcomes import FailureKind
from surehand.policy import Limits, NoProgress

__all__ = ["NO_FURTHER_TURN", "Verdict", "Verdicts", "closed", "newest_reply", "texts_in_a_row"]

NO_FURTHER_TURN: Final = (
    "The call was not executed: the limit of this run is reached, and there will be no further turn."
)


class Verdict(NamedTuple):
    """What is to follow."""

    reason: EndReason | None
    """Why the run ends; None where it goes on."""
    value: Any = MISSING
    """The structured answer; MISSING where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Verdicts:
    """The rules of one agent."""

    max_iterations: int
    limits: Limits
    no_progress: NoProgress | None
    form: AnswerForm | None

    def on_reply(
        self, reply: AIMessage, before: Sequence[Message], *, offer: Offer, asked: int, spent: EndReason | None
    ) -> Verdict:
        """What follows from a reply whose calls are all open.

        Args:
            reply: The reply.
            before: The conversation before it.
            offer: What the model was offered.
            asked: How often it was asked in this run, this time included.
            spent: Which limit is used up, so that this is the last reply; None where there is something left.
        """
        if reply.tool_calls:
            return Verdict(self._on_calls(reply.tool_calls, offer=offer, asked=asked, spent=spent))
        value = MISSING if self.form is None else self.form.read_text(reply.text)
        if value is not MISSING:
            return Verdict("structured_response", value)
        reason = spent or self.on_words(reply, offer)
        if self.form is not None and reason in ("answer", "text_call"):
            return Verdict(self._on_unstructured(self.form, before, asked=asked))
        return Verdict(reason)

    def on_words(self, reply: AIMessage, offer: Offer) -> EndReason:
        """What a reply without calls is, where words are an answer."""
        if is_lost(reply):
            return "empty_reply"
        if reply.is_cut_off:
            return "truncated"
        is_call = bool(offer.names) and bool(text_calls.read_text_calls(reply.text, offer.names))
        return "text_call" if is_call else "answer"

    def on_answers(
        self, messages: Sequence[Message], answers: Sequence[ToolMessage], *, offer: Offer, asked: int
    ) -> EndReason | None:
        """What follows from the answers to a turn's calls."""
        # One failure among them, and the model is asked: it has to tell the user, or to correct the call.
        if answers and all(answer.status == "success" and answer.name in offer.direct for answer in answers):
            return "return_direct"
        asked_out = self.if_asked_out(asked)
        if any(answer.status == "success" for answer in answers):
            return asked_out
        conversation = [*messages, *answers]
        if self.form is not None and self.form.is_hopeless(conversation, offer.names):
            return "corrections"
        return (self.if_stuck(conversation) or asked_out) if asked_out else None

    def if_asked_out(self, asked: int) -> EndReason | None:
        """Why the model may not be asked again; None where it may."""
        return "max_iterations" if asked >= self.max_iterations else None

    def _on_calls(
        self, calls: Sequence[ToolCall], *, offer: Offer, asked: int, spent: EndReason | None
    ) -> EndReason | None:
        if self.form is not None and all(self.form.takes(call["name"], offer.names) for call in calls):
            return None  # an answer is looked at, whatever is used up
        # Results of return_direct tools are the answer: such calls are run though the model may not be asked again.
        needs_another_turn = not all(call["name"] in offer.direct for call in calls)
        return spent or (self.if_asked_out(asked) if needs_another_turn else None)

    def _on_unstructured(self, form: AnswerForm, before: Sequence[Message], *, asked: int) -> EndReason | None:
        """Words where something else was asked for: once more, or the end."""
        count = 1 + texts_in_a_row(before, asked - 1)
        if form.most_texts is not None and count >= form.most_texts:
            return "unstructured_answer" if form.is_called else "corrections"
        return self.if_asked_out(asked)

    def if_stuck(self, messages: Sequence[Message]) -> EndReason | None:
        """Why there is no use in further calls after a turn in which nothing succeeded; None where there may be."""
        answers = takewhile(lambda message: isinstance(message, ToolMessage), reversed(messages))
        if any(cast("ToolMessage", answer).status == "success" for answer in answers):
            return None
        history: History = past_calls(messages)
        if self.limits.corrections is not None and history.corrections >= self.limits.corrections:
            return "corrections"
        if self.no_progress is None or history.stuck_turns < self.no_progress.stop_after:
            return None
        return "repeated_failure" if history.is_stuck_failing else "no_progress"


def closed(
    calls: Sequence[ToolCall], kind: FailureKind = FailureKind.LIMIT, text: str = NO_FURTHER_TURN
) -> list[ToolMessage]:
    """Answers to calls that will not be run."""
    return [close_call(call, kind, text) for call in calls]


def newest_reply(messages: Sequence[Message]) -> tuple[AIMessage | None, list[ToolCall]]:
    """The newest AI message, and its calls that have no answer; None where there is none."""
    if not any(isinstance(message, AIMessage) for message in reversed(messages)):
        return None, []
    return unanswered_calls(messages)


def texts_in_a_row(messages: Sequence[Message], asked: int) -> int:
    """How many replies of this run, up to the newest message, were nothing but text."""
    texts = takewhile(lambda message: isinstance(message, AIMessage) and not message.tool_calls, reversed(messages))
    return min(sum(1 for _ in texts), asked)
