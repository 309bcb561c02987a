"""Buggy programs with their repaired twins: reading, recording, and what the twin would have done.

`tests/corpus/<bug>/` holds `buggy.py`, `repaired.py` and `bug.json`. The twins differ in one
function, which is the one that has to be blamed.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from recorded import environment

from whence.errors import WhenceError
from whence.langs.python.trace.opening import open_trace
from whence.model.call import MarkedPart, find_mark
from whence.model.verdict import Verdict
from whence.tree.memory import ColumnTree

CORPUS = Path(__file__).parents[1] / "corpus"
_HERE = Path(__file__).parent
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Bug:
    """A program with a bug."""

    name: str
    folder: Path
    about: str
    kind: str
    function: str
    also: tuple[str, ...] = ()
    """Functions that could be blamed as well; `bug.json` says why."""
    argv: tuple[str, ...] = ()
    stdin: str = ""
    needs: tuple[str, ...] = ()

    def source(self, twin: str) -> str:
        return (self.folder / f"{twin}.py").read_text()

    def is_at_fault(self, qualname: str) -> bool:
        return qualname in (self.function, *self.also)

    @property
    def can_run(self) -> bool:
        return all(find_spec(name) is not None for name in self.needs)


@cache
def corpus() -> tuple[Bug, ...]:
    bugs = []
    for folder in sorted(CORPUS.iterdir()):
        if (folder / "bug.json").exists():
            told = json.loads((folder / "bug.json").read_text())
            for name in ("also", "argv", "needs"):
                told[name] = tuple(told.get(name, ()))
            bugs.append(Bug(folder.name, folder, **told))
    return tuple(bugs)


def spread(bugs: Sequence[Bug], step: int) -> list[Any]:
    """All of them as parameters; only every so manieth is run every time."""
    import pytest

    return [
        pytest.param(bug, id=bug.name, marks=pytest.mark.soak if place % step else ())
        for place, bug in enumerate(bugs)
    ]


def run(bug: Bug, twin: str) -> tuple[int, str, str]:
    """What the program prints and how it ends; of what it raised, the last line."""
    done = subprocess.run(
        [sys.executable, "-B", f"{twin}.py", *bug.argv],
        cwd=bug.folder, input=bug.stdin, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, (done.stderr.strip().splitlines() or [""])[-1]


# --- recording -----------------------------------------------------------------------------------


def record(bug: Bug, twin: str, output: Path, *, whole: bool) -> ColumnTree:
    """The tree of a run, its values whole or as `whence record` bounds them."""
    return record_program(bug.folder, [f"{twin}.py", *bug.argv], output, bug.stdin, whole)


def record_program(
    folder: Path, words: Sequence[str], output: Path, stdin: str, whole: bool
) -> ColumnTree:
    """The tree of a program that is run in a folder. What it read is kept beside the recording."""
    output.with_name(output.name + ".stdin").write_text(stdin)
    options = ["--whole-values"] if whole else []
    subprocess.run(
        [sys.executable, "-m", "whence", "record", "--repeatable", "own", *options,
         "-o", str(output), *words],
        cwd=folder, env={**environment(), "PYTHONHASHSEED": "0"}, input=stdin,
        capture_output=True, text=True, timeout=120, check=False, errors="replace",
    )  # fmt: skip
    return open_trace(output)


# --- both bodies in one program ------------------------------------------------------------------


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """All functions with their qualified names, in the order of the text."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, _FUNCTIONS):
            yield prefix + child.name, child
            yield from functions(child, f"{prefix}{child.name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from functions(child, f"{prefix}{child.name}.")
        else:
            yield from functions(child, prefix)


def changed(buggy: str, repaired: str) -> list[str]:
    """The functions in which two programs differ, outer ones before those inside them."""
    ours, theirs = (list(functions(ast.parse(text))) for text in (buggy, repaired))
    names = [name for name, _ in ours]
    if names != [name for name, _ in theirs]:
        raise ValueError("the twins do not have the same functions")
    return [
        name
        for (name, one), (_, other) in zip(ours, theirs, strict=True)
        if ast.dump(one) != ast.dump(other)
    ]


def combined(buggy: str, repaired: str, function: str) -> str:
    """A program whose one function has both bodies, and a switch (see `intention`)."""
    tree = ast.parse(buggy)
    pairs = zip(functions(tree), functions(ast.parse(repaired)), strict=True)
    for (name, ours), (_, theirs) in pairs:
        if name == function and ast.dump(ours) != ast.dump(theirs):
            switch: Any = ast.parse("if __intended__:\n    pass\nelse:\n    pass").body[0]
            switch.body = [*_defaults(ours, theirs), *theirs.body]
            switch.orelse = ours.body
            ours.body = [switch]
            return ast.unparse(ast.fix_missing_locations(tree))
    raise ValueError(f"the twins do not differ in {function}")


def _defaults(ours: Any, theirs: Any) -> list[Any]:
    """Has a default that differs replaced at the call; what the repaired body begins with."""
    begin: list[Any] = []
    mine, other = ours.args, theirs.args
    names = [each.arg for each in (*mine.posonlyargs, *mine.args)]
    if names != [each.arg for each in (*other.posonlyargs, *other.args)]:
        if len(mine.defaults) == len(other.defaults):
            raise ValueError("the twins do not take the same arguments")
        return []
    for name, number in zip(names[::-1], range(1, len(mine.defaults) + 1), strict=False):
        one, two = mine.defaults[-number], other.defaults[-number]
        if ast.dump(one) != ast.dump(two):
            key = f"{ours.name} {name}"
            text = f"__replaced__({key!r}, {ast.unparse(one)}, {ast.unparse(two)})"
            mine.defaults[-number] = ast.parse(text, mode="eval").body
            begin += ast.parse(f"{name} = __repaired__({key!r}, {name})").body
    return begin


# --- what the twin would have done ---------------------------------------------------------------


class Refused(Exception):
    """It is not known what the twin would have done."""


def verdicts(bug: Bug, tree: ColumnTree) -> dict[int, Verdict]:
    """For each call of a recording by its id, whether the repaired program would do the same."""
    return intended(bug, tree)[0]


def intended(
    bug: Bug, tree: ColumnTree
) -> tuple[dict[int, Verdict], dict[int, tuple[MarkedPart, ...]]]:
    """The same, and of wrong calls the parts of what came of them that are wrong.

    A call below which the faulty function never ran is right without being tried.
    """
    columns = tree.columns
    names = [tree.functions[int(number)].short() for number in columns.function]
    faulty = np.array([name == bug.function for name in names])
    wanted = [at for at in range(1, len(columns)) if bool(faulty[at : int(columns.end[at])].any())]
    counts: Counter[str] = Counter()
    starts: dict[int, tuple[str, int]] = {}
    for at in sorted(range(1, len(columns)), key=lambda at: int(tree.details[at])):
        starts[at] = names[at], counts[names[at]]
        counts[names[at]] += 1
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "program" / "buggy.py"
        script.parent.mkdir()
        script.write_text(combined(bug.source("buggy"), bug.source("repaired"), bug.function))
        spec = Path(folder) / "spec.json"
        told = {
            "folder": str(script.parent), "script": str(script), "argv": bug.argv,
            "stdin": bug.stdin, "wanted": [(*starts[at], at) for at in wanted],
        }  # fmt: skip
        spec.write_text(json.dumps(told))
        done = subprocess.run(
            [sys.executable, "-B", str(_HERE / "intention.py"), str(spec)],
            capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL, check=False,
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )  # fmt: skip
    if done.returncode:
        raise Refused(done.stderr)
    found = json.loads(done.stdout)
    if found["counts"] != counts:
        raise Refused(f"not the calls that were recorded: {found['counts']} for {dict(counts)}")
    known = {tree.id(at): Verdict.RIGHT for at in range(len(columns))}
    known[tree.id(0)] = Verdict.WRONG
    for at in wanted:
        answer = found["verdicts"].get(str(at))
        known[tree.id(at)] = Verdict(answer) if answer else Verdict.UNKNOWN
    wrong = {
        tree.id(int(at)): tuple(_marks(tree, int(at), paths))
        for at, paths in found["wrong"].items()
    }
    return known, wrong


def _marks(tree: ColumnTree, position: int, paths: Sequence[str]) -> Iterator[MarkedPart]:
    """The paths that a person could mark in a question about the call."""
    call = tree.call(position)
    for path in paths:
        try:
            part = find_mark(call, path, input_side=False)
        except WhenceError:
            continue
        if not part.is_input:
            yield part
