"""LangChain's chat models as models of ours.

What LangChain does with a reply that streams is left aside: its sums of chunks close what a model left open. The pieces
of calls are put together here, so that a call that was cut off stays one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Final, Self, cast

from surehand.control import current_runtime
from surehand.dialects import langchain_messages
from surehand.errors import ModelError, OptionError
from surehand.foreign import is_langchain
from surehand.messages import AIMessage, AIMessageChunk, Message, ToolCallChunk, ToolMessage
from surehand.models import BaseChatModel, ModelRequest, Nudge
from surehand.models.said import TextCalls
from surehand.shapes import items_of, mapping_of
from surehand.tools import BaseTool, as_tools

__all__ = ["LangChainModel"]

_FOR_MODELS: Final = ("callbacks", "tags", "metadata", "configurable")
"""What a run's configuration says to what runs inside of it; the rest is about the run itself."""


class LangChainModel(BaseChatModel):
    """A LangChain chat model, asked with our messages and tools.

    ``create_agent`` makes one by itself of a LangChain model that it is given.

    Args:
        model: A LangChain chat model, also one with ``bind``, ``with_retry`` or ``with_fallbacks`` around it. Tools
            that are bound to it already are offered as long as no others are bound.
        nudge: See ``BaseChatModel``.
        text_calls: See ``BaseChatModel``.

    Raises:
        OptionError: It is no LangChain model that tools can be bound to.
        ToolDefinitionError: A tool that is bound to it has no name or no schema.

    Example:
        model = LangChainModel(ChatMistralAI(model="mistral-large-latest"))
        model.bind_tools([add]).invoke("What is 2 + 3?").tool_calls
    """

    def __init__(self, model: Any, *, nudge: bool | Nudge | None = None, text_calls: TextCalls = False) -> None:
        super().__init__(nudge=nudge, text_calls=text_calls)
        if not is_langchain(model) or not hasattr(_innermost(model), "bind_tools"):
            raise OptionError(
                option="model",
                value=model,
                expected="a LangChain chat model",
                remedy="Pass the model itself; a chain or a prompt in front of it cannot be bound to tools.",
            )
        self.model = model
        self._tools = tuple(_bound_tools(model))
        self._is_bound = bool(self._tools)
        """Whether the tools are those that were bound to LangChain's model, in its own way."""

    def bind_tools(self, tools: Any, *, tool_choice: Any = None, **options: Any) -> Self:
        """A copy that offers these tools instead of those bound before; the original is untouched."""
        bound = super().bind_tools(tools, tool_choice=tool_choice, **options)
        bound._is_bound = False  # noqa: SLF001 - our own copy
        return bound

    async def _answer(self, request: ModelRequest) -> AIMessage:
        try:
            reply = await self._bound(request).ainvoke(_written(request), _run_config())
        except Exception as error:
            raise self._failure(error) from error
        (message,) = langchain_messages.read_messages([reply])
        return cast("AIMessage", message)

    async def _pieces(self, request: ModelRequest) -> AsyncGenerator[AIMessageChunk, None]:
        usage: dict[str, Any] = {}
        try:
            async with aclosing(self._bound(request).astream(_written(request), _run_config())) as chunks:
                async for chunk in chunks:
                    yield _piece(chunk, usage)
        except Exception as error:
            raise self._failure(error) from error

    def _bound(self, request: ModelRequest) -> Any:
        """LangChain's model with the tools and options of a request."""
        options = dict(request.options)
        if not request.tools or self._is_bound:
            return self.model.bind(**options) if options else self.model
        if (choice := _written_choice(request)) is not None:
            options["tool_choice"] = choice
        try:
            return _with_tools(self.model, [tool.to_openai() for tool in request.tools], options)
        except NotImplementedError as error:
            raise OptionError(
                option="tools",
                value=[tool.spec.name for tool in request.tools],
                expected=f"none, as {type(_innermost(self.model)).__name__} cannot be bound to tools",
                remedy="Take a model whose class has bind_tools, or text_calls=True with the tools in the prompt.",
            ) from error

    def _failure(self, error: Exception) -> Exception:
        if isinstance(error, OptionError | ModelError):
            return error
        status: object = getattr(error, "status_code", None)
        failure = ModelError(
            model=_name_of(self.model),
            problem=f"LangChain's {type(_innermost(self.model)).__name__} failed with {type(error).__name__}: {error}",
            remedy="Read the words above; they are the provider's, or LangChain's.",
        )
        failure.status_code = status if isinstance(status, int) else None
        return failure


def _run_config() -> dict[str, Any]:
    """What the run around the model says to LangChain's callbacks and traces; nothing where there is none."""
    runtime = current_runtime()
    known: Mapping[str, Any] = {} if runtime is None else cast("Mapping[str, Any]", runtime.config)
    return {key: known[key] for key in _FOR_MODELS if key in known}


def _with_tools(model: Any, tools: list[dict[str, Any]], options: dict[str, Any]) -> Any:
    """The model with other tools bound; what is around it, such as options and retries, stays around it."""
    if (inner := _inside(model, "bound")) is None:
        return model.bind_tools(tools, **options)
    kept = {key: value for key, value in model.kwargs.items() if key not in ("tools", "tool_choice")}
    return model.model_copy(update={"bound": _with_tools(inner, tools, options), "kwargs": kept})


def _innermost(model: Any) -> Any:
    """The chat model inside of whatever LangChain has around it."""
    while (inner := _inside(model, "bound") or _inside(model, "runnable")) is not None:
        model = inner
    return model


def _inside(model: Any, field: str) -> Any:
    """What is inside of a wrapper; None for a model, which may have a field of that name for something else."""
    inner = _held(model, field)
    return inner if is_langchain(inner) else None


def _held(model: Any, field: str) -> Any:
    """A field of the object itself: asked in the usual way, LangChain's wrappers answer for what is inside of them."""
    return cast("dict[str, Any]", vars(model)).get(field)


def _name_of(model: Any) -> str:
    inner = _innermost(model)
    names = (getattr(inner, key, None) for key in ("model_name", "model"))
    return next((name for name in names if isinstance(name, str)), type(inner).__name__)


def _bound_tools(model: Any) -> list[BaseTool]:
    """The tools that a host has bound to LangChain's model; those that the provider runs itself are none of ours."""
    while model is not None:
        if given := items_of(mapping_of(_held(model, "kwargs")).get("tools")):
            return as_tools([tool for tool in given if not _is_builtin(tool)])
        model = _inside(model, "bound")
    return []


def _is_builtin(tool: object) -> bool:
    fields = mapping_of(tool)
    schema = fields.keys() & {"parameters", "input_schema", "inputSchema", "function"}
    return bool(fields) and not schema


def _written(request: ModelRequest) -> list[Any]:
    return langchain_messages.write_messages(_on_wire(message, request.wire_names) for message in request.messages)


def _on_wire(message: Message, names: Mapping[str, str]) -> Message:
    """The message with the tools' names as they were offered."""
    if not names:
        return message
    if isinstance(message, AIMessage) and any(call["name"] in names for call in message.tool_calls):
        return message.replace(
            tool_calls=[{**call, "name": names.get(call["name"], call["name"])} for call in message.tool_calls]
        )
    if isinstance(message, ToolMessage) and message.name is not None:
        return message.replace(name=names.get(message.name, message.name))
    return message


def _written_choice(request: ModelRequest) -> Any:
    choice = request.tool_choice
    if choice == "required":
        return "any"  # LangChain's word, which its models put in their providers'
    return request.wire_names.get(choice, choice) if isinstance(choice, str) else choice


def _piece(chunk: Any, usage: dict[str, Any]) -> AIMessageChunk:
    """A chunk of LangChain's as a piece of ours.

    Args:
        chunk: What its model gave.
        usage: The tokens so far, which are added to: LangChain's chunks hold what is new, and ours the totals.
    """
    sent = mapping_of(chunk.usage_metadata)
    for key in ("input_tokens", "output_tokens", "total_tokens"):
        if isinstance(sent.get(key), int):
            usage[key] = usage.get(key, 0) + sent[key]
    return AIMessageChunk(
        chunk.content,
        tool_call_chunks=_call_pieces(chunk),
        usage_metadata=dict(usage) if sent else None,
        id=chunk.id,
        name=chunk.name,
        additional_kwargs={key: value for key, value in chunk.additional_kwargs.items() if key != "tool_calls"},
        response_metadata=chunk.response_metadata,
    )


def _call_pieces(chunk: Any) -> list[ToolCallChunk]:
    pieces = items_of(getattr(chunk, "tool_call_chunks", None))
    if pieces or not chunk.tool_calls:
        return [
            {
                "id": piece.get("id"),
                "name": piece.get("name"),
                "args": piece.get("args"),
                "index": piece["index"] if isinstance(piece.get("index"), int) else None,
                "type": "tool_call_chunk",
            }
            for piece in map(mapping_of, pieces)
        ]
    (message,) = langchain_messages.read_messages([chunk])
    return AIMessageChunk.of(cast("AIMessage", message)).tool_call_chunks  # from a model that streams no calls
