"""Serves the session protocol: lines of JSON on standard input and output, or on a Unix socket.

The socket is in a folder of this user alone, has mode 0600, and each connection is from a process
of this user, or it is closed. Several connections are served at a time, each by a thread of its
own; the sessions order their requests themselves.
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import socket
import struct
import threading
from pathlib import Path
from typing import IO

from whence.app.session_host import MAX_REQUEST, SessionHost
from whence.errors import WhenceError
from whence.user_folders import PRIVATE_FILE, make_private_folder, state_folder

LONGEST_PATH = 100
"""The paths of Unix sockets are short: 108 bytes on Linux, 104 elsewhere."""
MOST_CONNECTIONS = 64
_VARIABLE, _RUNTIME = "WHENCE_SOCKET", "XDG_RUNTIME_DIR"
_POLL = 0.2
_CREDENTIALS = struct.Struct("3i")


def default_socket() -> Path:
    """Where a server listens unless it is told otherwise."""
    named = os.environ.get(_VARIABLE, "")
    if named:
        return Path(named)
    runtime = Path(os.environ.get(_RUNTIME, ""))
    if runtime.is_absolute() and runtime.is_dir():
        return runtime / "whence" / "serve.sock"
    return state_folder() / "serve.sock"


def serve_lines(host: SessionHost, source: IO[bytes], target: IO[bytes]) -> None:
    """Answer every line until the input ends."""
    while line := source.readline(MAX_REQUEST + 2):
        if not line.endswith(b"\n") and len(line) > MAX_REQUEST:
            _skip_line(source)
        if not line.strip():
            continue
        target.write(host.handle_text(line).encode() + b"\n")
        target.flush()


def _skip_line(source: IO[bytes]) -> None:
    while rest := source.readline(MAX_REQUEST):
        if rest.endswith(b"\n"):
            return


class SocketServer:
    """Listens on a Unix socket until it is stopped."""

    def __init__(self, host: SessionHost, path: Path) -> None:
        """Make the socket; `WhenceError` if another server has it."""
        self.path = path
        self._host = host
        self._stopping = threading.Event()
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._socket = _listening(path)

    def serve(self) -> None:
        """Accept connections until `stop`."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            while not self._stopping.is_set():
                if selector.select(_POLL):
                    self._accept()

    def stop(self) -> None:
        """Accept nothing any more, and end all connections."""
        self._stopping.set()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self.path.unlink(missing_ok=True)

    def _accept(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except OSError:
            return
        with self._lock:
            is_full = len(self._connections) >= MOST_CONNECTIONS
            if not is_full and _is_own(connection):
                self._connections.add(connection)
                threading.Thread(target=self._talk, args=(connection,), daemon=True).start()
                return
        connection.close()

    def _talk(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as source, connection.makefile("wb") as out:
                serve_lines(self._host, source, out)
        except OSError:
            pass  # the other side went away
        finally:
            with self._lock:
                self._connections.discard(connection)


def _listening(path: Path) -> socket.socket:
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise WhenceError(
            f"{path}: too long for a socket, which may have {LONGEST_PATH} bytes; name a shorter "
            "one with --socket"
        )
    try:
        make_private_folder(path.parent)
        if path.is_socket() and not _is_served(path):
            path.unlink()  # a server was killed
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        mask = os.umask(0o777 & ~PRIVATE_FILE)
        try:
            server.bind(os.fspath(path))
        finally:
            os.umask(mask)
        server.listen()
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            raise WhenceError(
                f"{path}: another whence serves there; talk to that one, or name another socket "
                "with --socket"
            ) from problem
        raise WhenceError(f"{path}: cannot be listened on ({problem.strerror})") from problem
    return server


def _is_served(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(os.fspath(path))
        except OSError:
            return False
    return True


def _is_own(connection: socket.socket) -> bool:
    """Whether the process on the other side is of this user, as far as the system tells."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True  # the mode of the socket and of its folder keeps others away
    data = connection.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size)
    return bool(_CREDENTIALS.unpack(data)[1] == os.geteuid())
