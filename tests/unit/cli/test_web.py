"""`whence web` and `--web`: what is printed, how they end, and what is missing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from whence.cli.main import main
from whence.ui.web import server

TREE = Path(__file__).parents[3] / "examples" / "sqrtest.jsonl"


@pytest.fixture
def asked(monkeypatch):
    """What the page asks for while it is served; nothing is served."""
    requests: list[tuple[str, dict[str, object]]] = []
    answers: list[object] = []

    def serve(self, shown):
        shown(self.address)
        for method, parameters in requests:
            answers.append(self._service.call(method, parameters))
        self._socket.close()

    monkeypatch.setattr(server.PageServer, "serve", serve)
    return requests, answers


def test_the_address_is_one_line_and_the_session_is_kept(asked, capsys, tmp_path):
    requests, answers = asked
    requests.append(("answer", {"verdict": "wrong"}))
    log = tmp_path / "session.jsonl"
    assert main(["web", str(TREE), "--no-open", "--session", str(log)]) == 1
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("http://127.0.0.1:")
    assert "?token=" in first
    assert "The answers are kept" in " ".join(rest)
    requests[:] = [("next", {})]
    main(["debug", "--web", str(TREE), "--no-open", "--session", str(log)])
    assert answers[-1]["question"]["number"] == 2


def test_a_session_that_was_finished_ends_with_the_diagnosis(monkeypatch, capsys):
    def serve(self, shown):
        shown(self.address)
        while self._service.call("next", {})["needs"] == "question":
            self._service.call("answer", {"verdict": "wrong"})
        self._socket.close()

    monkeypatch.setattr(server.PageServer, "serve", serve)
    assert main(["web", str(TREE), "--no-open", "--no-session", "--format", "json"]) == 0
    written = capsys.readouterr()
    assert json.loads(written.out)["status"] == "found"
    assert "token" in written.err


def test_without_the_packages_the_error_says_what_to_install(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "whence.ui.web.server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["web", str(TREE), "--no-open"]) == 2
    assert "pip install 'whence[web]'" in capsys.readouterr().err


def test_a_port_that_is_taken_is_an_error(capsys):
    listener = server._listen(0)
    with listener:
        port = str(listener.getsockname()[1])
        assert main(["web", str(TREE), "--no-open", "--no-session", "--port", port]) == 2
    assert "leave out --port" in capsys.readouterr().err


def test_a_tree_is_converted_for_other_viewers(tmp_path, capsys):
    for form, member in (("speedscope", "profiles"), ("perfetto", "traceEvents")):
        file = tmp_path / form
        assert main(["convert", str(TREE), "--to", form, "-o", str(file)]) == 0
        assert json.loads(file.read_text())[member]
        assert main(["convert", str(TREE), "--to", form]) == 0
        assert json.loads(capsys.readouterr().out)[member]
