"""The page gets what the session says, and nothing that it could misuse."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from whence.app.frontends import open_any
from whence.app.page_service import PageService
from whence.app.service_progress import ServiceProgress
from whence.app.session_host import SessionHost
from whence.app.session_opening import Surroundings, prepare_session
from whence.app.session_request import SessionRequest
from whence.app.session_service import SessionService
from whence.errors import UsageError
from whence.protocol.problems import Code, Problem

TREE = Path(__file__).parents[3] / "examples" / "sqrtest.jsonl"


def service_of(path: Path, resources: ExitStack, *, browse: bool = False) -> Any:
    opened, notes, progress = open_any(path), list[str](), ServiceProgress()
    surroundings = Surroundings(notes.append, progress, lambda: None)
    prepared = prepare_session(SessionRequest(), opened, path, surroundings, resources)
    host = SessionHost()
    session = SessionService(path.name, path, prepared.driver, ExitStack(), notes, opened.symptoms)
    host.add(session)
    if not browse:
        session.begin(prepared, (), "", fresh=False)
    return PageService(host, session, progress, browse=browse)


@pytest.fixture
def page():
    with ExitStack() as resources:
        yield service_of(TREE, resources)


def test_a_session_can_be_held_to_its_end(page):
    view: Any = page.call("next", {})
    suspects = view["suspects"]
    while view["needs"] == "question":
        view = page.call("answer", {"verdict": "wrong", "revision": view["revision"]})
    assert view["diagnosis"]["status"] == "found"
    assert view["history"][0] == suspects
    assert view["history"][-1] < suspects
    assert page.call("report", {})["html"].startswith("<!DOCTYPE html>")


def test_the_page_cannot_open_record_or_write_anything(page, tmp_path):
    for method in ("open", "record", "save", "close", "sessions", "stop", "hello", "__init__"):
        with pytest.raises(UsageError, match="no method"):
            page.call(method, {"path": str(tmp_path / "file")})
    while page.call("next", {})["needs"] == "question":
        page.call("answer", {"verdict": "wrong"})
    with pytest.raises(Problem):
        page.call("test", {"path": str(tmp_path / "file"), "write": True})
    assert list(tmp_path.iterdir()) == []


def test_another_session_cannot_be_named(page):
    assert page.call("next", {"session": "another"})["needs"] == "question"


def test_an_answer_to_an_earlier_question_is_refused(page):
    view = page.call("next", {})
    page.call("answer", {"verdict": "wrong", "revision": view["revision"]})
    with pytest.raises(Problem) as problem:
        page.call("answer", {"verdict": "wrong", "revision": view["revision"]})
    assert problem.value.code is Code.STALE


def test_pictures_follow_the_answers(page):
    before = page.call("picture", {"pixels": 500})
    node = page.call("next", {})["question"]["call"]["call"]
    assert before["asked"]["id"] == node
    page.call("answer", {"verdict": "right"})
    after = page.call("picture", {"pixels": 500})
    assert after["suspects"] < before["suspects"]
    page.call("undo", {})
    assert page.call("picture", {"pixels": 500})["suspects"] == before["suspects"]


def test_every_change_has_another_revision(page):
    revisions = [page.revision()]
    for method, parameters in (("answer", {"verdict": "right"}), ("undo", {}), ("redo", {})):
        page.call(method, parameters)
        revisions.append(page.revision())
    assert len(set(revisions)) == 4
    assert page.call("picture", {}) and page.revision() == revisions[-1]


def test_who_only_looks_can_change_nothing():
    with ExitStack() as resources:
        page = service_of(TREE, resources, browse=True)
        assert page.call("next", {})["needs"] == "nothing"
        assert page.call("call", {"call": 1})["equation"]
        for method in ("answer", "undo", "trust", "allow", "wrong"):
            with pytest.raises(UsageError):
                page.call(method, {"verdict": "wrong"})


def test_finishing_ends_the_page(page):
    assert not page.ended()
    page.call("finish", {})
    assert page.ended()
