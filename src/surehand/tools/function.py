"""Tools from functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, overload

from typing_extensions import Unpack

from surehand.errors import ToolDefinitionError
from surehand.policy import mapping, words
from surehand.spec import ResponseFormat, ToolSpec, spec_from_function
from surehand.tools.base import BaseTool
from surehand.tools.options import OptionArguments, tool_options

__all__ = ["Tool", "tool"]

_BESIDE_OPTIONS: Final = ("description", "args_schema", "return_direct", "response_format", "tags", "metadata")
"""What a tool is given besides its options: what a keyword that is unknown may be a slip of."""


class Tool(BaseTool):
    """A tool made from a function or a JSON Schema; calling it calls the function itself.

    Args:
        spec: The tool as data.
    """

    def __init__(self, spec: ToolSpec) -> None:
        functools.update_wrapper(self, spec.body.function, updated=())  # what wraps the tool wraps the function
        self.__dict__["_spec"] = spec
        self.name = spec.name
        self.description = spec.description
        self.args_schema = spec.schema.model
        self.return_direct = spec.return_direct
        self.response_format = spec.response_format
        self.tags = spec.tags
        self.metadata = spec.metadata

    @property
    def func(self) -> Callable[..., Any]:
        """The function itself."""
        return self.spec.body.function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself: no validation, no policy."""
        return self.func(*args, **kwargs)

    def __get__(self, instance: object | None, owner: type | None = None) -> Tool:
        """A tool that was made from a method, bound to the instance it is taken from."""
        # As functions do: taken from an instance, a method's tool is bound; taken from the class, it waits for one.
        receiver = owner if instance is None else instance
        is_unbound = self.spec.body.receiver is None or (instance is None and self.spec.body.receiver != "cls")
        return self if is_unbound else Tool(self.spec.bind(receiver))

    @classmethod
    def from_function(
        cls,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        args_schema: Any = None,
        return_direct: bool = False,
        response_format: ResponseFormat = "content",
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        **options: Unpack[OptionArguments],
    ) -> Tool:
        """A tool from any callable: function, method, partial, object with ``__call__``.

        Raises:
            ToolDefinitionError: The callable cannot be a tool, or is one already.
            OptionError: An option has a value that cannot be meant.
        """
        if isinstance(function, BaseTool):
            raise ToolDefinitionError(
                tool=function.spec.name,
                problem="it is a tool already",
                remedy="Use it as it is, or with_config(…) for other options.",
            )
        return cls(
            spec_from_function(
                function,
                name=name,
                description=description,
                args_schema=args_schema,
                options=tool_options(options, beside=_BESIDE_OPTIONS),
                return_direct=return_direct,
                response_format=response_format,
                tags=words("tags", tags),
                metadata=mapping("metadata", metadata),
            )
        )

    @classmethod
    def from_json_schema(
        cls,
        name: str,
        schema: Mapping[str, Any],
        function: Callable[..., Any],
        *,
        description: str = "",
        **options: Unpack[OptionArguments],
    ) -> Tool:
        """A tool whose arguments a JSON Schema describes; they are validated like any other.

        Args:
            name: What the model calls the tool by.
            schema: A JSON Schema of an object.
            function: Called with the arguments as keywords.
            description: What the model is told about the tool.
            **options: As on ``@tool``.

        Raises:
            MissingExtraError: The ``jsonschema`` extra is not installed.
            ToolDefinitionError: The schema is no JSON Schema of an object.
        """
        return cls.from_function(function, name=name, description=description, args_schema=schema, **options)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    name: str | None = None,
    /,
    *,
    description: str | None = None,
    args_schema: Any = None,
    return_direct: bool = False,
    response_format: ResponseFormat = "content",
    tags: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    **options: Unpack[OptionArguments],
) -> Callable[[Callable[..., Any]], Tool]: ...
@overload
def tool(
    *,
    name: str,
    description: str | None = None,
    args_schema: Any = None,
    return_direct: bool = False,
    response_format: ResponseFormat = "content",
    tags: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    **options: Unpack[OptionArguments],
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | str | None = None, /, *, name: str | None = None, **options: Any
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a function a tool.

    Name, description and arguments come from the signature, the annotations and the docstring (Google, NumPy or
    Sphinx style). Use it bare, with a name, or with options:

        @tool
        def add(a: int, b: int) -> int:
            "Add two numbers."
            return a + b

        @tool("lookup", timeout=3, read_only=True)
        async def find_order(order_id: str) -> dict: ...

    Raises:
        ToolDefinitionError: The function cannot be a tool.
        OptionError: An option has a value that cannot be meant.
    """
    if isinstance(function, str):
        function, name = None, function

    def decorate(decorated: Callable[..., Any]) -> Tool:
        return Tool.from_function(decorated, name=name, **options)

    return decorate if function is None else decorate(function)
