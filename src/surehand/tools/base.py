"""Tools as classes, and what calling a tool directly means."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from surehand.calls import (
    GOVERNED,
    Call,
    Host,
    ToolReturn,
    ToolTable,
    Turn,
    calls_of,
    let_out,
    may_run_again,
    run_alone,
    run_alone_sync,
    timeout_of,
)
from surehand.concurrency import entered_by_sync_door
from surehand.control import RunConfig, current_runtime
from surehand.errors import ToolCallError, ToolDefinitionError
from surehand.messages import AIMessage, ToolMessage
from surehand.policy import ToolOptions, mapping, words
from surehand.shapes import is_a, is_object, is_pair
from surehand.spec import ResponseFormat, ToolSpec, check_tool_name, snake_case, spec_from_function
from surehand.tools.export import GeminiField, OpenAIApi, to_anthropic, to_bedrock, to_gemini, to_mcp, to_openai
from surehand.tools.options import OPTION_NAMES, tool_options

__all__ = ["BaseTool"]

_DIRECT: ToolOptions = ToolOptions(handle_tool_errors=False)
"""A tool that is called directly raises, unless it has a rule of its own."""


class BaseTool:
    """A tool as a class: subclass it and write ``_run``, ``_arun`` or both.

    ``name``, ``description``, ``args_schema`` and every option of ``@tool`` may be class attributes or be set in
    ``__init__``. Left out, the name is the class's in snake_case, the description its docstring, and the schema comes
    from the signature of ``_run``. A ``_run`` whose one parameter is annotated with the arguments' model gets the
    validated model; any other gets the arguments by name.

    Example:
        class Search(BaseTool):
            description = "Search the catalogue."

            def _run(self, query: str, limit: int = 10) -> list[str]:
                return catalogue.search(query)[:limit]
    """

    name: str
    """What the model calls the tool by."""
    description: str
    """What the model is told about it."""
    args_schema: Any = None
    """The arguments: a Pydantic model (v2 or v1), a TypedDict, a dataclass or a JSON Schema; None for the signature."""
    return_direct: bool = False
    """Whether an agent ends with the result as its answer."""
    response_format: ResponseFormat = "content"
    """Whether the function returns a pair of content and artifact."""
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = {}

    @property
    def spec(self) -> ToolSpec:
        """The tool as data; made once, when it is first needed.

        Raises:
            ToolDefinitionError: The tool has neither ``_run`` nor ``_arun``, or something about it cannot be used.
        """
        # Without a lock: two threads that make it at once make equal ones, and the last one stays.
        spec: ToolSpec | None = self.__dict__.get("_spec")
        if spec is None:
            spec = self.__dict__["_spec"] = self._make_spec()
        return spec

    @property
    def args(self) -> dict[str, Any]:
        """The arguments as JSON Schema properties."""
        return dict(self.spec.schema.json_schema.get("properties", {}))

    def invoke(self, input: Any, config: RunConfig | None = None, *, context: Any = None) -> Any:
        """Call the tool; see ``ainvoke``."""
        call = self._call(input, config, context)
        return _outcome_of(run_alone_sync(call), is_call=_is_tool_call(input))

    async def ainvoke(self, input: Any, config: RunConfig | None = None, *, context: Any = None) -> Any:
        """Call the tool.

        Args:
            input: The arguments as a mapping or as JSON text, or a whole tool call
                (``{"type": "tool_call", "name": …, "args": …, "id": …}``).
            config: The run's configuration.
            context: The host's own object, for injected parameters.

        Returns:
            The bare result for arguments, a ToolMessage with the call's id for a tool call.

        Raises:
            Exception: What the tool raises, the same object, unless ``handle_tool_errors`` says otherwise.
            InvalidArguments: The arguments break the schema.
            MalformedArguments: The arguments are not one JSON object.
            ToolCallError: The call failed without an exception of its own, such as a timeout.
        """
        call = self._call(input, config, context)
        return _outcome_of(await run_alone(call), is_call=_is_tool_call(input))

    def with_config(self, **config: Any) -> Self:
        """A copy of the tool with other options, tags or metadata.

        Raises:
            OptionError: A name is no option, or its value cannot be meant.
        """
        changed = copy.copy(self)
        spec = self.spec
        options = tool_options({name: value for name, value in config.items() if name not in {"tags", "metadata"}})
        changed.__dict__["_spec"] = replace(
            spec,
            options=options.over(spec.options),
            tags=words("tags", config.get("tags", spec.tags)),
            metadata=mapping("metadata", config.get("metadata", spec.metadata)),
        )
        return changed

    def to_openai(self, *, strict: bool = False, api: OpenAIApi = "chat") -> dict[str, Any]:
        """The tool as OpenAI's chat API declares it, and whoever speaks it; or as the Responses API does."""
        return to_openai(self.spec, strict=strict, api=api)

    def to_anthropic(self, *, strict: bool = False) -> dict[str, Any]:
        """The tool as Anthropic's messages API declares it."""
        return to_anthropic(self.spec, strict=strict)

    def to_gemini(self, *, field: GeminiField = "parametersJsonSchema") -> dict[str, Any]:
        """The tool as Gemini's API declares a function; see ``surehand.tools.export.to_gemini``."""
        return to_gemini(self.spec, field=field)

    def to_bedrock(self) -> dict[str, Any]:
        """The tool as Amazon Bedrock's Converse API declares it."""
        return to_bedrock(self.spec)

    def to_mcp(self, *, title: str = "", output_schema: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The tool as MCP declares it; see ``surehand.tools.export.to_mcp``."""
        return to_mcp(self.spec, title=title, output_schema=output_schema)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.spec.name!r})"

    if not TYPE_CHECKING:  # a checker that saw this would let every misspelt attribute pass

        def __getattr__(self, attribute: str) -> Any:
            """What the class left out: its name in snake_case, and its docstring."""
            if attribute == "name":
                return snake_case(type(self).__name__)
            if attribute == "description":
                return inspect.cleandoc(type(self).__doc__ or "")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {attribute!r}")

    def _call(self, given: Any, config: RunConfig | None, context: Any) -> Call:
        runtime = current_runtime()
        entry = dict(given) if _is_tool_call(given) else {"name": self.spec.name, "args": given}
        turn = Turn(
            host=self._host,
            message=AIMessage(tool_calls=[entry]),
            store=runtime.store if runtime is not None else None,
            context=context if context is not None or runtime is None else runtime.context,
            thread_id=str((config or {}).get("configurable", {}).get("thread_id", "")),
            is_direct=True,
            timeout=timeout_of(config),
        )
        return calls_of(turn)[0]

    @property
    def _host(self) -> Host:
        spec = self.spec
        # Kept with the spec it was made of: a copy by `with_config` takes this along, and has another spec.
        kept: tuple[ToolSpec, Host] | None = self.__dict__.get("_own_host")
        if kept is None or kept[0] is not spec:
            kept = self.__dict__["_own_host"] = (spec, Host(table=ToolTable([spec], defaults=_DIRECT)))
        return kept[1]

    def _make_spec(self) -> ToolSpec:
        name = check_tool_name(self.name or snake_case(type(self).__name__))
        given = {option: getattr(self, option) for option in OPTION_NAMES if hasattr(self, option)}
        return spec_from_function(
            self._function(name),
            name=name,
            description=self.description or inspect.cleandoc(type(self).__doc__ or ""),
            args_schema=self.args_schema,
            options=tool_options(given),
            return_direct=self.return_direct,
            response_format=self.response_format,
            tags=words("tags", self.tags),
            metadata=mapping("metadata", self.metadata),
        )

    def _function(self, name: str) -> Callable[..., Any]:
        """What is run: ``_run`` from synchronous code, ``_arun`` from asynchronous, whichever there is."""
        run: Callable[..., Any] | None = getattr(self, "_run", None)
        arun: Callable[..., Any] | None = getattr(self, "_arun", None)
        if run is None or arun is None:
            if (only := run or arun) is None:
                raise ToolDefinitionError(
                    tool=name, problem="it has neither _run nor _arun", remedy="Write one of them."
                )
            return only
        return _either(run, arun)


def _either(run: Callable[..., Any], arun: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the signature of ``run`` that takes the asynchronous twin where the caller is asynchronous."""

    def either(*args: Any, **kwargs: Any) -> Any:
        return run(*args, **kwargs) if entered_by_sync_door() else arun(*args, **kwargs)

    either.__wrapped__ = run  # type: ignore[attr-defined]  # as functools.wraps does, for the signature
    either.__signature__ = inspect.signature(run)  # type: ignore[attr-defined]  # the same; `self` is bound already
    either.__module__ = run.__module__
    either.__doc__ = run.__doc__
    return either


def _is_tool_call(given: Any) -> bool:
    return is_object(given) and given.get("type") == "tool_call"


def _outcome_of(ended: Call, *, is_call: bool) -> Any:
    _raise_failure(ended)
    return ended.message if is_call else _result(ended)


def _raise_failure(ended: Call) -> None:
    """Raise what a direct caller has to hear of."""
    error = _untold(ended) if ended.raises is None else ended.raises
    if error is not None:
        let_out(error, ended, may_run_again=may_run_again(ended))
        raise error


def _untold(ended: Call) -> BaseException | None:
    """The failure that no rule of the tool's has turned into a text; None where there is none."""
    outcome = ended.outcome
    if outcome is None or outcome.kind is None or _is_told(ended):
        return None
    if outcome.error is not None:
        return outcome.error
    return ToolCallError(call_id=ended.id, tool=ended.name, kind=str(outcome.kind), text=outcome.text or "")


def _is_told(ended: Call) -> bool:
    """Whether the tool's own rule turned the failure into a text."""
    kind = ended.outcome.kind if ended.outcome else None
    return ended.is_told or kind in GOVERNED  # of the governed, what no rule tells was raised already


def _result(ended: Call) -> Any:
    """What the tool returned, bare; the text of a failure that the tool handles itself."""
    outcome = ended.outcome
    if outcome is None:
        return None
    if outcome.kind is not None:
        return outcome.text
    value = ended.value
    if is_a(value, ToolReturn) or is_a(value, ToolMessage):
        return value.content
    has_artifact = ended.tool is not None and ended.tool.spec.response_format == "content_and_artifact"
    return value[0] if has_artifact and is_pair(value) else value
