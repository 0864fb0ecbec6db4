"""What must not leave with a word about a call."""

# The decorators of pydantic.v1 have no complete types.
# pyright: reportUnknownMemberType=false, reportUntypedFunctionDecorator=false

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

import pydantic.v1
import pytest
from pydantic import BaseModel, SecretStr, field_validator
from pydantic_core import PydanticCustomError

from surehand import (
    AIMessage,
    InjectedState,
    InjectedStore,
    InjectedToolArg,
    InMemoryStore,
    Store,
    ToolNode,
    ValidationNode,
    tool,
)
from surehand.calls.redaction.secrets import secret_texts
from surehand.spec import Injection, InjectionKind, ToolContext

SECRET = "open-sesame-1234"


class Login(BaseModel):
    """Nested arguments."""

    passwords: list[SecretStr]


@dataclass(slots=True)
class Host:
    """A host's own object."""

    session: str = SECRET
    api_token: str = SECRET
    greeting: str = "hello there"

    @property
    def broken_secret(self) -> str:
        """Cannot be read."""
        raise RuntimeError("no")


@tool
def by_name(session: Annotated[str, InjectedToolArg]) -> str:
    """Fail with what was injected."""
    raise ValueError(f"refused: {session}, hello there")


@tool
def by_context(context: ToolContext) -> str:
    """Fail with what the context holds."""
    raise ValueError(f"refused: {context.context.api_token}, hello there")


@tool
def by_field(place: Annotated[str, InjectedState("place")]) -> str:
    """Fail with a field of the state."""
    raise ValueError(f"refused: {place}, hello there")


@tool
def by_state(state: Annotated[dict[str, Any], InjectedState]) -> str:
    """Fail with a secret in the state."""
    raise ValueError(f"refused: {state['db_password']}, {state['greeting']}")


@tool
def by_argument(login: Login) -> str:
    """Fail with a secret argument."""
    raise ValueError(f"refused: {login.passwords[0].get_secret_value()}, hello there")


@tool
def by_store(store: Annotated[Store, InjectedStore], key: str = "bob") -> str:
    """Fail with what stands in the store."""
    item = store.get(("users",), key)
    raise ValueError(f"refused: {item.value['api_token'] if item else ''}, hello there")


@tool
def by_store_of_the_context(context: ToolContext) -> str:
    """Fail with what stands in the store, found by a search."""
    (item,) = context.store.search(("logins",))
    raise ValueError(f"refused: {item.value['text']}, hello there")


EVERY_WAY = [by_name, by_context, by_field, by_state, by_argument, by_store, by_store_of_the_context]


@pytest.mark.parametrize("given", EVERY_WAY, ids=lambda given: str(given.name))
def test_what_was_injected_and_what_is_secret_stays_out_of_a_failures_words(given: Any) -> None:
    arguments = {"login": {"passwords": [SECRET]}} if given is by_argument else {}
    turn = AIMessage(tool_calls=[{"id": "c", "name": given.name, "args": arguments}])
    state = {"messages": [turn], "place": SECRET, "db_password": SECRET, "greeting": "hello there"}
    store = InMemoryStore()
    store.put(("users",), "bob", {"api_token": SECRET, "greeting": "hello there"})
    store.put(("logins",), "password", {"text": SECRET})

    (answer,) = ToolNode([given], store=store).invoke(state, context=Host())["messages"]
    assert answer.content.startswith("ValueError: refused: [redacted], hello there")


class OwnRules(BaseModel):
    """Rules of the host's, in all the ways in which pydantic takes them."""

    by_value: int = 0
    by_type: int = 0

    @field_validator("by_value")
    @classmethod
    def _check(cls, _: int) -> int:
        raise ValueError(f"{'.' * 470} not in the list of {SECRET}")

    @field_validator("by_type")
    @classmethod
    def _look_up(cls, _: int) -> int:
        raise PydanticCustomError("not_listed", "looked up with {key}", {"key": SECRET})


class OldRules(pydantic.v1.BaseModel):
    """The same in its first version."""

    by_value: int = 0
    by_type: int = 0

    @pydantic.v1.validator("by_value")
    def _check(cls, _: int) -> int:  # noqa: N805 - a class method, made by the decorator
        raise ValueError(f"not in the list of {SECRET}")

    @pydantic.v1.validator("by_type")
    def _look_up(cls, _: int) -> int:  # noqa: N805 - as above
        raise TypeError(f"looked up with {SECRET}")


@pytest.mark.parametrize("field", ["by_value", "by_type"])
@pytest.mark.parametrize("rules", [OwnRules, OldRules])
def test_what_a_validator_of_the_hosts_says_is_redacted_before_it_is_cut(
    rules: Any, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @tool(args_schema=rules)
    def check(by_value: int, by_type: int) -> str:
        """Check something."""
        return f"{by_value}{by_type}"

    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    for node, name in ((ToolNode([check]), "check"), (ValidationNode([rules]), rules.__name__)):
        (answer,) = node.invoke([AIMessage(tool_calls=[{"id": "c", "name": name, "args": {field: 1}}])])
        assert answer.outcome.kind == "invalid_arguments"
        assert "[redacted]" in answer.text
        assert SECRET[:6] not in answer.text


def test_no_secret_is_cut_in_half_in_what_a_body_had_produced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    for offset in range(2_840, 3_010, 7):

        @tool
        def read(offset: int = offset) -> Iterator[str]:
            """Read, and break."""
            yield "x" * offset + SECRET + "y" * 6_000
            raise ValueError("broken")

        (answer,) = ToolNode([read]).invoke([AIMessage(tool_calls=[{"id": "c", "name": "read", "args": {}}])])
        assert "of 8," in answer.text or "of 9," in answer.text
        assert SECRET[:4] not in answer.text


def test_what_one_call_reads_is_no_secret_of_another() -> None:
    @tool
    def by_chance(word: str, context: ToolContext) -> str:
        """Fail with a word."""
        raise ValueError(f"refused: {word}")

    calls: list[dict[str, Any]] = [
        {"id": "1", "name": "by_store", "args": {}},
        {"id": "2", "name": "by_chance", "args": {"word": SECRET}},
    ]
    store = InMemoryStore()
    store.put(("users",), "bob", {"api_token": SECRET})
    _, chance = ToolNode([by_store, by_chance], store=store).invoke([AIMessage(tool_calls=calls)])
    assert SECRET in chance.content


# -- what is found ----------------------------------------------------------------------------------------------------


class Client:
    """A service: some of its texts are secrets."""

    __slots__ = ("base_url", "config")

    def __init__(self) -> None:
        self.base_url = "https://api.example.com/v1"
        self.config = {"private_key": SECRET, "primary_key": "customer_id", "key": "customers", "retries": 3}


def _host(value: Any) -> set[str]:
    """The texts kept inside where the value is injected by itself."""
    given = Injection(parameter="p", kind=InjectionKind.HOST)
    return set(secret_texts([given], {}, state=None, context={"p": value}))


NOTHING: set[str] = set()


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (SECRET, {SECRET}),
        ("short", NOTHING),
        ("u-42x", {"u-42x"}),
        (12345678, {"12345678"}),
        (UUID(int=7), {str(UUID(int=7))}),
        (b"raw-bytes-1", {"raw-bytes-1"}),
        ({"user": {"name": "Ada Lovelace"}, "n": 3}, {"Ada Lovelace"}),
        ([SecretStr("pin-4")], {"pin-4"}),
        (SecretStr("abc"), NOTHING),
        (Host(), {SECRET, "hello there"}),
        (Client(), {SECRET}),
        (AIMessage("a message of the conversation"), NOTHING),
        (None, NOTHING),
    ],
    ids=lambda value: type(value).__name__,
)
def test_of_what_is_injected_by_itself_all_data_is_kept_inside(value: Any, texts: set[str]) -> None:
    assert _host(value) == texts


@pytest.mark.parametrize(
    ("context", "texts"),
    [
        ({"api_key": SECRET, "city": "Bergen or so"}, {SECRET}),
        ({"settings": {"db": {"password": SECRET}}}, {SECRET}),
        ({"passwords": [SECRET, "other-secret"]}, {SECRET, "other-secret"}),
        ({"key": "customers"}, NOTHING),
        ({"key": "k-0123456789abcdef"}, {"k-0123456789abcdef"}),
        ({"token": "short"}, NOTHING),
        (Client(), {SECRET}),
        (Host(), {SECRET}),
        ({"messages": [AIMessage(tool_calls=[{"id": "1", "name": "t", "args": {"password": SECRET}}])]}, NOTHING),
        ({"dsn": "pg://app:url-password@db"}, {"pg://app:url-password@db", "url-password"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_of_a_context_what_is_named_so_is_kept_inside(context: Any, texts: set[str]) -> None:
    given = Injection(parameter="c", kind=InjectionKind.CONTEXT)
    assert set(secret_texts([given], {}, state=None, context=context)) == texts


def test_a_context_that_holds_itself_is_not_gone_through_for_ever() -> None:
    context: dict[str, Any] = {"api_key": SECRET, "many": list(range(100_000))}
    context["itself"] = context
    given = Injection(parameter="c", kind=InjectionKind.CONTEXT)
    assert set(secret_texts([given], {}, state=context, context=context)) == {SECRET}


def test_what_is_near_is_found_whatever_lies_before_it() -> None:
    context: dict[str, Any] = {"documents": [{"text": f"document {n}"} for n in range(5_000)], "api_key": SECRET}
    given = Injection(parameter="c", kind=InjectionKind.CONTEXT)
    assert set(secret_texts([given], {}, state=None, context=context)) == {SECRET}


class Hostile:
    """Raises whatever it is asked."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    @property
    def password(self) -> str:
        """Raises too."""
        raise RuntimeError("no")


def test_a_context_that_raises_when_it_is_asked_hides_nothing_else() -> None:
    given = [Injection(parameter="c", kind=InjectionKind.CONTEXT)]
    found = secret_texts(given, {}, state={"token": SECRET}, context=Hostile())
    assert set(found) == {SECRET}
