"""Decides which requests reach the page: only those of the browser that was given the address.

Invariant: nothing of a recording leaves the server without the cookie, and no cookie is given
without the token. The token is in the printed address, works once, and is compared in constant
time. Requests of other sites carry no cookie (`SameSite=Strict`), and are refused by their `Host`,
`Origin` and `Sec-Fetch-Site` even if they did. A name that another site points to this machine (DNS
rebinding) fails by `Host`. Cookies do not know ports, so the page has a path that cannot be
guessed, and the cookie is sent to no other path: another server of this machine never sees it.

This is plain ASGI, around all routes, so that no route can be forgotten.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_REQUEST = 256 * 1024
"""In bytes. The longest answer is an expected value that a person typed."""
LONGEST_QUERY = 2048
_COOKIE = "whence"
_HOSTS = ("127.0.0.1", "localhost")
_OWN_SITE = (b"same-origin", b"none")

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), clipboard-read=()",
    "Cache-Control": "no-store",
}


class Guard:
    """Stands before an application; knows the secrets of one server."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._port = port
        self._hosts = {f"{host}:{port}".encode() for host in _HOSTS}
        self._token: str | None = secrets.token_urlsafe(32)
        self._session = secrets.token_urlsafe(32)
        self.path = f"/{secrets.token_urlsafe(12)}"
        """Where the page is."""

    @property
    def address(self) -> str:
        """The address that opens the page, once."""
        return f"http://127.0.0.1:{self._port}/?token={self._token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request: refuse it, exchange a token for a cookie, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if scope["type"] == "websocket":  # the page has none
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        elif refusal is not None:
            await _answer(send, *refusal)
        elif scope["path"] == "/favicon.ico":  # browsers ask for it beside the page of one sentence
            await _answer(send, 204, "")
        elif scope["path"] == "/":
            await self._exchange(scope, send)
        elif not self._is_known(scope):
            await _answer(send, 403, _NO_COOKIE)
        else:
            await self._app(scope, _bounded(receive), _guarded(send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Why a request is refused whoever sends it."""
        if scope["type"] != "http":
            return 403, "Only plain HTTP requests are answered here."
        if _values(scope, b"host") not in [[host] for host in self._hosts]:
            return 421, "This server answers only to its own address on 127.0.0.1."
        own = [[b"http://" + host] for host in self._hosts if [host] == _values(scope, b"host")]
        origins = _values(scope, b"origin")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "Only GET and POST are understood here."
        if (origins and origins not in own) or (scope["method"] == "POST" and not origins):
            return 403, "Requests of other sites are refused."
        site = _values(scope, b"sec-fetch-site")
        opens_page = scope["method"] == "GET" and scope["path"] in ("/", f"{self.path}/")
        if site and site[0] not in _OWN_SITE and not opens_page:
            return 403, "Requests of other sites are refused."
        if len(scope["query_string"]) > LONGEST_QUERY:
            return 414, "The address is too long."
        return _too_large(scope)

    async def _exchange(self, scope: Scope, send: Send) -> None:
        """Give a cookie for the token, and an address without it."""
        query = parse_qs(scope["query_string"].decode("latin-1"))
        offered = query.get("token", [""])[0].encode()
        token = (self._token or "").encode()
        if scope["method"] != "GET" or not token or not hmac.compare_digest(offered, token):
            await _answer(send, 403, _USED if offered else _NO_COOKIE)
            return
        self._token = None
        cookie = f"{_COOKIE}={self._session}; Path={self.path}/; HttpOnly; SameSite=Strict"
        # A page, not a redirect: after a link from elsewhere a browser would keep a strict cookie
        # back, and only a new navigation, which this page begins itself, sends it.
        await _answer(send, 200, _OPENING, cookie=cookie, refresh=f"{self.path}/")

    def _is_known(self, scope: Scope) -> bool:
        """Whether a request has the cookie that this server gave."""
        expected = self._session.encode()
        for header in _values(scope, b"cookie"):
            try:
                morsel = SimpleCookie(header.decode("latin-1")).get(_COOKIE)
            except CookieError:
                continue
            offered = "" if morsel is None else morsel.value
            if hmac.compare_digest(offered.encode(), expected):
                return bool(scope["path"].startswith(f"{self.path}/"))
        return False


_NO_COOKIE = (
    "This page is for the browser that opened it. Use the address that whence printed; if it was "
    "used already, end whence with Ctrl-C and start it again: no answer is lost."
)
_USED = (
    "This address has been used, or is one of an earlier server. Go on in the tab that it opened, "
    "or end whence with Ctrl-C and start it again: no answer is lost."
)
_OPENING = "Opening the session …"


def _values(scope: Scope, name: bytes) -> list[bytes]:
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    return [value for header, value in headers if header.lower() == name]


def _too_large(scope: Scope) -> tuple[int, str] | None:
    lengths = _values(scope, b"content-length")
    if any(not length.isdigit() for length in lengths):
        return 400, "The length of the request is not a number."
    if any(int(length) > LARGEST_REQUEST for length in lengths):
        return 413, f"The request is larger than {LARGEST_REQUEST:,} bytes."
    return None


def _bounded(receive: Receive) -> Receive:
    """Reads at most as much of a request as is allowed, even if it does not say how long it is."""
    read = 0

    async def receive_some() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > LARGEST_REQUEST:
            raise RequestTooLarge
        return message

    return receive_some


class RequestTooLarge(Exception):
    """A request without a stated length went on beyond what is allowed."""


def _guarded(send: Send) -> Send:
    """Adds the headers that keep a page harmless to every response."""

    async def send_guarded(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            names = {name.encode().lower() for name in HEADERS}
            own = [pair for pair in message.get("headers", ()) if pair[0].lower() not in names]
            message = {**message, "headers": own + _raw(HEADERS)}
        await send(message)

    return send_guarded


def _raw(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


async def _answer(
    send: Callable[[Message], Awaitable[None]],
    status: int,
    text: str,
    *,
    cookie: str = "",
    refresh: str = "",
) -> None:
    """A small page of one sentence, which holds nothing of a recording."""
    headers = {**HEADERS, "Content-Type": "text/html; charset=utf-8"}
    if cookie:
        headers["Set-Cookie"] = cookie
    if refresh:
        headers["Refresh"] = f"0; url={refresh}"
    head = '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>whence</title>'
    body = f"{head}</head><body><p>{text}</p></body></html>".encode() if text else b""
    if body:
        headers["Content-Length"] = str(len(body))
    await send({"type": "http.response.start", "status": status, "headers": _raw(headers)})
    await send({"type": "http.response.body", "body": body})
