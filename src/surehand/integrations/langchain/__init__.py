"""LangChain and LangGraph: their tools, models and messages taken as they are, and our nodes in their graphs.

The names are found when they are asked for, as each needs more of LangChain than the one before: tools and models need
``langchain_core``, the nodes ``langgraph``, and the middleware ``langchain``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from surehand.dialects.langchain_messages import read_messages as from_langchain_messages
    from surehand.dialects.langchain_messages import write_messages as to_langchain_messages
    from surehand.integrations.langchain.export import to_langchain_tool
    from surehand.integrations.langchain.middleware import as_middleware
    from surehand.integrations.langchain.models import LangChainModel
    from surehand.integrations.langchain.nodes import ToolNode
    from surehand.integrations.langchain.tools import LangChainTool, from_langchain_tool
    from surehand.integrations.langchain.validation import ValidationNode

__all__ = [
    "LangChainModel",
    "LangChainTool",
    "ToolNode",
    "ValidationNode",
    "as_middleware",
    "from_langchain_messages",
    "from_langchain_tool",
    "to_langchain_messages",
    "to_langchain_tool",
]

_HOMES: Final = {
    "LangChainModel": ("surehand.integrations.langchain.models", "LangChainModel"),
    "LangChainTool": ("surehand.integrations.langchain.tools", "LangChainTool"),
    "ToolNode": ("surehand.integrations.langchain.nodes", "ToolNode"),
    "ValidationNode": ("surehand.integrations.langchain.validation", "ValidationNode"),
    "as_middleware": ("surehand.integrations.langchain.middleware", "as_middleware"),
    "from_langchain_messages": ("surehand.dialects.langchain_messages", "read_messages"),
    "from_langchain_tool": ("surehand.integrations.langchain.tools", "from_langchain_tool"),
    "to_langchain_messages": ("surehand.dialects.langchain_messages", "write_messages"),
    "to_langchain_tool": ("surehand.integrations.langchain.export", "to_langchain_tool"),
}
_IN_GRAPHS: Final = frozenset({"ToolNode", "ValidationNode"})
"""What needs ``langgraph``."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home, own_name = _HOMES[name]
    try:
        value = globals()[name] = getattr(import_module(home), own_name)
    except ModuleNotFoundError as error:
        from surehand.errors import MissingExtraError  # noqa: PLC0415 - only where something is missing

        package = (error.name or "").partition(".")[0]
        if package not in ("langchain", "langchain_core", "langgraph"):
            raise
        extra = "langgraph" if name in _IN_GRAPHS else "langchain"
        raise MissingExtraError(feature=f"{__name__}.{name}", package=package, extra=extra) from error
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
