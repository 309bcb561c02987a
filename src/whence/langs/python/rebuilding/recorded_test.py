"""Writes a regression test of a recorded call: the `RegressionTestWriter` of Python."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from whence.errors import CannotWriteTest
from whence.langs.python.rebuilding import pytest_source
from whence.langs.python.rebuilding.checked_source import CannotRebuild
from whence.langs.python.rebuilding.outcome_assertion import Complaint
from whence.langs.python.rebuilding.program_modules import RecordedProgram
from whence.langs.python.trace.call_recipes import call_recipe
from whence.langs.python.trace.trace_pages import TraceError
from whence.model.call import OutcomeKind
from whence.ports import TestRequest, Tree
from whence.tree.source_files import SourceFiles


@dataclass(frozen=True)
class PythonTestWriter:
    """Rebuilds a recorded call as source text. It runs nothing of the program."""

    files: SourceFiles
    command: tuple[str, ...] = ()

    def write(self, tree: Tree, request: TestRequest) -> str:
        """The text of a test file."""
        try:
            recorded = pytest_source.RecordedTest(
                call=call_recipe(tree, tree.position(request.node)),
                complaint=Complaint(request.expected, request.mark, request.is_typed),
                test=request.path.absolute(),
                about=request.summary,
                prints=request.checks_output,
            )
            return pytest_source.regression_test_source(recorded, self._program(tree))
        except (CannotRebuild, TraceError, RecursionError, TypeError, ValueError) as problem:
            raise CannotWriteTest(str(problem)) from problem

    def _program(self, tree: Tree) -> RecordedProgram:
        files = {
            function.module: function.location.file
            for function in tree.functions
            if function.location and not function.location.file.startswith("<")
        }
        folder = self.files.folder or Path.cwd()
        return RecordedProgram(files, self.files.read, folder, self.command, not _is_unended(tree))


def _is_unended(tree: Tree) -> bool:
    """Whether the program, or the body of its script, was stopped."""
    outcome, function = tree.columns.outcome, tree.columns.function
    has_body = len(outcome) > 1 and tree.functions[int(function[1])].qualname == "<module>"
    stopped = OutcomeKind.NOT_TERMINATED
    return int(outcome[0]) == stopped or (has_body and int(outcome[1]) == stopped)
