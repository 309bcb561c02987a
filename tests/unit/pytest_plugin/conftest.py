"""Small projects with failing tests, run by a pytest of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import forked_whence
import pytest

from whence.langs.python.recordings import read_symptom, recordings
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.symptom import Symptom
from whence.tree.column_tree import ColumnTree

# Other plugins take longer to load than most tests take to run.
QUIET = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p _whence_pytest"}


@dataclass(frozen=True)
class Project:
    """A folder with a program and its tests."""

    folder: Path

    def run(
        self, *command: str, answers: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *command], cwd=self.folder, env=self.environment(**environment),
            input=answers, capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip

    def whence(
        self, *words: str, answers: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        variables = self.environment(**environment)
        return forked_whence.whence(*words, cwd=self.folder, env=variables, stdin=answers)

    def pytest(self, *arguments: str, **environment: str) -> str:
        """What a run of pytest prints."""
        done = self.run("-m", "pytest", "-q", *arguments, **environment)
        return done.stdout + done.stderr

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: each for name, each in os.environ.items() if not name.startswith("PYTEST_")}
        return {**kept, **QUIET, "COLUMNS": "200", **more}

    def recordings(self) -> dict[str, Path]:
        """What was recorded, by the name of its test."""
        return {open_trace(path).functions[0].name: path for path in recordings(self.folder)}

    def tree(self, test: str) -> ColumnTree:
        return open_trace(self.recordings()[test])

    def symptom(self, test: str) -> Symptom:
        found = read_symptom(self.recordings()[test])
        assert found is not None
        return found

    def calls(self, test: str) -> list[str]:
        """The equations of a test's calls, indented, without the first, which is the test."""
        tree = self.tree(test)
        depth = tree.columns.depth
        return [
            "  " * int(depth[position] - 1) + tree.call(position).equation()
            for position in range(1, len(tree.columns))
        ]


MakeProject = Callable[[Mapping[str, str]], Project]


@pytest.fixture(scope="module")
def make_project(tmp_path_factory: pytest.TempPathFactory) -> MakeProject:
    def make(files: Mapping[str, str]) -> Project:
        folder = tmp_path_factory.mktemp("project")
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text), encoding="utf-8")
        return Project(folder)

    return make
