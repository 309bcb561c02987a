"""Types that only the newest versions of Python have, told by every backend."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from recorded import Node

Run = Callable[..., Node]
pytestmark = pytest.mark.skipif(sys.version_info < (3, 15), reason="it takes Python 3.15")


def test_a_frozendict_is_told_with_its_items(run: Run) -> None:
    body = run("""
class Extended(frozendict): pass
def keep(x): return x
keep(frozendict(a=1, b=[2]))
keep(frozendict())
e = Extended({"k": (1,)})
e.more = 3
keep(e)
""")
    assert [call.arguments["x"] for call in body.all("keep")] == [
        "frozendict({'a': 1, 'b': [2]})",
        "frozendict()",
        "Extended('k': (1,), more=3)",
    ]


def test_what_a_frozendict_holds_can_change(run: Run) -> None:
    body = run("""
def add(d): d["xs"].append(1)
add(frozendict(xs=[]))
""")
    assert body.find("add").effects == {"d['xs'][0]": ("nothing", "1")}


def test_slots_of_a_class_that_extends_tuple_are_told(run: Run) -> None:
    body = run("""
class Point(tuple):
    __slots__ = ("unit", "origin")
class Named(Point):
    __slots__ = ("name", "__dict__")
def keep(x): return x
def move(x): x.origin = [1]
p = Point((1, 2, 3))
p.unit = "m"
keep(p)
move(p)
n = Named(())
n.name, n.more, n.unit = "n", 5, "s"
keep(n)
keep(Point(range(7)))
""")
    assert [call.arguments["x"] for call in body.all("keep")] == [
        "Point(1, 2, 3, unit='m')",
        "Named(more=5, name='n', unit='s')",
        "Point(0, 1, 2, 3, 4, 5, 6)",
    ]
    assert body.find("move").effects == {"x.origin": ("nothing", "[1]")}


def test_a_sentinel_is_told_by_its_name(run: Run) -> None:
    body = run("""
MISSING = sentinel("MISSING")
def first(xs, default=MISSING): return xs[0] if xs else default
first([])
""")
    assert body.find("first").arguments["default"] == "program.MISSING"


def test_to_record_a_lazy_import_imports_nothing(run: Run) -> None:
    body = run("""
import sys
lazy import colorsys
lazy from sched import scheduler
def uses(flag): return colorsys if flag else scheduler if flag is None else flag
def passed(value): return type(value).__name__
def state(): return [name in sys.modules for name in ("colorsys", "sched")]
for name in ("colorsys", "sched"): sys.modules.pop(name, None)
uses(False)
passed(globals()["colorsys"])
state()
uses(True)
state()
""")
    assert body.find("passed").arguments == {"value": "<lazy_import 'colorsys'>"}
    assert body.find("passed").outcome == "→ 'lazy_import'"
    # Like a module it is the program's text, not its state.
    assert [(call.reads, call.effects) for call in body.all("uses")] == [({}, {})] * 2
    assert [call.outcome for call in body.all("state")] == ["→ [False, False]", "→ [True, False]"]


def test_a_generator_knows_what_it_waits_for_in_a_loop_that_has_no_iterator(run: Run) -> None:
    body = run("""
def inner():
    got = yield 1
    return got
def outer():
    x = yield from inner()
    yield from [x, 3]
    yield from (4, 5)
def use():
    g = outer()
    return [next(g), g.send(2), *g]
use()
""")
    assert body.find("use").outcome == "→ [1, 2, 3, 4, 5]"
    assert body.find("outer").names() == ["inner"]


def test_code_may_run_in_a_frozendict(run: Run) -> None:
    body = run("""
def called(x): return x
names = frozendict(size=3, called=called, __builtins__=__builtins__, __name__="__main__")
exec(compile("(lambda: called(size + 1))()", __file__, "exec"), names)
""")
    assert body.find("called").outcome == "→ 4"
