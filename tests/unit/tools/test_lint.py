"""Each rule of the linter fires where its row in the documentation says so, and only there."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

import pytest
from pydantic import Field
from typing_extensions import TypedDict

from surehand.errors import OptionError
from surehand.spec import InjectedState
from surehand.tools import Tool
from surehand.tools.lint import RULES, Finding, estimated_tokens, lint_tools

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "lint.md"


def described(text: str = "What it is about, in one word.") -> Any:
    return Field(description=text)


Word = Annotated[str, described()]


def look(word: Word) -> str:
    """Look a word up in the dictionary."""
    return word


def clean(name: str = "look", description: str | None = None, **options: Any) -> Tool:
    given: dict[str, Any] = {"read_only": True, **options}
    return Tool.from_function(look, name=name, description=description, **given)


def of(function: Callable[..., Any], **options: Any) -> Tool:
    return Tool.from_function(function, description="Look a word up in the dictionary.", **options)


def of_schema(schema: dict[str, Any], function: Callable[..., Any] | None = None) -> Tool:
    def body(**arguments: Any) -> Any:
        return arguments

    return Tool.from_json_schema("look", schema, function or body, description="Look a word up in the dictionary.")


def one(field: dict[str, Any], name: str = "p") -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"description": "A word.", **field}}, "required": [name]}


class Loose(TypedDict):
    a: Word
    b: NotRequired[Word]


def needs_both(a: str, b: str) -> str:
    return a + b


def needs_one(a: str, b: str = "") -> str:
    return a + b


def maybe(word: Annotated[str | None, described()]) -> None: ...


def maybe_not(word: Annotated[str | None, described()] = None) -> None: ...


def bare(word: str) -> None: ...


def kwargs(word: Word, **more: str) -> None: ...


def anything(word: Annotated[Any, described()]) -> None: ...


def numbers(word: Annotated[Literal[1, 2], described()]) -> None: ...


def texts(word: Annotated[Literal["1", "2"], described()]) -> None: ...


def fills_state(state: Annotated[dict[str, Any], described()]) -> None: ...


def takes_state(word: Word, state: Annotated[dict[str, Any], InjectedState]) -> None: ...


async def hogs(word: Word) -> str:
    return word


async def waits(word: Word) -> str:
    await asyncio.sleep(0)
    return word


async def waits_inside(word: Word) -> str:
    async with asyncio.Lock():
        return word


CHOICE = {**one({"type": "string"}), "anyOf": [{"required": ["p"]}, {"required": ["q"]}]}
FREE = one({"type": "object"})
STRICT: dict[str, Any] = {"strict_providers": ["openai", "anthropic", "gemini"]}
OPTIONAL = {f"p{n}": {"type": "string", "description": "A word."} for n in range(13)}

# rule -> tools in which it fires, tools like them in which it does not, and what the linter is asked for
CASES: dict[str, tuple[list[Tool], list[Tool], dict[str, Any]]] = {
    "name-changed": ([clean("get.user")], [clean("get_user")], {}),
    "name-collision": ([clean("get.user"), clean("get user")], [clean("get_user"), clean("get_order")], {}),
    "name-near": ([clean("get_user"), clean("get_users")], [clean("step_1"), clean("step_2"), clean("step_10")], {}),
    "no-description": ([clean(description="")], [clean()], {}),
    "short-description": ([clean(description="Look!")], [clean()], {}),
    "long-description": ([clean(description="word " * 206)], [clean(description="word " * 200)], {}),
    "no-argument-description": ([of(bare)], [clean()], {}),
    "unknown-tool-mentioned": (
        [clean(description="Use find_word first, then look it up.")],
        [clean(description="Use find_word first, then look it up."), clean("find_word")],
        {},
    ),
    "nullable-without-default": ([of(maybe)], [of(maybe_not)], {}),
    "missing-default": ([of(needs_both, args_schema=Loose)], [of(needs_one, args_schema=Loose)], {}),
    "open-arguments": ([of(kwargs)], [clean()], {}),
    "any-argument": ([of(anything), of_schema(one({"type": "array"}))], [clean()], {}),
    "number-choices": ([of(numbers)], [of(texts)], {}),
    "injected-name": (
        [of(fills_state), of_schema(one({"type": "string"}, "call_id"))],
        [of(takes_state), of_schema(one({"type": "string", "enum": ["open", "closed"]}, "state"))],
        {},
    ),
    "undeclared-effect": (
        [Tool.from_function(look, name="send_invoice")],
        [clean("send_invoice", read_only=False), Tool.from_function(look, name="add")],
        {},
    ),
    "contradicting-hints": ([clean(destructive=True)], [clean(destructive=False)], {}),
    "no-timeout": ([clean(timeout=None)], [clean(timeout=None, idle_timeout=5), clean(timeout=5)], {}),
    "never-awaits": ([of(hogs)], [of(waits), of(waits_inside), clean()], {}),
    "refused-by-provider": ([of_schema(one({"type": "string"}, "Account Number"))], [clean()], {}),
    "lost-in-export": ([of_schema(CHOICE)], [clean()], {}),
    "refused-in-strict": ([of_schema(FREE)], [clean()], STRICT),
    "lost-in-strict": ([of_schema(one({"type": "string", "not": {"const": "x"}}))], [of_schema(FREE)], STRICT),
    "too-many-tools": ([clean(f"tool_{n}") for n in range(129)], [clean(f"tool_{n}") for n in range(128)], {}),
    "too-much-strict": (
        [of_schema({"properties": OPTIONAL}), of_schema({"properties": OPTIONAL})],
        [of_schema({"properties": OPTIONAL})],
        STRICT,
    ),
    "token-cost": ([clean(description="word " * 900)], [clean()], {}),
    "total-token-cost": ([clean(f"tool_{n}") for n in range(300)], [clean()], {}),
}


def fired(rule: str, tools: list[Tool], asked: dict[str, Any]) -> list[Finding]:
    return [finding for finding in lint_tools(tools, **asked) if finding.rule == rule]


@pytest.mark.parametrize("rule", CASES)
def test_the_rule_fires_where_it_should(rule: str) -> None:
    tools, _, asked = CASES[rule]
    findings = fired(rule, tools, asked)
    assert findings
    for finding in findings:
        assert finding.message.endswith(".")
        assert finding.remedy.endswith((".", "?"))
        assert finding.tool in {"", *(tool.name for tool in tools)}


@pytest.mark.parametrize("rule", CASES)
def test_the_rule_is_silent_where_nothing_is_wrong(rule: str) -> None:
    _, tools, asked = CASES[rule]
    if rule == "lost-in-strict":  # a free object is what Gemini's field alone can be told of, as text
        asked = {"strict_providers": ["openai", "anthropic"]}
    assert fired(rule, tools, asked) == []


def test_every_rule_is_documented_with_its_severity_and_has_its_case() -> None:
    rows = dict(re.findall(r"^\| `([\w-]+)` \((\w+)\) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert rows == {rule.id: rule.severity for rule in RULES}
    assert list(rows) == [rule.id for rule in RULES] == list(CASES)


def test_a_good_tool_is_clean_under_every_rule() -> None:
    assert lint_tools([clean()], strict_providers=["openai", "anthropic", "gemini"]) == []


def test_no_provider_loses_anything_of_the_signature_of_an_ordinary_tool() -> None:
    def search(
        query: Annotated[str, Field(description="What to look for.")],
        tags: Annotated[list[str] | None, Field(description="Only what has all of them.")] = None,
        limit: Annotated[int, Field(description="The most results.")] = 10,
    ) -> list[str]:
        """Search the catalogue of the shop."""
        return [query, *(tags or [])][:limit]

    tool = Tool.from_function(search, read_only=True)
    assert lint_tools([tool], strict_providers=["openai", "anthropic"]) == []


def test_rules_can_be_picked_and_left_out() -> None:
    tool = Tool.from_function(bare)
    every = {finding.rule for finding in lint_tools([tool])}
    assert every == {"no-description", "no-argument-description"}
    assert {finding.rule for finding in lint_tools([tool], select=["no-description"])} == {"no-description"}
    assert {finding.rule for finding in lint_tools([tool], ignore=["no-description"])} == {"no-argument-description"}


def test_an_unknown_rule_or_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(OptionError, match="Did you mean 'no-timeout'"):
        lint_tools([], select=["no-timeouts"])
    with pytest.raises(OptionError, match="anthropic"):
        lint_tools([], strict_providers=["google"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


def test_functions_are_linted_as_the_tools_they_would_become() -> None:
    assert [finding.tool for finding in lint_tools([bare], select=["no-description"])] == ["bare"]


def test_tokens_are_a_quarter_of_the_characters_of_the_declaration() -> None:
    longer = clean(description="Look a word up in the dictionary." + "x" * 400)
    assert estimated_tokens(longer.spec) - estimated_tokens(clean().spec) == 100
