"""Talks to the server that is running, or does the same in this process where none is.

A session goes on either way: the server holds it in memory, and its log is on disk.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from whence.app.serving import default_socket
from whence.app.session_host import MAX_RESPONSE, SessionHost
from whence.errors import WhenceError
from whence.protocol.problems import Code, Problem
from whence.protocol.requests import VERSION

_CODES = {code.value: code for code in Code}


class Client(Protocol):
    """Sends requests and returns their results."""

    def ask(self, method: str, **parameters: object) -> dict[str, Any]:
        """The result of a request; a `Problem` if it failed."""


class SocketClient:
    """A connection to a server."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._source = connection.makefile("rb")

    def ask(self, method: str, **parameters: object) -> dict[str, Any]:
        """Send a request and wait for its result."""
        message = {"version": VERSION, "id": 1, "method": method, "params": parameters}
        try:
            self._connection.sendall(json.dumps(message).encode() + b"\n")
            line = self._source.readline(MAX_RESPONSE + 2)
        except OSError as problem:
            raise WhenceError(f"the server went away ({problem}); repeat the command") from problem
        if not line:
            raise WhenceError("the server went away; repeat the command")
        return result_of(json.loads(line))


class LocalClient:
    """Does in this process what a server would do."""

    def __init__(self, host: SessionHost) -> None:
        self._host = host

    def ask(self, method: str, **parameters: object) -> dict[str, Any]:
        """Carry out a request."""
        message = {"version": VERSION, "id": 1, "method": method, "params": parameters}
        return result_of(json.loads(self._host.handle_text(json.dumps(message))))


def result_of(response: dict[str, Any]) -> dict[str, Any]:
    """The result of a response; a `Problem` if it is an error."""
    error = response.get("error")
    if error is not None:
        raise Problem(_CODES.get(error["code"], Code.CANNOT), error["message"], error["cure"])
    result: dict[str, Any] = response["result"]
    return result


@contextlib.contextmanager
def client(path: Path | None = None) -> Iterator[Client]:
    """A client of the server on a socket, or else one that needs no server.

    A socket that is named must have a server.
    """
    address = path or default_socket()
    with contextlib.ExitStack() as resources:
        connection = resources.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        try:
            connection.connect(os.fspath(address))
        except OSError as problem:
            if path is not None:
                raise WhenceError(
                    f"{path}: no server answers there ({problem.strerror}); `whence serve "
                    "--socket` starts one"
                ) from problem
        else:
            yield SocketClient(connection)
            return
        host = SessionHost()
        resources.callback(host.close)
        yield LocalClient(host)
