"""Hooks as steps of the graph: what they write, and where they lead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeGuard

from surehand.agent.hooks import Hook, HookName
from surehand.agent.loop import Loop, attach_state
from surehand.agent.state import RESERVED, AgentState
from surehand.agent.structured import MISSING
from surehand.agent.verdicts import NO_FURTHER_TURN, Verdict, closed, newest_reply
from surehand.control import END, Command, RunConfig, Runtime, current_runtime, is_command
from surehand.errors import NodeError, shown
from surehand.messages import (
    REMOVE_ALL_MESSAGES,
    AIMessage,
    Message,
    RemoveMessage,
    ToolCall,
    ToolMessage,
    add_messages,
    check_transcript,
    convert_to_messages,
    repair_transcript,
    with_id,
)
from surehand.outcomes import FailureKind
from surehand.policy import UNSET
from surehand.shapes import is_object, items_of

__all__ = ["JUMPS", "HookNode"]

JUMPS: Final[dict[HookName, tuple[str, ...]]] = {
    "before_agent": ("end", "model", "tools"),
    "before_model": ("end", "tools"),
    "after_model": ("end", "model", "tools"),
    "after_agent": ("model",),
}
"""Where the hooks may lead besides on: anything else is where they lead anyway, or would leave hooks out for good."""

_AFTER: Final = frozenset({"after_model", "after_agent"})
_WORDS: Final[dict[str | None, str]] = {
    None: NO_FURTHER_TURN,
    "end": "The call was not executed: the application has ended the run before it.",
    "model": "The call was not executed: the application asks for another reply instead.",
}
"""What is said to calls that are left behind, by where a hook leads."""


class _Move(NamedTuple):
    """What a hook asks for."""

    update: dict[str, Any]
    jump: str | None = None


class _Left(NamedTuple):
    """The conversation as a hook leaves it."""

    given: list[Message]
    """What it adds or replaces."""
    messages: list[Message]
    reply: AIMessage | None
    """The newest one; None where there is none."""
    calls: list[ToolCall]
    """Its calls that have no answer."""
    behind: list[Message]
    """What stands after the reply."""
    is_new: bool
    """Whether the hook has added the reply."""

    @classmethod
    def by(cls, move: _Move, state: AgentState) -> _Left:
        """What a move leaves of the conversation of a state."""
        given = [
            each if isinstance(each, RemoveMessage) else with_id(each)  # the ids that they will have in the state
            for each in convert_to_messages(move.update.get("messages", []))
        ]
        before = state.get("messages", [])
        messages = add_messages(before, given)
        reply, calls = newest_reply(messages)
        places = [place for place, each in enumerate(messages) if each is reply]
        behind = messages[places[0] + 1 :] if places else []
        is_rewritten = any(each.id == REMOVE_ALL_MESSAGES for each in given)
        is_new = reply is not None and (is_rewritten or all(each.id != reply.id for each in before))
        return cls(given, messages, reply, calls, behind, is_new)

    def with_answers(self, answers: Sequence[Message]) -> list[Message]:
        """What is written so that these answers stand right behind the reply."""
        if not self.is_new:
            return [*answers, *self.given]
        split = 1 + next(place for place, each in enumerate(self.given) if each is self.reply)
        return [*self.given[:split], *answers, *self.given[split:]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HookNode:
    """One hook as a node."""

    hook: Hook
    loop: Loop
    settles: bool = False
    """Whether it is decided after this hook what follows from the newest reply."""

    async def run(self, state: AgentState, config: RunConfig) -> dict[str, Any] | None:
        """Run the hook, and write what it asks for; ``jump_to`` says where it leads."""
        try:
            move = self._read(await self.hook.call(state, current_runtime() or Runtime()))
        except Exception as error:  # whatever the host's hook raises goes on as it is, with the conversation on it
            self.hook.blame(error)
            attach_state(error, state.get("messages", []))
            raise
        is_decided = move.jump is not None or self.settles
        written = {**move.update, **_on(state)}
        # Before the model, what is left open is seen to in its turn.
        if not is_decided and (self.hook.name not in _AFTER or "messages" not in move.update):
            return written or None
        left = _Left.by(move, state)
        self._check(left, move.jump)
        if is_decided:
            return await self._decided(state, move, left, config)
        return written if self.hook.name == "after_model" else {**written, "messages": self._closed(left, "end")}

    def _check(self, left: _Left, jump: str | None) -> None:
        """Refuse what would run calls that are not there, or would not bring each one answer right behind it."""
        if jump == "tools" and not left.calls:
            raise self._refused(
                "it leads to the tools, but the newest AI message has no call without an answer",
                "Add an AIMessage with tool_calls, or leave jump_to out.",
            )
        is_after_model = self.hook.name == "after_model"
        if is_after_model:
            self._check_answers(left)
        stranger = next((each for each in left.behind if not isinstance(each, ToolMessage)), None)
        if left.calls and stranger is not None and (jump == "tools" or (jump is None and is_after_model)):
            raise self._refused(
                f"it leaves {shown(stranger)} between calls and their answers",
                "Lead to 'model' or 'end' with it, or answer the calls before it.",
            )

    def _check_answers(self, left: _Left) -> None:
        """Refuse a second answer to a call of the newest reply, and one to a call that it does not make."""
        waiting = {call["id"] for call in (left.reply.tool_calls if left.reply is not None else ())}
        for answer in left.behind:
            if not isinstance(answer, ToolMessage):
                continue
            if answer.tool_call_id not in waiting:
                raise self._refused(
                    f"it answers {answer.tool_call_id!r}, which no call of the newest AI message waits for",
                    "Answer each of its calls once; a message with the id of an answer takes its place.",
                )
            waiting.remove(answer.tool_call_id)

    async def _decided(self, state: AgentState, move: _Move, left: _Left, config: RunConfig) -> dict[str, Any]:
        """What is written where it is decided how the run goes on."""
        verdict = await self._verdict(state, left, move.jump, config)
        jump = move.jump
        if jump == "model" and verdict.reason:  # it may not be asked again: on to the end, or to the next hook there
            jump = None if self.hook.name == "after_agent" else "end"
        written = {**move.update, **_on(state), "end_reason": verdict.reason}
        if jump is not None:
            written["jump_to"] = jump
        if jump == "model" and self.loop.form is not None:
            written["structured_response"] = None
        elif verdict.value is not MISSING:
            written["structured_response"] = verdict.value
        is_left_behind = verdict.reason is not None or jump == "model"
        given = self._closed(left, move.jump) if is_left_behind else left.given
        return {**written, "messages": given} if given else written

    def _closed(self, left: _Left, jump: str | None) -> list[Message]:
        """What is written of the conversation, so that no call in it stays without an answer."""
        if self.hook.name in _AFTER:
            kind = FailureKind.LIMIT if jump is None else FailureKind.SKIPPED
            return left.with_answers(closed(left.calls, kind, _WORDS[jump]))
        if jump == "model" or not check_transcript(left.messages):  # the model's turn mends what was loaded by itself
            return left.given
        return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *map(with_id, repair_transcript(left.messages))]

    async def _verdict(self, state: AgentState, left: _Left, jump: str | None, config: RunConfig) -> Verdict:
        """What follows from where the hook leads, or from the conversation that it leaves."""
        if jump == "tools":
            return Verdict(None)
        if jump == "model":
            return Verdict(self.loop.verdicts.if_asked_out(state.get("model_calls", 0)))
        if self.hook.name != "after_model":
            return Verdict("middleware")
        verdict = await self._on_reply(state, left, config)
        return Verdict("middleware") if jump == "end" and verdict.reason is None else verdict

    async def _on_reply(self, state: AgentState, left: _Left, config: RunConfig) -> Verdict:
        """What follows from the conversation as the hooks have left it."""
        verdicts, asked, spent = self.loop.verdicts, state.get("model_calls", 0), state.get("end_reason")
        reply, calls = left.reply, left.calls
        if reply is None or (left.behind and not calls):
            return Verdict(spent or verdicts.if_asked_out(asked))  # the model has to say something to what was added
        offer = await self.loop.known_offer(state, config)
        before = left.messages[: -1 - len(left.behind)]
        open_reply = reply if len(calls) == len(reply.tool_calls) else reply.replace(tool_calls=calls)
        return verdicts.on_reply(open_reply, before, offer=offer, asked=asked, spent=spent)

    def _read(self, returned: object) -> _Move:
        """What a hook returned: nothing, a partial state, or a command.

        Raises:
            NodeError: It is something else, or asks for what a hook may not do.
        """
        if returned is None:
            return _Move({})
        command = returned if is_command(returned) else Command(update=returned)
        if not _is_update(command.update) or command.resume is not UNSET:
            raise self._refused(
                f"it returned {shown(returned)}",
                "Expected None, a mapping of state keys (with 'jump_to' for another way on), or a Command.",
            )
        update: dict[str, Any] = dict(command.update or {})
        jump = update.pop("jump_to", None)
        for key in RESERVED & update.keys():
            raise self._refused(
                f"it writes {key!r}, which is the loop's own", "Say where to go on with 'jump_to', and leave it out."
            )
        return _Move(update, self._target_of(command if jump is None else replace(command, goto=jump)))

    def _target_of(self, command: Command[Any]) -> str | None:
        """Where a command leads; None for on."""
        targets = items_of(command.goto) if isinstance(command.goto, list | tuple) else [command.goto]
        if not targets and command.graph is None:
            return None
        allowed = JUMPS[self.hook.name]
        name = "end" if targets == [END] else targets[0] if len(targets) == 1 else None
        if isinstance(name, str) and name in allowed and command.graph is None:
            return name
        where = shown(command.goto) if command.graph is None else "the graph around the agent"
        raise self._refused(
            f"it leads to {where}", f"A hook {self.hook.name} may lead to: {', '.join(map(repr, allowed))}."
        )

    def _refused(self, problem: str, remedy: str) -> NodeError:
        return NodeError(node=str(self.hook), problem=problem, remedy=remedy)


def _on(state: AgentState) -> dict[str, Any]:
    """What a hook that leads on writes: an earlier one may have led elsewhere."""
    return {} if state.get("jump_to") is None else {"jump_to": None}


def _is_update(update: object) -> TypeGuard[Mapping[str, Any] | None]:
    return update is None or is_object(update)
