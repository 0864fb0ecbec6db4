"""The node that checks tool calls and executes nothing."""

# States of any type are read here, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from surehand.calls import (
    Call,
    Host,
    ToolTable,
    Turn,
    calls_of,
    gate,
    log_fault,
    parse,
    resolve,
    shorten,
    typed,
    well_formed,
    without_links,
)
from surehand.control import RunConfig
from surehand.errors import InputError, InvalidArguments, OptionError, ToolDefinitionError
from surehand.interrupts import is_signal
from surehand.messages import AIMessage, ToolCall, ToolMessage
from surehand.nodes.conversation import Conversation
from surehand.outcomes import FailureKind, Outcome
from surehand.policy import DEFAULT_MAX_OUTPUT, text, words
from surehand.tools import BaseTool, Tool, as_tools
from surehand.wording import one_line

__all__ = ["FormatError", "ValidationNode"]

FormatError: TypeAlias = Callable[[BaseException, ToolCall, Any], str]
"""Words a failure for the model: from the error, the call, and the schema (a class, or a JSON Schema)."""

logger = logging.getLogger("surehand.nodes")

_KEY: Final = "messages"
_REQUEST: Final = "Respond after fixing all validation errors."


class ValidationNode:
    """Checks the arguments of every call of the newest message against its schema; nothing is executed.

    Each call is answered with one tool message: the validated arguments as JSON, or what is wrong with them. Calls are
    checked one after the other: a check is work for the processor, which threads of one interpreter only share, and it
    takes microseconds. ``ainvoke`` lets the loop go on between two calls.

    Args:
        schemas: What the calls are checked against: Pydantic models (also of ``pydantic.v1``), TypedDicts, dataclasses,
            JSON Schemas with a title, tools, and functions, whose signature counts. Each goes by its name, injected
            parameters do not count.
        format_error: Words a failure; None for the error's repr, without links to documentation, and a line that asks
            to respond after fixing it. Where it raises or gives no text, the default words are used.
        name: The node's name in a graph.
        tags: Words for the host's own use.

    Raises:
        OptionError: There is no schema, or ``format_error`` cannot be called.
        ToolDefinitionError: Something is no schema, or two schemas share a name.

    Example:
        class SelectNumber(BaseModel):
            a: int

        node = ValidationNode([SelectNumber])
        node.invoke([AIMessage(tool_calls=[{"id": "1", "name": "SelectNumber", "args": {"a": "37"}}])])
        # [ToolMessage(content='{"a":37}', name='SelectNumber', tool_call_id='1')]
    """

    def __init__(
        self,
        schemas: Iterable[Any],
        *,
        format_error: FormatError | None = None,
        name: str = "validation",
        tags: Sequence[str] | None = None,
    ) -> None:
        if format_error is not None and not callable(format_error):
            raise OptionError(
                option="format_error", value=format_error, expected="a function of error, call and schema"
            )
        if isinstance(schemas, str | Mapping) or not hasattr(schemas, "__iter__"):
            raise OptionError(option="schemas", value=schemas, expected="a list of schemas")
        tools = [_as_tool(schema) for schema in schemas]
        if not tools:
            raise OptionError(option="schemas", value=schemas, expected="at least one schema")
        self.name = text("name", name)
        self.tags = words("tags", tags)
        self.format_error = format_error
        self.schemas_by_name: dict[str, Any] = {
            tool.spec.name: tool.spec.schema.model or tool.spec.schema.json_schema for tool in tools
        }
        self._host = Host(table=ToolTable([tool.spec for tool in tools]))

    def invoke(self, input: Any, config: RunConfig | None = None) -> Any:
        """Check the calls; see ``ainvoke``. Nothing here waits, so no event loop is needed."""
        del config
        conversation = Conversation.of(input, _KEY)
        return conversation.update([self._answer(call, sent) for call, sent in self._calls(conversation)])

    async def ainvoke(self, input: Any, config: RunConfig | None = None) -> Any:
        """Check the calls of the last message.

        Args:
            input: A list of messages, or a state that holds one under ``messages``. The messages may be Surehand's or
                those of an OpenAI or Anthropic payload.
            config: The run's configuration.

        Returns:
            One tool message per call, in call order and in the form the messages came in: a list for a list, else
            ``{"messages": […]}``. A failed one has ``status="error"`` and ``additional_kwargs["is_error"]``.

        Raises:
            InputError: The last message is no AI message.
        """
        del config
        conversation = Conversation.of(input, _KEY)
        answers: list[ToolMessage] = []
        for call, sent in self._calls(conversation):
            if answers:
                await asyncio.sleep(0)
            answers.append(self._answer(call, sent))
        return conversation.update(answers)

    def _calls(self, conversation: Conversation) -> list[tuple[Call, ToolCall]]:
        """Each call, and beside it the same as the host's ``format_error`` is shown it."""
        message = _read_reply(conversation)
        return list(zip(calls_of(Turn(host=self._host, message=message)), message.tool_calls, strict=True))

    def _answer(self, call: Call, sent: ToolCall) -> ToolMessage:
        for step in (gate, resolve, parse):
            call = step(call)
            if call.outcome is not None:
                return self._refused(call, call.outcome, sent)
        return self._checked(call, sent)

    def _checked(self, call: Call, sent: ToolCall) -> ToolMessage:
        tool = call.tool
        assert tool is not None  # noqa: S101 - narrows the type; resolve has found it
        try:
            valid = typed(call, tool)
            content = tool.spec.schema.dump_json(valid.wire)
        except InvalidArguments as error:
            text = _default_text(error)
            if any(complaint.is_authors for complaint in error.complaints):
                text = call.turn.redactor(call).text(text)
            outcome = Outcome(kind=FailureKind.INVALID_ARGUMENTS, text=text, error=error)
            return self._refused(call, outcome, sent)
        except BaseException as error:  # a validator or serializer is the host's code and may raise anything
            if is_signal(error):
                raise
            log_fault(f"{call.id}: the arguments of {call.name!r} could not be checked", error)
            text = f"The arguments of {call.name!r} could not be checked because of a fault in the application."
            return self._refused(call, Outcome(kind=FailureKind.INTERNAL, text=text, error=error), sent)
        outcome = Outcome(repairs=(*call.repairs, *valid.repairs))
        return ToolMessage(well_formed(content), tool_call_id=call.id, name=call.name, outcome=outcome)

    def _refused(self, call: Call, outcome: Outcome, sent: ToolCall) -> ToolMessage:
        text = self._worded(call, outcome, sent) or outcome.text or str(outcome.kind)
        return ToolMessage(
            shorten(well_formed(text), DEFAULT_MAX_OUTPUT, advice=""),
            tool_call_id=call.id,
            name=call.name,
            status="error",
            additional_kwargs={"is_error": True},
            outcome=Outcome(kind=outcome.kind, text=text, repairs=call.repairs),
        )

    def _worded(self, call: Call, outcome: Outcome, sent: ToolCall) -> str | None:
        """The host's words for what is wrong with the arguments; None where it has none."""
        error = outcome.error
        if self.format_error is None or error is None or outcome.kind is FailureKind.INTERNAL:
            return None
        cause = error.__cause__ if isinstance(error, InvalidArguments) else None
        try:
            text: Any = self.format_error(cause or error, sent, self.schemas_by_name.get(call.name))
        except BaseException as error:  # the host's own function: its failure must not lose the other answers
            if is_signal(error):
                raise
            log_fault(f"{call.id}: format_error failed; the model is told the default text", error)
            return None
        if isinstance(text, str) and text.strip():
            return text
        what = type(text).__name__
        logger.error("%s: format_error gave no text but %s; the model is told the default", one_line(call.id), what)
        return None

    def __repr__(self) -> str:
        return f"ValidationNode({', '.join(self.schemas_by_name)})"


def _as_tool(schema: Any) -> BaseTool:
    """The schema as a tool that is never run."""
    if isinstance(schema, Mapping) and not {"name", "function"} & cast("Mapping[str, Any]", schema).keys():
        bare = cast("Mapping[str, Any]", schema)
        title = bare.get("title")
        if not isinstance(title, str):
            raise ToolDefinitionError(
                tool="(JSON Schema)", problem="a schema without a title has no name", remedy="Add a title to it."
            )
        return Tool.from_json_schema(title, bare, _never_run)
    return as_tools([schema])[0]


def _never_run(**_: Any) -> None:
    """Stands where a tool has a body."""


def _default_text(error: InvalidArguments) -> str:
    """The original error's repr without links, where it is pydantic's, which lists all that is wrong."""
    cause = error.__cause__
    is_pydantic = cause is not None and type(cause).__module__.partition(".")[0] in {"pydantic", "pydantic_core"}
    text = without_links(repr(cause)) if is_pydantic else str(error)
    return f"{text}\n\n{_REQUEST}"


def _read_reply(conversation: Conversation) -> AIMessage:
    newest = conversation.last()
    if not isinstance(newest, AIMessage):
        raise InputError(
            problem="ValidationNode checks the calls of the last message, which has to be an AI message",
            value=newest if newest is not None else conversation.given,
            remedy="Route to it only after a model has answered.",
        )
    return newest
