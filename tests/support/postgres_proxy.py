"""Something between a program and its PostgreSQL server that breaks the line at the worst moment: at a COMMIT."""

from __future__ import annotations

import socket
import struct
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Final, Literal, TypeAlias

__all__ = ["Cut", "PostgresProxy", "postgres_proxy"]

Cut: TypeAlias = Literal["before", "after", "half"]
"""``before``: the server hears of the line's end and not of the COMMIT. ``after``: it commits, and its answer is lost.
``half``: the server hears neither of the COMMIT nor of the line's end, as when a machine between them dies."""
SOCKET: Final = ".s.PGSQL.5432"
_LENGTH: Final = struct.Struct("!I")
_COMMIT: Final = b"COMMIT\0"  # "READ COMMITTED" is none


class PostgresProxy:
    """Listens on a socket of its own and passes on what it hears.

    Attributes:
        cut: What to do at the next COMMIT; that one only.
        stays_down: Whether nobody is let in after a cut.
        cuts: How many lines were cut.
    """

    def __init__(self, server: Path, folder: Path) -> None:
        self.cut: Cut | None = None
        self.stays_down = False
        self.cuts = 0
        self._server = server
        self._lines: list[_Line] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / SOCKET))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Break off everything."""
        _break(self._listener)
        for line in self._lines:
            _break(line.client)
            _break(line.server)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.stays_down and self.cuts:
                    _break(client)
                else:
                    self._lines.append(_Line(self, client, self._server))

    def cut_now(self) -> Cut | None:
        """What to do at the COMMIT that is just passing."""
        cut, self.cut = self.cut, None
        self.cuts += cut is not None
        return cut


class _Line:
    """One client's connection to the server."""

    def __init__(self, proxy: PostgresProxy, client: socket.socket, server: Path) -> None:
        self.client = client
        self.server = socket.socket(socket.AF_UNIX)
        self.server.connect(str(server / SOCKET))
        self._proxy = proxy
        self._is_mute = False
        for carry in (self._carry_requests, self._carry_answers):
            threading.Thread(target=carry, daemon=True).start()

    def _carry_requests(self) -> None:
        cut: Cut | None = None
        with suppress(OSError), self.client.makefile("rb") as requests:
            self.server.sendall(_body(requests))
            while cut is None and (kind := requests.read(1)):
                message = kind + _body(requests)
                cut = self._proxy.cut_now() if kind in b"QP" and _COMMIT in message else None
                self._is_mute = cut == "after"
                if cut in (None, "after"):
                    self.server.sendall(message)
        if cut != "after":  # there the server has to answer first
            _break(self.client)
        if cut in (None, "before"):
            _break(self.server)

    def _carry_answers(self) -> None:
        with suppress(OSError):
            while (some := self.server.recv(65_536)) and not self._is_mute:
                self.client.sendall(some)
        _break(self.client)
        _break(self.server)


def _body(stream: BufferedReader) -> bytes:
    """The next message with its length before it."""
    length = stream.read(_LENGTH.size)
    if len(length) < _LENGTH.size:
        raise OSError
    return length + stream.read(_LENGTH.unpack(length)[0] - _LENGTH.size)


def _break(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextmanager
def postgres_proxy(server: Path) -> Generator[tuple[PostgresProxy, Path], None, None]:
    """Stand before the server whose socket is in a folder; gives the folder of the proxy's too."""
    with tempfile.TemporaryDirectory(dir=server) as folder:
        proxy = PostgresProxy(server, Path(folder))
        try:
            yield proxy, Path(folder)
        finally:
            proxy.close()
