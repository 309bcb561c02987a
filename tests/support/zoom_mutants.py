"""Zooms into mutants of functions of installed packages.

The driver runs a package with one change in this process, and the first wrong call of the changed
function is zoomed into. The unchanged package computes the intended result of each step
(`zoom_runs.Intended`). Functions whose pieces cannot run by themselves are left out: sent values,
`await`, `super()` and private names mean something only in their own function.
"""

from __future__ import annotations

import ast
import contextlib
import io
import runpy
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bug_corpus import PackageBug
from mutation import Subject, bugs
from zoom_corpus import changed_line
from zoom_runs import Copying, Followed, Intended, OneCall

from whence.langs.python.source.code_locations import first_line, functions
from whence.langs.python.zoom.function_body import FunctionBody
from whence.langs.python.zoom.step_recorder import _ZoomFinder
from whence.model.verdict import Verdict

_MOST_CALLS = 12
_MOST_EVENTS = 600


class _Enough(BaseException):
    """The call has logged everything."""


@dataclass(frozen=True)
class ZoomedMutant:
    """A mutant with its wrong call, and the line of the statement that was changed."""

    about: str
    intended: Intended
    line: int

    @property
    def can_be_judged(self) -> bool:
        """Whether the changed statement is seen to be wrong, and all that holds it, and nothing
        else: what lies deep in a large object is not seen, and some objects cannot be copied."""
        tree = self.intended.tree
        parent, end = tree.columns.parent, tree.columns.end
        wrong = {0}
        for position in range(1, len(tree.columns)):
            is_step = tree.call(position).step is not None
            if is_step and self.intended.judge(tree.id(position)) is Verdict.WRONG:
                wrong.add(position)
        holding = {int(parent[each]) for each in wrong}
        single = [each for each in wrong if end[each] == each + 1]
        lines = {where.line for each in single if (where := tree.call(each).where()) is not None}
        return lines == {self.line} and all(each in holding for each in wrong.difference(single))


def zoomed_mutants(subject: Subject) -> Iterator[ZoomedMutant]:
    """The mutants of a package that can be gone into piece by piece and judged."""
    for bug in bugs(subject):
        line = _statement(bug)
        if line is not None:
            found = _first_wrong(bug)
            if found is not None:
                mutant = ZoomedMutant(bug.about, found, line)
                if mutant.can_be_judged:
                    yield mutant


def _statement(bug: PackageBug) -> int | None:
    """The line of the changed statement, if the function can be run piece by piece."""
    texts = [(folder / bug.file).read_text() for folder in (bug.folder, bug.repaired)]
    found = [_named(text, bug.function) for text in texts]
    if any(len(each) != 1 for each in found) or not _can_be_pieced(found[1][0]):
        return None
    return changed_line(
        *(FunctionBody(each[0], text) for each, text in zip(found, texts, strict=True))
    )


def _named(text: str, name: str) -> list[Any]:
    return [node for each, node in functions(ast.parse(text)) if each == name]


def _can_be_pieced(node: ast.AST) -> bool:
    for each in ast.walk(node):
        if isinstance(each, ast.Await | ast.YieldFrom | ast.AsyncFunctionDef | ast.Nonlocal):
            return False
        if isinstance(each, ast.Name) and each.id in ("super", "locals", "__class__"):
            return False
        name = each.attr if isinstance(each, ast.Attribute) else ""
        if name.startswith("__") and not name.endswith("__"):
            return False
    return True


def _first_wrong(bug: PackageBug) -> Intended | None:
    repaired = (bug.repaired / bug.file).read_text()
    for nth in range(1, _MOST_CALLS + 1):
        followed = _followed(bug, nth)
        if followed is None:
            return None
        if not followed.zoomed.log.is_cut:
            intended = Intended(followed, repaired, bug.function)
            if intended.is_wrong():
                return intended
    return None


def _followed(bug: PackageBug, nth: int) -> Followed | None:
    """What the `nth` call of the changed function does; None if there is none."""
    path = bug.folder / bug.file
    text = path.read_text()
    [node] = _named(text, bug.function)
    one = OneCall(
        FunctionBody(node, text),
        bug.function,
        str(path),
        first_line(node),
        nth,
        _MOST_EVENTS,
        _Enough(),
    )
    with _in_place(bug, one.watch) as modules:
        with contextlib.suppress(BaseException):
            runpy.run_path(str(bug.folder / "driver.py"), run_name="__main__")
        namespace: dict[str, Any] = next(
            (vars(each) for each in modules() if getattr(each, "__file__", "") == str(path)), {}
        )
    return one.followed(dict(namespace))


@contextlib.contextmanager
def _in_place(bug: PackageBug, watch: Copying) -> Iterator[Any]:
    """The changed package is what is imported, and tells of the call."""
    package = bug.name.rpartition("-")[0]

    def ours() -> list[str]:
        return [name for name in sys.modules if name.partition(".")[0] == package]

    before = {name: sys.modules.pop(name) for name in ours()}
    finder = _ZoomFinder(watch, str(bug.folder / bug.file))
    argv, stdin = sys.argv, sys.stdin
    sys.meta_path.insert(0, finder)
    sys.path.insert(0, str(bug.folder))
    sys.argv, sys.stdin = ["driver.py"], io.StringIO()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield lambda: [sys.modules[name] for name in ours()]
    finally:
        sys.argv, sys.stdin = argv, stdin
        sys.path.remove(str(bug.folder))
        sys.meta_path.remove(finder)
        for name in ours():
            del sys.modules[name]
        sys.modules.update(before)
