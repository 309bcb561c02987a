"""What is shown in place of objects of libraries."""

from __future__ import annotations

import pytest

from whence.langs.python.trace.library_objects import text_in_place
from whence.langs.python.trace.trace_format import USER_TYPE
from whence.langs.python.trace.trace_tables import TypeEntry
from whence.model.value import FULL, Kind, Value, atom, show

MANY = [(f".a{number}", atom("1")) for number in range(9)]


def instance(kind: str, **attributes: Value) -> Value:
    module, _, name = kind.rpartition(".")
    parts = tuple((f".{step}", value) for step, value in attributes.items())
    brief = text_in_place(TypeEntry(module, name, 0), parts, 0)
    return Value(Kind.OBJECT, name, parts, brief=brief)


def test_an_object_of_a_library_is_one_word_and_shown_in_full_on_request() -> None:
    session = Value(
        Kind.OBJECT, "Parser", tuple(MANY),
        brief=text_in_place(TypeEntry("argparse", "Parser", 0), MANY, 0),
    )  # fmt: skip
    assert show(session) == "<Parser>"
    assert show(session, FULL).startswith("Parser(a0=1, a1=1, ")
    assert session.part((".a3",)) == atom("1"), "its parts can be marked"


@pytest.mark.parametrize("entry", [
    TypeEntry("shop", "Basket", 0),
    TypeEntry("__main__", "Basket", 0),
    TypeEntry("json", "Basket", USER_TYPE),
    TypeEntry("types", "SimpleNamespace", 0),
])  # fmt: skip
def test_objects_of_the_program_are_shown(entry: TypeEntry) -> None:
    assert text_in_place(entry, MANY, 3) is None


def test_what_consists_of_a_few_plain_values_is_shown() -> None:
    done = instance("subprocess.CompletedProcess", returncode=atom("0"), stdout=atom("'x'"))
    assert show(done) == "CompletedProcess(returncode=0, stdout='x')"
    held = instance("queue.Queue", maxsize=atom("0"), mutex=atom("<_thread.lock>"))
    assert show(held) == "<Queue>"


def test_what_a_library_keeps_in_an_object_of_the_program_is_bookkeeping() -> None:
    state = instance("django.db.models.base.ModelState", adding=atom("False"))
    assert state.brief == ""
    assert show(state) == "<ModelState>"


def test_responses_show_their_status_and_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "whence.langs.python.trace.library_objects._installed", lambda: {"requests", "django"}
    )
    monkeypatch.setattr("whence.langs.python.trace.library_objects._is_library", lambda name: True)
    found = instance("requests.models.Response", _content=atom("b'tea'"), status_code=atom("200"))
    assert show(found) == "<Response 200 b'tea'>"
    body = Value(Kind.LIST, "", (("[0]", atom("b'x'")),))
    assert show(instance("django.http.response.HttpResponse", _container=body)) == (
        "<HttpResponse b'x'>"
    )
    sent = instance("requests.models.PreparedRequest", method=atom("'GET'"), url=atom("'/a'"))
    assert show(sent) == "<PreparedRequest GET /a>"
    query = instance("django.db.models.query.QuerySet", _query=atom("SELECT … FROM t"))
    assert show(query) == "<QuerySet SELECT … FROM t>"
    assert show(instance("logging.Logger", name=atom("'shop'"))) == "<Logger shop>"


def test_nodes_of_ast_are_shown_as_source() -> None:
    left, right = instance("ast.Constant", value=atom("1")), instance("ast.Name", id=atom("'b'"))
    total = instance("ast.BinOp", left=left, op=instance("ast.Add"), right=right)
    assert show(total) == "BinOp('1 + b')"
    assert show(left) == "Constant(1)"
    stored = instance("ast.Name", id=atom("'c'"), ctx=instance("ast.Store"))
    assert show(stored) == "Name('c', ctx=Store())"
    unknown = instance("ast.BinOp", left=atom("…"), op=instance("ast.Add"), right=right)
    assert show(unknown) == "BinOp('… + b')"
    assert show(instance("ast.BinOp", left=left)) == "<BinOp>"
