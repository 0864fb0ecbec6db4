"""The journal of one thread, in the saver that keeps its checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, NamedTuple, get_args

from surehand.calls.journal import CallKey, Recalled, now, state_of
from surehand.checkpoints import CallRow, CallState, Checkpointer
from surehand.checkpoints.codec import Codec
from surehand.concurrency import has_running_loop
from surehand.control import Command, is_command
from surehand.errors import CheckpointError
from surehand.messages import ToolMessage
from surehand.shapes import is_object, items_of

__all__ = ["SavedJournal"]


class _Begun(NamedTuple):
    """What was begun by this object, and has not ended."""

    version: int
    at: float


_ENDED: Final = ("done", "failed")


class SavedJournal:
    """A journal that outlives the process: the calls of a thread, kept beside its checkpoints.

    A node in a graph with a checkpointer has one of its own accord. Calls that begin side by side on an event loop are
    written side by side, so that a saver may put them into one transaction. Where no loop runs, the methods block.

    Args:
        saver: Where it is kept.
        thread_id: The conversation.
        codec: How answers and commands are written; None for one that knows no classes of the host's.

    Example:
        node = ToolNode([pay], journal=SavedJournal(SqliteSaver("calls.db"), "thread-1"))
    """

    never_waits: ClassVar = True
    """Without a loop it blocks instead."""

    def __init__(self, saver: Checkpointer, thread_id: str, codec: Codec | None = None) -> None:
        self._saver = saver
        self._thread_id = thread_id
        self._codec = Codec() if codec is None else codec
        self._begun: dict[CallKey, _Begun] = {}

    async def recall(self, key: CallKey) -> Recalled | None:
        """What is known of the call; None where it has not begun.

        Raises:
            CheckpointError: The entry is damaged, or another program's, or of a class that the codec does not know.
            StoreError: The storage failed.
        """
        name = key.idempotency_key
        if has_running_loop():
            row = await self._saver.aload_call(self._thread_id, name)
        else:
            row = self._saver.load_call(self._thread_id, name)
        return None if row is None else self._read(row, key)

    async def begin(self, key: CallKey, after: int | None) -> bool:
        """Record that the call's body is about to start; False where the newest entry is not ``after``.

        Raises:
            StoreError: The storage failed.
        """
        begun = _Begun((after or 0) + 1, now())
        if not await self._save(key, "running", begun.version, {"begun_at": begun.at}):
            return False
        self._begun[key] = begun
        return True

    async def finish(
        self, key: CallKey, answer: ToolMessage, command: Command | None = None, *, was_raised: bool = False
    ) -> None:
        """Record what the call came to.

        Raises:
            CheckpointError: The command holds what cannot be stored.
            StoreError: The storage failed.
        """
        told = {"answer": answer, "command": command, "was_raised": was_raised}
        await self._go_on(key, state_of(answer), told)

    async def wait(self, key: CallKey, asked: Sequence[str] = ()) -> None:
        """Record that the call has asked, and did nothing yet.

        Raises:
            StoreError: The storage failed.
        """
        await self._go_on(key, "waiting", {"asked": list(asked)})

    async def _go_on(self, key: CallKey, state: CallState, told: dict[str, Any]) -> None:
        begun = self._begun.pop(key)
        await self._save(key, state, begun.version + 1, {"begun_at": begun.at, **told})

    async def _save(self, key: CallKey, state: CallState, version: int, told: dict[str, Any]) -> bool:
        form = {"tool": key.tool, "call_id": key.call_id, "message_id": key.message_id, "position": key.position}
        row = CallRow(
            key=key.idempotency_key,
            version=version,
            state=state,
            text=self._codec.dumps({**form, **told}, where=_where(key)),
            changed_at=now(),
        )
        after = None if version == 1 else version - 1
        if has_running_loop():
            return await self._saver.asave_call(self._thread_id, row, after=after)
        return self._saver.save_call(self._thread_id, row, after=after)

    def _read(self, row: CallRow, key: CallKey) -> Recalled:
        form: Any = self._codec.loads(row.text, where=_where(key))
        told = dict(form) if is_object(form) else {}
        answer, command, begun_at = told.get("answer"), told.get("command"), told.get("begun_at")
        is_ended = row.state in _ENDED
        is_whole = isinstance(answer, ToolMessage) == is_ended and (command is None or is_command(command))
        if row.state not in get_args(CallState) or not is_whole or not isinstance(begun_at, int | float):
            raise CheckpointError(
                problem="its entry in the journal is damaged",
                remedy="Restore the database from a copy, or delete the thread.",
                thread_id=self._thread_id,
                where=_where(key),
            )
        return Recalled(
            state=row.state,
            version=row.version,
            begun_at=float(begun_at),
            answer=answer if isinstance(answer, ToolMessage) else None,
            command=command,
            was_raised=told.get("was_raised") is True,
            asked=tuple(id for id in items_of(told.get("asked")) if isinstance(id, str)),
        )


def _where(key: CallKey) -> str:
    return f"call {key.call_id!r} of {key.tool!r}"
