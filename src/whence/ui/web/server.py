"""The server of the page: routes, events for all tabs, start and end.

It binds to the loopback interface only. One thread answers all that is about the session, one
request after the other, because a session is no more than one person's. The server knows nothing of
what is asked: methods and their answers are the `PageService`'s.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
import tempfile
import webbrowser
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Protocol

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from whence.errors import WhenceError
from whence.protocol.problems import problem_of
from whence.ui.web.guard import Guard, RequestTooLarge

HOST = "127.0.0.1"
_HEARTBEAT = 10.0
"""In seconds: how often a tab is told that the server is there."""
_PATIENCE = 0.4
"""In seconds: what takes longer is told of."""
_MOST_TABS = 32
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


class PageService(Protocol):
    """What the page asks for. All methods are called in one thread."""

    def call(self, method: str, parameters: Mapping[str, object]) -> object:
        """The answer, as JSON has it; `WhenceError` says why there is none."""

    def revision(self) -> int:
        """A number that changes whenever the page has to be drawn again."""

    def progress(self) -> object:
        """What takes long at this moment, if anything does; called from any thread."""

    def ended(self) -> bool:
        """Whether the page is no longer needed."""


class PageServer:
    """Serves one session until it ends."""

    def __init__(self, service: PageService, port: int = 0) -> None:
        self._service = service
        self._socket = _listen(port)
        self._tabs: set[asyncio.Queue[str]] = set()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="session")
        self._files = _static_files()
        self.port: int = self._socket.getsockname()[1]
        self.guard = Guard(self._application(), self.port)
        self._uvicorn = uvicorn.Server(
            uvicorn.Config(
                self.guard,
                log_config=None,
                access_log=False,
                log_level="critical",
                lifespan="off",
                ws="none",
                server_header=False,
                date_header=False,
                timeout_graceful_shutdown=1,
                h11_max_incomplete_event_size=16 * 1024,
            )
        )

    @property
    def address(self) -> str:
        """What opens the page; it holds the token."""
        return self.guard.address

    def serve(self, shown: Callable[[str], None]) -> None:
        """Answer requests until the session ends or Ctrl-C; `shown` gets the address first."""
        shown(self.address)
        try:
            self._uvicorn.run(sockets=[self._socket])
        finally:
            self._worker.shutdown(wait=False, cancel_futures=True)
            self._socket.close()

    def stop(self) -> None:
        """End the server, from any thread."""
        self._uvicorn.should_exit = True

    # --- routes --------------------------------------------------------------------------------

    def _application(self) -> ASGIApp:
        """All routes are below the guard's path, which the guard itself adds and checks."""
        return Starlette(
            routes=[
                Route("/{page}/call", self._call, methods=["POST"]),
                Route("/{page}/events", self._events, methods=["GET"]),
                Route("/{page}/", self._file, methods=["GET"]),
                Route("/{page}/{name}", self._file, methods=["GET"]),
            ]
        )

    async def _file(self, request: Request) -> Response:
        """A file of the page itself: only those that are known by name."""
        name = request.path_params.get("name") or "index.html"
        content = self._files.get(name)
        if content is None:
            return Response("There is no such file.", 404, media_type="text/plain")
        return Response(content, media_type=_TYPES[Path(name).suffix])

    async def _call(self, request: Request) -> Response:
        """One method of the service."""
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return _problem(415, "unreadable", "A request has to be JSON.")
        try:
            order = json.loads(await request.body())
            method, parameters = order["method"], order.get("params") or {}
            if not isinstance(method, str) or not isinstance(parameters, dict):
                raise TypeError
        except RequestTooLarge:
            return _problem(413, "too-large", "The request is too large.")
        except (ValueError, TypeError, KeyError, RecursionError):
            return _problem(400, "unreadable", "The request is not a method with parameters.")
        before = self._service.revision()
        loop = asyncio.get_running_loop()
        try:
            answer = await self._watched(
                loop.run_in_executor(self._worker, self._service.call, method, parameters)
            )
        except WhenceError as error:
            return JSONResponse({"error": problem_of(error).message()}, 409)
        except Exception as problem:  # a bug of whence: the page says so, and the server goes on
            print(f"whence: {type(problem).__name__}: {problem}", file=sys.stderr)
            return _problem(500, "bug", f"This is a bug in whence: {type(problem).__name__}.")
        finally:
            if self._service.revision() != before:
                self._tell("changed", self._service.revision())
        if self._service.ended():
            loop.call_later(0.3, self.stop)
        return JSONResponse({"result": answer})

    async def _watched(self, work: asyncio.Future[object]) -> object:
        """Wait for an answer, and meanwhile tell all tabs what takes long."""
        told = False
        while not work.done():
            await asyncio.wait([work], timeout=_PATIENCE)
            progress = None if work.done() else self._service.progress()
            if progress is not None or told:
                self._tell("progress", progress)
                told = True
        return work.result()

    async def _events(self, request: Request) -> Response:
        """What happens in other tabs, as server-sent events."""
        if len(self._tabs) >= _MOST_TABS:
            return _problem(429, "too-many", f"There are {_MOST_TABS} tabs of this session open.")
        return StreamingResponse(self._stream(), media_type="text/event-stream")

    async def _stream(self) -> AsyncIterator[str]:
        queue: asyncio.Queue[str] = asyncio.Queue(64)
        self._tabs.add(queue)
        try:
            yield _event("changed", self._service.revision())
            while not self._uvicorn.should_exit:
                with contextlib.suppress(TimeoutError):
                    yield await asyncio.wait_for(queue.get(), _HEARTBEAT)
                    continue
                yield ": there\n\n"
        finally:
            self._tabs.discard(queue)

    def _tell(self, name: str, data: object) -> None:
        for queue in self._tabs:
            with contextlib.suppress(asyncio.QueueFull):
                queue.put_nowait(_event(name, data))


def _event(name: str, data: object) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


def _problem(status: int, code: str, message: str) -> Response:
    return JSONResponse({"error": {"code": code, "message": message}}, status)


def _static_files() -> dict[str, bytes]:
    folder = files("whence.ui.web") / "static"
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def _listen(port: int) -> socket.socket:
    """A listening socket on the loopback interface."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as problem:
        listener.close()
        raise WhenceError(
            f"port {port} cannot be used ({problem.strerror}): leave out --port for a free one"
        ) from problem
    listener.listen(64)
    return listener


def open_browser(address: str, folder: Path) -> Path:
    """Open the address in the user's browser, without putting the token on a command line.

    Other users can see the arguments of a process. So the browser is given a file that only this
    user can read, which leads on to the address. Returns that file.
    """
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=folder, prefix="open-", suffix=".html", delete=False
    ) as file:  # made with mode 0600
        target = escape(address, quote=True)
        file.write(
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>whence</title>'
            f'<meta name="referrer" content="no-referrer">'
            f'<meta http-equiv="refresh" content="0; url={target}"></head>'
            f'<body><a href="{target}">Open the session</a></body></html>'
        )
    with contextlib.suppress(webbrowser.Error, OSError):
        webbrowser.open(Path(file.name).as_uri())
    return Path(file.name)
