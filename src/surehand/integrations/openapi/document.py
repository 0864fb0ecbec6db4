"""An OpenAPI document: read, checked for its version, and its references followed. Nothing is ever fetched."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from surehand.errors import MissingExtraError, OptionError, ToolDefinitionError
from surehand.shapes import is_array, is_object, mapping_of
from surehand.spec.places import pointed

__all__ = ["Document", "read_document"]

_VERSIONS: Final = ("3.0", "3.1")
_DEEPEST: Final = 50
"""References to references that are followed before it is a circle."""
_SUFFIXES: Final = (".json", ".yaml", ".yml")


class Document:
    """A document whose version is known.

    Args:
        root: The document as JSON data.

    Raises:
        OptionError: It is no OpenAPI document of version 3.0 or 3.1.
    """

    def __init__(self, root: Mapping[str, Any]) -> None:
        version = str(root.get("openapi", root.get("swagger", "")))
        if not version.startswith(_VERSIONS):
            raise OptionError(
                option="document",
                value=f"version {version or 'unknown'}",
                expected="an OpenAPI document of version 3.0 or 3.1",
                remedy="Convert an older one first." if version.startswith("2") else "",
            )
        self.root = root
        self.is_3_0 = version.startswith("3.0")
        """Whether schemas are those of OpenAPI 3.0, which are not JSON Schema."""

    def followed(self, part: Any) -> Mapping[str, Any]:
        """The object that a part is, or refers to; an empty one for anything else.

        Raises:
            ToolDefinitionError: The reference leads out of the document, nowhere, or in a circle.
        """
        for _ in range(_DEEPEST):
            reference = mapping_of(part).get("$ref")
            if not isinstance(reference, str):
                return mapping_of(part)
            part = self.target(reference)
        raise _unusable(f"it refers to itself by way of {part!r}", "Put the definition in its place.")

    def target(self, reference: str) -> Any:
        """What a reference refers to.

        Raises:
            ToolDefinitionError: It leads out of the document, or nowhere.
        """
        if not reference.startswith("#"):
            raise _unusable(
                f"it refers to {reference!r}, which is another document",
                "Bundle the documents into one; nothing is ever fetched.",
            )
        try:
            return pointed(self.root, unquote(reference).removeprefix("#"))
        except LookupError:
            raise _unusable(f"it refers to {reference!r}, which is not in it", "Correct the reference.") from None


def _unusable(problem: str, remedy: str) -> ToolDefinitionError:
    return ToolDefinitionError(tool="OpenAPI document", problem=problem, remedy=remedy)


def read_document(given: object) -> Document:
    """A document from JSON data, from text, or from a file.

    Args:
        given: The document as a mapping; its text, in JSON or YAML; or the path of a ``.json``, ``.yaml`` or ``.yml``.

    Raises:
        OptionError: It is none of these, cannot be read, or is no OpenAPI document.
        MissingExtraError: It is YAML, and no package is installed that reads it.
    """
    if is_object(given):
        return Document(given)
    is_path = isinstance(given, Path) or (isinstance(given, str) and given.endswith(_SUFFIXES) and "\n" not in given)
    if is_path:
        try:
            given = Path(str(given)).read_text(encoding="utf-8")
        except OSError as error:
            raise _refused(str(given), f"a file that can be read ({error.strerror})") from error
    if not isinstance(given, str):
        raise _refused(given, "an OpenAPI document: a mapping, a text or a path")
    root = _parsed(given)
    if not is_object(root):
        raise _refused(given, "an OpenAPI document: a text that holds an object")
    return Document(root)


def _refused(value: object, expected: str) -> OptionError:
    return OptionError(option="document", value=value, expected=expected)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        if text.lstrip().startswith("{"):
            raise _refused(text, f"an OpenAPI document: JSON that can be read ({error})") from error
    try:
        yaml = importlib.import_module("yaml")
    except ImportError as error:
        raise MissingExtraError(feature="An OpenAPI document in YAML", package="pyyaml", extra="openapi") from error
    return _plain(yaml.load(text, Loader=yaml.SafeLoader))


def _plain(value: Any) -> Any:
    """YAML's data as JSON's: a status such as 200 is read as a number, a date as a date, and both mean their text."""
    if is_object(value):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if is_array(value):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
