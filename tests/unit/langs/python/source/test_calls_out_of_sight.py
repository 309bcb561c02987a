"""Calls in a function's text that may have run code that was not recorded."""

from __future__ import annotations

import pytest

from whence.langs.python.source.python_syntax import PythonSyntax
from whence.model.call import Binding, Call, Function, Location, Outcome, OutcomeKind, Rule
from whence.model.value import Kind, Value

SOURCE = """\
import json, os, subprocess
import library
from library import thing as other
from mine import helper
def inner(x): return x
class Made: pass
def outer(text, box, call):
    {statement}
"""


def unseen(statement: str, *callees: str, syntax: PythonSyntax | None = None) -> list[str]:
    where = Location("program.py", 7)
    function = Function("program.outer", "outer", "program", where)
    arguments = (
        Binding("text", Value(Kind.ATOM, "'a'")),
        Binding("box", Value(Kind.OBJECT, "Box")),
        Binding("call", Value(Kind.OBJECT, "partial")),
    )
    rule = Rule(function.name, function.name, where)
    call = Call(function, rule, Outcome(OutcomeKind.RETURNED), arguments)
    called = [Function(name, name) for name in callees]
    text = SOURCE.format(statement=statement)
    return list((syntax or PythonSyntax()).calls_out_of_sight(text, call, called, called))


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("return library.apply(inner, [1])", ["library.apply"]),
        ("return other(1)", ["other"]),
        ("run = library.Runner(); return run.go()", ["library.Runner", "run.go"]),
        ("with library.pool() as pool: return pool.map(inner, text)", ["library.pool", "pool.map"]),
        ("return [library.f(x) for x in text]", ["library.f"]),
        ("return subprocess.run(['true'])", ["subprocess.run"]),
        ("return os.system('true')", ["os.system"]),
        ("exec('x = 1', {})", ["exec"]),
        ("return box.work()", ["box.work"]),
        ("return call(1)", ["call"]),
        ("return len(text) + sorted(text)[0] + json.loads(text)", []),
        ("return text.strip().split() + ', '.join(text) + [].copy()", []),
        ("return os.path.join(text, 'a')", []),
        ("return inner(Made())", []),
        ("def g(): return library.f()\n    return g", []),
        ("return lambda: library.f()", []),
    ],
)
def test_what_may_have_run_out_of_sight_is_named(statement: str, names: list[str]) -> None:
    assert unseen(statement) == names


def test_what_was_recorded_is_not_named() -> None:
    assert unseen("return helper(1)", "helper") == []
    assert unseen("return call(1)", "inner") == []
    assert unseen("return box.work()", "Box.work") == []
    assert unseen("return exec('f()', globals())", "<module>") == []
    assert unseen("return library.apply(inner)", "inner") == ["library.apply"]


def test_code_that_was_left_out_is_named() -> None:
    assert unseen("return inner(1)", syntax=PythonSyntax(leaves_out=True)) == ["inner"]
    assert unseen("return inner(1)", "inner", syntax=PythonSyntax(leaves_out=True)) == []


def test_what_other_threads_and_processes_may_have_sent_is_named() -> None:
    assert unseen("return box.get()") == []
    assert unseen("return box.get()", syntax=PythonSyntax(has_others=True)) == ["box.get"]
    assert unseen("return text.join('a')", syntax=PythonSyntax(has_others=True)) == []
