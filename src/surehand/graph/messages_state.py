"""The state of most graphs."""

from __future__ import annotations

from typing import Annotated, TypedDict

from surehand.messages import AnyMessage, add_messages

__all__ = ["MessagesState"]


class MessagesState(TypedDict):
    """A conversation under ``messages``; subclass it to add keys of your own."""

    messages: Annotated[list[AnyMessage], add_messages]
