"""The configuration of a run, read and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from surehand.checkpoints import Checkpointer
from surehand.checkpoints.codec import Codec
from surehand.control import RunConfig
from surehand.errors import OptionError
from surehand.graph.saving import Keeping
from surehand.graph.tasks import Settings
from surehand.policy import count_or_none, mapping

__all__ = ["Keeper", "Modes", "StreamMode", "read_modes", "read_settings"]

StreamMode: TypeAlias = Literal["values", "updates", "custom"]
"""``values``: the state after every step; ``updates``: what each node returned; ``custom``: what nodes emit."""

_MODES: Final[tuple[str, ...]] = get_args(StreamMode)


def read_settings(
    config: RunConfig | Mapping[str, Any] | None,
    *,
    context: Any = None,
    emit: Callable[[Any], None] | None = None,
    keeper: Keeper | None = None,
) -> Settings:
    """The settings behind a run's configuration.

    Args:
        config: The configuration.
        context: The host's own object.
        emit: Receives what nodes emit.
        keeper: Keeps the run; None for nothing.

    Raises:
        OptionError: It is no mapping, a limit in it is no whole number of at least 1, or it names no thread to keep
            the run under.
    """
    entries = _entries_of(config)
    limit, width = entries.get("recursion_limit"), entries.get("max_concurrency")
    places = mapping("configurable", entries.get("configurable"))
    return Settings(
        config=cast("RunConfig", entries),
        context=context,
        emit=emit,
        recursion_limit=count_or_none("recursion_limit", limit),
        max_concurrency=count_or_none("max_concurrency", width),
        keeping=None if keeper is None else keeper.keeping(_named("thread_id", places)),
        checkpoint_id=None if places.get("checkpoint_id") is None else _named("checkpoint_id", places),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeper:
    """What keeps the runs of a graph."""

    saver: Checkpointer
    codec: Codec

    def keeping(self, thread_id: str) -> Keeping:
        """What keeps one run."""
        return Keeping(saver=self.saver, thread_id=thread_id, codec=self.codec)


def _named(name: str, places: Mapping[str, Any]) -> str:
    """A name in the configuration; numbers and UUIDs are names too.

    Raises:
        OptionError: There is none.
    """
    value = places.get(name)
    if value is None or isinstance(value, bool | bytes) or not str(value).strip():
        raise OptionError(
            option=name,
            value=value,
            expected="the name of a thread, as the graph has a checkpointer",
            remedy="Pass config={'configurable': {'thread_id': 'some-name'}}.",
        )
    return str(value)


def _entries_of(config: object) -> dict[str, Any]:
    if config is None:
        return {}
    if not isinstance(config, Mapping):
        raise OptionError(option="config", value=config, expected="a mapping such as {'recursion_limit': 50}")
    return dict(cast("Mapping[str, Any]", config))


@dataclass(frozen=True, slots=True, kw_only=True)
class Modes:
    """What a reader asks a stream for."""

    names: tuple[StreamMode, ...]
    is_list: bool
    """Whether items come as ``(mode, item)``."""

    @property
    def are_live(self) -> bool:
        """Whether there are items while a step runs, and not only when it has ended."""
        return "custom" in self.names

    def shown(self, mode: StreamMode, item: Any) -> Any:
        """An item as the reader gets it."""
        return (mode, item) if self.is_list else item


def read_modes(stream_mode: StreamMode | list[StreamMode]) -> Modes:
    """The modes of a stream.

    Raises:
        OptionError: One of them is none.
    """
    modes: tuple[object, ...] = tuple(stream_mode) if isinstance(stream_mode, list) else (stream_mode,)
    if not modes or any(mode not in _MODES for mode in modes):
        raise OptionError(option="stream_mode", value=stream_mode, expected=f"one or a list of: {', '.join(_MODES)}")
    return Modes(names=cast("tuple[StreamMode, ...]", modes), is_list=isinstance(stream_mode, list))
