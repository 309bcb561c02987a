"""Writes a failing pytest test of a whole program: it runs the program and looks at its output.

For programs in which no call can be written as source. The test starts the program as the recorded
command did, with the same arguments and input, and asserts about the line that is wrong.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from whence.langs.python.debuggee.run_as_python import Target, TargetKind
from whence.langs.python.rebuilding.checked_source import (
    CannotRebuild,
    checked_file,
    docstring,
    is_identifier,
    literal_source,
)
from whence.langs.python.rebuilding.outcome_assertion import Complaint
from whence.langs.python.rebuilding.program_modules import path_expression
from whence.langs.python.rebuilding.pytest_source import WrittenTest
from whence.langs.python.rebuilding.source_layout import Group, Text, fold
from whence.langs.python.rebuilding.test_trial import Failure
from whence.langs.python.source.definitions import literal
from whence.model.call import PRINTED, Mark, OutcomeKind
from whence.model.symptom import Symptom, SymptomKind
from whence.secret_values import secrets_for

_LONGEST = 4000
"""The most characters of input or output that become part of a test."""
_LINE = re.compile(r"\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run to be tested: its command and folder, what it read and printed, how it ended."""

    words: tuple[str, ...]
    folder: Path
    output: tuple[str, ...]
    ended: OutcomeKind
    complaint: Complaint
    test: Path
    about: str
    symptom: Symptom | None = None
    """What was said to be wrong about the run."""
    status: str = "0"
    """Its exit status."""
    stdin: str = ""
    environment: Mapping[str, str | None] = field(default_factory=dict)


def output_test_source(run: RecordedRun) -> WrittenTest:
    """A test of a whole run."""
    target = Target.from_words(run.words)
    if run.ended is OutcomeKind.NOT_TERMINATED:
        raise CannotRebuild("it is the program as a whole, which did not end by itself")
    if any(secrets_for().without_keys(text) != text for text in (*run.words, run.stdin)):
        raise CannotRebuild("it is the program as a whole, which was given a secret")
    if len(run.stdin) > _LONGEST:
        raise CannotRebuild("it is the program as a whole, and its input is long")
    needed = ["import subprocess", "import sys", "from pathlib import Path"]
    arguments: list[tuple[str, Text]] = [
        ("", Group("[", tuple(("", word) for word in _command(target, run.folder)), "]")),
        ("cwd=", "FOLDER"),
        ("capture_output=", "True"),
        ("text=", "True"),
    ]
    if run.stdin:
        arguments.append(("input=", literal_source(run.stdin)))
    fixtures = "monkeypatch" if run.environment else ""
    body = [
        f"monkeypatch.delenv({literal_source(name)}, raising=False)"
        if value is None
        else f"monkeypatch.setenv({literal_source(name)}, {literal_source(value)})"
        for name, value in run.environment.items()
    ]
    body += fold(Group("subprocess.run(", tuple(arguments), ")"), before="done = ")
    body += _assertion(run)
    lines = [
        docstring(run.about), "", *needed, "",
        f"FOLDER = {path_expression(run.folder, run.test)}", "", "",
        f"def {_name(target)}({fixtures}):", *(f"    {line}" for line in body),
    ]  # fmt: skip
    return WrittenTest(checked_file("\n".join(lines) + "\n"), Failure())


def _command(target: Target, folder: Path) -> list[str]:
    if target.kind not in (TargetKind.SCRIPT, TargetKind.MODULE):
        raise CannotRebuild("it is the program as a whole, which is in no file")
    words = ["sys.executable"]
    path = Path(target.name)
    if target.kind is TargetKind.MODULE:
        words += ['"-m"', literal_source(target.name)]
    elif path.is_absolute() and path.parent == Path(sys.executable).parent:
        words.append(f"Path(sys.executable).with_name({literal_source(path.name)})")
    else:
        is_inside = path.is_absolute() and path.is_relative_to(folder)
        name = path.relative_to(folder).as_posix() if is_inside else target.name
        words.append(literal_source(name))
    return [*words, *map(literal_source, target.arguments)]


def _name(target: Target) -> str:
    stem = target.name if target.kind is TargetKind.MODULE else Path(target.name).stem
    name = "test_output_of_" + re.sub(r"[\W_]+", "_", stem).strip("_").lower()
    return name if is_identifier(name) else "test_output"


def _assertion(run: RecordedRun) -> list[str]:
    if run.ended is OutcomeKind.RAISED:
        return ["assert done.returncode == 0, done.stderr"]
    is_about_output = run.symptom is not None and run.symptom.kind is SymptomKind.OUTPUT
    if not is_about_output and run.status not in ("0", "None"):
        if not run.status.isdecimal():
            raise CannotRebuild("it is the program as a whole; say which line of it is wrong")
        return _compared("done.returncode", "!=", run.status)
    mark, expected = run.complaint.mark, run.complaint.expected
    if mark is None and is_about_output and run.symptom is not None and run.symptom.line:
        mark = Mark(PRINTED, (f"[{run.symptom.line - 1}]",))
    line = _LINE.fullmatch(mark.steps[0]) if mark and mark.root == PRINTED and mark.steps else None
    if line is None:
        text = "".join(f"{line}\n" for line in run.output)
        if not text or len(text) > _LONGEST:
            raise CannotRebuild("it is the program as a whole; say which line of it is wrong")
        return _compared("done.stdout", "!=", literal_source(text))
    number = int(line[1])
    if number >= len(run.output):
        raise CannotRebuild("it is the program as a whole, and that line was not recorded")
    assert mark is not None
    value = literal(expected) if expected is not None and len(mark.steps) == 1 else None
    left = f'done.stdout.split("\\n")[{number}:{number + 1}]'
    if isinstance(value, str):
        return _compared(left, "==", f"[{literal_source(value)}]")
    return _compared(left, "!=", f"[{literal_source(run.output[number])}]")


def _compared(left: str, sign: str, right: str) -> list[str]:
    about = [] if sign == "==" else ["# This is what was wrong; write here what it should be."]
    return [*about, f"assert {left} {sign} {right}"]
