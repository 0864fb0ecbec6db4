"""What a checkpointer is: the base class of all savers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from surehand.checkpoints.records import CallRow, ChannelRow, CheckpointRow, LoadedCheckpoint, WriteRow
from surehand.concurrency import run_in_thread

__all__ = ["Checkpointer"]

T = TypeVar("T")


class Checkpointer(ABC):
    """Keeps checkpoints and calls; usable from several threads and loops at a time.

    Every method is one transaction: it holds, as a whole, when the method returns, or it raises and nothing of it
    holds. A saver looks into no text that it is given. The methods block; each has an awaited twin with an ``a`` before
    its name, which by itself runs the method on a thread.

    ``surehand.testing.check_checkpointer`` tries everything that is promised here on a saver of your own.

    Every method raises ``StoreError`` where the storage fails or the saver is closed, and ``CheckpointError`` for a row
    that it cannot read and for what cannot be stored: texts that are no UTF-8 or hold the character NUL, numbers that
    do not fit into eight bytes, a version that is a change of a later one, an id with ``/`` or ``:``.
    """

    @abstractmethod
    def put(
        self,
        row: CheckpointRow,
        changes: Sequence[ChannelRow],
        *,
        after: str | None,
        drop: Sequence[str] = (),
        inside: tuple[str, str] | None = None,
    ) -> None:
        """Add a checkpoint.

        Args:
            row: The checkpoint; its number is one more than that of the newest one.
            changes: The versions that it brings.
            after: The id of the newest checkpoint of the thread and namespace, as the caller knows it; None where it
                knows of none. Forks, too, come after the newest one: ``row.parent`` says what they come from.
            drop: Namespaces of the thread that are forgotten with it, each with all below it (``a`` and ``a/b``).
            inside: The namespace and the id of the checkpoint in whose step this namespace runs: that one, too, has to
                be the newest. Else a run that was overtaken could begin anew what was forgotten when the step had
                ended. None where nothing is asked of another checkpoint.

        Raises:
            CheckpointConflict: Another checkpoint is the newest one, in this namespace or where ``inside`` says.
        """

    @abstractmethod
    def put_writes(
        self, thread_id: str, namespace: str, checkpoint_id: str, writes: Sequence[WriteRow], *, is_claim: bool = False
    ) -> None:
        """Add to what became known after a checkpoint; a row of the same task, kind and number is replaced.

        Raises:
            CheckpointConflict: It is a claim, and there is such a row already; or the checkpoint is gone.
        """

    @abstractmethod
    def load(self, thread_id: str, namespace: str = "", checkpoint_id: str | None = None) -> LoadedCheckpoint | None:
        """A checkpoint, by default the newest one; None where there is none."""

    @abstractmethod
    def newest(self, thread_id: str, namespace: str = "") -> CheckpointRow | None:
        """The newest checkpoint without its texts; None where there is none."""

    @abstractmethod
    def history(
        self, thread_id: str, namespace: str = "", *, before: int | None = None, limit: int | None = None
    ) -> list[CheckpointRow]:
        """Checkpoints, the newest first: those of a number below ``before``, at most ``limit`` of them.

        Raises:
            OptionError: One of them is no whole number from 0.
        """

    @abstractmethod
    def save_call(self, thread_id: str, row: CallRow, *, after: int | None) -> bool:
        """Write what is known of a call, if the row there is of the version ``after``; None: if there is none.

        Returns:
            Whether it was so. Where not, nothing was written: somebody else has written it meanwhile.
        """

    @abstractmethod
    def load_call(self, thread_id: str, key: str) -> CallRow | None:
        """What is known of a call; None where nothing is."""

    @abstractmethod
    def calls(self, thread_id: str) -> list[CallRow]:
        """What is known of all calls of a thread, in the order in which they were begun."""

    @abstractmethod
    def threads(self) -> list[str]:
        """The threads that have a checkpoint or a call, in the order of their names, by code points."""

    @abstractmethod
    def delete_thread(self, thread_id: str) -> None:
        """Forget a thread with all its checkpoints and calls; nothing happens where there is none."""

    @abstractmethod
    def prune(self, thread_id: str | None = None, *, keep: int | None = None, older_than: float | None = None) -> int:
        """Forget old checkpoints; the newest of a thread always stays, and so do its calls.

        What ran inside of a step goes with the checkpoint before it: the namespaces that begin with that checkpoint's
        and ``<id>:``. Every version that a remaining checkpoint needs stays.

        Args:
            thread_id: Of this thread; None for all.
            keep: How many of the newest stay in each thread and namespace; None for the newest alone.
            older_than: Only those that are older, in seconds; None for any age. One that is to stay by either stays.

        Returns:
            How many checkpoints were forgotten, in all namespaces.

        Raises:
            OptionError: ``keep`` is no whole number from 1, or ``older_than`` no number of seconds from 0.
        """

    def close(self) -> None:  # noqa: B027 - some hold nothing
        """Let go of what it holds; it can then no longer be used. Closing twice does nothing."""

    # Awaited twins

    async def in_background(self, call: Callable[[], T]) -> T:
        """Run a blocking method without blocking the loop."""
        return await run_in_thread(call)

    async def aput(
        self,
        row: CheckpointRow,
        changes: Sequence[ChannelRow],
        *,
        after: str | None,
        drop: Sequence[str] = (),
        inside: tuple[str, str] | None = None,
    ) -> None:
        """``put``, awaited."""
        await self.in_background(partial(self.put, row, changes, after=after, drop=drop, inside=inside))

    async def aput_writes(
        self, thread_id: str, namespace: str, checkpoint_id: str, writes: Sequence[WriteRow], *, is_claim: bool = False
    ) -> None:
        """``put_writes``, awaited."""
        await self.in_background(
            partial(self.put_writes, thread_id, namespace, checkpoint_id, writes, is_claim=is_claim)
        )

    async def aload(
        self, thread_id: str, namespace: str = "", checkpoint_id: str | None = None
    ) -> LoadedCheckpoint | None:
        """``load``, awaited."""
        return await self.in_background(partial(self.load, thread_id, namespace, checkpoint_id))

    async def anewest(self, thread_id: str, namespace: str = "") -> CheckpointRow | None:
        """``newest``, awaited."""
        return await self.in_background(partial(self.newest, thread_id, namespace))

    async def ahistory(
        self, thread_id: str, namespace: str = "", *, before: int | None = None, limit: int | None = None
    ) -> list[CheckpointRow]:
        """``history``, awaited."""
        return await self.in_background(partial(self.history, thread_id, namespace, before=before, limit=limit))

    async def asave_call(self, thread_id: str, row: CallRow, *, after: int | None) -> bool:
        """``save_call``, awaited."""
        return await self.in_background(partial(self.save_call, thread_id, row, after=after))

    async def aload_call(self, thread_id: str, key: str) -> CallRow | None:
        """``load_call``, awaited."""
        return await self.in_background(partial(self.load_call, thread_id, key))

    async def acalls(self, thread_id: str) -> list[CallRow]:
        """``calls``, awaited."""
        return await self.in_background(partial(self.calls, thread_id))

    async def athreads(self) -> list[str]:
        """``threads``, awaited."""
        return await self.in_background(self.threads)

    async def adelete_thread(self, thread_id: str) -> None:
        """``delete_thread``, awaited."""
        await self.in_background(partial(self.delete_thread, thread_id))

    async def aprune(
        self, thread_id: str | None = None, *, keep: int | None = None, older_than: float | None = None
    ) -> int:
        """``prune``, awaited."""
        return await self.in_background(partial(self.prune, thread_id, keep=keep, older_than=older_than))

    async def aclose(self) -> None:
        """``close``, awaited."""
        await self.in_background(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
