"""What a node of tools is given when it runs, or when it is asked what it offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import urandom
from typing import Any, Final, cast

from surehand.calls import CallJournal
from surehand.control import RunConfig, Runtime, current_runtime
from surehand.messages import AIMessage, Message
from surehand.nodes.conversation import Conversation
from surehand.nodes.tool_sets import ToolSetRequest
from surehand.policy import mapping

__all__ = ["Visit", "thread_of"]

_RUN: Final = "surehand.run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """An input of the node, read."""

    conversation: Conversation
    messages: Sequence[Message]
    """The conversation's, as Surehand's own."""
    request: ToolSetRequest
    """What the node knows besides; its state is not read-only yet."""
    runtime: Runtime | None
    """That of the graph around the node; None outside of one."""

    @classmethod
    def of(cls, state: Any, *, key: str, config: RunConfig | None, context: Any, store: Any) -> Visit:
        """The visit with this input.

        Raises:
            InputError: The input is neither a list of messages nor a state that holds one.
            OptionError: The configuration is no mapping.
        """
        conversation = Conversation.of(state, key)
        given = cast("RunConfig", mapping("config", config))
        runtime = current_runtime()
        # What was given to this node, or this call of it, is meant more than what the graph around it offers to all.
        request = ToolSetRequest(
            state={key: state} if conversation.is_list else state,
            store=store if store is not None or runtime is None else runtime.store,
            context=context if context is not None or runtime is None else runtime.context,
            config=given,
            thread_id=thread_of(given) or _kept_thread(runtime),
        )
        return cls(conversation=conversation, messages=conversation.messages(), request=request, runtime=runtime)

    @property
    def journal(self) -> CallJournal | None:
        """The journal of the graph around the node; None where the run is not kept."""
        runtime = self.runtime
        if runtime is None or runtime.keeping is None:
            return None
        from surehand.calls.saved_journal import SavedJournal  # noqa: PLC0415 - only kept runs pay for it

        return SavedJournal(runtime.keeping.saver, runtime.keeping.thread_id, runtime.keeping.codec)

    @property
    def place(self) -> str:
        """What tells this run from others of the same words; empty where the name of the conversation does."""
        runtime = self.runtime
        if runtime is None or runtime.namespace or self.request.thread_id:
            return "" if runtime is None else runtime.namespace
        place: str = runtime.shared.setdefault(_RUN, urandom(8).hex())
        return place

    @property
    def retries_failures(self) -> bool:
        """Whether what failed is run again: by the node's own policy, and by whoever runs a node that is not kept."""
        return self.runtime is None or self.runtime.keeping is None or self.runtime.attempt > 1

    def before_answer(self) -> Sequence[Any]:
        """The messages that the newest AI message answers, as they were given."""
        newest = len(self.messages) - 1
        while newest > 0 and not isinstance(self.messages[newest], AIMessage):
            newest -= 1
        return self.conversation.given[: max(newest, 0)]


def _kept_thread(runtime: Runtime | None) -> str:
    """The thread that the run around is kept under; empty where it is not."""
    return "" if runtime is None or runtime.keeping is None else runtime.keeping.thread_id


def thread_of(config: RunConfig) -> str:
    """The conversation that a configuration names; empty where it names none.

    Raises:
        OptionError: What stands there is no mapping.
    """
    return str(mapping("configurable", config.get("configurable")).get("thread_id", ""))
