"""A graph in the making: nodes, edges, branches; ``compile()`` checks it all and gives a graph that runs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, Self, cast

from surehand.checkpoints import Checkpointer
from surehand.control import END, START
from surehand.errors import GraphDefinitionError, OptionError, shown
from surehand.graph.actions import NodeAction, PathAction, is_chat_model, name_of, read_action
from surehand.graph.caching import NodeCache
from surehand.graph.checks import check_plan
from surehand.graph.compiled import CompiledGraph
from surehand.graph.destinations import destinations_of
from surehand.graph.hints import literal_texts, return_hint
from surehand.graph.plan import Branch, Join, Node, Plan
from surehand.graph.schema import read_schema, types_of
from surehand.graph.subgraphs import shared_keys
from surehand.policy import CachePolicy, RetryPolicy, check_methods, flag, seconds_or_none
from surehand.stores import Store
from surehand.wording import did_you_mean

__all__ = ["StateGraph"]

_RESERVED: Final = frozenset({START, END})


class StateGraph:
    """Builds a graph whose nodes share a state.

    Methods return the builder, so that calls can be chained. What cannot be right is refused at once; what can only be
    judged when the graph is whole is refused by ``compile()``.

    Args:
        schema: A TypedDict, a dataclass, a pydantic model, or ``Annotated[list, add_messages]``. A key annotated
            ``Annotated[T, reducer]`` is merged by ``reducer(value, write)``; any other holds what was last written, by
            one node in a step. A key ``messages`` that is a plain list of messages is merged by ``add_messages``.

    Raises:
        GraphDefinitionError: The schema is none of these, or a reducer does not take two arguments.

    Example:
        >>> class State(TypedDict):
        ...     count: int
        >>> builder = StateGraph(State)
        >>> builder.add_node("up", lambda state: {"count": state["count"] + 1})
        >>> graph = builder.add_edge(START, "up").add_edge("up", END).compile()
        >>> graph.invoke({"count": 1})
        {'count': 2}
    """

    def __init__(self, schema: Any) -> None:
        self._state = read_schema(schema)
        self._schema = schema
        self._nodes: dict[str, Node] = {}
        self._edges: dict[str, dict[str, None]] = {}
        self._branches: dict[str, list[Branch]] = {}
        self._joins: list[Join] = []

    def add_node(
        self,
        node: str | NodeAction,
        action: NodeAction | None = None,
        *,
        retry: RetryPolicy | None = None,
        retry_policy: RetryPolicy | None = None,
        timeout: float | None = None,
        defer: bool = False,
        cache: CachePolicy | None = None,
        cache_policy: CachePolicy | None = None,
        destinations: Iterable[str] | None = None,
    ) -> Self:
        """Add a node: ``add_node(name, action)``, or ``add_node(action)`` for one that has a name of its own.

        An action is a function of ``(state)`` or ``(state, config)``, an object with ``invoke`` or ``ainvoke``, a chat
        model (called with the messages; its reply is the update) or a compiled graph. It returns None, a mapping of
        state keys, a ``Command``, a list of such; with a message list also messages.

        Args:
            node: The name, or the action.
            action: The action, after a name.
            retry: How often and when a failed attempt is made again. Without ``retry_on`` it covers every exception
                but those that point at a mistake in the program, such as TypeError or ValueError, and requests that
                were refused for what they are, such as by HTTP 404.
            retry_policy: Another spelling of ``retry``.
            timeout: Seconds that an attempt may take; None for no limit. An asynchronous node is cancelled then; a
                synchronous one goes on in its thread, and what it returns goes nowhere.
            defer: Whether it runs when nothing else is left to run, after branches of any length.
            cache: Keeps what it returned for what it was given, so that it is not run for the same again.
            cache_policy: Another spelling of ``cache``.
            destinations: The nodes that the action's commands lead to; known anyway where it is annotated
                ``Command[Literal[…]]``.

        Raises:
            GraphDefinitionError: The name is taken or reserved, or the action is no action.
            OptionError: The policy is none.
        """
        name, given = self._named(node, action)
        label = f"The node {name!r}"
        self._nodes[name] = Node(
            name=name,
            index=len(self._nodes),
            action=read_action(given, label),
            takes_messages=self._takes_messages(name, given),
            subgraph=self._read_subgraph(name, given),
            retry=_read_policy(retry, retry_policy),
            destinations=destinations_of(given, destinations),
            timeout=seconds_or_none("timeout", timeout),
            is_deferred=flag("defer", defer),
            cache=self._read_cache(name, given, cache, cache_policy),
        )
        return self

    def add_edge(self, start: str | Sequence[str], end: str) -> Self:
        """Run ``end`` after ``start``; with a list of starts, when all of them have run.

        Raises:
            GraphDefinitionError: The edge begins at END, ends at START, or begins nowhere.
        """
        starts = [start] if isinstance(start, str) else list(start)
        if not starts or END in starts or end == START:
            raise GraphDefinitionError(
                problem=f"An edge cannot go from {shown(start)} to {shown(end)}",
                remedy="Edges go from START or a node to a node or END.",
            )
        if isinstance(start, str) or len(set(starts)) == 1:
            self._edges.setdefault(starts[0], {})[end] = None
        elif START in starts:
            raise GraphDefinitionError(
                problem=f"An edge cannot wait for START, in {shown(start)}", remedy="Leave START out of the list."
            )
        else:
            self._joins.append(Join(sources=tuple(dict.fromkeys(starts)), target=end))
        return self

    def add_conditional_edges(
        self,
        source: str,
        path: PathAction,
        path_map: Mapping[Hashable, str] | Sequence[str] | None = None,
    ) -> Self:
        """Let a function decide what runs after ``source``.

        The path sees the state after the whole step, and is asked once in a step. It answers with a name, END, a
        ``Send``, or a list of those. An annotation ``-> Literal["a", "b"]`` lets ``compile()`` check the names.

        Args:
            source: A node, or START.
            path: A function of ``(state)`` or ``(state, config)``, also an asynchronous one. A synchronous one runs on
                the event loop and is to be quick.
            path_map: What the answers mean, or a list of the names that there are; any other answer is an error.

        Raises:
            GraphDefinitionError: The path is no function, the map is none, or the source is END.
        """
        name = getattr(path, "__name__", None)
        label = f"the path {name!r} of {source!r}" if name else f"the path of {source!r}"
        if source == END:
            raise GraphDefinitionError(problem="Nothing follows END", remedy="Name the node to decide after.")
        targets = _read_path_map(label, path_map)
        texts, is_closed = literal_texts(return_hint(path)) if targets is None else (tuple(targets.values()), True)
        branch = Branch(
            source=source,
            label=label,
            path=read_action(path, label[0].upper() + label[1:]),
            targets=targets,
            declared=tuple(dict.fromkeys(texts)),
            is_closed=is_closed,
        )
        self._branches.setdefault(source, []).append(branch)
        return self

    def add_sequence(self, nodes: Iterable[NodeAction | tuple[str, NodeAction]]) -> Self:
        """Add nodes, or ``(name, action)`` pairs, with an edge from each to the next.

        Raises:
            GraphDefinitionError: There are none, or one of them cannot be added.
        """
        names: list[str] = []
        for entry in nodes:
            name, action = cast("tuple[Any, Any]", entry) if isinstance(entry, tuple) else (entry, None)
            self.add_node(name, action)
            names.append(next(reversed(self._nodes)))
        if not names:
            raise GraphDefinitionError(problem="The sequence is empty", remedy="Pass at least one node.")
        for first, second in pairwise(names):
            self.add_edge(first, second)
        return self

    def set_entry_point(self, name: str) -> Self:
        """``add_edge(START, name)``."""
        return self.add_edge(START, name)

    def set_conditional_entry_point(
        self, path: PathAction, path_map: Mapping[Hashable, str] | Sequence[str] | None = None
    ) -> Self:
        """``add_conditional_edges(START, path, path_map)``."""
        return self.add_conditional_edges(START, path, path_map)

    def set_finish_point(self, name: str) -> Self:
        """``add_edge(name, END)``."""
        return self.add_edge(name, END)

    def compile(
        self,
        checkpointer: Checkpointer | None = None,
        *,
        store: Store | None = None,
        types: Iterable[type] = (),
        interrupt_before: Iterable[str] = (),
        interrupt_after: Iterable[str] = (),
        name: str | None = None,
    ) -> CompiledGraph:
        """Check the graph and make it runnable; later changes of the builder do not reach it.

        Args:
            checkpointer: Keeps every run under the thread that its configuration names, step by step, so that it can be
                asked, stopped, resumed and forked. A graph inside of another one is kept by that one's.
            types: Classes of values that the state may hold, besides those that its annotations name.
            interrupt_before: Nodes before which a run stops; an input of None goes on. ``"*"`` names all.
            interrupt_after: Nodes after which a run stops.
            store: What tools and nodes find as their store; a graph inside another one uses that one's by default.
            name: The name in messages, and of the graph as a node; ``graph`` by default.

        Raises:
            GraphDefinitionError: There is no entry, an edge starts or ends at no node, or nothing leads to a node.
            OptionError: The store has not the methods of one, or the checkpointer is none.
        """
        check_methods("store", store, "get", "put")
        before, after = self._pauses(interrupt_before), self._pauses(interrupt_after)
        if (before or after) and checkpointer is None:
            raise GraphDefinitionError(
                problem="A run that stops before or after a node has to be kept",
                remedy="Compile the graph with a checkpointer.",
            )
        plan = Plan(
            name=name or "graph",
            state=self._state,
            nodes=dict(self._nodes),
            edges={source: tuple(targets) for source, targets in self._edges.items()},
            branches={source: tuple(branches) for source, branches in self._branches.items()},
            joins=tuple(self._joins),
            store=store,
            checkpointer=_checked(checkpointer),
            schema=self._schema,
            types=frozenset(types),
            pauses_before=before,
            pauses_after=after,
        )
        check_plan(plan)
        return CompiledGraph(plan)

    def _named(self, node: object, action: NodeAction | None) -> tuple[str, object]:
        """The name and the action of a node that can be added."""
        name, action_given = (name_of(node), node) if action is None and not isinstance(node, str) else (node, action)
        if not isinstance(name, str) or not name.strip():
            raise GraphDefinitionError(
                problem=f"A node's name is a text that is not blank, got {shown(name)}",
                remedy="Call add_node('name', action).",
            )
        if name in _RESERVED:
            raise GraphDefinitionError(problem=f"The name {name!r} is reserved", remedy="Choose another name.")
        if name in self._nodes:
            raise GraphDefinitionError(
                problem=f"There is a node {name!r} already", remedy="Give the second one another name."
            )
        if action_given is None:
            raise GraphDefinitionError(
                problem=f"The node {name!r} has no action", remedy="Call add_node('name', action)."
            )
        return name, action_given

    def _pauses(self, names: Iterable[str]) -> frozenset[str]:
        given = frozenset([names] if isinstance(names, str) else names)
        if "*" in given:
            return frozenset(self._nodes)
        for name in given - set(self._nodes):
            raise GraphDefinitionError(
                problem=f"A run cannot stop at {name!r}, which is no node",
                remedy=f"Expected some of: {', '.join(self._nodes)}.{did_you_mean(name, self._nodes)}",
            )
        return given

    def _read_cache(self, name: str, action: object, *policies: object) -> NodeCache | None:
        given = [policy for policy in policies if policy is not None]
        if not given:
            return None
        if len(given) > 1 or not isinstance(given[0], CachePolicy):
            raise OptionError(option="cache", value=given, expected="one CachePolicy or None")
        if isinstance(action, CompiledGraph):
            raise OptionError(
                option="cache", value=given[0], expected=f"None for the graph at {name!r}", remedy="Cache its nodes."
            )
        return NodeCache(given[0], types_of(self._schema))

    def _takes_messages(self, name: str, action: object) -> bool:
        if not is_chat_model(action):
            return False
        if self._state.messages_channel is None:
            raise GraphDefinitionError(
                problem=f"The node {name!r} is a chat model, but the state has no message list",
                remedy="Add a key messages: Annotated[list, add_messages], or call the model in a function.",
            )
        return True

    def _read_subgraph(self, name: str, action: object) -> Plan | None:
        if not isinstance(action, CompiledGraph):
            return None
        if not shared_keys(self._state, action.plan.state):
            raise GraphDefinitionError(
                problem=f"The graph at node {name!r} shares no key with the state of the graph around it",
                remedy="Give both a key of the same name, or call the graph in a function that translates.",
            )
        return action.plan


def _checked(checkpointer: object) -> Checkpointer | None:
    if checkpointer is None or isinstance(checkpointer, Checkpointer):
        return checkpointer
    raise OptionError(
        option="checkpointer",
        value=checkpointer,
        expected="a Checkpointer, such as SqliteSaver('runs.sqlite'), or None",
        remedy="A saver of your own derives from surehand.Checkpointer.",
    )


def _read_policy(*policies: object) -> RetryPolicy | None:
    given = [policy for policy in policies if policy is not None]
    if len(given) > 1 or not all(isinstance(policy, RetryPolicy) for policy in given):
        raise OptionError(option="retry", value=given, expected="one RetryPolicy or None")
    return cast("RetryPolicy", given[0]) if given else None


def _read_path_map(label: str, path_map: object) -> dict[Hashable, str] | None:
    if path_map is None:
        return None
    if isinstance(path_map, Mapping):
        return dict(cast("Mapping[Hashable, str]", path_map))
    if isinstance(path_map, list | tuple):
        return {name: name for name in cast("Sequence[str]", path_map)}
    raise GraphDefinitionError(
        problem=f"The path_map of {label} is {shown(path_map)}",
        remedy="Pass a mapping of answers to names, or a list of names.",
    )
