"""Buggy programs and their repaired twins: reads, runs and records them, and answers by the twin.

`tests/corpus/<bug>/` holds `buggy.py`, `repaired.py` and `bug.json`. The two versions
differ in one function: the one to be blamed.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import intention
import numpy as np
from debuggee_runs import record_repeatably
from recorded import environment

from whence.errors import WhenceError
from whence.langs.python.symptoms.run_symptom import first_answers
from whence.langs.python.symptoms.symptom_time import symptom_time
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.call import PRINTED, RAISED, Mark, MarkedPart, OutcomeKind, find_mark
from whence.model.symptom import Symptom, SymptomKind
from whence.model.verdict import Answer, Verdict
from whence.session.events import Answered, Event, SymptomTimed
from whence.tree.column_tree import ColumnTree

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

    def source(self, version: str) -> str:
        return (self.folder / f"{version}.py").read_text()

    def program(self, version: str) -> tuple[Path, list[str]]:
        """The folder in which a version is run, and its command."""
        return self.folder, [f"{version}.py", *self.argv]

    def write_combined(self, folder: Path) -> Path:
        """Put a program into a new folder whose function has both bodies; its script."""
        folder.mkdir()
        script = folder / "buggy.py"
        script.write_text(combined(self.source("buggy"), self.source("repaired"), self.function))
        return script

    def is_at_fault(self, qualname: str) -> bool:
        return qualname in (self.function, *self.also)

    @property
    def can_run(self) -> bool:
        return all(find_spec(name) is not None for name in self.needs)


@dataclass(frozen=True, kw_only=True)
class PackageBug(Bug):
    """A program that uses a package with a bug, in `folder`, and its twin in another folder."""

    repaired: Path
    file: str
    """The only file in which the two differ."""
    script: str

    def program(self, version: str) -> tuple[Path, list[str]]:
        return (self.folder if version == "buggy" else self.repaired), [self.script]

    def write_combined(self, folder: Path) -> Path:
        shutil.copytree(self.repaired, folder, ignore=shutil.ignore_patterns("__pycache__"))
        buggy, repaired = ((each / self.file).read_text() for each in (self.folder, self.repaired))
        (folder / self.file).write_text(combined(buggy, repaired, self.function))
        return folder / self.script


@cache
def corpus() -> tuple[Bug, ...]:
    bugs = []
    for folder in sorted(CORPUS.iterdir()):
        if (folder / "bug.json").exists():
            fields = json.loads((folder / "bug.json").read_text())
            for name in ("also", "argv", "needs"):
                fields[name] = tuple(fields.get(name, ()))
            bugs.append(Bug(folder.name, folder, **fields))
    return tuple(bugs)


def spread(bugs: Sequence[Bug], step: int) -> list[Any]:
    """All bugs as parameters; outside of soak runs only every `step`th one."""
    import pytest

    return [
        pytest.param(bug, id=bug.name, marks=pytest.mark.soak if index % step else ())
        for index, bug in enumerate(bugs)
    ]


def run(bug: Bug, version: str) -> tuple[int, str, str]:
    """Exit status, output, and the last line of standard error."""
    folder, command = bug.program(version)
    done = subprocess.run(
        [sys.executable, "-B", *command], cwd=folder, input=bug.stdin, capture_output=True,
        text=True, timeout=60, check=False, errors="replace",
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )  # fmt: skip
    return done.returncode, done.stdout, (done.stderr.strip().splitlines() or [""])[-1]


# --- recording -----------------------------------------------------------------------------------


def record(bug: Bug, version: str, output: Path, *, whole: bool) -> ColumnTree:
    """The tree of a run, its values whole or as `whence record` bounds them."""
    return record_program(*bug.program(version), output, bug.stdin, whole)


def record_program(
    folder: Path, command: Sequence[str], output: Path, stdin: str, whole: bool
) -> ColumnTree:
    """The tree of a program that is run in a folder. Its input is stored beside the recording."""
    output.with_name(output.name + ".stdin").write_text(stdin)
    options = ["--whole-values"] if whole else []
    seeded = {**environment(), "PYTHONHASHSEED": "0"}
    record_repeatably(output, [*options, *command], folder, environment=seeded, stdin=stdin)
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
        raise ValueError("the versions do not have the same functions")
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
    raise ValueError(f"the versions do not differ in {function}")


def _defaults(ours: Any, theirs: Any) -> list[Any]:
    """Replaces defaults that differ; returns what the repaired body starts with."""
    begin: list[Any] = []
    mine, other = ours.args, theirs.args
    names = [parameter.arg for parameter in (*mine.posonlyargs, *mine.args)]
    if names != [parameter.arg for parameter in (*other.posonlyargs, *other.args)]:
        if len(mine.defaults) == len(other.defaults):
            raise ValueError("the versions do not take the same arguments")
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
    """What the twin would have done is unknown."""


Differences = dict[str, tuple[str | None, str | None]]
"""The parts that a call left otherwise than the repaired program would: as they are and as they
would be, by their paths; None where there is none."""


@dataclass(frozen=True)
class Person:
    """Answers like somebody who knows the repaired program, and marks the wrong parts.

    Calls in `misled` are inadmissible: they received input that they should never get.
    """

    verdicts: dict[int, Verdict]
    wrong: dict[int, tuple[MarkedPart, ...]]
    misled: dict[int, tuple[MarkedPart, ...]]
    differences: dict[int, Differences]

    def answer(self, node: int) -> Answer:
        verdict, parts = self.verdicts[node], self.wrong.get(node, ())
        if node in self.misled:
            verdict, parts = Verdict.INADMISSIBLE, self.misled[node]
        return Answer(node, verdict, parts[0].mark if parts else None)


def person(bug: Bug, tree: ColumnTree) -> Person:
    verdicts, wrong, differences = intended(bug, tree)
    return Person(verdicts, wrong, misled(bug, tree), differences)


def symptom_answers(bug: Bug, tree: ColumnTree) -> tuple[Answer, ...]:
    """The first answers of somebody who knows the right output: they name the symptom, which is a
    wrong line or the letters in it, or the exception."""
    top = Answer(tree.id(0), Verdict.WRONG, by="symptom")
    (status, ours, _), (_, theirs, _) = (run(bug, version) for version in ("buggy", "repaired"))
    lines, right = ours.splitlines(), theirs.splitlines()
    wrong = [n for n, line in enumerate(lines) if line not in right[n : n + 1]]
    if wrong:
        steps = [f"[{wrong[0]}]"]
        if wrong[0] < len(right) and lines[wrong[0]]:
            letters = intention.wrong_letters(lines[wrong[0]], right[wrong[0]])
            steps += [letters] if letters else []
        _, *others = first_answers(tree, Symptom(SymptomKind.OUTPUT, line=wrong[0] + 1))
        return (replace(top, mark=Mark(PRINTED, tuple(steps))), *others)
    if status and tree.call(0).outcome.kind is OutcomeKind.RAISED:
        _, *others = first_answers(tree, Symptom(SymptomKind.EXCEPTION))
        return (replace(top, mark=Mark(RAISED)), *others)
    return (top,)


def symptom_events(bug: Bug, tree: ColumnTree) -> list[Event]:
    """These answers, and when the symptom had happened, as a session begins with them."""
    answers = symptom_answers(bug, tree)
    mark, symptom = answers[0].mark, None
    if mark is not None and mark.root == PRINTED:
        symptom = Symptom(SymptomKind.OUTPUT, line=int(mark.steps[0].strip("[]")) + 1)
    elif mark is not None:
        symptom = Symptom(SymptomKind.EXCEPTION)
    at = None if symptom is None else symptom_time(tree, symptom)
    timed = [] if at is None else [SymptomTimed(at.last_begun, at.is_exact)]
    return [*timed, Answered(answers)]


def verdicts(bug: Bug, tree: ColumnTree) -> dict[int, Verdict]:
    """The verdict on each call, by id: right if the repaired program would do the same."""
    return intended(bug, tree)[0]


def intended(
    bug: Bug, tree: ColumnTree
) -> tuple[dict[int, Verdict], dict[int, tuple[MarkedPart, ...]], dict[int, Differences]]:
    """The verdicts, the wrong parts of the outcome and effects of wrong calls, and in what these
    differ from what the repaired program would have left.

    A call below which the faulty function never ran is right without a run.
    """
    columns = tree.columns
    names, starts = _starts(tree)
    faulty = np.array([name == bug.function for name in names])
    wanted = [at for at in range(1, len(columns)) if bool(faulty[at : int(columns.end[at])].any())]
    result = _run_intention(bug, [(*starts[at], at) for at in wanted])
    counts = Counter(names[1:])
    if result["counts"] != counts:
        raise Refused(f"not the calls that were recorded: {result['counts']} for {dict(counts)}")
    by_id = {tree.id(at): Verdict.RIGHT for at in range(len(columns))}
    by_id[tree.id(0)] = Verdict.WRONG
    for at in wanted:
        answer = result["verdicts"].get(str(at))
        by_id[tree.id(at)] = Verdict(answer) if answer else Verdict.UNKNOWN
    wrong = {
        tree.id(int(at)): tuple(_marks(tree, int(at), paths, input_side=False))
        for at, paths in result["wrong"].items()
    }
    differences = {
        tree.id(int(at)): {path: (ours, right) for path, (ours, right) in parts.items()}
        for at, parts in result["differences"].items()
    }
    return by_id, wrong, differences


def misled(bug: Bug, tree: ColumnTree) -> dict[int, tuple[MarkedPart, ...]]:
    """The calls with input that the repaired program never passes to their function, with the parts
    that differ from the corresponding call of the repaired program.

    Without a corresponding call, the most similar one is taken.
    """
    names, starts = _starts(tree)
    ours, theirs = (
        _run_intention(bug, [], repaired=repaired)["given"] for repaired in (False, True)
    )
    right: dict[str, list[dict[str, str]]] = {}
    in_place: dict[str, dict[str, str]] = {}
    for name, place, inputs in theirs:
        right.setdefault(name, []).append(inputs)
        in_place[place] = inputs
    begun: dict[str, list[tuple[str, dict[str, str]]]] = {}
    for name, place, inputs in ours:
        begun.setdefault(name, []).append((place, inputs))
    if {name: len(calls) for name, calls in begun.items()} != Counter(names[1:]):
        raise Refused("not the calls that were recorded")
    misled_calls: dict[int, tuple[MarkedPart, ...]] = {}
    for at, (name, start) in starts.items():
        place, inputs = begun[name][start]
        right_inputs = right.get(name, [])
        if inputs in right_inputs or not right_inputs:
            continue
        instead = in_place.get(place)
        if instead is None:
            instead = min(right_inputs, key=lambda other: len(other.items() ^ inputs.items()))
        parts = _marks(tree, at, intention.wrong_parts(inputs, instead), input_side=True)
        misled_calls[tree.id(at)] = tuple(parts)
    return misled_calls


def _starts(tree: ColumnTree) -> tuple[list[str], dict[int, tuple[str, int]]]:
    """The function of each call, and its index among the calls of that function, by start."""
    names = [tree.functions[int(number)].short() for number in tree.columns.function]
    counts: Counter[str] = Counter()
    starts: dict[int, tuple[str, int]] = {}
    for at in sorted(range(1, len(names)), key=lambda at: int(tree.details[at])):
        starts[at] = names[at], counts[names[at]]
        counts[names[at]] += 1
    return names, starts


def _run_intention(
    bug: Bug, wanted: Sequence[tuple[str, int, int]], *, repaired: bool = False
) -> dict[str, Any]:
    """The output of `intention.py` for the buggy program, or for the repaired one."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program"
        script = bug.write_combined(program)
        spec = Path(folder) / "spec.json"
        request = {
            "folder": str(program), "script": str(script), "argv": bug.argv,
            "stdin": bug.stdin, "wanted": wanted, "repaired": repaired,
        }  # fmt: skip
        spec.write_text(json.dumps(request))
        try:
            done = subprocess.run(
                [sys.executable, "-B", str(_HERE / "intention.py"), str(spec)],
                capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL,
                check=False, env={**os.environ, "PYTHONHASHSEED": "0"},
            )  # fmt: skip
        except subprocess.TimeoutExpired as late:
            raise Refused(str(late)) from late
    if done.returncode:
        raise Refused(done.stderr)
    result = json.loads(done.stdout)
    assert isinstance(result, dict)
    return result


def _marks(
    tree: ColumnTree, position: int, paths: Sequence[str], *, input_side: bool
) -> Iterator[MarkedPart]:
    """The paths that a person could mark in a question about the call."""
    call = tree.call(position)
    for path in paths:
        try:
            part = find_mark(call, path, input_side=input_side)
        except WhenceError:
            continue
        if part.is_input is input_side:
            yield part
