"""What must not leave with a word about a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, SecretStr

from surehand import AIMessage, InjectedState, InjectedToolArg, ToolNode, tool
from surehand.spec import ToolContext

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


@pytest.mark.parametrize("given", [by_name, by_context, by_field, by_state, by_argument])
def test_what_was_injected_and_what_is_secret_stays_out_of_a_failures_words(given: Any) -> None:
    arguments = {"login": {"passwords": [SECRET]}} if given is by_argument else {}
    turn = AIMessage(tool_calls=[{"id": "c", "name": given.name, "args": arguments}])
    state = {"messages": [turn], "place": SECRET, "db_password": SECRET, "greeting": "hello there"}

    (answer,) = ToolNode([given]).invoke(state, context=Host())["messages"]
    assert answer.content.startswith("ValueError: refused: [redacted], hello there")
