"""A JSON Schema without what a value cannot have been meant to be, and without what is right.

To collect what is wrong with a value, the validator goes through every alternative of every union inside of every
other one, and through every item of a list, which for a tree of a few levels or a long list takes seconds. Most
alternatives are out of the question at first sight: they are of another type, or their tag has another value. And to
ask whether an inner value fits is cheap. So the schema is written anew along the values that do not fit, with the
alternatives that are left; where several are, they are compared as far as they reach themselves, and not below. What
does not fit the schema nearly always does not fit this one either, at the same places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from surehand.shapes import is_array, is_object
from surehand.spec.directions import type_name
from surehand.spec.json_places import References, item_parts

__all__ = ["narrowed"]

_KEPT: Final = (
    "type",
    "enum",
    "const",
    "required",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "dependentRequired",
)
_MAX_DEPTH: Final = 130
_MAX_PLACES: Final = 100
"""How many values that do not fit are looked into; a model is told 20 complaints."""

Fits = Callable[[Mapping[str, Any], Any], bool]
"""Whether a value fits a part of the schema."""


def narrowed(schema: Any, value: Any, references: References, fits: Fits) -> Any:
    """The schema along what does not fit; of the draft 2020-12 whatever the schema is of.

    Args:
        schema: The whole schema.
        value: What does not fit it.
        references: Its references.
        fits: Asks about its parts.
    """
    return _Narrowing(references, fits).along(schema, value, 0)


class _Narrowing:
    def __init__(self, references: References, fits: Fits) -> None:
        self._references = references
        self._fits = fits
        self._left = _MAX_PLACES

    def along(self, schema: Any, value: Any, depth: int) -> Any:
        if not is_object(schema) or depth > _MAX_DEPTH:
            return schema is not False
        found: dict[str, Any] = {key: schema[key] for key in _KEPT if key in schema}
        wholes = [
            self.along(part, value, depth + 1) for part in self._wholes(schema) if not self._is_right(part, value)
        ]
        unions = [keyword for keyword in ("anyOf", "oneOf") if is_array(schema.get(keyword))]
        wholes += [self._forms(keyword, schema[keyword], value, depth) for keyword in unions]
        if any(whole is not True for whole in wholes):
            found["allOf"] = wholes
        if is_object(value):
            found.update(self._properties(schema, value, depth))
        elif is_array(value) and value:  # no list of schemas may be empty
            parts = zip(item_parts(schema, len(value)), value, strict=True)
            found["prefixItems"] = [self._inside(part, item, depth) for part, item in parts]
        return found

    def _inside(self, schema: Any, value: Any, depth: int) -> Any:
        """The schema of a value inside; nothing is asked of one that is right, nor of the last of very many."""
        if not is_object(schema) or self._is_right(schema, value):
            return schema is not False
        self._left -= 1
        return self._left < 0 or self.along(schema, value, depth + 1)

    def _is_right(self, schema: Any, value: Any) -> bool:
        return self._fits(schema, value) if is_object(schema) else schema is not False

    def _wholes(self, schema: Mapping[str, Any]) -> Iterator[Any]:
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if isinstance(reference := schema.get(keyword), str):
                target = self._references.target(schema, reference)
                yield True if target is None else target
        yield from schema["allOf"] if is_array(schema.get("allOf")) else ()

    def _forms(self, keyword: str, forms: list[Any], value: Any, depth: int) -> Any:
        right = sum(self._is_right(form, value) for form in forms)
        if right:
            return right == 1 or keyword == "anyOf" or {"oneOf": [True, True]}
        possible = [form for form in forms if self._is_possible(form, value)]
        if len(possible) == 1:
            return self.along(possible[0], value, depth + 1)
        return {"anyOf": [self._shallow(form, value) for form in possible or forms]}

    def _shallow(self, form: Any, value: Any) -> Any:
        """A form without what it says of values inside, but for the tags."""
        whole = self._resolved(form)
        if not is_object(whole):
            return whole
        found: dict[str, Any] = {key: whole[key] for key in _KEPT if key in whole}
        properties = whole.get("properties")
        if is_object(value) and is_object(properties):
            found["properties"] = {name: _tag(part) for name, part in properties.items()}
        if whole.get("additionalProperties") is False:
            found["additionalProperties"] = False
        return found

    def _resolved(self, form: Any) -> Any:
        for _ in range(_MAX_DEPTH):
            if not (is_object(form) and isinstance(reference := form.get("$ref"), str)):
                break
            form = self._references.target(form, reference)
        return form

    def _is_possible(self, form: Any, value: Any) -> bool:
        whole = self._resolved(form)
        if not is_object(whole):
            return whole is not False
        kinds = whole.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        kind = type_name(value)
        if kinds and kind not in kinds and not (kind in ("integer", "number") and "number" in kinds):
            return False
        properties = whole.get("properties")
        if not (is_object(value) and is_object(properties)):
            return True
        return all(_may_be(part, value[name]) for name, part in properties.items() if name in value)

    def _properties(self, schema: Mapping[str, Any], value: Mapping[str, Any], depth: int) -> Iterator[tuple[str, Any]]:
        properties = schema.get("properties")
        known: Mapping[str, Any] = properties if is_object(properties) else {}
        other = schema.get("additionalProperties", True)
        has_patterns = is_object(schema.get("patternProperties"))
        found = {name: self._inside(part, value[name], depth) for name, part in known.items() if name in value}
        if not has_patterns and other is not False:
            rest = {name: item for name, item in value.items() if name not in known}
            found.update({name: self._inside(other, item, depth) for name, item in rest.items()})
        yield "properties", found
        if not has_patterns and other is False:
            yield "additionalProperties", False


def _tag(part: Any) -> Any:
    return {key: part[key] for key in ("const", "enum") if key in part} if is_object(part) else part


def _may_be(part: Any, value: Any) -> bool:
    """Whether a value is one that sets a form apart, or may be any."""
    if not is_object(part):
        return part is not False
    if "const" in part:
        return bool(part["const"] == value)
    choices = part.get("enum")
    return not (is_array(choices) and isinstance(value, str)) or value in choices
