"""Calls in a function's text that may have run code that was not recorded."""

from __future__ import annotations

import pytest

from whence.langs.python.source.classes_out_of_sight import RecordedType
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


def unseen(
    statement: str, *callees: str, syntax: PythonSyntax | None = None, others: tuple[str, ...] = ()
) -> list[str]:
    where = Location("program.py", 7)
    function = Function("program.outer", "outer", "program", where)
    arguments = (
        Binding("text", Value(Kind.ATOM, "'a'")),
        Binding("box", Value(Kind.OBJECT, "Box")),
        Binding("call", Value(Kind.OBJECT, "partial")),
        Binding("jobs", Value(Kind.ATOM, "<queue.Queue>")),
    )
    rule = Rule(function.name, function.name, where)
    call = Call(function, rule, Outcome(OutcomeKind.RETURNED), arguments)
    called = [Function(name, name) for name in callees]
    text = SOURCE.format(statement=statement)
    functions = [*called, *(Function(name, name) for name in others)]
    return list((syntax or PythonSyntax()).calls_out_of_sight(text, call, called, functions))


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


def test_a_recorded_function_that_was_not_called_gave_nothing() -> None:
    statement = "return sum(inner(x) for x in text[1:])"
    assert unseen(statement, others=("inner",)) == []
    assert unseen(statement, "other") == ["sum((inner(x) for x in text[1:]))"]


def test_code_that_was_left_out_is_named() -> None:
    assert unseen("return inner(1)", syntax=PythonSyntax(leaves_out=True)) == ["inner"]
    assert unseen("return inner(1)", "inner", syntax=PythonSyntax(leaves_out=True)) == []


def test_what_other_threads_and_processes_may_have_sent_is_named() -> None:
    assert unseen("return box.get()") == []
    assert unseen("return box.get()", syntax=PythonSyntax(has_others=True)) == ["box.get"]
    assert unseen("return text.join('a')", syntax=PythonSyntax(has_others=True)) == []
    assert unseen("return jobs.get()", syntax=PythonSyntax(has_others=True)) == ["jobs.get"]


LIBRARY_TYPES = PythonSyntax(types=lambda: [RecordedType("library", "Box")])


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("return box.total", ["box.total"]),
        ("box.total = 1", ["box.total"]),
        ("return box + 1", ["box + 1"]),
        ("return 1 in box", ["1 in box"]),
        ("return box is text", []),
        ("return box[0]", ["box[0]"]),
        ("del box[0]", ["box[0]"]),
        ("for x in box: pass", ["for … in box"]),
        ("with box: pass", ["with box"]),
        ("first, second = box", ["(first, second) = box"]),
        ("return f'{box}'", ["f'{box}'"]),
        ("return len(box)", ["len(box)"]),
        ("return inner(*box)", ["*box"]),
        ("return {box: 1}", ["{box: 1}"]),
        ("import library.more", ["import library.more"]),
        ("return library.LIMIT", ["library.LIMIT"]),
        ("return map(other, text)", ["other"]),
        ("class Own(library.Base): pass", ["library.Base"]),
        ("def g(x=library.f()): pass", ["library.f"]),
        ("boxes = [box]; return boxes[0] + 1", ["boxes[0] + 1"]),
        ("boxes = [box]; return [one.total for one in boxes]", ["one.total"]),
        ("boxes = []; boxes.append(box); return boxes[0] + 1", ["boxes[0] + 1"]),
        ("return box", []),
        ("return inner(box)", []),
        ("boxes = [box]; return len(boxes)", []),
        ("boxes = [box]; return sorted(boxes)", ["sorted(boxes)"]),
    ],
)
def test_operations_on_objects_of_a_library_are_named(statement: str, names: list[str]) -> None:
    assert unseen(statement, syntax=LIBRARY_TYPES) == names


def test_what_a_lambda_ran_out_of_sight_is_named() -> None:
    where = Location("program.py", 2)
    function = Function("program.<lambda>", "<lambda>", "program", where)
    call = Call(function, Rule("<lambda>", "<lambda>", where), Outcome(OutcomeKind.RETURNED))
    text = "import library\nwork = lambda x: library.f(x)\n"
    assert list(PythonSyntax().calls_out_of_sight(text, call, [], [])) == ["library.f"]


def test_classes_that_inherit_from_a_library_are_out_of_sight_in_part() -> None:
    text = """\
import library
class Own(library.Base):
    rate = library.Field()
    def total(self): return 1
def outer(own):
    {statement}
"""
    where = Location("program.py", 5)
    function = Function("program.outer", "outer", "program", where)
    own = Value(Kind.OBJECT, "Own", ((".held", Value(Kind.ATOM, "1")),))
    arguments = (Binding("own", own),)
    call = Call(function, Rule("outer", "outer", where), Outcome(OutcomeKind.RETURNED), arguments)
    syntax = PythonSyntax(types=lambda: [RecordedType("program", "Own", True)])

    def named(statement: str) -> list[str]:
        return list(
            syntax.calls_out_of_sight(text.format(statement=statement), call, [], [function])
        )

    assert named("return own.held") == []
    assert named("return own.total()") == []
    assert named("return own.rate") == ["own.rate"]
    assert named("return own.other") == ["own.other"]
    assert named("return own.get()") == ["own.get"]
    assert named("return own + 1") == ["own + 1"]
    assert named("return Own()") == ["Own"]


def test_threads_that_began_before_are_named_where_they_may_have_interfered() -> None:
    syntax = PythonSyntax(has_earlier_threads=True)
    assert unseen("return text", syntax=syntax) == ["threads that began before the recording"]


def test_what_is_out_of_sight_has_the_lines_of_which_one_ran() -> None:
    text = """\
import library
def outer(own):
    if own:
        return library.f(
            own,
        )
    return [
        library.g(x)
        for x in own
    ]
"""
    where = Location("program.py", 2)
    function = Function("program.outer", "outer", "program", where)
    call = Call(function, Rule("outer", "outer", where), Outcome(OutcomeKind.RETURNED))
    hidden = PythonSyntax().calls_out_of_sight(text, call, [], [function])
    assert hidden["library.f"] == {4, 5, 6}
    assert hidden["library.g"] == {7, 8, 9, 10}  # all of the comprehension: a frame of its own
