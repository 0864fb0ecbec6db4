"""The options of a server, read and checked."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict

from surehand.errors import OptionError
from surehand.integrations.mcp.declared import Choice
from surehand.policy import ToolOptions, check_function, flag, mapping, seconds_or_none, text, words
from surehand.tools import tool_options

__all__ = ["McpOptions", "callbacks_of", "choice_of"]


class McpOptions(TypedDict, total=False):
    """The keywords that ``McpServer.stdio`` and ``McpServer.http`` have in common; ``McpServer`` explains them."""

    name: str | None
    prefix: str | None
    include: Iterable[str] | None
    exclude: Iterable[str]
    trust_hints: bool
    timeout: float | None
    start_timeout: float
    options: Mapping[str, ToolOptions | Mapping[str, Any]] | None
    roots: Iterable[str | Path]
    sampling: Callable[..., Awaitable[Any]] | None
    elicitation: Callable[..., Awaitable[Any]] | None


def choice_of(name: str, options: McpOptions) -> Choice:
    """Which tools of the server of this name are taken, and how they are run.

    Raises:
        OptionError: An option has a value that cannot be meant.
    """
    prefix, include = options.get("prefix"), options.get("include")
    given = mapping("options", options.get("options"))
    return Choice(
        server=name,
        prefix=None if prefix is None else text("prefix", prefix),
        include=None if include is None else words("include", include),
        exclude=words("exclude", options.get("exclude", ())),
        trust_hints=flag("trust_hints", options.get("trust_hints", False)),
        timeout=_timeout(options),
        options={
            tool: known if isinstance(known, ToolOptions) else tool_options(mapping(f"options[{tool!r}]", known))
            for tool, known in given.items()
        },
    )


def _timeout(options: McpOptions) -> ToolOptions:
    return (
        ToolOptions(timeout=seconds_or_none("timeout", options["timeout"])) if "timeout" in options else ToolOptions()
    )


def callbacks_of(options: McpOptions) -> dict[str, Callable[..., Awaitable[Any]]]:
    """What the server may ask for: the SDK's keyword -> the host's function.

    Raises:
        OptionError: It is no function, or no folder.
    """
    found: dict[str, Callable[..., Awaitable[Any]]] = {}
    given = {"sampling": options.get("sampling"), "elicitation": options.get("elicitation")}
    for option, function in given.items():
        check_function(option, function)
        if function is not None:
            found[f"{option}_callback"] = function
    if roots := [_root(root) for root in options.get("roots", ())]:
        found["list_roots_callback"] = _listing(roots)
    return found


def _root(root: object) -> str:
    given = str(root)
    if given.startswith("file://"):
        return given
    if not isinstance(root, str | Path) or "://" in given:
        raise OptionError(option="roots", value=root, expected="folders, or addresses that begin with file://")
    return Path(given).resolve().as_uri()


def _listing(roots: list[str]) -> Callable[..., Awaitable[Any]]:
    async def roots_of(_: object) -> Any:
        types = importlib.import_module("mcp.types")
        return types.ListRootsResult(roots=[types.Root(uri=uri) for uri in roots])

    return roots_of
