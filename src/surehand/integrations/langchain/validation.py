"""Our node that only checks calls, in a LangGraph graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from langchain_core.runnables import Runnable
from typing_extensions import override

from surehand.integrations.langchain.nodes import Compat, check_compat
from surehand.nodes import ValidationNode as OwnValidationNode
from surehand.shapes import is_array

__all__ = ["ValidationNode"]


class ValidationNode(OwnValidationNode, Runnable[Any, Any]):  # type: ignore[misc]  # a Runnable may have no name
    """Checks the arguments of every call of the newest message and executes nothing; a node of a LangGraph graph.

    See ``surehand.ValidationNode``. LangChain's tools are taken as they are: what their host fills does not count. On
    each tool message the outcome stands in ``response_metadata["surehand"]``.

    Args:
        schemas: Pydantic models, TypedDicts, dataclasses, JSON Schemas with a title, tools, functions.
        format_error: Words a failure, from the error, the call and the schema.
        name: The node's name.
        tags: Words for the host's own use.
        compat: ``"langgraph"`` leaves the status of a failed check a success, as LangGraph does, and the outcome out.

    Raises:
        OptionError: There is no schema, or an option has a value that cannot be meant.
        ToolDefinitionError: Something is no schema, or two schemas share a name.
    """

    def __init__(
        self,
        schemas: Iterable[Any],
        *,
        format_error: Callable[[BaseException, Any, Any], str] | None = None,
        name: str = "validation",
        tags: Sequence[str] | None = None,
        compat: Compat | None = None,
    ) -> None:
        self._is_compatible = check_compat(compat) is not None
        super().__init__(schemas, format_error=format_error, name=name, tags=tags)

    @override
    def invoke(self, input: Any, config: Any = None, **_: Any) -> Any:
        """Check the calls; see ``ainvoke``."""
        return self._plain(super().invoke(input, config))

    @override
    async def ainvoke(self, input: Any, config: Any = None, **_: Any) -> Any:
        """Check the calls of the last message; a list for a list, else ``{"messages": […]}``."""
        return self._plain(await super().ainvoke(input, config))

    def _plain(self, update: Any) -> Any:
        """The update, as LangGraph writes it where that is wanted."""
        if not self._is_compatible:
            return update
        if not is_array(update):
            return {key: [_without_outcome(message) for message in messages] for key, messages in update.items()}
        return [_without_outcome(message) for message in update]


def _without_outcome(message: Any) -> Any:
    if not hasattr(message, "model_copy"):  # of another dialect
        return message
    return message.model_copy(update={"status": "success", "response_metadata": {}})
