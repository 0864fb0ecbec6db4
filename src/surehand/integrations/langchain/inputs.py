"""What LangGraph gives to a node, and where in it the calls, the state and the run are found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from langchain_core.messages import BaseMessage as ForeignMessage
from langchain_core.runnables import RunnableConfig

from surehand.calls.journal import digest_of
from surehand.control import RunConfig
from surehand.dialects import langchain_messages
from surehand.errors import InputError
from surehand.integrations.langchain.commands import Form
from surehand.integrations.langchain.histories import History, newest_run
from surehand.messages import AIMessage, Message, ToolCall
from surehand.nodes.conversation import Conversation, messages_in
from surehand.nodes.tool_sets import ToolSetRequest
from surehand.nodes.visit import Visit, thread_of
from surehand.shapes import is_array, is_object

__all__ = ["GraphVisit", "configurable_of", "read_visit"]

_RUNTIME: Final = "__pregel_runtime"
_READ: Final = "__pregel_read"
_READ_STATE: Final = "__pregel_read_state"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphVisit(Visit):
    """An input of a node in a LangGraph graph, read."""

    config: RunnableConfig
    """The node's configuration."""
    form: Form
    state: Any
    """The node's state as it was given: a list, a mapping or an object."""
    graph_runtime: Any = None
    """LangGraph's runtime; None outside of a graph."""
    ids: Mapping[int, str] = field(default_factory=dict[int, str])
    """The ids of the calls as the model gave them, by position, where ours differ."""
    unnamed: frozenset[int] = frozenset()
    """The positions of the calls that came without an id."""

    @property
    def is_foreign(self) -> bool:
        """Whether the answers are LangChain's messages."""
        dialect = self.conversation.dialect
        return dialect is not None and dialect.NAME == langchain_messages.NAME

    @property
    def checkpointer(self) -> Any:
        """LangGraph's; None where the run is not kept."""
        return configurable_of(self.config).get("__pregel_checkpointer")

    @property
    def node_attempt(self) -> int:
        """How often LangGraph's own retry has begun the node, from 1."""
        attempt = getattr(getattr(self.graph_runtime, "execution_info", None), "node_attempt", 1)
        return attempt if isinstance(attempt, int) else 1

    @property
    def task(self) -> str:
        """What tells this run of the node from others; empty where nothing does."""
        place = configurable_of(self.config).get("checkpoint_ns", "")
        return place if isinstance(place, str) else ""


def configurable_of(config: RunnableConfig) -> Mapping[str, Any]:
    """The free part of a configuration."""
    return config.get("configurable") or {}


def read_visit(given: Any, *, key: str, config: RunnableConfig, context: Any, store: Any) -> GraphVisit:
    """The input of a node.

    Raises:
        InputError: There is no message, and no call, in it.
    """
    runtime = configurable_of(config).get(_RUNTIME)
    calls, state = _calls_in(given, config)
    if calls is None:
        conversation = Conversation.of(given, key)
        messages = _messages_in(conversation)
        form: Form = "list" if conversation.is_list else "dict"
    else:
        conversation = Conversation(given=[], key=key, is_list=False, dialect=cast("Any", langchain_messages))
        messages = _with_calls(_messages_of(state, key), calls)
        form = "calls"
    messages, ids = _with_steady_ids(messages, _sent_calls(conversation.given) if calls is None else calls)
    named = cast("RunConfig", config)
    request = ToolSetRequest(
        state={key: state} if is_array(state) else state,
        store=store if store is not None else getattr(runtime, "store", None),
        context=context if context is not None else getattr(runtime, "context", None),
        config=named,
        thread_id=thread_of(named),
    )
    return GraphVisit(
        conversation=conversation,
        messages=messages,
        request=request,
        runtime=None,
        config=config,
        form=form,
        state=state,
        graph_runtime=runtime,
        ids={position: sent for position, sent in ids.items() if isinstance(sent, str)},
        unnamed=frozenset(position for position, sent in ids.items() if sent is None),
    )


def _messages_in(conversation: Conversation) -> Sequence[Message]:
    """The conversation; of a long one of LangChain's what came before the newest run is read when it is wanted."""
    given = conversation.given
    start = newest_run(given)
    if not start:
        return conversation.messages()
    read, older = langchain_messages.read_messages, given[:start]
    return History(lambda: read(older), start, read(given[start:]))


def _calls_in(given: Any, config: RunnableConfig) -> tuple[list[Any] | None, Any]:
    """The calls, where they came without their message, and the state; without calls, the input is the state."""
    if is_object(given) and given.get("__type") == "tool_call_with_context":
        return [given["tool_call"]], given.get("state")
    if is_array(given) and given and all(map(_is_call, given)):
        return list(given), _state_around(config)
    return None, given


def _is_call(item: Any) -> bool:
    if not is_object(item) or isinstance(item, ForeignMessage):
        return False
    return item.get("type") == "tool_call" or ("type" not in item and {"name", "args"} <= item.keys())


def _state_around(config: RunnableConfig) -> Any:
    """The state that the node would have got from an edge."""
    known = configurable_of(config)
    if (read_state := known.get(_READ_STATE)) is not None:
        return read_state()
    read = known.get(_READ)
    if read is None:
        return {}
    # LangGraph before 1.2 gives a partial, whose second argument are the channels.
    return read(list(read.args[1]), True)


def _messages_of(state: Any, key: str) -> list[Message]:
    """The conversation in a state, as far as there is one."""
    try:
        given = messages_in(state, key)
    except InputError:
        return []
    return Conversation.of(given, key).messages()


def _with_calls(messages: list[Message], calls: Sequence[Any]) -> list[Message]:
    """The conversation up to the calls, which stand alone in their message."""
    wanted = {call.get("id") for call in calls}
    last = len(messages) - 1
    around = next((number for number in range(last, -1, -1) if wanted & set(_ids_in(messages[number]))), None)
    if around is None and messages and isinstance(messages[last], AIMessage) and not _ids_in(messages[last]):
        around = last  # LangGraph loses the calls of messages in a pydantic model when it stores that
    before, id = (messages, None) if around is None else (messages[:around], messages[around].id)
    return [*before, AIMessage(tool_calls=[dict(call) for call in calls], id=id)]


def _ids_in(message: Message) -> list[str]:
    return [call["id"] for call in message.tool_calls] if isinstance(message, AIMessage) else []


def _sent_calls(given: Sequence[Any]) -> list[Any]:
    """The newest calls as LangChain holds them; nothing where the messages are another's."""
    newest = next((item for item in reversed(given) if getattr(item, "type", "") in ("ai", "AIMessageChunk")), None)
    return [*getattr(newest, "tool_calls", ()), *getattr(newest, "invalid_tool_calls", ())]


def _with_steady_ids(messages: Sequence[Message], sent: Sequence[Any]) -> tuple[Sequence[Message], dict[int, Any]]:
    """The messages, and by position the ids that newest calls came with where those were missing or repeated.

    Such a call is given an id when it is read, another one each time. Here it is one that stays: the node may be run
    again over the same calls, which then have to be known.
    """
    place = next((n for n in range(len(messages) - 1, -1, -1) if isinstance(messages[n], AIMessage)), None)
    message = None if place is None else messages[place]
    if place is None or not isinstance(message, AIMessage) or not sent:
        return messages, {}
    came_with = _pairs(message.tool_calls, [call for call in sent if is_object(call)])
    if not came_with:
        return messages, {}
    calls = [
        {**call, "id": _steady_id(position, call)} if position in came_with else call
        for position, call in enumerate(message.tool_calls)
    ]
    return [*messages[:place], message.replace(tool_calls=calls), *messages[place + 1 :]], came_with


def _pairs(calls: Sequence[ToolCall], sent: list[Any]) -> dict[int, Any]:
    """By position the ids of the calls that came with another one."""
    left = list(sent)
    renamed: list[int] = []
    for position, call in enumerate(calls):
        same = next((item for item in left if item.get("id") == call["id"]), None)
        if same is None:
            renamed.append(position)
        else:
            left.remove(same)
    return {position: item.get("id") for position, item in zip(renamed, left, strict=False)}


def _steady_id(position: int, call: ToolCall) -> str:
    return f"call_{digest_of([position, call['name'], call['args']])[:24]}"
