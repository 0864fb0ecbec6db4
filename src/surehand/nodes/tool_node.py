"""The node that executes tool calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, cast

from typing_extensions import Unpack

from surehand.calls import (
    RENDERERS,
    Answers,
    Approve,
    Breakers,
    Call,
    CallJournal,
    Guard,
    History,
    Host,
    Renderer,
    Renderers,
    ResultShelf,
    RetryBudget,
    ToolCallMiddleware,
    ToolTable,
    Turn,
    as_middleware,
    calls_of,
    past_calls,
    run_turn,
    run_turn_sync,
    settle_turn,
    timeout_of,
)
from surehand.concurrency import SYSTEM_CLOCK, Clock
from surehand.control import END, Command, RunConfig, Runtime
from surehand.errors import InputError
from surehand.events import Listener
from surehand.messages import AIMessage, ToolMessage, left_calls, unanswered_calls
from surehand.nodes.conversation import Conversation
from surehand.nodes.node_options import fatal_types, group_limits, overriding, stops_on_failure
from surehand.nodes.offers import Offers, can_be_called, had, is_hidden_at_times
from surehand.nodes.tool_sets import ToolSet, ToolSetFunction, ToolSets
from surehand.nodes.visit import Visit, thread_of
from surehand.policy import (
    DEFAULT_NO_PROGRESS,
    ErrorRule,
    Limits,
    NoProgress,
    ToolOptions,
    check_error_rule,
    check_function,
    check_methods,
    count_or_none,
    flag,
    instance,
    mapping,
    text,
    whole,
    words,
)
from surehand.tools import BaseTool, CallOptions, result_reader, tool_options

__all__ = ["ToolNode", "tools_condition"]


class ToolNode:
    """Executes the calls of the newest AI message and answers each with exactly one tool message.

    Calls run side by side; answers come in call order, each with its call's id, whatever happens. Nothing but the
    messages changes, and only by appending.

    Args:
        tools: Tools, or functions that are made into tools; at least one. Or a function of a ``ToolSetRequest``, sync
            or async, that gives the tools of each turn.
        handle_tool_errors: What becomes of what tools raise. True tells the model; False lets the exception out when
            the turn has ended; a text is told in its place; exception types limit the telling to them; a function
            makes the text; a ``Tell`` says how much is told; a mapping has one of these for each exception class. What
            the model did wrong is always answered.
        messages_key: The state's key (or attribute) that holds the messages.
        name: The node's name in a graph.
        tags: Words that stand in the node's log records.
        overrides: Options per tool name, stronger than the tool's own. Where the tools are computed, names may be
            missing among them.
        max_concurrency: How many calls of a turn may run at a time; None for no limit.
        groups: How many calls of a group of tools (their option ``group``) may run at a time.
        sequential: Whether the calls of a turn run one after another, in the order in which the model made them.
        stop_on_failure: Whether, with ``sequential``, the calls after a failed one are answered ``skipped``.
        fatal: Exception types that end the turn at once: the other calls are cancelled and awaited, and the exception
            goes up with all answers on it.
        limits: What one run may use up; a run goes from one human message to the next. None for no limits.
        no_progress: What happens when the same call brings the same result again and again; None for nothing.
        retry_budget: How many retries the calls of one turn may make together; None for no limit.
        max_turn_output: The most characters that the results of one turn may have together; None for no limit.
        shelf: Keeps the results that are too long, for the built-in tool ``read_tool_result``, which the node then runs
            besides its own; None keeps none.
        renderers: How the host's own types are written for the model, by type; asked before what ``register_renderer``
            was told for every node.
        middleware: Run around every call that is ready to run; the first one is the outermost.
        commands: Whether a tool may return a ``Command``, which the node then hands to its graph.
        approve: Asked before a call that needs an approval, with the tool's name and the typed arguments; a plain
            function is asked on a thread, an asynchronous one on the loop. None: in a graph with a checkpointer the run
            stops and whoever resumes it is asked; elsewhere such calls are denied.
        listener: Receives every event of every call.
        store: For tools that ask for a store; inside a graph the graph's own store is used where this is None.
        journal: Remembers calls, so that running the node again over the same turn runs none of them twice. None: in a
            graph with a checkpointer that one does.
        clock: Time, for tests.
        **options: The options of ``@tool``, as defaults for tools that do not set them.

    Raises:
        OptionError: An option has a value that cannot be meant, or there is no tool.
        ToolDefinitionError: Something is no tool, or two tools share a name.

    Example:
        node = ToolNode([add])
        node.invoke({"messages": [AIMessage(tool_calls=[{"id": "1", "name": "add", "args": {"a": 2, "b": 3}}])]})
        # {"messages": [ToolMessage(content='5', name='add', tool_call_id='1')]}
    """

    _may_be_empty: ClassVar[bool] = False
    """Whether there may be no tool: what is around the calls may bring its own."""

    def __init__(
        self,
        tools: Iterable[Any] | ToolSetFunction,
        *,
        handle_tool_errors: ErrorRule = True,
        messages_key: str = "messages",
        name: str = "tools",
        tags: Sequence[str] | None = None,
        overrides: Mapping[str, ToolOptions | Mapping[str, Any]] | None = None,
        max_concurrency: int | None = None,
        groups: Mapping[str, int] | None = None,
        sequential: bool = False,
        stop_on_failure: bool = False,
        fatal: type[Exception] | tuple[type[Exception], ...] = (),
        limits: Limits | None = None,
        no_progress: NoProgress | None = DEFAULT_NO_PROGRESS,
        retry_budget: int | None = 20,
        max_turn_output: int | None = 200_000,
        shelf: ResultShelf | None = None,
        renderers: Mapping[type, Renderer] | None = None,
        middleware: Sequence[ToolCallMiddleware] = (),
        commands: bool = False,
        approve: Approve | None = None,
        listener: Listener | None = None,
        store: Any = None,
        journal: CallJournal | None = None,
        clock: Clock = SYSTEM_CLOCK,
        **options: Unpack[CallOptions],
    ) -> None:
        self.name = text("name", name)
        self.messages_key = text("messages_key", messages_key)
        check_error_rule(handle_tool_errors)
        self.tags = words("tags", tags)
        self._max_concurrency = count_or_none("max_concurrency", max_concurrency)
        self._store = store
        self._journal = journal
        check_function("approve", approve)
        check_function("listener", listener)
        check_methods("store", store, "get", "put")
        check_methods("journal", journal, "recall", "begin", "finish", "wait")
        check_methods("clock", clock, "now", "sleep", "call_later")
        kept = instance("shelf", shelf, ResultShelf)
        self._reader = None if kept is None else result_reader(kept)
        self._sets = ToolSets(
            tools,
            defaults=tool_options({**options, "handle_tool_errors": handle_tool_errors}, beside=_own_keywords()),
            overrides=overriding(overrides),
            own=() if self._reader is None else (self._reader,),
            may_be_empty=self._may_be_empty,
        )
        fixed = self._sets.fixed or self._sets.none
        self._listed_tools = fixed.tools
        self.tools_by_name: dict[str, BaseTool] = {tool.spec.name: tool for tool in fixed.tools}
        self._host = Host(
            table=fixed.table,
            approve=approve,
            listener=listener,
            allows_commands=flag("commands", commands),
            clock=clock,
            tags=self.tags,
            middleware=as_middleware(middleware),
            fatal=fatal_types(fatal),
            is_sequential=flag("sequential", sequential),
            stops_on_failure=stops_on_failure(stop_on_failure, sequential),
            groups=group_limits(groups, None if self._sets.fixed is None else fixed.table),
            limits=instance("limits", limits, Limits),
            no_progress=instance("no_progress", no_progress, NoProgress),
            retry_budget=None if retry_budget is None else whole("retry_budget", retry_budget),
            max_turn_output=count_or_none("max_turn_output", max_turn_output),
            shelf=kept,
            renderers=None if renderers is None else Renderers(renderers, base=RENDERERS),
            breakers=Breakers(clock),
        )
        self._may_leave_out = (
            self._sets.fixed is None or limits is not None or any(map(is_hidden_at_times, fixed.table))
        )

    @property
    def limits(self) -> Limits | None:
        """What one run may use up; None for no limits."""
        return self._host.limits

    @property
    def no_progress(self) -> NoProgress | None:
        """What happens when the same call brings the same result again and again; None for nothing."""
        return self._host.no_progress

    @property
    def clock(self) -> Clock:
        """The clock that its calls are kept by."""
        return self._host.clock

    def invoke(self, input: Any, config: RunConfig | None = None, *, context: Any = None) -> Any:
        """Execute the calls; see ``ainvoke``."""
        visit = self._visit(input, config, context)
        tools = self._known_tools(visit) or self._sets.now(visit.request)
        return self._answered(visit, run_turn_sync(self._calls(visit, tools)))

    async def ainvoke(self, input: Any, config: RunConfig | None = None, *, context: Any = None) -> Any:
        """Execute those calls of the newest AI message that no later tool message answers.

        Args:
            input: A list of messages, or a state (mapping, dataclass, Pydantic model) that holds one. Messages may be
                Surehand's, or an OpenAI or Anthropic payload's.
            config: The run's configuration.
            context: The host's own object, for injected parameters.

        Returns:
            The new tool messages, in call order and in the form the messages came in: a list for a list, else
            ``{messages_key: […]}``. With commands, a list of commands that carries the messages first.

        Raises:
            InputError: There is no AI message to answer.
            Exception: What a tool raised and ``handle_tool_errors`` lets out; ``tool_messages`` on it holds the
                answers of the whole turn.
        """
        visit = self._visit(input, config, context)
        tools = self._known_tools(visit) or await self._sets.anow(visit.request)
        return self._answered(visit, await run_turn(self._calls(visit, tools)))

    def offered(self, state: Any, config: RunConfig | None = None, context: Any = None) -> list[BaseTool]:
        """What to offer to a model for its next turn; see ``aoffered``."""
        if (tools := self._steady_offer(config)) is not None:
            return tools
        visit = self._visit(state, config, context)
        return self._offered(visit, self._sets.now(visit.request))

    async def aoffered(self, state: Any, config: RunConfig | None = None, context: Any = None) -> list[BaseTool]:
        """What to offer to a model for its next turn: the tools whose calls could run.

        Left out are tools whose circuit breaker hides them and tools that were called as often as ``limits`` allow;
        where nothing more may be called at all, the list is empty. ``read_tool_result`` is added once there is a result
        to read. In a graph, the turn that the model answers with is resolved against the same tools.

        Args:
            state: What the node will be invoked with, without the model's answer.
            config: The run's configuration.
            context: The host's own object.

        Raises:
            Exception: What the function of the tools raises.
        """
        if (tools := self._steady_offer(config)) is not None:
            return tools
        visit = self._visit(state, config, context)
        return self._offered(visit, await self._sets.anow(visit.request))

    def _steady_offer(self, config: RunConfig | None) -> list[BaseTool] | None:
        """All tools, where none can be used up or hidden and there is no result to be read on; else None."""
        shelf, given = self._host.shelf, cast("RunConfig", mapping("config", config))
        is_reading = shelf is not None and shelf.holds(thread_of(given))
        return None if self._may_leave_out or is_reading else list(self._listed_tools)

    def _visit(self, state: Any, config: RunConfig | None, context: Any) -> Visit:
        return Visit.of(state, key=self.messages_key, config=config, context=context, store=self._store)

    def _known_tools(self, visit: Visit) -> ToolSet | None:
        """The tools of a turn that are known already; None where they have to be asked for."""
        if self._sets.fixed is not None:
            return self._sets.fixed
        offers = self._offers(visit)
        return None if offers is None else offers.recall(visit.before_answer())

    def _offers(self, visit: Visit) -> Offers | None:
        """What was offered in this run; None where there is no run, and where it is always the same."""
        return None if self._sets.fixed is not None or visit.runtime is None else Offers.of(visit.runtime, self)

    def _offered(self, visit: Visit, tools: ToolSet) -> list[BaseTool]:
        if (offers := self._offers(visit)) is not None:
            offers.remember(tools, visit.conversation.given)
        guard = None
        if self._host.limits is not None:
            guard = _guard(self._host, tools.table, past_calls(visit.messages), visit.runtime)
        if guard is not None and guard.spent() is not None:
            return []
        offered = [tool for tool in tools.tools if can_be_called(tool.spec.name, tools.table, self._host, guard)]
        shelf = self._host.shelf
        if self._reader is not None and shelf is not None and shelf.holds(visit.request.thread_id):
            offered.append(self._reader)
        return offered

    async def asettle(self, state: Any, config: RunConfig | None = None, context: Any = None) -> list[ToolMessage]:
        """The answers to calls of a kept run that the conversation went on without, in the order of the calls.

        A run may be left while it waits for a human, or after a crash, by an input that begins anew. Its calls are
        answered from what is known of them: those that ended with their results, those that may have happened as such,
        and those that were not begun as not executed. Nothing is run. Outside of a kept run nothing is known, and
        nothing is answered.

        Args:
            state: What the node would be invoked with.
            config: The run's configuration.
            context: The host's own object.
        """
        visit = self._visit(state, config, context)
        if self._journal is None and visit.journal is None:
            return []
        tools = self._sets.fixed or await self._sets.anow(visit.request)
        answers: list[ToolMessage] = []
        for message, calls in left_calls(visit.messages):
            answers += await settle_turn(calls_of(self._turn(visit, tools, message, guard=None), calls))
        return answers

    def _calls(self, visit: Visit, tools: ToolSet) -> list[Call]:
        message, calls = unanswered_calls(visit.messages)
        guard = _guard(self._host, tools.table, past_calls(visit.messages), visit.runtime)
        return calls_of(self._turn(visit, tools, message, guard=guard), calls)

    def _turn(self, visit: Visit, tools: ToolSet, message: AIMessage, *, guard: Guard | None) -> Turn:
        request, runtime = visit.request, visit.runtime
        host = self._host if self._sets.fixed is not None else replace(self._host, table=tools.table)
        turn = Turn(
            host=host,
            message=message,
            conversation=visit.messages,
            state=request.state,
            store=request.store,
            context=request.context,
            thread_id=request.thread_id,
            messages_key=self.messages_key,
            max_concurrency=_least(self._max_concurrency, _width_of(request.config)),
            timeout=timeout_of(request.config),
            guard=guard,
            retries=None if host.retry_budget is None else RetryBudget(host.retry_budget),
            had=had(self._offers(visit), visit.messages),
            stream=None if runtime is None or "calls" not in runtime.wanted else runtime.publish,
        )
        if self._journal is not None or runtime is not None:
            self._open_journal(turn, visit)
        return turn

    def _open_journal(self, turn: Turn, visit: Visit) -> None:
        """Say where the calls of a turn are recorded.

        Raises:
            InputError: Nothing tells the turn from one of another conversation with the same words.
        """
        journal = visit.journal if self._journal is None else self._journal
        if journal is not None and not turn.thread_id and turn.message.id is None:
            raise InputError(
                problem="A journal has to know which conversation the calls belong to",
                value=turn.message,
                remedy="Name it: config={'configurable': {'thread_id': …}}; or give the AI message an id.",
            )
        turn.journal, turn.retries_failures = journal, visit.retries_failures
        turn.place = "" if turn.message.id else visit.place  # a message with an id is told by that

    def _answered(self, visit: Visit, answers: Answers) -> Any:
        update = visit.conversation.update(answers.messages)
        # The messages go first: a command that moves the graph on must not leave its own call without an answer.
        return [Command(update=update), *answers.commands] if answers.commands else update

    def __repr__(self) -> str:
        return f"ToolNode({'computed' if self._sets.fixed is None else ', '.join(self.tools_by_name)})"


def _guard(host: Host, table: ToolTable, history: History, runtime: Runtime | None) -> Guard | None:
    """The guard of one turn; None where there is nothing to be guarded yet."""
    if host.limits is None and not history.calls:
        return None
    return Guard(
        table=table,
        limits=host.limits,
        no_progress=host.no_progress,
        history=history,
        clock=host.clock,
        started=host.clock.now() if runtime is None else runtime.began(host.clock.now),
    )


def _own_keywords() -> Iterable[str]:
    return ToolNode.__init__.__kwdefaults__ or ()


def _width_of(config: RunConfig) -> int | None:
    return count_or_none("max_concurrency", config.get("max_concurrency"))


def _least(*limits: int | None) -> int | None:
    known = [limit for limit in limits if limit is not None]
    return min(known) if known else None


def tools_condition(state: Any, messages_key: str = "messages") -> Literal["tools", "__end__"]:
    """Where to go after a model: to the node ``tools`` if its newest message has calls, else to the end.

    Raises:
        InputError: The state holds no messages.
    """
    newest = Conversation.of(state, messages_key).last()
    if newest is None:
        raise InputError(
            problem="There is no message to decide by", value=state, remedy="Route from a node that adds a message."
        )
    return "tools" if isinstance(newest, AIMessage) and newest.tool_calls else END
