"""Functions of programs that nobody tuned for: all that they tell fits their text."""

from __future__ import annotations

import ast
import contextlib
import io
import sys
from typing import Any

import bug_corpus
import pytest
from bug_corpus import Bug
from zoom_runs import recorded

from whence.langs.python.source.code_locations import first_line, functions
from whence.langs.python.zoom.function_body import CannotZoom, find_body
from whence.langs.python.zoom.segments import Segment, read_segments
from whence.langs.python.zoom.step_log import StepLog
from whence.langs.python.zoom.step_recorder import StepRecorder, ZoomRequest
from whence.langs.python.zoom.step_tree import ZoomedCall
from whence.langs.python.zoom.step_variables import StepVariables

BUGS = [bug for bug in bug_corpus.corpus() if bug.can_run and "numpy" not in bug.name]


@pytest.mark.parametrize("bug", bug_corpus.spread(BUGS, 9))
def test_a_program_does_the_same_when_one_of_its_functions_tells(
    bug: Bug, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bug.folder)
    monkeypatch.setattr(sys, "argv", ["buggy.py", *bug.argv])
    monkeypatch.setattr(sys, "stdin", io.StringIO(bug.stdin))
    source = bug.source("buggy")
    usual = _run(compile(source, "buggy.py", "exec"))
    told = 0
    chosen = [(name, node) for name, node in functions(ast.parse(source)) if name == bug.function]
    for name, node in [*chosen, ("<module>", None)]:
        first = first_line(node) if node is not None else 0
        sys.stdin.seek(0)
        watch, found = _watched(source, first, name)
        assert _run(watch.compiled(source, "buggy.py")) == usual
        for each in found:
            told += 1
            _check(source, first, name, each)
    assert told >= 1


EVERY_KIND = """
import contextlib
seen = []
class Steps:
    def __init__(self, n): self.n = n
    def __aiter__(self): return self
    async def __anext__(self):
        self.n -= 1
        if self.n < 0: raise StopAsyncIteration
        return self.n
@contextlib.asynccontextmanager
async def opened(x):
    yield x * 2
def final(x):
    try:
        if x: raise KeyError(x)
        return "early"
    except KeyError as problem:
        x = problem.args
        raise ValueError(x) from problem
    finally:
        seen.append(x)
        if x == (2,): return "late"
def kinds(n, *rest, key=3, **more):
    "documented"
    global seen
    import math as m
    from os import path
    a: int = n
    b: str
    c, *d = [n, *rest, (e := n + 1)]
    a += 1; seen += [a]
    def inner(x, y=c):
        nonlocal a
        a = x + y
        return lambda: a
    class Local:
        field = [a for a in range(3)]
    assert inner(1)() == 1 + c, "never"
    for i, (j, k) in enumerate([(1, 2), (3, 4)]):
        if i: continue
        elif j > 5: break
        with contextlib.suppress(ZeroDivisionError), contextlib.nullcontext(j) as held:
            k = 1 // (j - 1)
            never = held
    else:
        del k
    while n:
        n -= 1
        if n == 1: break
        for _ in (): pass
        else: continue
    else:
        seen.append("not broken")
    match more, rest:
        case {"deep": [1, *others]}, _ if others: d.append(others)
        case _, (first, *_): d.append(first)
        case _: pass
    for x in range(3):
        try: seen.append(final(x))
        except ValueError as wrong: seen.append(wrong.args); continue
        else: seen.append("fine")
        finally: seen.append("-")
    try:
        raise ExceptionGroup("two", [ValueError(1), KeyError(2)])
    except* ValueError as group: seen.append(len(group.exceptions))
    except* KeyError: pass
    text = f"{a:>{key}} {c!r}" if a < 9 <= 10 and not rest else str(-a)
    kept = [y for y in d if (z := y)], {k: v for k, v in more.items()}
    return a, c, d, Local.field, kept, text, z
def stepped(n):
    got = yield n
    yield from (x for x in range(got or 1))
    try:
        yield "waiting"
    finally:
        seen.append("closed")
async def awaited(n):
    out = []
    async for x in Steps(n):
        async with opened(x) as doubled:
            out.append(doubled)
            if x == 1: continue
            out.append(await opened(x).__aenter__())
    return out, [x async for x in Steps(2)]
def drive(coroutine):
    try:
        while True: coroutine.send(None)
    except StopIteration as done: return done.value
print(kinds(4, 5, 6, deep=[1, 2]), kinds(1), [final(x) for x in (0, 2)])
g = stepped(1); print(next(g), g.send(2), next(g), next(g)); g.close()
print(drive(awaited(3)), seen)
"""


NEW = """
seen: list[Later] = []
def rendered(t):
    return "".join(p if isinstance(p, str) else format(p.value, p.format_spec) for p in t)
def new(n):
    type Number = int | Later
    width: Later = n + 2
    def inner[T = int](x: T) -> Later: return x
    t = t"{n:>{width}} {(m := n * 2)!r}" t"{rendered(t'{n}')} {[x for x in range(n)]}"
    try:
        seen.append(int(t.strings[1]))
    except ValueError, KeyError:
        seen.append(m)
    return rendered(t), t.values[1], inner(n), Number.__name__
print(new(3), f"{seen}", rendered(t"{new(4)[0]}"))
class Later: pass
print(__annotate__(1))
"""
"""What is new in 3.14."""

NEWEST = """
lazy import colorsys
lazy from sched import scheduler
def flat(rows):
    both = [*row for row in rows], {**{x: x + 1} for row in rows for x in row}
    for x in (*row for row in rows):
        if x > 2:
            both[0].append(x)
    d = frozendict(both[1], end=0)
    match d.get("end"):
        case +1: return None
        case _: return both[0], {*row for row in rows} == {1, 2, 3}, d
def steps():
    for x in [1, 2]:
        for y in (3, 4):
            yield x * y
    yield from [5, 6]
print(flat([[1, 2], [], [3]]), list(steps()))
print(type(globals()["colorsys"]).__name__, type(globals()["scheduler"]).__name__)
"""
"""What is new in 3.15."""


@pytest.mark.parametrize("name", ["kinds", "final", "stepped", "awaited", "<module>"])
def test_every_kind_of_statement_does_what_it_does_and_tells_of_it(name: str) -> None:
    _does_the_same(EVERY_KIND, name)


@pytest.mark.skipif(sys.version_info < (3, 14), reason="it takes Python 3.14")
@pytest.mark.parametrize("name", ["rendered", "new", "<module>"])
def test_what_is_new_does_what_it_does_and_tells_of_it(name: str) -> None:
    _does_the_same(NEW, name)


@pytest.mark.skipif(sys.version_info < (3, 15), reason="it takes Python 3.15")
@pytest.mark.parametrize("name", ["flat", "steps", "<module>"])
def test_what_is_newest_does_what_it_does_and_tells_of_it(name: str) -> None:
    _does_the_same(NEWEST, name)


def _does_the_same(source: str, name: str) -> None:
    usual = _run(compile(source, "buggy.py", "exec", dont_inherit=True))
    assert not usual[1], usual
    nodes = [node for each, node in functions(ast.parse(source)) if each == name]
    first = first_line(nodes[0]) if nodes else 0
    watch, found = _watched(source, first, name)
    assert _run(watch.compiled(source, "buggy.py")) == usual
    told, *_ = found
    _check(source, first, name, told)


def _run(code: Any) -> tuple[str, str]:
    """What a program prints, and what it raises."""
    printed = io.StringIO()
    raised = ""
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            exec(code, {"__name__": "__main__"})
        except BaseException as problem:
            raised = repr(problem)
    return printed.getvalue(), raised


def _watched(source: str, first: int, name: str) -> tuple[StepRecorder, list[dict[str, Any]]]:
    found: list[dict[str, Any]] = []
    entered = iter(range(1, 1_000_000))
    of_module = StepVariables(find_body(source, first, name)).of_module
    wish = ZoomRequest(1, "buggy.py", first, name, of_module)
    return StepRecorder(wish, lambda: next(entered), lambda: 0, found.append), found


def _check(source: str, first: int, name: str, told: dict[str, Any]) -> None:
    body = find_body(source, first, name)
    events = StepLog(told)
    whole = read_segments(events, body)
    begun = [each[1] for each in events.events if each[0] == "at"]
    seen: list[int] = []
    pending: list[Segment] = [whole]
    while pending:
        segment = pending.pop()
        if segment.kind.value == "statement":
            seen.append(segment.number)
        for child in segment.children:
            assert segment.first <= child.first <= child.end <= segment.end
        pending += segment.children
    assert sorted(seen) == sorted(begun), "a statement began that is in no step, or in two"
    tree = ZoomedCall(events, body, whole, recorded(name), 1, "buggy.py").tree()
    for position in range(1, min(len(tree.columns), 60)):
        assert "after: " in tree.call(position).equation()


def test_what_does_not_fit_the_text_is_not_believed() -> None:
    source = "def f(x):\n    y = x\n    return y\n"
    body = find_body(source, 1, "f")
    at = ["at", 0, None, [], 0, 0]
    told = {"names": [], "types": [], "values": [], "variables": [], "why": "left"}
    events = [["enter", -1, None, [], 0, 0], at, ["round", 0, None, [], 0, 0]]
    with pytest.raises(CannotZoom, match="does not fit"):
        read_segments(StepLog({**told, "events": events}), body)
