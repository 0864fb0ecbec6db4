"""A lock that one process at a time has, and that the system takes away when its holder ends, however it ends.

It is on a file of its own. On the database itself it would not do: some systems have one kind of lock for this and for
SQLite's, and whoever closes a file loses all of SQLite's locks on it.

The file may be removed by whoever has the lock, as the last thing that is done under it. Others may have opened it
before, and get a lock that means nothing; so whoever has got one looks whether its file is still the one of the name.
"""

from __future__ import annotations

import os
import random
import sys
import time
from contextlib import suppress
from typing import Final

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["FileLock"]

_LEAST_SECONDS: Final = 0.000_2
_MOST_SECONDS: Final = 0.002
"""Between two attempts. A commit takes as long; and the system wakes those who wait in no order, so that all ask."""
_FLAGS: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
"""Programs that are started do not inherit the file, and it is never one that a link leads to elsewhere."""


class FileLock:
    """A lock between processes, and between threads that have an object each; an object is one thread's.

    Args:
        path: Of the lock's own file, which is made where there is none.
        beside: The file whose owner and rights it gets, so that all who may write that one may lock.
    """

    def __init__(self, path: str, *, beside: str) -> None:
        self.path = path
        self._beside = beside
        self._file: int | None = None
        self._is_held = False

    def acquire(self, seconds: float) -> bool:
        """Get the lock, or wait for it for a while; whether this succeeded. Who has it already keeps it.

        Raises:
            OSError: The file cannot be opened or made, or the system has no such locks there.
        """
        until = time.monotonic() + seconds
        while not self._is_held and not self._is_got():
            if time.monotonic() >= until:
                return False
            time.sleep(random.uniform(_LEAST_SECONDS, _MOST_SECONDS))  # noqa: S311 - guards nothing
        return True

    def release(self) -> None:
        """Give the lock back; does nothing without it."""
        if self._is_held and self._file is not None:
            self._is_held = False
            _unlock(self._file)

    def close(self, *, removes: bool = False) -> None:
        """Give the lock back and close its file, which is removed only by who has the lock."""
        if removes and self._is_held:
            with suppress(OSError):  # Windows removes no file that others have open
                os.unlink(self.path)  # noqa: PTH108 - the path is a text
        self._let_go()

    def forget(self) -> None:
        """Close what a fork has inherited: the parent's lock would otherwise outlive the parent."""
        if self._file is not None:
            os.close(self._file)
        self._file, self._is_held = None, False

    def _is_got(self) -> bool:
        while True:
            file = self._opened()
            if not _is_locked(file):
                return False
            if _identity(os.fstat(file)) == self._found():
                self._is_held = True
                return True
            self._let_go()  # it was removed meanwhile

    def _found(self) -> tuple[int, int] | None:
        try:
            return _identity(os.stat(self.path))  # noqa: PTH116 - once for each commit
        except FileNotFoundError:
            return None

    def _opened(self) -> int:
        while self._file is None:
            with suppress(FileNotFoundError):
                self._file = os.open(self.path, os.O_RDWR | _FLAGS)
            if self._file is None:
                with suppress(FileExistsError):
                    self._file = self._made()
        _open.add(self)
        return self._file

    def _made(self) -> int:
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FLAGS, 0o644)
        if sys.platform != "win32":
            with suppress(OSError):
                owner = os.stat(self._beside)  # noqa: PTH116 - the path is a text
                os.fchmod(file, owner.st_mode & 0o666)
                os.fchown(file, owner.st_uid, owner.st_gid)
        return file

    def _let_go(self) -> None:
        self.release()
        _open.discard(self)
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


if sys.platform == "win32":

    def _is_locked(file: int) -> bool:
        os.lseek(file, 0, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _unlock(file: int) -> None:
        os.lseek(file, 0, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:

    def _is_locked(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


_open: set[FileLock] = set()


def _forget_after_fork() -> None:
    for lock in list(_open):
        lock.forget()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
