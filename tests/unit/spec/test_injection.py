from __future__ import annotations

from typing import Annotated, Any, Optional

import pytest

from surehand.errors import OptionError
from surehand.spec import (
    InjectedState,
    InjectedStore,
    InjectedToolArg,
    InjectedToolCallId,
    InjectionKind,
    ToolContext,
    injection_of,
)


class Tenant(InjectedToolArg):
    """A marker of the host's own."""


@pytest.mark.parametrize(
    ("annotation", "kind", "key"),
    [
        (Annotated[str, InjectedToolCallId], InjectionKind.CALL_ID, None),
        (Annotated[str, InjectedToolCallId()], InjectionKind.CALL_ID, None),
        (Annotated[Any, InjectedStore], InjectionKind.STORE, None),
        (Annotated[dict[str, Any], InjectedState], InjectionKind.STATE, None),
        (Annotated[str, InjectedState("city")], InjectionKind.STATE, "city"),
        (Annotated[str, InjectedToolArg], InjectionKind.HOST, "p"),
        (Annotated[str, Tenant()], InjectionKind.HOST, "p"),
        (Annotated[str, "text", InjectedToolArg], InjectionKind.HOST, "p"),
        (Optional[Annotated[str, InjectedToolCallId]], InjectionKind.CALL_ID, None),  # noqa: UP045 - the spelling users have
        (ToolContext, InjectionKind.CONTEXT, None),
        (ToolContext[int], InjectionKind.CONTEXT, None),
        (ToolContext | None, InjectionKind.CONTEXT, None),
        (Annotated[ToolContext, "the context"], InjectionKind.CONTEXT, None),
    ],
)
def test_annotations_ask_for_injection(annotation: Any, kind: InjectionKind, key: str | None) -> None:
    found = injection_of("p", annotation)

    assert found is not None
    assert (found.kind, found.key) == (kind, key)


@pytest.mark.parametrize("annotation", [str, Any, None, Annotated[str, "text"], dict[str, Any], str | None])
def test_other_annotations_do_not(annotation: Any) -> None:
    assert injection_of("p", annotation) is None


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[str | None, InjectedToolArg],
        Optional[Annotated[str, InjectedToolArg]],  # noqa: UP045 - as above
    ],
)
def test_none_may_be_injected_where_the_type_allows_it(annotation: Any) -> None:
    found = injection_of("p", annotation)

    assert found is not None
    assert found.accepts_none


@pytest.mark.parametrize("annotation", [Annotated[str, InjectedToolArg], Annotated[Any, InjectedToolArg]])
def test_none_may_not_be_injected_elsewhere(annotation: Any) -> None:
    """``Any`` says nothing about None: a parameter that nobody fills is the host's oversight."""
    found = injection_of("p", annotation)

    assert found is not None
    assert not found.accepts_none


@pytest.mark.parametrize("key", ["", " ", 3])
def test_a_field_of_the_state_is_named_by_text(key: Any) -> None:
    with pytest.raises(OptionError, match="key="):
        InjectedState(key)
