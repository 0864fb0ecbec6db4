"""Our tools as entries of ``tools/list``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surehand.integrations.mcp.outputs import Output
from surehand.shapes import mapping_of
from surehand.spec import ToolSpec
from surehand.tools.export import to_mcp

__all__ = ["entry_of", "is_foreign"]


def entry_of(name: str, spec: ToolSpec, output: Output | None) -> dict[str, Any]:
    """The declaration of a tool, with what its options and its ``metadata["mcp"]`` say.

    Args:
        name: Its name on the wire.
        spec: The tool.
        output: What it returns; None where nothing is said of that.
    """
    notes = _notes(spec)
    titles = (notes.get("title"), mapping_of(notes.get("declaration")).get("title"))
    title = next((text for text in titles if isinstance(text, str)), "")
    entry = to_mcp(spec, name=name, title=title, output_schema=None if output is None else output.schema)
    if isinstance(world := notes.get("openWorldHint"), bool):
        entry["annotations"] = {**entry.get("annotations", {}), "openWorldHint": world}
    return entry


def is_foreign(spec: ToolSpec) -> bool:
    """Whether it is a tool of another server, which is handed on."""
    return "declaration" in _notes(spec)


def _notes(spec: ToolSpec) -> Mapping[str, Any]:
    return mapping_of(spec.metadata.get("mcp"))
