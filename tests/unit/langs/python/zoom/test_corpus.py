"""Functions of programs that nobody tuned for: all that they tell fits their text."""

from __future__ import annotations

import ast
import builtins
import contextlib
import io
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import twins
from twins import Bug
from zoomed import recorded

from whence.langs.python.zoom.body import NotThere, beginning, find_body, functions
from whence.langs.python.zoom.execution import Segment, Told, read_call
from whence.langs.python.zoom.instrumenting import instrumented
from whence.langs.python.zoom.steps import Zoomed
from whence.langs.python.zoom.variables import Variables
from whence.langs.python.zoom.watching import Watch, Wish

BUGS = [bug for bug in twins.corpus() if bug.can_run and "numpy" not in bug.name]


@pytest.mark.parametrize("bug", twins.spread(BUGS, 9))
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
        first = beginning(node) if node is not None else 0
        sys.stdin.seek(0)
        with _watched(source, first, name) as found:
            assert _run(instrumented(source, "buggy.py", first, name)) == usual
        for each in found:
            told += 1
            _check(source, first, name, each)
    assert told >= 1


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


@contextlib.contextmanager
def _watched(source: str, first: int, name: str) -> Iterator[list[dict[str, Any]]]:
    found: list[dict[str, Any]] = []
    entered = iter(range(1, 1_000_000))
    of_module = Variables(find_body(source, first, name)).of_module
    wish = Wish(1, "buggy.py", first, name, of_module)
    Watch(wish, lambda: next(entered), lambda: 0, found.append).install()
    try:
        yield found
    finally:
        for hook in [each for each in builtins.__dict__ if each.startswith("@zoom.")]:
            del builtins.__dict__[hook]


def _check(source: str, first: int, name: str, told: dict[str, Any]) -> None:
    body = find_body(source, first, name)
    events = Told(told)
    whole = read_call(events, body)
    begun = [each[1] for each in events.events if each[0] == "at"]
    seen: list[int] = []
    pending: list[Segment] = [whole]
    while pending:
        segment = pending.pop()
        if segment.what.value == "statement":
            seen.append(segment.number)
        for child in segment.children:
            assert segment.first <= child.first <= child.end <= segment.end
        pending += segment.children
    assert sorted(seen) == sorted(begun), "a statement began that is in no step, or in two"
    tree = Zoomed(events, body, whole, recorded(name), 1, "buggy.py").tree()
    for position in range(1, min(len(tree.columns), 60)):
        assert "after: " in tree.call(position).equation()


def test_what_does_not_fit_the_text_is_not_believed() -> None:
    source = "def f(x):\n    y = x\n    return y\n"
    body = find_body(source, 1, "f")
    at = ["at", 0, None, [], 0, 0]
    told = {"names": [], "types": [], "values": [], "variables": [], "why": "left"}
    events = [["enter", -1, None, [], 0, 0], at, ["round", 0, None, [], 0, 0]]
    with pytest.raises(NotThere, match="does not fit"):
        read_call(Told({**told, "events": events}), body)
