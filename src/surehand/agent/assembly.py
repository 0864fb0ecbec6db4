"""The graph of an agent: its two nodes, and the hooks of its middlewares before, between and after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from surehand.agent.hook_nodes import JUMPS, HookNode
from surehand.agent.hooks import Hook, HookName, Stack
from surehand.agent.loop import Loop
from surehand.agent.state import AgentState
from surehand.agent.verdicts import newest_reply
from surehand.control import END, START
from surehand.graph import StateGraph

__all__ = ["assemble", "steps_of"]


def assemble(loop: Loop, stack: Stack, schema: type[AgentState]) -> StateGraph:
    """The graph of a loop with the hooks around it; a hook that nobody wrote is no node."""
    graph = StateGraph(schema)
    _Assembly(graph, loop, stack).build()
    return graph


def steps_of(stack: Stack, iterations: int) -> int:
    """Room for every step that the loop's own limit allows, so that this limit comes first, and ends in an answer."""
    # Two steps a turn and one for the entry. With hooks, a turn has a step for each, and a jump may cost as many again.
    return 2 * iterations + 1 if not stack.steps else 2 * (stack.steps + 2) * (iterations + 1)


@dataclass(frozen=True, slots=True)
class _Assembly:
    """The making of one graph."""

    graph: StateGraph
    loop: Loop
    stack: Stack

    def build(self) -> None:
        """Add all nodes and edges."""
        self.graph.add_node("model", self.loop.ask, destinations=())
        self.graph.add_node("tools", self.loop.run_tools, destinations=())
        self.graph.add_edge(START, self._first_of("before_agent", self._entry))
        self._chain("before_agent", then=self._entry)
        self._chain("before_model", then="model")
        if self.stack.hooks["after_model"]:
            self.graph.add_edge("model", self._first_of("after_model", "tools"))
        else:
            self.graph.add_conditional_edges(
                "model", self._after_reply, self._targets("tools", self._exit, self._again)
            )
        self._chain("after_model", then=None)
        self.graph.add_conditional_edges("tools", self._after_tools, self._targets(self._entry, self._exit))
        self._chain("after_agent", then=END)

    @property
    def _entry(self) -> str:
        """Where a turn of the model begins."""
        return self._first_of("before_model", "model")

    @property
    def _exit(self) -> str:
        """Where the run ends."""
        return self._first_of("after_agent", END)

    @property
    def _again(self) -> str | None:
        """Where the model's turn leads that is to be had once more; None where that cannot be."""
        return self._entry if self.loop.form is not None else None

    def _first_of(self, name: HookName, otherwise: str) -> str:
        hooks = self.stack.hooks[name]
        return str(hooks[0]) if hooks else otherwise

    def _chain(self, name: HookName, *, then: str | None) -> None:
        """The hooks of one kind, each followed by the next.

        Args:
            name: Which kind.
            then: What follows the last one; None where that depends on the model's reply.
        """
        hooks = self.stack.hooks[name]
        for hook, following in zip(hooks, [*map(str, hooks[1:]), None], strict=False):
            node = HookNode(hook=hook, loop=self.loop, settles=name == "after_model" and following is None)
            self.graph.add_node(str(hook), node.run, destinations=())
            self._lead_on(hook, following or then)

    def _lead_on(self, hook: Hook, then: str | None) -> None:
        jumps = {"end": self._exit, "model": self._entry, "tools": "tools"}

        def lead(state: AgentState) -> str:
            jump = state.get("jump_to")
            if jump is not None:
                return jumps[jump]
            return self._after_reply(state) if then is None else then

        usual = [then] if then is not None else ["tools", self._exit, self._entry]
        self.graph.add_conditional_edges(
            str(hook), lead, self._targets(*usual, *(jumps[jump] for jump in JUMPS[hook.name]))
        )

    def _after_reply(self, state: AgentState) -> str:
        """Where to go after the model's turn."""
        if state.get("end_reason") is not None:
            return self._exit
        if self.loop.form is None and not self.loop.judges_later:
            return "tools"
        _, calls = newest_reply(state.get("messages", []))
        return "tools" if calls else self._entry

    def _after_tools(self, state: AgentState) -> str:
        """Where to go after the tools' turn."""
        return self._entry if state.get("end_reason") is None else self._exit

    @staticmethod
    def _targets(*names: str | None) -> Sequence[str]:
        return list(dict.fromkeys(name for name in names if name is not None))
