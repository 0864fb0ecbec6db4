"""Objects of libraries that we take as they are, told by their classes and without importing those libraries."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from surehand.shapes import is_array

__all__ = ["as_own_model", "as_own_tool", "is_langchain", "with_dumped_items"]


def is_langchain(value: object, module: str = "langchain_core.") -> bool:
    """Whether the value's class, or one it comes from, is of this module of LangChain's."""
    return any(f"{kind.__module__}.".startswith(module) for kind in type(value).__mro__)


def with_dumped_items(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields, with the objects of a provider's SDK in their lists as JSON.

    So hosts write a reply into a history: ``{"role": "assistant", "content": response.content}``.
    """
    held = {key: value for key, value in fields.items() if is_array(value) and any(map(_has_dump, value))}
    if not held:
        return fields
    return {**fields, **{key: [_dumped(item) for item in items] for key, items in held.items()}}


def _has_dump(item: object) -> bool:
    is_plain = isinstance(item, dict | str | type)  # as nearly all are
    return not is_plain and callable(getattr(item, "model_dump", None)) and not is_langchain(item)


def _dumped(item: Any) -> Any:
    return item.model_dump(exclude_none=True, warnings=False) if _has_dump(item) else item


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
