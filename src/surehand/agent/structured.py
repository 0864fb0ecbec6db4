"""Answers in a form that the host chose: by a tool that is none, or by the model's own JSON mode.

With a ``ToolStrategy`` the model gives its answer as a call, of a tool whose arguments are the answer. That works with
every model that can call tools, and a wrong answer is told to it as any wrong call is: all complaints at once. With a
``ProviderStrategy`` the provider holds the model to the schema, and the answer is the text of its reply.

A text that is nothing but a JSON object which fits is an answer in both. To refuse it would cost a request, to get the
same once more.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple, get_args, get_origin

from surehand.agent.strategies import ProviderStrategy, ToolStrategy
from surehand.arguments import InvalidArguments, MalformedArguments, parse_arguments, validate_arguments
from surehand.calls import Host, ToolReturn, ToolTable, Turn, calls_of, log_fault, past_calls, run_turn
from surehand.calls.history import PastCall
from surehand.errors import OptionError
from surehand.graph.channels import MISSING
from surehand.messages import AIMessage, HumanMessage, Message, ToolCall, ToolMessage, close_call
from surehand.models import ChatModel, ChatOpenAI
from surehand.outcomes import FailureKind
from surehand.shapes import is_object
from surehand.tools import Tool

__all__ = ["MISSING", "AnswerForm", "Taken", "read_format"]

_WHOLE: Final = "answer"
"""The parameter that gets the whole answer."""
_TAKEN: Final = "Your answer was taken."
_GIVE_IT: Final = "Call this once, alone, to give your final answer."
_SEVERAL: Final = "The answer was not taken: there were {count} in one turn. Give one, by one call of {names}."
_TOO_EARLY: Final = (
    "The answer was not taken: it came together with other calls, before their results were known. "
    "Look at the results, and give your answer again, alone."
)
_BY_A_CALL: Final = "Give your answer now by calling {names}. Plain text is not taken as an answer."
_AS_JSON: Final = "Your answer is not in the form that was asked for.\n{complaints}\nGive it again, as one JSON object."


class Taken(NamedTuple):
    """What became of the answers of one turn."""

    messages: list[ToolMessage]
    """What the model is told, one message to each."""
    value: Any = MISSING
    """The answer; MISSING where none was taken."""


class AnswerForm:
    """How an agent's answer has to look, and how one is read.

    Args:
        strategy: How the model is brought to it.
        tools: What the answer is validated as: one for each form that it may have.
    """

    def __init__(self, strategy: ToolStrategy | ProviderStrategy, tools: Sequence[Tool]) -> None:
        self.strategy = strategy
        self._tools = tuple(tools)
        self._host = Host(table=ToolTable([tool.spec for tool in tools]))
        self.is_called = isinstance(strategy, ToolStrategy)
        """Whether the answer is a call."""
        self.offered: tuple[Tool, ...] = self._tools if self.is_called else ()
        """What the model is offered besides its tools."""
        self.names = frozenset(tool.spec.name for tool in self.offered)
        self.kinds: tuple[Any, ...] = tuple(dict if _is_bare(tool) else tool.spec.schema.model for tool in tools)
        """What an answer may be an instance of."""

    @property
    def choice(self) -> str:
        """What forces the model to answer, where nothing but the answer is offered."""
        return next(iter(self.names)) if len(self.names) == 1 else "required"

    def options_for(self, model: ChatModel) -> dict[str, Any]:
        """What is bound to the model besides tools.

        Raises:
            OptionError: It has no JSON mode that we know how to ask for.
        """
        if not isinstance(self.strategy, ProviderStrategy):
            return {}
        if not isinstance(model, ChatOpenAI):
            raise OptionError(
                option="response_format",
                value=self.strategy,
                expected=f"a ToolStrategy for a model like {type(model).__name__}",
                remedy="A ProviderStrategy is for ChatOpenAI.",
            )
        function = self._tools[0].to_openai(strict=self.strategy.strict)["function"]
        schema = {"name": function["name"], "schema": function["parameters"], "strict": self.strategy.strict}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}

    # Answers that are calls

    def takes(self, name: str, others: Collection[str]) -> bool:
        """Whether a call of this name is an answer; beside other tools, whose names come first where it is misspelt."""
        if not self.is_called or name in self.names:
            return self.is_called
        return name not in others and self._host.table.find(name) is not None

    async def take(self, reply: AIMessage, answers: Sequence[ToolCall], *, thread_id: str) -> Taken:
        """Validate the one answer of a reply; several, and one beside other calls, are refused.

        Calls that came together with an answer were made because something is not known yet: an answer that was given
        before that is known would be a guess.
        """
        if len(answers) > 1:
            text = _SEVERAL.format(count=len(answers), names=self._named())
            return Taken([close_call(answer, FailureKind.SKIPPED, text) for answer in answers])
        if len(reply.tool_calls) > len(answers):
            return Taken([close_call(answer, FailureKind.SKIPPED, _TOO_EARLY) for answer in answers])
        turn = Turn(host=self._host, message=reply, thread_id=thread_id)
        (message,) = (await run_turn(calls_of(turn, answers))).messages
        if message.status == "error":
            return Taken([message])
        return Taken([message.replace(artifact=None)], message.artifact)

    def is_hopeless(self, messages: Sequence[Message], others: Collection[str]) -> bool:
        """Whether the run had as many turns with nothing but answers that were not taken as it may have."""
        if self.strategy.corrections is None:
            return False
        by_turn: dict[int, list[PastCall]] = {}
        for past in past_calls(messages).calls:
            by_turn.setdefault(past.turn, []).append(past)
        missed = [
            turn
            for turn in by_turn.values()
            if all(past.kind is not None and self.takes(past.name, others) for past in turn)
        ]
        return len(missed) >= self.strategy.corrections

    # Answers that are text

    def read_text(self, text: str) -> Any:
        """The answer that a text is, if it is nothing but that; else MISSING."""
        found, _ = self._read(text)
        return found

    def words_after(self, reply: AIMessage) -> HumanMessage:
        """What the model is told after a text that is no answer."""
        if self.is_called:
            return HumanMessage(_BY_A_CALL.format(names=self._named()))
        _, complaints = self._read(reply.text)
        return HumanMessage(_AS_JSON.format(complaints=complaints))

    @property
    def most_texts(self) -> int | None:
        """How many texts in a row are taken before the run ends: a forced call needs no second reminder."""
        return 2 if self.is_called else self.strategy.corrections

    def _read(self, text: str) -> tuple[Any, str]:
        """The answer in a text, or MISSING and why there is none."""
        if "{" not in text:  # blank arguments of a call are an empty object, but no text is no answer
            return MISSING, "- $: expected a JSON object, got other text"
        try:
            given = parse_arguments(text).value
        except MalformedArguments as error:
            return MISSING, f"- $: {error.reason}"
        complaints = ""
        for tool in self._tools:
            try:
                return _validated(tool, given, is_strict=self.is_called), ""
            except InvalidArguments as error:
                complaints = complaints or "\n".join(f"- {complaint}" for complaint in error.complaints)
            except Exception as error:  # noqa: BLE001 - a validator is the host's code and may raise anything
                log_fault(f"the answer could not be checked as {tool.spec.name!r}", error)
                complaints = complaints or "- $: the answer could not be checked"
        return MISSING, complaints

    def _named(self) -> str:
        return " or ".join(repr(tool.spec.name) for tool in self._tools)


def read_format(given: object) -> AnswerForm | None:
    """What a host gave as ``response_format=``, as a form.

    Raises:
        OptionError: It is neither a strategy nor a schema.
        ToolDefinitionError: The schema cannot be one of an answer.
    """
    if given is None:
        return None
    strategy = given if isinstance(given, ToolStrategy | ProviderStrategy) else ToolStrategy(given)
    kinds = _alternatives(strategy.schema) if isinstance(strategy, ToolStrategy) else (strategy.schema,)
    if len(kinds) > 1 and strategy.name is not None:
        raise OptionError(option="name", value=strategy.name, expected="None for a union, whose forms have names")
    return AnswerForm(strategy, [_answer_tool(kind, strategy) for kind in kinds])


def _alternatives(schema: Any) -> tuple[Any, ...]:
    is_union = get_origin(schema) in (typing.Union, types.UnionType)
    return get_args(schema) if is_union else (schema,)


def _answer_tool(kind: Any, strategy: ToolStrategy | ProviderStrategy) -> Tool:
    """The tool whose arguments are an answer of this kind."""
    if not is_object(kind) and not isinstance(kind, type):
        raise OptionError(
            option="response_format",
            value=kind,
            expected="a pydantic model, a dataclass, a TypedDict, a JSON Schema, or a strategy with one of them",
        )
    own = strategy.description if isinstance(strategy, ToolStrategy) else None
    description = f"{_description_of(kind) if own is None else own}\n\n{_GIVE_IT}".strip()
    return Tool.from_function(
        _giver(kind) if isinstance(kind, type) else _give_mapping,
        name=strategy.name or _name_of(kind),
        description=description,
        args_schema=kind,
    )


async def _give_mapping(**answer: Any) -> ToolReturn:
    return ToolReturn(_TAKEN, artifact=answer)


def _giver(kind: type) -> Any:
    """A body whose one parameter gets the whole instance."""

    async def give(answer: Any) -> ToolReturn:
        return ToolReturn(_TAKEN, artifact=answer)

    give.__annotations__ = {_WHOLE: kind}
    return give


def _is_bare(tool: Tool) -> bool:
    return tool.spec.schema.model is None


def _name_of(kind: Any) -> str:
    if isinstance(kind, type):
        return kind.__name__
    title: object = kind.get("title")
    return title if isinstance(title, str) and title.strip() else "structured_response"


def _description_of(kind: Any) -> str:
    if is_object(kind):
        return str(kind.get("description") or "")
    own = inspect.cleandoc(kind.__doc__ or "")
    return "" if own.startswith(f"{kind.__name__}(") else own  # what dataclasses write for themselves


def _validated(tool: Tool, given: Mapping[str, Any], *, is_strict: bool) -> Any:
    valid = validate_arguments(tool.spec.schema, given, tool=tool.spec.name, strict=is_strict)
    return valid.values if _is_bare(tool) else valid.values[_WHOLE]
