"""A server of the page over a service that only counts, in a thread of its own."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from whence.errors import UsageError

pytest.importorskip("uvicorn", reason="the page needs the extra whence[web]")

from whence.ui.web.server import PageServer


@dataclass
class CountingService:
    """Counts what is asked; `fail` fails."""

    calls: list[tuple[str, Mapping[str, object]]] = field(default_factory=list)
    changes: int = 0

    def call(self, method: str, parameters: Mapping[str, object]) -> object:
        """The method's name."""
        self.calls.append((method, parameters))
        if method == "fail":
            raise UsageError("this always fails")
        if method == "break":
            raise RuntimeError("a secret of the program")
        self.changes += method == "answer"
        return {"did": method}

    def revision(self) -> int:
        """How often `answer` was called."""
        return self.changes

    def progress(self) -> object:
        """Nothing takes long."""
        return None

    def ended(self) -> bool:
        """Never."""
        return False


@dataclass
class Running:
    """A server that runs, and a browser as it should be."""

    server: PageServer
    service: CountingService
    cookie: str = ""

    @property
    def path(self) -> str:
        """Where the page is."""
        return self.server.guard.path

    @property
    def origin(self) -> str:
        """The only origin that is answered."""
        return f"http://127.0.0.1:{self.server.port}"

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | str | None = None,
        *,
        cookie: bool = True,
        host: str | None = None,
    ) -> tuple[int, dict[str, str], str]:
        """Status, headers and text of a response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=10)
        try:
            connection.putrequest(method, path, skip_host=host is not None)
            if host:
                connection.putheader("Host", host)
            if cookie and self.cookie:
                connection.putheader("Cookie", self.cookie)
            for name, value in (headers or {}).items():
                connection.putheader(name, value)
            data = body.encode() if isinstance(body, str) else body
            if data is not None and "Content-Length" not in (headers or {}):
                connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data)
            response = connection.getresponse()
            given = {name.lower(): value for name, value in response.getheaders()}
            return response.status, given, response.read().decode()
        finally:
            connection.close()

    def post(
        self, body: str, headers: Mapping[str, str] | None = None, *, cookie: bool = True
    ) -> tuple[int, dict[str, str], str]:
        """A call as the page makes it."""
        given = {"Content-Type": "application/json", "Origin": self.origin, **(headers or {})}
        return self.request("POST", f"{self.path}/call", given, body, cookie=cookie)

    def enter(self) -> None:
        """Exchange the token for a cookie."""
        address = self.server.address.removeprefix(self.origin)
        status, headers, _ = self.request("GET", address)
        assert status == 200
        self.cookie = headers["set-cookie"].partition(";")[0]


@contextmanager
def server_of(service: CountingService) -> Iterator[Running]:
    """A server that runs in a thread."""
    server = PageServer(service)
    thread = threading.Thread(target=server.serve, args=[lambda address: None], daemon=True)
    thread.start()
    yield Running(server, service)
    server.stop()
    thread.join(10)
    assert not thread.is_alive()


@pytest.fixture
def running() -> Iterator[Running]:
    """A server that nobody has entered yet."""
    with server_of(CountingService()) as running:
        yield running


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Running, str]]:
    """A server that a browser has entered, and its cookie."""
    with server_of(CountingService()) as running:
        running.enter()
        yield running, running.cookie


@pytest.fixture
def entered(shared: tuple[Running, str]) -> Running:
    """That server, of which nothing was asked yet."""
    running, cookie = shared
    running.cookie = cookie
    running.service.calls.clear()
    running.service.changes = 0
    return running
