"""Each attack on the page is refused: by another user, another site, another server."""

from __future__ import annotations

import json
import socket

import pytest

from whence.ui.web.guard import HEADERS, LARGEST_REQUEST

CALL = json.dumps({"method": "answer", "params": {}})


# --- the token -----------------------------------------------------------------------------------


def test_the_address_names_the_loopback_interface_and_a_token(running):
    assert running.server.address.startswith(f"http://127.0.0.1:{running.server.port}/?token=")


def test_the_server_listens_on_the_loopback_interface_only(running):
    assert running.server._socket.getsockname()[0] == "127.0.0.1"


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_get(running):
    _, headers, text = running.request("GET", running.server.address.removeprefix(running.origin))
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert f"Path={running.path}/" in cookie
    assert "token" not in headers["refresh"] + text


def test_the_token_works_once(running):
    address = running.server.address.removeprefix(running.origin)
    running.enter()
    status, headers, text = running.request("GET", address, cookie=False)
    assert status == 403
    assert "set-cookie" not in headers
    assert "start it again" in text


@pytest.mark.parametrize("query", ["", "?token=", "?token=wrong", "?token=%ff", "?other=1"])
def test_without_the_token_nothing_is_given(running, query):
    status, headers, text = running.request("GET", f"/{query}")
    assert status == 403
    assert "set-cookie" not in headers
    assert running.path not in text


def test_a_wrong_token_does_not_use_up_the_right_one(running):
    running.request("GET", "/?token=wrong")
    running.enter()
    assert running.request("GET", f"{running.path}/")[0] == 200


def test_another_user_of_the_machine_without_the_cookie_gets_nothing(entered):
    for path in ("/", "/main.js", "/style.css", "/events"):
        assert entered.request("GET", entered.path + path, cookie=False)[0] == 403
    assert entered.post(CALL, cookie=False)[0] == 403
    assert entered.service.calls == []


def test_a_browser_that_asks_for_an_icon_gets_none(running):
    assert running.request("GET", "/favicon.ico")[0] == 204


@pytest.mark.parametrize("cookie", ["whence=", "whence=x", "other=1", "whence", 'whence="', ";;="])
def test_a_cookie_that_was_not_given_here_is_refused(entered, cookie):
    entered.cookie = cookie
    assert entered.request("GET", f"{entered.path}/")[0] == 403


def test_the_page_has_a_path_that_no_other_server_can_guess(entered):
    assert len(entered.path) > 12
    assert entered.request("GET", "/page/")[0] == 403


def test_nothing_is_logged(entered, capfd):
    entered.request("GET", f"{entered.path}/")
    entered.request("GET", "/?token=secret")
    written = capfd.readouterr()
    assert "token" not in written.out + written.err
    assert "GET" not in written.out + written.err


# --- other sites ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "[::1]:{port}", ""]
)
def test_a_name_that_was_rebound_to_this_machine_is_refused(entered, host):
    host = host.format(port=entered.server.port)
    assert entered.request("GET", f"{entered.path}/", host=host)[0] in (400, 421)
    assert entered.service.calls == []


def test_localhost_is_this_machine(entered):
    host = f"localhost:{entered.server.port}"
    assert entered.request("GET", f"{entered.path}/", host=host)[0] == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1", "http://127.0.0.1:1", "file://"]
)
def test_a_request_that_another_site_makes_is_refused_even_with_the_cookie(entered, origin):
    assert entered.post(CALL, {"Origin": origin})[0] == 403
    assert entered.request("GET", f"{entered.path}/events", {"Origin": origin})[0] == 403
    assert entered.service.calls == []


def test_a_request_without_an_origin_changes_nothing(entered):
    headers = {"Content-Type": "application/json"}
    assert entered.request("POST", f"{entered.path}/call", headers, CALL)[0] == 403
    assert entered.service.calls == []


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_fetch_by_another_site_is_refused(entered, site):
    assert entered.post(CALL, {"Sec-Fetch-Site": site})[0] == 403
    assert entered.request("GET", f"{entered.path}/main.js", {"Sec-Fetch-Site": site})[0] == 403


def test_a_form_of_another_site_cannot_be_a_call(entered):
    headers = {"Content-Type": "text/plain"}
    assert entered.post(CALL, headers)[0] == 415
    assert entered.service.calls == []


def test_websockets_are_refused(entered):
    with socket.create_connection(("127.0.0.1", entered.server.port), timeout=10) as connection:
        lines = [
            f"GET {entered.path}/events HTTP/1.1", f"Host: 127.0.0.1:{entered.server.port}",
            "Upgrade: websocket", "Connection: Upgrade", f"Cookie: {entered.cookie}",
            f"Origin: {entered.origin}x", "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "", "",
        ]  # fmt: skip
        connection.sendall("\r\n".join(lines).encode())
        answer = connection.recv(4096)
    assert answer.startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"])
def test_other_methods_are_refused(entered, method):
    status, headers, _ = entered.request(method, f"{entered.path}/call")
    assert status in (400, 405)
    assert "access-control-allow-origin" not in headers


# --- what is served ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/main.js", "/none.js"])
def test_every_response_has_the_headers_that_keep_it_harmless(entered, path):
    _, headers, _ = entered.request("GET", entered.path + path)
    for name, value in HEADERS.items():
        assert headers[name.lower()] == value
    _, headers, _ = entered.request("GET", "/", cookie=False)
    assert headers["referrer-policy"] == "no-referrer"


def test_the_policy_allows_no_inline_scripts_and_no_other_address():
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "require-trusted-types-for 'script'" in policy


@pytest.mark.parametrize(
    "path",
    ["/../guard.py", "/..%2fguard.py", "/%2e%2e/server.py", "//etc/passwd", "/static/main.js",
     "/main.js%00", "/....//guard.py"],
)  # fmt: skip
def test_no_file_is_served_but_those_of_the_page(entered, path):
    status, _, text = entered.request("GET", entered.path + path)
    assert status in (403, 404)
    assert "import" not in text


# --- sizes ---------------------------------------------------------------------------------------


def test_a_large_request_is_refused_before_it_is_read(entered):
    headers = {"Content-Length": str(LARGEST_REQUEST + 1)}
    assert entered.post("{}", headers)[0] == 413
    assert entered.service.calls == []


def test_a_large_request_that_hides_its_length_is_refused(entered):
    chunk = b"a" * 65536
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for _ in range(6)) + b"0\r\n\r\n"
    with socket.create_connection(("127.0.0.1", entered.server.port), timeout=10) as connection:
        lines = [
            f"POST {entered.path}/call HTTP/1.1", f"Host: 127.0.0.1:{entered.server.port}",
            f"Origin: {entered.origin}", f"Cookie: {entered.cookie}",
            "Content-Type: application/json", "Transfer-Encoding: chunked", "Connection: close",
            "", "",
        ]  # fmt: skip
        connection.sendall("\r\n".join(lines).encode() + body)
        answer = connection.recv(4096)
    assert answer.startswith(b"HTTP/1.1 413")
    assert entered.service.calls == []


def test_a_long_address_is_refused(entered):
    assert entered.request("GET", f"{entered.path}/?{'a' * 3000}")[0] == 414
