"""Objects of libraries that we take as they are, told by their classes and without importing those libraries."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["as_own_model", "as_own_tool", "is_langchain"]


def is_langchain(value: object, module: str = "langchain_core.") -> bool:
    """Whether the value's class, or one it comes from, is of this module of LangChain's."""
    return any(f"{kind.__module__}.".startswith(module) for kind in type(value).__mro__)


def as_own_model(model: object) -> object:
    """A LangChain model as one of ours; anything else as it is.

    Raises:
        OptionError: It is LangChain's, and no chat model.
    """
    if isinstance(model, type) or not is_langchain(model):
        return model
    # By its name: nothing that is imported with the core may import an integration.
    return importlib.import_module("surehand.integrations.langchain.models").LangChainModel(model)


def as_own_tool(tool: object) -> Any:
    """A LangChain tool as one of ours.

    Raises:
        ToolDefinitionError: Something about it cannot be used.
    """
    return importlib.import_module("surehand.integrations.langchain.tools").from_langchain_tool(tool)
