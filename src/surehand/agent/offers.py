"""A model with the tools that it is offered in a turn, bound once for each set of tools."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, Generic, TypeVar

from surehand.agent.structured import AnswerForm
from surehand.errors import ToolDefinitionError
from surehand.models import ChatModel, ToolChoice
from surehand.tools import BaseTool

__all__ = ["BoundModels", "Offer", "possible"]

T = TypeVar("T")

_KEPT: Final = 32
"""How many sets of tools the model is kept bound to."""
_MODES: Final = frozenset({"auto", "none", "required", "any"})
"""Choices that name no tool."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Offer:
    """What a model is offered in one turn."""

    tools: tuple[BaseTool, ...]
    """Without that of a structured answer, which comes besides."""
    names: frozenset[str]
    direct: frozenset[str]
    """The tools whose results end the run."""
    choice: ToolChoice
    """What is forced in the first request."""
    free: ChatModel
    """The model with the tools, and the choice left to it."""
    first: ChatModel
    """The model as it is to be asked first: its choice may be forced."""


class BoundModels:
    """One model, bound to whatever tools it is offered.

    A choice of tools, also one that was bound to the model beforehand, holds for the first request and no longer: a
    model that is forced to call a tool each time never answers.

    Args:
        model: The model as the host gave it.
        choice: The choice that is forced in the first request; None for the model's own.
        tools: All tools there are; none where they are computed.
        form: The form of the agent's answer; None for words.

    Raises:
        OptionError: The choice names none of the tools.
        ToolDefinitionError: A provider could not tell two of the tools apart.
    """

    def __init__(
        self, model: ChatModel, choice: ToolChoice, tools: Sequence[BaseTool], form: AnswerForm | None = None
    ) -> None:
        self.model = model
        self._choice = choice if choice is not None else getattr(model, "tool_choice", None)
        self._form = form
        self._offers: _Kept[Offer] = _Kept()
        self._others: _Kept[ChatModel] = _Kept()
        self.forced: ChatModel | None = None
        """The model with nothing to do but to give its answer as a call; None where the answer is no call."""
        if form is not None and form.is_called:
            self.forced = _bind(model, (), choice=form.choice, form=form)
        self.known = self._offers.put(_ids(tools), self._offer(tuple(tools), self._choice), tools)
        """The model with all tools, as long as nothing is used up or hidden."""

    def of(self, tools: Sequence[BaseTool]) -> Offer:
        """The model with these tools; the same one for the same tools, and as it was given where there are none.

        A choice of a tool that is not among them, because it is used up or hidden, is left open.

        Raises:
            ToolDefinitionError: A provider could not tell two of the tools apart.
        """
        made = self._offers.get(_ids(tools))
        if made is not None:
            return made
        choice = possible(self._choice, self._names(tools))
        return self._offers.put(_ids(tools), self._offer(tuple(tools), choice), tools)

    def bound(
        self, model: ChatModel, tools: Sequence[BaseTool], *, choice: ToolChoice, form: AnswerForm | None
    ) -> ChatModel:
        """Any model with any tools, as a middleware may ask for it.

        Raises:
            OptionError: The choice names none of the tools, or the model cannot answer in this form.
            ToolDefinitionError: A provider could not tell two of the tools apart.
        """
        key = (id(model), _ids(tools), repr(choice), form is None)
        made = self._others.get(key)
        if made is not None:
            return made
        return self._others.put(key, _bind(model, tuple(tools), choice=choice, form=form), (model, tools))

    def _names(self, tools: Sequence[BaseTool]) -> frozenset[str]:
        """The names that can be called where these tools are offered."""
        names = frozenset(tool.spec.name for tool in tools)
        return names if self._form is None else names | self._form.names

    def _offer(self, tools: tuple[BaseTool, ...], choice: ToolChoice) -> Offer:
        names = frozenset(tool.spec.name for tool in tools)
        if self._form is not None and (taken := names & self._form.names):
            raise ToolDefinitionError(
                tool=min(taken),
                problem="the structured answer has this name too",
                remedy="Rename the tool, or give the ToolStrategy a name.",
            )
        choice = choice if self._names(tools) else None
        free = _bind(self.model, tools, choice=None, form=self._form)
        return Offer(
            tools=tools,
            names=names,
            direct=frozenset(tool.spec.name for tool in tools if tool.spec.return_direct),
            choice=choice,
            free=free,
            first=free if choice is None else _bind(self.model, tools, choice=choice, form=self._form),
        )


def possible(choice: ToolChoice, names: Collection[str]) -> ToolChoice:
    """A choice, where one of these names can be called so; else None, which leaves it to the model."""
    is_named = isinstance(choice, str) and choice not in _MODES
    return choice if names and (not is_named or choice in names) else None


class _Kept(Generic[T]):
    """The newest of what was made for things that are known by their identity."""

    def __init__(self) -> None:
        self._made: OrderedDict[Hashable, tuple[T, object]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> T | None:
        """What was made; None where nothing is kept."""
        made = self._made.get(key)
        return None if made is None else made[0]

    def put(self, key: Hashable, made: T, named: object) -> T:
        """Keep it together with what its key names: no other thing can get the number of one that is kept."""
        with self._lock:
            self._made[key] = (made, named)
            while len(self._made) > _KEPT:
                self._made.popitem(last=False)
        return made


def _ids(tools: Sequence[BaseTool]) -> tuple[int, ...]:
    return tuple(map(id, tools))


def _bind(model: ChatModel, tools: tuple[BaseTool, ...], *, choice: ToolChoice, form: AnswerForm | None) -> ChatModel:
    offered = tools if form is None else (*tools, *form.offered)
    options: dict[str, Any] = {} if form is None else form.options_for(model)
    if choice is not None:
        options["tool_choice"] = choice
    # Some providers refuse an empty list of tools, so that a model without any is better left as it is.
    is_bare = not offered and not options and not getattr(model, "tools", None)
    return model if is_bare else model.bind_tools(offered, **options)
