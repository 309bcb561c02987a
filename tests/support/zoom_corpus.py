"""Zooms into the programs of the corpus whose fault is in one statement.

The answers of `zoom_runs.Intended` lead to a line; `CHANGED` has the line in which versions differ.
"""

from __future__ import annotations

import ast
import io
import sys

import bug_corpus
from bug_corpus import Bug
from zoom_runs import Intended, follow

from whence.langs.python.source.code_locations import functions
from whence.langs.python.zoom.function_body import FunctionBody, blocks_of, expressions_of
from whence.model.diagnosis import Status
from whence.session.events import Found, Outcome
from whence.tree.column_tree import ColumnTree


def last_wrong(bug: Bug) -> Intended:
    """The last call of the function that is wrong: those that it made itself are right."""
    nth, last = 1, 1
    found = None
    while nth <= last:
        sys.stdin = io.StringIO(bug.stdin)
        followed = follow(
            bug.source("buggy"), bug.function, lambda _: None, nth=nth, file="buggy.py",
            module="__main__",
        )  # fmt: skip
        last = min(followed.entered, 20)
        intended = Intended(followed, bug.source("repaired"), bug.function)
        found = intended if intended.is_wrong() else found
        nth += 1
    assert found is not None, "no call is wrong"
    return found


def found_line(tree: ColumnTree, outcome: Outcome) -> int | None:
    """The line of the step that was found."""
    assert isinstance(outcome, Found), outcome
    assert outcome.diagnosis.status is Status.FOUND, outcome.diagnosis
    assert outcome.diagnosis.node is not None
    found = tree.call(tree.position(outcome.diagnosis.node))
    assert found.step is not None, "the call itself was blamed"
    where = found.where()
    assert where is not None
    return where.line


def _single_statement(bug: Bug) -> int | None:
    """The line of the one statement in which the versions differ, if it is one."""
    bodies = []
    for version in ("buggy", "repaired"):
        text = bug.source(version)
        found = [node for name, node in functions(ast.parse(text)) if name == bug.function]
        bodies.append(FunctionBody(found[0], text))
    return changed_line(*bodies)


def changed_line(buggy: FunctionBody, repaired: FunctionBody) -> int | None:
    """The line of the one statement in which two bodies differ, if it is one."""
    if len(buggy.statements) != len(repaired.statements):
        return None
    pairs = zip(buggy.statements, repaired.statements, strict=True)
    changed = [one.node.lineno for one, other in pairs if _own(one.node) != _own(other.node)]
    return changed[0] if len(changed) == 1 else None


def _own(node: ast.stmt) -> list[str]:
    if any(inner for _, inner in blocks_of(node)):
        return [type(node).__name__, *map(ast.dump, expressions_of(node))]
    return [ast.dump(node)]


_WAITING = ("coroutine_total", "gather_order")
"""What is sent to them or what they wait for cannot be had piece by piece."""
CHANGED = {
    bug.name: _single_statement(bug) for bug in bug_corpus.corpus() if "numpy" not in bug.name
}
TWINS = [
    bug
    for bug in bug_corpus.corpus()
    if CHANGED.get(bug.name) is not None and bug.name not in _WAITING
]
