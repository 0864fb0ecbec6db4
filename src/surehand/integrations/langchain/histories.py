"""A long conversation of LangChain's, of which a node reads what it needs: as a rule, the newest run.

To read a message costs more than LangGraph's node spends on a whole call, and a node is visited once for each turn of
the model. So the messages before the newest run are read when somebody asks for one of them, and then all at once.
"""

# LangChain's own types are partly unknown, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final, overload

from langchain_core.messages import BaseMessage
from typing_extensions import override

from surehand.messages import Message
from surehand.shapes import is_array, mapping_of

__all__ = ["History", "newest_run"]

_MODELS: Final = frozenset({"ai", "AIMessageChunk"})
_KINDS: Final = frozenset({"human", "system", "tool"}) | _MODELS
"""Whose messages are read one for one."""


class History(Sequence[Message]):
    """Messages, of which the older ones are read when they are asked for.

    Args:
        older: Reads the older ones.
        count: How many those are.
        newer: The others.
    """

    def __init__(self, older: Callable[[], Sequence[Message]], count: int, newer: Sequence[Message]) -> None:
        self._read = older
        self._count = count
        self._newer = newer

    @cached_property
    def _all(self) -> list[Message]:
        return [*self._read(), *self._newer]

    @override
    def __len__(self) -> int:
        return self._count + len(self._newer)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    @override
    def __getitem__(self, index: Any) -> Any:
        start, _, step = index.indices(len(self)) if isinstance(index, slice) else (index % max(len(self), 1), 0, 1)
        if step != 1 or start < self._count or (isinstance(index, int) and not -len(self) <= index < len(self)):
            return self._all[index]
        if not isinstance(index, slice):
            return self._newer[start - self._count]
        return list(self._newer[start - self._count : max(index.indices(len(self))[1] - self._count, 0)])


def newest_run(given: Sequence[Any]) -> int:
    """Where reading may begin: at an AI message before the newest human one; 0 where all has to be read.

    What is read from there is what would be read from the start: at an AI message no older call is open any more.
    """
    if not all(isinstance(item, BaseMessage) and item.type in _KINDS for item in given):
        return 0
    place = len(given)
    while place and given[place - 1].type != "human":
        place -= 1
    while place and given[place - 1].type not in _MODELS:
        place -= 1
    place = max(place - 1, 0)
    return 0 if any(map(_holds_answers, given[:place])) else place


def _holds_answers(item: BaseMessage) -> bool:
    """Whether it may be read as several messages."""
    content: Any = item.content
    return (
        item.type == "human" and is_array(content) and any(mapping_of(b).get("type") == "tool_result" for b in content)
    )
