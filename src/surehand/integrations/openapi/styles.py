"""How values are written into paths, queries, headers and cookies: OpenAPI's styles."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote

from surehand.errors import ModelRetry
from surehand.integrations.openapi.operations import Parameter
from surehand.shapes import is_array, is_object, items_of

__all__ = ["as_text", "cookie_text", "form_pairs", "header_text", "path_text", "query_text"]

_RESERVED: Final = ":/?#[]@!$&'()*+,;="
_JOINTS: Final = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}
_IN_THE_WAY: Final = frozenset({"", ".", ".."})
"""Path segments that lead elsewhere."""


def as_text(value: Any) -> str:
    """A value as a text: JSON's words for what is no text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def path_text(parameter: Parameter, value: Any) -> str:
    """A value as it stands in a path; nothing of it can leave its place.

    Raises:
        ModelRetry: It would lead to another path.
    """
    text = _simple(parameter, value, _quoted)
    if text in _IN_THE_WAY:
        raise ModelRetry(f"The argument {parameter.name!r} cannot be {as_text(value)!r}: it is a part of a path.")
    match parameter.style:
        case "label":
            return "." + (text.replace(",", ".") if parameter.explode else text)
        case "matrix":
            return _matrix(parameter, value, text)
        case _:
            return text


def _matrix(parameter: Parameter, value: Any, text: str) -> str:
    name = _quoted(parameter.name)
    if parameter.explode and is_array(value):
        return "".join(f";{name}={_quoted(as_text(item))}" for item in value)
    if parameter.explode and is_object(value):
        return "".join(f";{_quoted(key)}={_quoted(as_text(item))}" for key, item in value.items())
    return f";{name}={text}"


def header_text(parameter: Parameter, value: Any) -> str:
    """A value as it stands in a header.

    Raises:
        ModelRetry: It holds a line break or another control character.
    """
    text = as_text(value) if parameter.is_json else _simple(parameter, value, str)
    if not text.isprintable():
        raise ModelRetry(f"The argument {parameter.name!r} cannot hold line breaks: it is sent in a header.")
    return text


def cookie_text(parameter: Parameter, value: Any) -> str:
    """A value as it stands in a cookie."""
    return _quoted(as_text(value) if parameter.is_json else _simple(parameter, value, str))


def query_text(parameter: Parameter, value: Any) -> str:
    """A value as a part of a query, quoted; empty where there is nothing to say."""
    quoted = functools.partial(quote, safe=_RESERVED if parameter.keeps_reserved else "")
    name = quote(parameter.name, safe="[]")
    if parameter.is_json or not (is_array(value) or is_object(value)):
        return f"{name}={quoted(as_text(value))}"
    joint = _JOINTS.get(parameter.style, ",")
    if is_object(value):
        return _object_text(parameter, value, joint, quoted)
    items = [quoted(as_text(item)) for item in items_of(value)]
    if parameter.explode:
        return "&".join(f"{name}={item}" for item in items)
    return f"{name}={joint.join(items)}" if items else ""


def _object_text(parameter: Parameter, value: Mapping[str, Any], joint: str, quoted: Callable[[str], str]) -> str:
    if parameter.style == "deepObject":
        return "&".join(f"{quote(key, safe='[]')}={quoted(text)}" for key, text in _deep_pairs(parameter.name, value))
    pairs = [(quoted(key), quoted(as_text(item))) for key, item in value.items()]
    if parameter.explode:
        return "&".join(f"{key}={text}" for key, text in pairs)
    flat = joint.join(part for pair in pairs for part in pair)
    return f"{quote(parameter.name, safe='[]')}={flat}" if pairs else ""


def _deep_pairs(name: str, value: Any) -> list[tuple[str, str]]:
    """``filter[a][b]=1``; a list repeats its name, which is how most servers read it."""
    if is_object(value):
        return [pair for key, item in value.items() for pair in _deep_pairs(f"{name}[{key}]", item)]
    if is_array(value):
        return [pair for item in value for pair in _deep_pairs(name, item)]
    return [(name, as_text(value))]


def form_pairs(fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The fields of a form: lists repeat their name, objects are JSON."""
    return [(name, as_text(item)) for name, value in fields.items() for item in (value if is_array(value) else [value])]


def _simple(parameter: Parameter, value: Any, quoted: Callable[[str], str]) -> str:
    if is_array(value):
        return ",".join(quoted(as_text(item)) for item in value)
    if is_object(value):
        joint = "=" if parameter.explode else ","
        return ",".join(f"{quoted(key)}{joint}{quoted(as_text(item))}" for key, item in value.items())
    return quoted(as_text(value))


def _quoted(text: str) -> str:
    return quote(text, safe="")
