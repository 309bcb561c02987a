"""Writes a regression test of a recorded call: the `RegressionTestWriter` of Python.

A test is given out only if it was seen to fail for the right reason (`test_trial.py`): its
assertion fails because the call does what was recorded, or the recorded exception leaves the call.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from whence.errors import CannotWriteTest
from whence.langs.python.launching.first_run import recorded_variables
from whence.langs.python.rebuilding import pytest_source
from whence.langs.python.rebuilding.checked_source import CannotRebuild
from whence.langs.python.rebuilding.outcome_assertion import Complaint
from whence.langs.python.rebuilding.output_source import RecordedRun, output_test_source
from whence.langs.python.rebuilding.program_modules import RecordedProgram
from whence.langs.python.rebuilding.pytest_source import RecordedTest, Variation, WrittenTest
from whence.langs.python.rebuilding.recorded_constructors import RecordedConstructors
from whence.langs.python.rebuilding.test_trial import CalledCode, TrialTooLong, try_tests
from whence.langs.python.recording_signature import ForeignRecording, require_own
from whence.langs.python.recordings import beside, read_symptom
from whence.langs.python.replay.rerun_process import header_of
from whence.langs.python.source.assertions import expected_of
from whence.langs.python.source.environment_reads import environment_reads
from whence.langs.python.source.source_parsing import read_source
from whence.langs.python.trace.assertion_operands import trace_operand
from whence.langs.python.trace.call_recipes import CallTooLong, call_recipe
from whence.langs.python.trace.trace_pages import TraceError
from whence.model.call import OutcomeKind
from whence.ports import TestRequest, Tree
from whence.tree.column_tree import ColumnTree
from whence.tree.readable_call import readable_call
from whence.tree.source_files import SourceFiles

_MOST_CALLS = 2000
"""How many calls below one are looked at for what they read of the environment."""


@dataclass(frozen=True)
class PythonTestWriter:
    """Rebuilds a recorded call as source text, and runs the test in a confined process."""

    files: SourceFiles
    recording: Path
    command: tuple[str, ...] = ()

    def write(self, tree: Tree, request: TestRequest) -> str:
        """The text of a test file."""
        try:
            require_own(self.recording)
            position = tree.position(request.node)
            program = self._program(tree)
            if int(tree.columns.parent[position]) < 0:
                return self._whole_run(tree, request, program)
            recorded = RecordedTest(
                call=call_recipe(tree, position),
                complaint=self._complaint(tree, position, request),
                test=request.path.absolute(),
                about=request.summary,
                prints=request.checks_output,
                environment=self._environment(tree, position, program),
                constructors=RecordedConstructors(tree, position, program),
            )
            return _tried(recorded, program, request.deadline)
        except ForeignRecording:
            raise CannotWriteTest(
                "it would have to be run first, and the recording is not your own"
            ) from None
        except (
            CannotRebuild,
            CallTooLong,
            TraceError,
            RecursionError,
            TypeError,
            ValueError,
        ) as why:
            raise CannotWriteTest(str(why)) from why

    def _complaint(self, tree: Tree, position: int, request: TestRequest) -> Complaint:
        """What is wrong; of a call in a `raises` block, that the exception is missing."""
        symptom = read_symptom(self.recording) if request.expected is None else None
        failed = None if symptom is None else symptom.assertion
        if symptom is not None and failed is not None and isinstance(tree, ColumnTree):
            text = read_source(failed.file) or ""
            for operand in failed.operands:
                due = expected_of(text, failed.line, failed.operands, operand)
                is_due = due.startswith("raises ")
                if is_due and trace_operand(tree, symptom, operand).position == position:
                    return Complaint(due, is_typed=False)
        return Complaint(request.expected, request.mark, request.is_typed)

    def _whole_run(self, tree: Tree, request: TestRequest, program: RecordedProgram) -> str:
        """A test of what the program printed."""
        assert isinstance(tree, ColumnTree)
        header = header_of(tree)
        if header.test:
            raise CannotRebuild(
                f"the failing test is one already: pytest {shlex.quote(header.test)}"
            )
        call, problem = readable_call(tree, 0)
        if problem:
            raise CannotRebuild(problem)
        run = RecordedRun(
            words=header.words,
            folder=program.folder,
            output=call.output,
            ended=call.outcome.kind,
            complaint=Complaint(request.expected, request.mark, request.is_typed),
            test=request.path.absolute(),
            about=request.summary,
            symptom=read_symptom(self.recording),
            status="0" if call.outcome.value is None else call.outcome.value.text,
            stdin=self._stdin(),
            environment=self._environment(tree, 0, program),
        )
        tests = [output_test_source(run)]
        if request.expected is not None:
            plainly = replace(run.complaint, expected=None)
            tests.append(output_test_source(replace(run, complaint=plainly)))
        _check(tests, run.test, CalledCode("", "", 0), program.folder, request.deadline)
        return tests[0].text

    def _stdin(self) -> str:
        path = beside(self.recording, "stdin")
        try:
            return path.read_text(encoding="utf-8") if path.exists() else ""
        except (OSError, ValueError):
            raise CannotRebuild("it is the program as a whole, and its input is no text") from None

    def _program(self, tree: Tree) -> RecordedProgram:
        files = {
            function.module: function.location.file
            for function in tree.functions
            if function.location and not function.location.file.startswith("<")
        }
        folder = self.files.folder or Path.cwd()
        return RecordedProgram(files, self.files.read, folder, self.command, not _is_unended(tree))

    def _environment(
        self, tree: Tree, position: int, program: RecordedProgram
    ) -> dict[str, str | None]:
        """The variables that a call and those below it name, as they were; without secrets."""
        columns = tree.columns
        last = min(int(columns.end[position]), position + _MOST_CALLS)
        names: set[str] = set()
        for number in set(columns.function[position:last].tolist()):
            function = tree.functions[number]
            module = program.module(function.module)
            if module is None or not (function.location and function.location.line):
                continue
            code = module.function(function.qualname, function.location.line)
            names |= set() if code is None else environment_reads(code, module)
        return recorded_variables(self.recording, sorted(names))


def _tried(recorded: RecordedTest, program: RecordedProgram, deadline: float) -> str:
    """The first way to write a test in which it fails for the right reason."""
    problem: CannotRebuild | None = None
    visited: set[str] = set()
    code = recorded.call.code
    called = CalledCode(Path(code.file).name, code.qualname, code.first_line)
    for variation in pytest_source.VARIATIONS:
        try:
            test = pytest_source.regression_test_source(recorded, program, variation)
            if test.text in visited:
                continue
            visited.add(test.text)
            tests = [test, *_probe(recorded, program, variation)]
            _check(tests, recorded.test, called, program.folder, deadline)
        except TrialTooLong:
            raise
        except CannotRebuild as why:
            problem = problem or why
        else:
            return test.text
    assert problem is not None, "the first variation was tried"
    raise problem


def _probe(
    recorded: RecordedTest, program: RecordedProgram, variation: Variation
) -> list[WrittenTest]:
    """A test that fails only if the call does what was recorded, where one can be written."""
    if recorded.complaint.expected is None:
        return []
    plainly = replace(recorded, complaint=replace(recorded.complaint, expected=None))
    try:
        return [pytest_source.regression_test_source(plainly, program, variation)]
    except CannotRebuild:
        return []


def _check(
    tests: list[WrittenTest], path: Path, called: CalledCode, folder: Path, deadline: float
) -> None:
    """Run tests; `CannotRebuild` if one of them does not fail as it is meant to."""
    results = try_tests([test.text for test in tests], path, called, folder, deadline)
    for test, result in zip(tests, results, strict=True):
        why = result.why_unfit(test.failure)
        if why:
            raise CannotRebuild(why)


def _is_unended(tree: Tree) -> bool:
    """Whether the program, or the body of its script, was stopped."""
    outcome, function = tree.columns.outcome, tree.columns.function
    has_body = len(outcome) > 1 and tree.functions[int(function[1])].qualname == "<module>"
    stopped = OutcomeKind.NOT_TERMINATED
    return int(outcome[0]) == stopped or (has_body and int(outcome[1]) == stopped)
