"""What a reader asks a stream for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from surehand.errors import OptionError
from surehand.policy import flag

__all__ = ["Modes", "Namespace", "StreamMode", "read_modes"]

StreamMode: TypeAlias = Literal["values", "updates", "messages", "calls", "custom"]
"""``values``: the state after every step; ``updates``: what each node returned; ``messages``: what models say, piece by
piece, and every other message, whole; ``calls``: every event of every call; ``custom``: what nodes emit."""

Namespace: TypeAlias = tuple[str, ...]
"""The nodes that a graph runs inside of, the outermost first; empty for the graph whose stream is read."""

_MODES: Final[tuple[str, ...]] = get_args(StreamMode)
_OF_STEPS: Final = frozenset({"values", "updates"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Modes:
    """What a reader asks a stream for."""

    names: frozenset[str]
    is_list: bool
    """Whether items come as ``(mode, item)``."""
    subgraphs: bool = False
    """Whether items come as ``(namespace, item)`` or ``(namespace, mode, item)``, those of inner graphs among them."""

    @property
    def are_live(self) -> bool:
        """Whether there are items while a step runs, and not only when it has ended."""
        return self.subgraphs or not self.names <= _OF_STEPS

    def of_steps(self, namespace: Namespace) -> frozenset[str]:
        """The modes in which the steps of a graph are told."""
        return self.names & _OF_STEPS if self.subgraphs or not namespace else frozenset()

    def shown(self, mode: str, item: Any, namespace: Namespace = ()) -> Any:
        """An item as the reader gets it."""
        if self.subgraphs:
            return (namespace, mode, item) if self.is_list else (namespace, item)
        return (mode, item) if self.is_list else item


def read_modes(stream_mode: StreamMode | list[StreamMode], *, subgraphs: bool = False) -> Modes:
    """The modes of a stream.

    Raises:
        OptionError: One of them is none.
    """
    modes: list[object] = [*stream_mode] if isinstance(stream_mode, list) else [stream_mode]
    if not modes or any(mode not in _MODES for mode in modes):
        raise OptionError(option="stream_mode", value=stream_mode, expected=f"one or a list of: {', '.join(_MODES)}")
    names = frozenset(cast("list[str]", modes))
    return Modes(names=names, is_list=isinstance(stream_mode, list), subgraphs=flag("subgraphs", subgraphs))
