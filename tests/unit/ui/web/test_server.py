"""The server passes calls on, says what is wrong with others, and tells all tabs of changes."""

from __future__ import annotations

import http.client
import json
import stat
from pathlib import Path

import pytest

from whence.errors import WhenceError
from whence.ui.web import server
from whence.ui.web.server import PageServer, open_browser


def test_a_call_reaches_the_service_and_its_answer_comes_back(entered):
    body = json.dumps({"method": "next", "params": {"a": [1]}})
    status, _, text = entered.post(body)
    assert (status, json.loads(text)) == (200, {"result": {"did": "next"}})
    assert entered.service.calls == [("next", {"a": [1]})]


@pytest.mark.parametrize(
    "body", ["", "[", "[]", "1", '"a"', "{}", '{"method": 1}', '{"method": "a", "params": [1]}',
             "[" * 100_000, "\xff"],
)  # fmt: skip
def test_what_is_no_call_is_refused_with_a_sentence(entered, body):
    status, _, text = entered.post(body)
    assert status == 400
    assert json.loads(text)["error"]["message"].endswith(".")


def test_an_error_of_the_session_is_an_answer(entered):
    status, _, text = entered.post('{"method": "fail"}')
    assert status == 409
    error = json.loads(text)["error"]
    assert (error["code"], error["message"]) == ("bad-parameters", "this always fails")


def test_a_bug_says_no_more_than_its_kind_and_ends_nothing(entered, capfd):
    status, _, text = entered.post('{"method": "break"}')
    assert status == 500
    assert "secret" not in text
    assert "RuntimeError" in capfd.readouterr().err
    assert entered.post('{"method": "next"}')[0] == 200


def test_all_tabs_hear_of_a_change(entered):
    tabs = []
    for _ in range(2):
        connection = http.client.HTTPConnection("127.0.0.1", entered.server.port, timeout=10)
        connection.request("GET", f"{entered.path}/events", headers={"Cookie": entered.cookie})
        tabs.append((connection, connection.getresponse()))
    for _, response in tabs:
        assert [response.readline() for _ in range(3)] == [
            b"event: changed\n", b"data: 0\n", b"\n",
        ]  # fmt: skip
    entered.post('{"method": "answer"}')
    for connection, response in tabs:
        assert [response.readline() for _ in range(2)] == [b"event: changed\n", b"data: 1\n"]
        connection.close()


def test_there_is_a_limit_to_the_tabs(entered, monkeypatch):
    monkeypatch.setattr(server, "_MOST_TABS", 0)
    status, _, text = entered.request("GET", f"{entered.path}/events")
    assert status == 429
    assert "tabs" in text


def test_a_port_that_is_taken_is_an_error_with_a_cure(running):
    with pytest.raises(WhenceError, match="leave out --port"):
        PageServer(running.service, running.server.port)


def test_the_token_is_on_no_command_line(tmp_path, monkeypatch):
    opened = []

    def note(address):
        opened.append(address)
        return True

    monkeypatch.setattr("webbrowser.open", note)
    file = open_browser("http://127.0.0.1:1/?token=s3cret&b", tmp_path)
    assert "s3cret" not in opened[0]
    assert list(tmp_path.iterdir()) == [file]
    assert file.as_uri() == opened[0]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "http://127.0.0.1:1/?token=s3cret&amp;b" in file.read_text()


def test_the_page_names_no_address_and_has_no_inline_script():
    folder = Path(server.__file__).parent / "static"
    for file in folder.iterdir():
        text = file.read_text()
        assert "https://" not in text, file
        assert text.count("http://") == text.count("http://www.w3.org/2000/svg"), file
        for sink in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert sink not in text, file
    assert "<script>" not in (folder / "index.html").read_text()
    assert "style=" not in (folder / "index.html").read_text()
