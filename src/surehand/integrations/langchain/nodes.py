"""Our node of tools in a LangGraph graph."""

# LangChain's own types are partly unknown, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import urandom
from typing import Any, ClassVar, Final, Literal, cast

from langchain_core.runnables import Runnable
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool as ForeignTool
from langchain_core.tools import tool as foreign_tool
from typing_extensions import override

from surehand.calls import Answers, Call, ToolTable, Turn, run_turn, run_turn_sync
from surehand.errors import OptionError
from surehand.integrations.langchain.export import to_langchain_tool
from surehand.integrations.langchain.inputs import GraphVisit, read_visit
from surehand.integrations.langchain.markers import is_marked
from surehand.integrations.langchain.outputs import Output
from surehand.integrations.langchain.questions import NodeQuestions
from surehand.integrations.langchain.surroundings import GraphTurn
from surehand.integrations.langchain.tools import LangChainTool, from_langchain_tool
from surehand.integrations.langchain.turn_journals import TurnJournal, journal_beside
from surehand.integrations.langchain.upstream import UPSTREAM_OPTIONS, UpstreamErrors, invocation_errors
from surehand.integrations.langchain.wrappers import Wrappers, check_wrapper
from surehand.interrupts import Interrupted
from surehand.nodes import ToolNode as OwnToolNode
from surehand.nodes.tool_sets import ToolSet
from surehand.nodes.visit import Visit
from surehand.policy import UNSET, text
from surehand.tools import BaseTool, as_tools

__all__ = ["Compat", "ToolNode", "check_compat"]

Compat = Literal["langgraph"]
"""Whose defaults hold: LangGraph's."""

_UPSTREAM_NODE: Final[dict[str, Any]] = {"no_progress": None, "retry_budget": None, "max_turn_output": None}

_MOST_BROUGHT: Final = 64
"""How many tools that wrappers brought are kept, ready to run."""


class ToolNode(OwnToolNode, Runnable[Any, Any]):  # type: ignore[misc]  # a Runnable may have no name
    """Executes the calls of the newest AI message, as a node of a LangGraph graph or by itself.

    It takes what LangGraph's own ``ToolNode`` takes and gives back what that gives back: LangChain's messages and
    LangGraph's commands. What it does in between is Surehand's: see ``surehand.ToolNode``, all of whose options it has.
    On each tool message the outcome stands in ``response_metadata["surehand"]``.

    Args:
        tools: LangChain's tools, ours, or functions.
        name: The node's name.
        tags: Words for callbacks and traces of the tools, and for the node's log records.
        handle_tool_errors: See ``surehand.ToolNode``; with ``compat="langgraph"`` what LangGraph makes of it.
        messages_key: The state's key (or attribute) that holds the messages.
        wrap_tool_call: A function of a ``ToolCallRequest`` and ``execute``, around every call. In an asynchronous run
            it is called on a thread. Where a call may have had its effect, a second ``execute`` does not run it again,
            unless the tool is ``idempotent`` or ``read_only``.
        awrap_tool_call: The same, asynchronous; where both are given, it is called in asynchronous runs.
        compat: None for our defaults, ``"langgraph"`` for LangGraph's: what tools raise is raised, with LangGraph's
            words where it is told; no time limit, no retries, no guards, results as LangChain writes them, and no
            outcome in the metadata.
        **options: The others of ``surehand.ToolNode``; ``commands`` is on.

    Raises:
        OptionError: An option has a value that cannot be meant.
        ToolDefinitionError: Something is no tool, or two tools share a name.

    Example:
        graph = StateGraph(MessagesState)
        graph.add_node("tools", ToolNode([search]))
    """

    _may_be_empty: ClassVar[bool] = True

    def __init__(
        self,
        tools: Iterable[Any] | Callable[[Any], Any],
        *,
        name: str = "tools",
        tags: Sequence[str] | None = None,
        handle_tool_errors: Any = UNSET,
        messages_key: str = "messages",
        wrap_tool_call: Callable[..., Any] | None = None,
        awrap_tool_call: Callable[..., Any] | None = None,
        compat: Compat | None = None,
        **options: Any,
    ) -> None:
        self._compat = check_compat(compat)
        self._wrappers = Wrappers(
            wrap=check_wrapper("wrap_tool_call", wrap_tool_call),
            awrap=check_wrapper("awrap_tool_call", awrap_tool_call),
        )
        self._errors = _upstream_errors(handle_tool_errors) if self._compat else None
        if self._compat:
            options = UPSTREAM_OPTIONS | _UPSTREAM_NODE | options
        if self._errors is None and handle_tool_errors is not UNSET:
            options["handle_tool_errors"] = handle_tool_errors
        given: Any = tools
        if not isinstance(given, str | Mapping) and hasattr(given, "__iter__"):
            given = _distinct(map(self._as_tool, given), keep_last=self._compat is not None)
        known: Any = {"commands": True, **options}
        super().__init__(
            given,
            name=text("name", name),
            tags=tags,
            messages_key=messages_key,
            **known,
        )
        self._foreign: dict[str, Any] = {known: _as_foreign(tool) for known, tool in self.tools_by_name.items()}
        self.tools_by_name = self._foreign
        self._own_journal = TurnJournal()
        self._brought: dict[int, tuple[Any, ToolTable]] = {}

    def _as_tool(self, tool: Any) -> Any:
        """A tool as it is to be run; what LangGraph fills, only a tool of LangChain's can ask for."""
        is_compatible = self._compat is not None
        if isinstance(tool, ForeignTool):
            return from_langchain_tool(tool, by_name=is_compatible)
        if isinstance(tool, type | BaseTool) or not callable(tool):
            return tool
        function: Any = tool
        if is_compatible:
            return from_langchain_tool(foreign_tool(function), by_name=True)
        if is_marked(function):
            return from_langchain_tool(foreign_tool(description=function.__doc__ or function.__name__)(function))
        return function

    @override
    def invoke(self, input: Any, config: Any = None, *, context: Any = None, **_: Any) -> Any:
        """Execute the calls; see ``ainvoke``."""
        visit = self._visit(input, ensure_config(config), context)
        tools = self._known_tools(visit) or self._sets.now(visit.request)
        turn, calls = self._graph_calls(visit, tools)
        try:
            return self._output(turn, run_turn_sync(calls))
        except Interrupted as asked:
            turn.put(asked)
        except Exception as error:
            turn.failed(error)
            raise

    @override
    async def ainvoke(self, input: Any, config: Any = None, *, context: Any = None, **_: Any) -> Any:
        """Execute those calls that no later tool message answers.

        Args:
            input: What a LangGraph node is given: a list of messages, a state that holds one, a list of tool calls, or
                a ``tool_call_with_context``.
            config: The run's configuration; in a graph it is found by itself.
            context: The host's own object, for injected parameters; None for the graph's.

        Returns:
            The new tool messages in call order: a list for a list, else ``{messages_key: […]}``. With commands, a list
            of updates and commands.

        Raises:
            InputError: There is nothing to answer.
            GraphBubbleUp: A tool asked, or LangGraph is meant by what it raised.
            Exception: What a tool raised and is not to be told.
        """
        visit = self._visit(input, ensure_config(config), context)
        tools = self._known_tools(visit) or await self._sets.anow(visit.request)
        turn, calls = self._graph_calls(visit, tools)
        try:
            return self._output(turn, await run_turn(calls))
        except Interrupted as asked:
            turn.put(asked)
        except Exception as error:
            turn.failed(error)
            raise

    @override
    def _visit(self, state: Any, config: Any, context: Any) -> GraphVisit:
        known = ensure_config(config)
        return read_visit(state, key=self.messages_key, config=known, context=context, store=self._store)

    def _graph_calls(self, visit: GraphVisit, tools: ToolSet) -> tuple[GraphTurn, list[Call]]:
        calls = self._calls(visit, tools)
        if calls:
            return cast("GraphTurn", calls[0].turn.surroundings), calls
        return self._surroundings(visit), calls

    @override
    def _turn(self, visit: Visit, tools: ToolSet, message: Any, *, guard: Any) -> Turn:
        turn = super()._turn(visit, tools, message, guard=guard)
        assert isinstance(visit, GraphVisit)  # noqa: S101 - narrows the type: this node makes no other
        surroundings = turn.surroundings = self._surroundings(visit)
        if self._compat is not None:
            turn.__dict__["shown_state"] = turn.state
        if turn.journal is None:
            turn.journal = surroundings.journal
            turn.retries_failures = False
            turn.place = "" if message.id else visit.task
            if not turn.thread_id:  # replies from a cache have the same ids for everybody who asks
                turn.__dict__["mark"] = f"{turn.mark} in {visit.task or urandom(8).hex()}"
            surroundings.open(turn)
        return turn

    def _surroundings(self, visit: GraphVisit) -> GraphTurn:
        is_kept_here = self._journal is None
        return GraphTurn(
            visit=visit,
            questions=NodeQuestions(visit.config),
            output=Output(
                key=self.messages_key, form=visit.form, ids=visit.ids, is_compatible=self._compat is not None
            ),
            wrappers=self._wrappers,
            tools=self._foreign,
            table_of=self._table_of,
            tags=self.tags,
            journal=journal_beside(visit.checkpointer, self._own_journal) if is_kept_here else None,
            errors=self._errors,
        )

    def _table_of(self, tool: Any) -> ToolTable:
        """A table of a tool that a wrapper brought; the same one for the same tool."""
        known = self._brought.get(id(tool))
        if known is None or known[0] is not tool:
            (own,) = as_tools([self._as_tool(tool)])
            if len(self._brought) >= _MOST_BROUGHT:
                self._brought.clear()
            known = self._brought[id(tool)] = (tool, self._sets.of([own]).table)
        return known[1]

    def _output(self, turn: GraphTurn, answers: Answers) -> Any:
        turn.is_over(answers)
        if not turn.visit.is_foreign:
            return super()._answered(turn.visit, answers)
        parts = [part for call in answers.calls for part in turn.raw.get(call.position) or turn.output.of(call)]
        return turn.output.all(parts)


def check_compat(compat: Compat | None) -> Compat | None:
    """The name of whose defaults hold, if it is one.

    Raises:
        OptionError: It is none.
    """
    if compat not in (None, "langgraph"):
        raise OptionError(option="compat", value=compat, expected="'langgraph' or None")
    return compat


def _upstream_errors(rule: Any) -> UpstreamErrors:
    return UpstreamErrors(invocation_errors if rule is UNSET else rule)


def _as_foreign(tool: BaseTool) -> Any:
    return tool.langchain if isinstance(tool, LangChainTool) else to_langchain_tool(tool)


def _distinct(tools: Iterable[Any], *, keep_last: bool) -> list[Any]:
    """The tools; of several of one name the last one, where that is LangGraph's way."""
    given = as_tools(list(tools))
    return list({tool.spec.name: tool for tool in given}.values()) if keep_last else given
