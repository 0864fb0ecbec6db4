"""The schema of the whole: providers want one plain object there, with its properties side by side.

OpenAI and Anthropic refuse a request in which one tool's schema combines others at the top (``anyOf`` and its kind).
Authors write them for two things: several forms of a call, and groups of arguments of which one has to be there. Both
are told as one object that has the properties of all forms, and requires what all of them require.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from surehand.shapes import is_array, is_object
from surehand.tools.forms.adaptation import Notes
from surehand.tools.forms.references import Definitions

__all__ = ["plain_root"]

_CHOICES: Final = ("anyOf", "oneOf")
_ALONE: Final = ("enum", "const", "not")
_MERGED: Final = frozenset({
    *("type", "title", "description", "properties", "required", "patternProperties", "additionalProperties"),
    *("$defs", "definitions"),
})  # fmt: skip
"""What two objects that both hold are merged by; of anything else the first one's stays."""
_MAX_DEPTH: Final = 20
_WHY: Final = "providers take one plain object at the top"


def plain_root(schema: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    """The schema as an object with properties, nothing combined at its top; the schemas inside are left as they are."""
    plain = _Flattener(schema, notes).flat(schema)
    return {**plain, "type": "object", "properties": dict(plain.get("properties") or {})}


class _Flattener:
    def __init__(self, root: Mapping[str, Any], notes: Notes) -> None:
        self._definitions = Definitions(root, notes)
        self._notes = notes

    def flat(self, node: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
        """The schema of an object without a reference, and without anything that combines or picks whole objects."""
        own = dict(node)
        if depth > _MAX_DEPTH:
            raise self._notes.refusal("$", "contains itself", "Bound its depth")
        if "$ref" in own:
            own["allOf"] = [self._definitions.target(own.pop("$ref"), "$"), *own.get("allOf", [])]
        for keyword in _ALONE:
            if keyword in own:
                del own[keyword]
                self._notes.add("$", f"leaves out {keyword}", "wider", why=_WHY)
        for part in own.pop("allOf", []):
            branch = self._branch(part, depth)
            clash = {key for key in branch if own.get(key, branch[key]) != branch[key]} - _MERGED
            if _closes(own, branch) or _closes(branch, own):
                clash.add("additionalProperties")
            if clash:
                self._notes.add("$", f"leaves out {', '.join(sorted(clash))} of allOf", "wider", why=_WHY)
            own = _both(own, branch)
        for keyword in _CHOICES:
            if is_array(choices := own.pop(keyword, None)):
                own = self._chosen(own, keyword, choices, depth)
        return own

    def _branch(self, part: Any, depth: int) -> dict[str, Any]:
        return self.flat(part, depth + 1) if is_object(part) else {}

    def _chosen(self, own: dict[str, Any], keyword: str, choices: list[Any], depth: int) -> dict[str, Any]:
        """The object with the properties of all its forms."""
        forms = [self._branch(form, depth) for form in choices if form is not False and _may_be_object(form)]
        if not forms:
            raise self._notes.refusal("$", f"has no object among its {keyword}", "Describe the arguments")
        names = dict.fromkeys(name for form in forms for name in form.get("properties", {}))
        if own.get("additionalProperties") is False:
            names = {name: None for name in names if name in own.get("properties", {})}
        added = {name: _any_of([form["properties"][name] for form in forms if name in form.get("properties", {})])
                 for name in names if name not in own.get("properties", {})}  # fmt: skip
        is_exact = all(name in form.get("properties", {}) or _is_closed(form) for form in forms for name in added)
        self._notes.add(
            "$",
            f"tells the {len(forms)} forms of {keyword} as one object",
            "wider" if is_exact else "narrower",
            why=_WHY,
        )
        required = dict.fromkeys(own.get("required", []))
        required |= {
            name: None for name in forms[0].get("required", []) if all(_requires(form, name) for form in forms)
        }
        merged = {**own, "properties": {**own.get("properties", {}), **added}}
        merged.pop("unevaluatedProperties", None)  # what the forms evaluated is no longer known
        if required:
            merged["required"] = list(required)
        if "additionalProperties" not in own and all(map(_is_closed, forms)):
            merged["additionalProperties"] = False
        return _with_groups(merged, [form.get("required", []) for form in forms], keyword)


def _closes(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether one of two objects that both hold says something of keys that only the other one knows."""
    is_said = "additionalProperties" in one or "patternProperties" in one
    return is_said and not other.get("properties", {}).keys() <= one.get("properties", {}).keys()


def _both(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    """One object of two that both hold."""
    properties = dict(left.get("properties", {}))
    for name, schema in right.get("properties", {}).items():
        properties[name] = schema if properties.get(name, schema) == schema else {"allOf": [properties[name], schema]}
    required = list(dict.fromkeys([*left.get("required", []), *right.get("required", [])]))
    merged = {**right, **left, "properties": properties}
    if "patternProperties" in merged:
        merged["patternProperties"] = {**right.get("patternProperties", {}), **left.get("patternProperties", {})}
    if left.get("additionalProperties") is False or right.get("additionalProperties") is False:
        # Each of the two closes the object by its own names only; together they would often let nothing through.
        merged["additionalProperties"] = False
    return {**merged, "required": required} if required else merged


def _with_groups(schema: dict[str, Any], groups: list[list[str]], keyword: str) -> dict[str, Any]:
    """The schema with a sentence on which arguments belong together, where the forms differ by what they require."""
    common = set(schema.get("required", []))
    own = [[name for name in group if name not in common] for group in groups]
    if not all(own) or len({tuple(group) for group in own}) == 1:
        return schema
    how = "exactly one" if keyword == "oneOf" else "at least one"
    said = f"Give {how} of: {'; '.join(' with '.join(group) for group in own)}."
    return {**schema, "description": f"{schema.get('description', '')} {said}".lstrip()}


def _any_of(schemas: list[Any]) -> Any:
    distinct: list[Any] = []
    for schema in schemas:
        if schema not in distinct:
            distinct.append(schema)
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def _may_be_object(form: Any) -> bool:
    kind = form.get("type", "object") if is_object(form) else "object"
    return kind == "object" or (is_array(kind) and "object" in kind)


def _is_closed(form: Mapping[str, Any]) -> bool:
    return form.get("additionalProperties") is False and "patternProperties" not in form


def _requires(form: Mapping[str, Any], name: str) -> bool:
    return name in form.get("required", [])
