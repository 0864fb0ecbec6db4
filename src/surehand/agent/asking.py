"""How an agent asks its model: through the middlewares around it, and again where a reply was lost."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from surehand.agent.hooks import Hook
from surehand.agent.middleware import ModelRequest, ModelResponse
from surehand.agent.offers import BoundModels, Offer, possible
from surehand.agent.state import RESERVED, AgentState
from surehand.agent.structured import AnswerForm
from surehand.control import RunConfig, Runtime, current_runtime
from surehand.errors import InputError, OptionError
from surehand.foreign import as_own_model
from surehand.messages import AIMessage, HumanMessage, Message, SystemMessage
from surehand.messages import asked as asked_of
from surehand.messages.base import are_messages
from surehand.models import ChatModel, ToolChoice
from surehand.shapes import is_object
from surehand.tools import BaseTool, as_tools

__all__ = ["MAX_RE_ASKS", "Asker", "Question", "check_model", "is_lost"]

logger = logging.getLogger("surehand.agent")

MAX_RE_ASKS: Final = 2
"""How often a reply that the provider lost is asked for again."""

_LOST: Final = "Your last reply did not arrive: it was empty. Please give it again."
_WRITTEN_BY_LOOP: Final = RESERVED | {"messages"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a model is asked in one turn."""

    state: AgentState
    messages: list[Message]
    """The conversation, as it may be sent."""
    private: list[Message]
    """What is said to the model only: the state keeps the conversation as the user had it."""
    offer: Offer
    asked: int
    """How often the model was asked before in this run."""
    is_forced: bool
    """Whether it has nothing to do but to give its answer as a call."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asker:
    """Asks a model."""

    models: BoundModels
    system: SystemMessage | None
    around: tuple[Hook, ...]
    """The middlewares around a request, the outermost first."""
    form: AnswerForm | None
    max_iterations: int
    keys: frozenset[str]
    """The keys of the agent's state."""

    async def reply(self, question: Question, config: RunConfig) -> tuple[ModelResponse, int]:
        """The reply, and how often the model was asked by then.

        Raises:
            Exception: What the model or a middleware raises.
        """
        if not self.around:
            system = [self.system] if self.system else []
            request = [*system, *question.messages, *question.private]
            reply, asked = await self._asked(self._model_for(question), request, question.asked, config)
            return ModelResponse(message=reply), asked
        way = _Way(self, question, config)
        response = await way.enter(self._request(question), 0)
        # A reply that a middleware made up counts too: the loop has to end where no model is ever asked.
        return response, max(way.asked, question.asked + 1)

    def _request(self, question: Question) -> ModelRequest:
        return ModelRequest(
            model=self.models.model,
            messages=[*question.messages, *question.private],
            system_message=self.system,
            tools=() if question.is_forced else question.offer.tools,
            tool_choice=self._choice_for(question),
            response_format=None if self.form is None else self.form.strategy,
            state=question.state,
            runtime=current_runtime() or Runtime(),
        )

    def _choice_for(self, question: Question) -> ToolChoice:
        if question.is_forced and self.form is not None:
            return self.form.choice
        return question.offer.choice if question.asked == 0 else None

    def _model_for(self, question: Question) -> ChatModel:
        """The model as it is bound for a question that no middleware changed."""
        if question.is_forced and self.models.forced is not None:
            return self.models.forced
        return question.offer.first if question.asked == 0 else question.offer.free

    async def answer(
        self, request: ModelRequest, question: Question, asked: int, config: RunConfig
    ) -> tuple[AIMessage, int]:
        """The model's reply to a request that came through all middlewares, and how often it was asked by then."""
        system = [request.system_message] if request.system_message else []
        model = self._model_for(question) if self._is_as_asked(request, question) else self._bound(request, question)
        return await self._asked(model, [*system, *request.messages], asked, config)

    def _is_as_asked(self, request: ModelRequest, question: Question) -> bool:
        """Whether the model that is bound for the question will do."""
        tools = () if question.is_forced else question.offer.tools
        is_same_form = (request.response_format is None) == (self.form is None)
        is_same_choice = request.tool_choice == self._choice_for(question)
        return request.model is self.models.model and is_same_form and is_same_choice and request.tools == tools

    def _bound(self, request: ModelRequest, question: Question) -> ChatModel:
        form, choice = (None if request.response_format is None else self.form), request.tool_choice
        if choice == self._choice_for(question):  # of the loop's own, for what a middleware may have left out
            names = {tool.spec.name for tool in request.tools} | (frozenset[str]() if form is None else form.names)
            choice = possible(choice, names)
        return self.models.bound(request.model, request.tools, choice=choice, form=form)

    async def _asked(
        self, model: ChatModel, request: list[Message], asked: int, config: RunConfig
    ) -> tuple[AIMessage, int]:
        """The model's reply and how often it was asked by then; a lost reply is asked for again, a few times."""
        sent, limit = request, min(self.max_iterations, asked + 1 + MAX_RE_ASKS)
        while True:
            reply = _checked_reply(await asked_of(model, model.ainvoke, sent, config))
            asked += 1
            if not is_lost(reply) or asked >= limit:
                return reply, asked
            logger.warning("the reply was empty (finish reason %r); asking again", reply.finish_reason)
            sent = [*request, HumanMessage(_LOST)]


class _Way:
    """The way of one question through the middlewares, to the model and back."""

    def __init__(self, asker: Asker, question: Question, config: RunConfig) -> None:
        self._asker = asker
        self._question = question
        self._config = config
        self.asked = question.asked
        """How often the model was asked by now in this run."""

    async def enter(self, request: ModelRequest, level: int) -> ModelResponse:
        """What a request comes to, from one of the middlewares on."""
        if level == len(self._asker.around):
            before = self.asked
            reply, asked = await self._asker.answer(request, self._question, before, self._config)
            self.asked += asked - before  # added, and not set: a middleware may ask several times at once
            return ModelResponse(message=reply)
        return await self._around(request, self._asker.around[level], level)

    async def _around(self, request: ModelRequest, hook: Hook, level: int) -> ModelResponse:
        responses: list[ModelResponse] = []
        passed: list[BaseException] = []

        async def handler(given: ModelRequest) -> ModelResponse:
            wanted = self._checked(given, hook)
            try:
                responses.append(await self.enter(wanted, level + 1))
            except BaseException as error:
                passed.append(error)
                raise
            return responses[-1]

        try:
            return self._read(await hook.around(request, handler), hook, responses)
        except Exception as error:
            if not any(error is each for each in passed):  # what comes from further inside is not this one's fault
                hook.blame(error)
            raise

    def _checked(self, request: object, hook: Hook) -> ModelRequest:
        """A request as a middleware wants it to be made.

        Raises:
            InputError: It is none, or holds something else than messages.
            OptionError: It goes to no model, offers tools that nobody could run, or asks for another form of answer.
        """
        if not isinstance(request, ModelRequest):
            raise InputError(
                problem=f"The handler that {hook.middleware!r} was given takes the request",
                value=request,
                remedy="Pass the request as it is, or request.override(…).",
            )
        if not are_messages(request.messages):
            raise InputError(
                problem=f"A request of the middleware {hook.middleware!r} holds what is no message",
                value=request.messages,
                remedy="Pass messages; convert_to_messages makes them of other forms.",
            )
        model = as_own_model(request.model)
        check_model(model)
        form = self._asker.form
        if request.response_format is not None and (form is None or request.response_format is not form.strategy):
            raise OptionError(
                option="response_format",
                value=request.response_format,
                expected="None or that of the agent",
                remedy="What is validated in the end is the agent's: give it to create_agent.",
            )
        return replace(request, model=cast("ChatModel", model), tools=self._runnable(request.tools, hook))

    def _runnable(self, given: tuple[Any, ...], hook: Hook) -> tuple[BaseTool, ...]:
        """The tools of a request, if the agent would run each of them when it is called."""
        offer, known = self._question.offer, self._asker.models.known
        if given == offer.tools:
            return given
        bodies = {tool.spec.name: tool.spec.body.function for tool in (*known.tools, *offer.tools)}
        tools = tuple(as_tools(given))
        for tool in tools:
            if tool.spec.name not in bodies or tool.spec.body.function != bodies[tool.spec.name]:
                raise OptionError(
                    option="tools",
                    value=tool.spec.name,
                    expected=f"tools that the agent runs: {', '.join(bodies) or 'it has none'}",
                    remedy=f"Give it to the agent, or make it one of the tools of the middleware {hook.middleware!r}.",
                )
        return tools

    def _read(self, returned: object, hook: Hook, responses: list[ModelResponse]) -> ModelResponse:
        """What a middleware returned, as a response.

        Raises:
            InputError: It is none, or writes what it may not.
        """
        if isinstance(returned, AIMessage):  # another reply; what those further inside want written stays wanted
            return ModelResponse(message=returned, update=responses[-1].update if responses else {})
        if not isinstance(returned, ModelResponse) or not isinstance(returned.message, AIMessage):  # pyright: ignore[reportUnnecessaryIsInstance] - hosts may not type-check
            raise InputError(
                problem=f"{hook.name} of the middleware {hook.middleware!r} returned no reply",
                value=returned,
                remedy="Return what handler(request) gave, a ModelResponse or an AIMessage.",
            )
        update: object = returned.update
        allowed = self._asker.keys - _WRITTEN_BY_LOOP
        wrong = [key for key in update if key not in allowed] if is_object(update) else [update]
        if wrong:
            raise InputError(
                problem=f"{hook.name} of the middleware {hook.middleware!r} wants to write what it may not",
                value=wrong[0],
                remedy=f"It may write: {', '.join(sorted(allowed)) or 'nothing'}. Its state_schema adds keys.",
            )
        return returned


def check_model(model: object) -> None:
    """Refuse what cannot be asked.

    Raises:
        OptionError: It is no model.
    """
    can_be_asked = all(callable(getattr(model, method, None)) for method in ("ainvoke", "bind_tools"))
    if isinstance(model, type) or not can_be_asked:
        raise OptionError(
            option="model",
            value=model,
            expected="a chat model or its name as 'provider:model'",
            remedy="A model has ainvoke and bind_tools; see surehand.models.",
        )


def is_lost(reply: AIMessage) -> bool:
    """Whether the provider says that something else than an answer happened, and nothing came."""
    is_empty = not reply.tool_calls and (
        not reply.content if isinstance(reply.content, list) else not reply.text.strip()
    )
    # Nothing at all with "stop" is an answer too: after a tool's result, models do say nothing.
    return is_empty and (reply.is_cut_off or reply.finish_reason not in (None, "stop"))


def _checked_reply(reply: object) -> AIMessage:
    if isinstance(reply, AIMessage):
        return reply
    raise InputError(
        problem="The model's reply is no AIMessage", value=reply, remedy="Return a surehand AIMessage from ainvoke."
    )
