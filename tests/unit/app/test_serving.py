"""The protocol over a socket and over standard streams, and what a command does without either."""

from __future__ import annotations

import io
import json
import os
import socket
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from example_copies import own_copy

from whence.app.serving import LONGEST_PATH, SocketServer, serve_lines
from whence.app.session_client import client
from whence.app.session_host import MAX_REQUEST, SessionHost
from whence.errors import WhenceError
from whence.protocol.problems import Problem

TREE = own_copy("sqrtest.jsonl")
HELLO = b'{"method": "hello", "id": 3}\n'


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="whence-") as folder:  # paths of sockets are short
        yield Path(folder) / "serve.sock"


@pytest.fixture
def server(place: Path) -> Iterator[SocketServer]:
    host = SessionHost()
    running = SocketServer(host, place)
    thread = threading.Thread(target=running.serve)
    thread.start()
    yield running
    running.stop()
    thread.join()
    host.close()


def test_each_line_is_answered_and_one_that_is_too_long_costs_only_itself() -> None:
    source = io.BytesIO(b"\n" + HELLO + b"x" * (3 * MAX_REQUEST) + b"\n" + HELLO.strip())
    target = io.BytesIO()
    serve_lines(SessionHost(), source, target)
    first, second, third = map(json.loads, target.getvalue().splitlines())
    assert first["result"]["protocol"] == 1
    assert second["error"]["code"] == "too-large"
    assert third == first


def test_only_the_user_can_use_the_socket(server: SocketServer) -> None:
    assert stat.S_IMODE(server.path.stat().st_mode) == 0o600


def test_connections_share_the_sessions(server: SocketServer) -> None:
    with client(server.path) as one, client(server.path) as other:
        handle = one.ask("open", recording=str(TREE), keep=False)["session"]
        one.ask("answer", session=handle, verdict="right")
        assert other.ask("next", session=handle)["answers"] == 1
        with pytest.raises(Problem, match="no session"):
            other.ask("next", session="nothing")


def test_a_client_that_leaves_in_the_middle_harms_nobody(server: SocketServer) -> None:
    with socket.socket(socket.AF_UNIX) as rude:
        rude.connect(os.fspath(server.path))
        rude.sendall(b'{"method": "hel')
    with client(server.path) as polite:
        assert polite.ask("hello")["protocol"] == 1


def test_a_second_server_is_refused_and_a_dead_one_replaced(server: SocketServer) -> None:
    with pytest.raises(WhenceError, match="another whence serves there"):
        SocketServer(SessionHost(), server.path)
    dead = server.path.with_name("dead.sock")
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(os.fspath(dead))
    SocketServer(SessionHost(), dead).stop()
    assert not dead.exists()


def test_a_file_in_the_way_is_left_alone(place: Path) -> None:
    place.write_text("mine")
    with pytest.raises(WhenceError, match=r"serve\.sock"):
        SocketServer(SessionHost(), place)
    assert place.read_text() == "mine"


def test_a_path_that_is_too_long_is_refused(place: Path) -> None:
    with pytest.raises(WhenceError, match="too long"):
        SocketServer(SessionHost(), place.with_name("x" * LONGEST_PATH))


def test_without_a_server_the_session_goes_on_from_its_log(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHENCE_SOCKET", str(place))
    with client() as first:
        handle = first.ask("open", recording=str(TREE), fresh=True)["session"]
        first.ask("answer", session=handle, verdict="right")
    with client() as second:
        assert second.ask("next", session=handle)["answers"] == 1
    with pytest.raises(WhenceError, match="no server answers there"), client(place):
        pass
