"""The configuration of a run, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from surehand.checkpoints import Checkpointer
from surehand.checkpoints.codec import Codec
from surehand.control import RunConfig
from surehand.errors import OptionError
from surehand.graph.kept import Keeping
from surehand.graph.outlet import Outlet
from surehand.graph.tasks import Settings
from surehand.interrupts import Questions
from surehand.policy import count_or_none, mapping

__all__ = ["Keeper", "read_settings"]


def read_settings(
    config: RunConfig | Mapping[str, Any] | None,
    *,
    context: Any = None,
    outlet: Outlet | None = None,
    keeper: Keeper | None = None,
) -> Settings:
    """The settings behind a run's configuration.

    Args:
        config: The configuration.
        context: The host's own object.
        outlet: Where the run puts what is read while it runs; None where nobody does.
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
        outlet=outlet,
        recursion_limit=count_or_none("recursion_limit", limit),
        max_concurrency=count_or_none("max_concurrency", width),
        keeping=None if keeper is None else keeper.keeping(_thread_id(places)),
        checkpoint_id=_checkpoint_id(places),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeper:
    """What keeps the runs of a graph."""

    saver: Checkpointer
    codec: Codec

    def keeping(self, thread_id: str) -> Keeping:
        """What keeps one run."""
        questions = Questions(check=partial(self.codec.dumps, where="a question"))
        return Keeping(saver=self.saver, thread_id=thread_id, codec=self.codec, questions=questions)


def _thread_id(places: Mapping[str, Any]) -> str:
    value = places.get("thread_id")
    if not _is_name(value):
        raise OptionError(
            option="thread_id",
            value=value,
            expected="the name of a thread, as the graph has a checkpointer",
            remedy="Pass config={'configurable': {'thread_id': 'some-name'}}.",
        )
    return str(value)


def _checkpoint_id(places: Mapping[str, Any]) -> str | None:
    value = places.get("checkpoint_id")
    if value is not None and not _is_name(value):
        raise OptionError(
            option="checkpoint_id",
            value=value,
            expected="the id of a checkpoint, or None for the newest",
            remedy="Take a config from get_state or get_state_history.",
        )
    return None if value is None else str(value)


def _is_name(value: object) -> bool:
    """Whether it names something; numbers and UUIDs are names too."""
    return value is not None and not isinstance(value, bool | bytes) and bool(str(value).strip())


def _entries_of(config: object) -> dict[str, Any]:
    if config is None:
        return {}
    if not isinstance(config, Mapping):
        raise OptionError(option="config", value=config, expected="a mapping such as {'recursion_limit': 50}")
    return dict(cast("Mapping[str, Any]", config))
