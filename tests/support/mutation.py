"""Bugs made from programs that work: one change to one function of an installed package.

A *mutant* is a copy of a package with one small change, of the kind that people make by mistake: a
comparison or an operator that is another, a bound that is off by one, a condition negated, a
statement left out. The package as it is, is its reference version.

`Subject` holds a package with a driver, a small program that uses it. Only functions that the
driver runs are changed. What is asked of whence about a mutant whose outcome differs: that it
blames the function that was changed, or says what kept it from knowing; and never another one.
`bugs` are such mutants with their repaired twin, by which questions are answered.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any

import numpy as np
from bug_corpus import PackageBug, record_program
from harmless_rewrites import rewritten

from whence.app.session_driver import SessionDriver
from whence.langs.python.oracles.reference_oracle import reference_oracle_for
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.diagnosis import Status
from whence.model.verdict import Answer, Verdict
from whence.session.events import Answered, Ask, Exhausted, Found
from whence.session.state import State

DRIVERS = Path(__file__).parents[2] / "bench" / "drivers"
SECONDS = 10

_COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div, ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_DROPPED = (ast.Expr, ast.Assign, ast.AugAssign, ast.Delete)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Mutant:
    """One change."""

    file: str
    function: str
    line: int
    what: str
    begin: int
    end: int
    text: str
    """What stands instead of some bytes of the file."""

    def applied(self, source: str) -> str:
        """The module with the change."""
        encoded = source.encode()
        return (encoded[: self.begin] + self.text.encode() + encoded[self.end :]).decode()

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function}: {self.what}"


# --- making them ---------------------------------------------------------------------------------


def mutants(source: str, file: str) -> Iterator[Mutant]:
    """All mutants of a module, in the order of its text."""
    tree = ast.parse(source)
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for function, node in _inside(tree, "", ""):
        for what, instead in _changes(node):
            begin = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            text = instead if isinstance(instead, str) else ast.unparse(instead)
            if isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
                text = f"({text})"
            yield Mutant(file, function, node.lineno, what, begin, end, text)


def _inside(node: ast.AST, prefix: str, function: str) -> Iterator[tuple[str, Any]]:
    """What stands in the bodies of functions, with the function that it is part of."""
    for name, value in ast.iter_fields(node):
        own = function if name in ("body", "orelse") or not isinstance(node, _SCOPES) else ""
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST):
                continue
            if own and isinstance(child, ast.expr | ast.stmt):
                yield own, child
            if isinstance(child, ast.ClassDef):
                yield from _inside(child, f"{prefix}{child.name}.", "")
            elif isinstance(child, _SCOPES):
                called = prefix + getattr(child, "name", "<lambda>")
                yield from _inside(child, f"{called}.<locals>.", called)
            elif type(child).__name__ not in {"JoinedStr", "TemplateStr"}:
                yield from _inside(child, prefix, own)


def _changes(node: Any) -> Iterator[tuple[str, Any]]:
    """The ways to get a piece of code wrong, each with what it becomes."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
        other = _COMPARISONS[type(node.ops[0])]
        yield "comparison", ast.Compare(node.left, [other(), *node.ops[1:]], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        yield "operator", ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        operator = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and/or", ast.BoolOp(operator, node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "missing not", node.operand
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield "constant", repr(node.value + 1)
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield "constant", repr(not node.value)
    elif isinstance(node, ast.IfExp):
        yield "negated", ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    elif isinstance(node, ast.Call) and len(node.args) > 1:
        starred = any(isinstance(each, ast.Starred) for each in node.args[:2])
        if not starred:
            swapped = [node.args[1], node.args[0], *node.args[2:]]
            yield "swapped arguments", ast.Call(node.func, swapped, node.keywords)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        yield from _slices(node)
    elif isinstance(node, ast.Return) and node.value is not None:
        if not (isinstance(node.value, ast.Constant) and node.value.value is None):
            yield "result", "return None"
    elif isinstance(node, _DROPPED) and not _is_text(node):
        yield "dropped", "pass"


def _slices(node: Any) -> Iterator[tuple[str, Any]]:
    part = node.slice
    for name in ("lower", "upper"):
        bound = getattr(part, name)
        if bound is not None:
            bounds = {"lower": part.lower, "upper": part.upper, "step": part.step}
            bounds[name] = ast.BinOp(bound, ast.Add(), ast.Constant(1))
            yield "slice", ast.Subscript(node.value, ast.Slice(**bounds), node.ctx)


def _is_text(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


# --- a package and its driver --------------------------------------------------------------------


def packages() -> list[str]:
    """The installed packages that have a driver; modules of the standard library are not among
    them."""
    names = sorted(path.name.removesuffix("_driver.py") for path in DRIVERS.glob("*_*.py"))
    return [name for name in names if importlib.util.find_spec(name) and version_of(name)]


def version_of(package: str) -> str:
    """The version that is installed; nothing if it came with Python."""
    names = packages_distributions().get(package, [])
    try:
        return version(names[0]) if names else ""
    except PackageNotFoundError:
        return ""


@dataclass(frozen=True)
class Outcome:
    """How a driver ended."""

    status: int
    printed: str
    error: str


class Subject:
    """A package with a program that uses it, as it is and with changes."""

    def __init__(self, package: str, folder: Path) -> None:
        self.package = package
        self.folder = folder
        self.original = folder / "original"
        self.reference = self.original
        """The version that whence asks."""
        spec = importlib.util.find_spec(package)
        assert spec is not None and spec.origin is not None
        origin = Path(spec.origin)
        self.original.mkdir(parents=True)
        if spec.submodule_search_locations:
            ignored = shutil.ignore_patterns("__pycache__", "tests", "test")
            shutil.copytree(origin.parent, self.original / package, ignore=ignored)
        else:
            shutil.copy(origin, self.original / origin.name)
        shutil.copy(DRIVERS / f"{package}_driver.py", self.original / "driver.py")
        self.expected = self.run(self.original)
        assert self.expected is not None and self.expected.status == 0, self.expected
        assert self.run(self.original) == self.expected, "the driver is not deterministic"

    def rewrite_reference(self, seed: int, share: float, interfaces: bool) -> list[str]:
        """Give the reference harmless rewrites; which functions differ.

        A file whose rewrites do change what the driver does is left as it is.
        """
        self.reference = self.folder / "rewritten"
        shutil.copytree(self.original, self.reference)
        names = []
        for path in sorted(self.reference.rglob("*.py")):
            if path.name != "driver.py":
                source = path.read_text()
                text, changed = rewritten(source, seed, share, interfaces)
                path.write_text(text)
                if self.run(self.reference) == self.expected:
                    names += changed
                else:
                    path.write_text(source)
        return names

    def mutants(self, count: int, seed: int = 7) -> list[Mutant]:
        """Some mutants of the functions that the driver runs, of all kinds."""
        tree = record_program(self.original, ["driver.py"], self.folder / "all.whence", "", False)
        # Not all that the recording knows of was called.
        called = [tree.functions[int(number)] for number in np.unique(tree.columns.function)]
        ran = {
            (os.path.realpath(self.original / each.location.file), each.short())
            for each in called
            if each.location is not None
        }
        found = []
        for path in sorted(self.original.rglob("*.py")):
            if path.name != "driver.py":
                file = str(path.relative_to(self.original))
                for each in mutants(path.read_text(), file):
                    if (os.path.realpath(path), each.function) in ran:
                        found.append(each)
        random.Random(seed).shuffle(found)
        return found[:count]

    def run(self, folder: Path) -> Outcome | None:
        """What the driver does there; None if it does not end."""
        try:
            done = subprocess.run(
                [sys.executable, "driver.py"], cwd=folder, capture_output=True, text=True,
                timeout=SECONDS, stdin=subprocess.DEVNULL, errors="replace",
                env={**os.environ, "PYTHONHASHSEED": "0"}, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None
        error = (done.stderr.strip().splitlines() or [""])[-1]
        return Outcome(done.returncode, done.stdout, error)

    def changed(self, mutant: Mutant, number: int) -> Path:
        """A copy of the package with a change."""
        folder = self.folder / f"mutant-{number}"
        shutil.copytree(self.original, folder)
        source = (self.original / mutant.file).read_text()
        (folder / mutant.file).write_text(mutant.applied(source))
        return folder


def bugs(subject: Subject) -> Iterator[PackageBug]:
    """Mutants whose outcome differs, one after the other; each is gone when the next is taken."""
    for number, mutant in enumerate(subject.mutants(10**6)):
        with _changed(subject, mutant, number) as (folder, outcome):
            if isinstance(outcome, Outcome):
                yield PackageBug(
                    name=f"{subject.package}-{number}", folder=folder, about=str(mutant),
                    kind=mutant.what, function=mutant.function, repaired=subject.original,
                    file=mutant.file, script="driver.py",
                )  # fmt: skip


# --- what whence makes of one --------------------------------------------------------------------

SAME, ENDLESS, FOUND, KEPT, MISTAKEN = "same", "endless", "found", "kept", "mistaken"
UNTRIED = (SAME, ENDLESS)
"""Whence is not asked: the outcome is the same, or there is none."""


@dataclass(frozen=True)
class Result:
    """What came of a mutant: found, kept from knowing (and why), or another function blamed."""

    package: str
    mutant: str
    how: str
    blamed: str = ""
    why: str = ""
    judged: int = 0
    asked: int = 0
    """How many questions would have gone to a person; nobody answers them."""
    calls: int = 0
    among: int = 0
    """Of how many calls of the function the one at fault is; 1 if it is known."""

    @property
    def differs(self) -> bool:
        """Whether the outcome is another one, so that whence was asked."""
        return self.how not in UNTRIED


def debugged(subject: Subject, count: int) -> Iterator[Result]:
    """What comes of so many mutants whose outcome differs."""
    tried = 0
    for number, mutant in enumerate(subject.mutants(10**6)):
        result = try_mutant(subject, mutant, number)
        if result.differs:
            yield result
            tried += 1
        if tried == count:
            return


@contextmanager
def _changed(subject: Subject, mutant: Mutant, number: int) -> Iterator[tuple[Path, Outcome | str]]:
    """A copy of the package with a change, and how its driver ends if that differs."""
    folder = subject.changed(mutant, number)
    try:
        try:
            compile((folder / mutant.file).read_text(), mutant.file, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            yield folder, SAME
            return
        outcome = subject.run(folder)
        yield (
            folder,
            ENDLESS if outcome is None else SAME if outcome == subject.expected else outcome,
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def try_mutant(subject: Subject, mutant: Mutant, number: int) -> Result:
    """Run it, and if its outcome differs, let whence find the change by the reference alone."""
    with _changed(subject, mutant, number) as (folder, outcome):
        if isinstance(outcome, str):
            return Result(subject.package, str(mutant), outcome)
        return _debugged(subject, mutant, folder)


def _debugged(subject: Subject, mutant: Mutant, folder: Path) -> Result:
    trace = folder / "run.whence"
    record_program(folder, ["driver.py"], trace, "", True)
    tree = open_trace(trace)
    oracle = reference_oracle_for(tree, str(subject.reference))
    try:
        debugging = SessionDriver(State(tree), [oracle])
        asked = 0
        wrong = Answer(tree.id(0), Verdict.WRONG, by="symptom")
        outcome = debugging.start([Answered((wrong,))])
        while isinstance(outcome, Ask):
            asked += 1
            unknown = Answer(outcome.question.node, Verdict.UNKNOWN)
            outcome = debugging.send(Answered((unknown,)))
    finally:
        oracle.close()
    assert isinstance(outcome, Found | Exhausted), outcome
    diagnosis = outcome.diagnosis
    names = [
        tree.functions[int(tree.columns.function[tree.position(node)])].short()
        for node in ((diagnosis.node,) if diagnosis.node is not None else diagnosis.candidates)
        if node is not None
    ]
    reasons = "; ".join(f"{why} ({count})" for why, count in oracle.unjudged.most_common(3))
    about = {"judged": debugging.counts.oracles.total(), "asked": asked, "calls": len(tree.columns)}
    if diagnosis.status is Status.FOUND:
        how = FOUND if names == [mutant.function] else MISTAKEN
        among = len(diagnosis.group) or 1
        return Result(subject.package, str(mutant), how, names[0], reasons, **about, among=among)
    how = KEPT if mutant.function in names and reasons else MISTAKEN
    blamed = f"one of {len(names)}" if names else "nobody"
    why = reasons or diagnosis.reason
    return Result(subject.package, str(mutant), how, blamed, why, **about)
