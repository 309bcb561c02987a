"""Installed programs: the package behind a console script or `-m` is what is debugged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from recorded import Node, as_node, environment

from whence.errors import WhenceError
from whence.langs.python.debuggee.run_as_python import Target, TargetKind
from whence.langs.python.launching.installed_program import found_on_path, installed_program
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.trace.trace_reader import open_trace

WRAPPER = """\
#!{python}
# -*- coding: utf-8 -*-
import re
import sys
from {module} import main
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])
    sys.exit(main())
"""


class Installation:
    """A package in a folder site-packages, and its console script."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.packages = folder / "lib/site-packages"
        package = self.packages / "tool"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "core.py").write_text("def work(x):\n    return x + 1\n")
        (package / "cli.py").write_text(
            "from tool.core import work\ndef main():\n    print(work(1))\n"
        )
        (package / "__main__.py").write_text("from tool.cli import main\nmain()\n")
        self.script = folder / "bin/tool"
        self.script.parent.mkdir()
        self.write(self.script, "tool.cli")

    @staticmethod
    def write(script: Path, module: str) -> None:
        script.write_text(WRAPPER.format(python=sys.executable, module=module))
        script.chmod(0o755)

    def whence(self, *words: str, answers: str = "") -> subprocess.CompletedProcess[str]:
        variables = environment()
        paths = os.pathsep.join([variables["PYTHONPATH"], str(self.packages)])
        path = os.pathsep.join([str(self.script.parent), os.environ["PATH"]])
        return subprocess.run(
            [sys.executable, "-m", "whence", *words], cwd=self.folder, input=answers, text=True,
            env={**variables, "PYTHONPATH": paths, "PATH": path}, capture_output=True, timeout=60,
            check=False,
        )  # fmt: skip

    def recorded(self, *words: str) -> Node:
        done = self.whence("record", "-o", "t.whence", *words)
        assert done.returncode == 0, done.stderr
        return as_node(open_trace(self.folder / "t.whence"))


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return Installation(tmp_path)


def test_the_package_of_a_console_script_is_recorded(installation: Installation) -> None:
    root = installation.recorded("bin/tool")
    assert root.find("main").all("work")[0].outcome == "→ 2"
    # Not the file that pip wrote.
    tree = open_trace(installation.folder / "t.whence")
    assert not [function for function in tree.functions if "bin/tool" in str(function.location)]


def test_the_package_of_a_module_is_recorded(installation: Installation) -> None:
    root = installation.recorded("-m", "tool")
    assert root.find("main").all("work")[0].outcome == "→ 2"


def test_a_console_script_is_found_on_the_path(installation: Installation) -> None:
    done = installation.whence("record", "-o", "t.whence", "tool")
    assert done.stdout == "2\n"
    assert done.stderr == f"whence: tool is {installation.script}\n"


def test_the_script_that_pip_wrote_is_not_blamed(installation: Installation) -> None:
    done = installation.whence(
        "run", "--answers", "-", "--wrong", "printed", "tool", answers="n\n" * 9
    )
    assert "The fault is in work" in done.stdout, done.stdout


def test_the_code_of_a_runner_is_not_meant(installation: Installation) -> None:
    installation.write(script := installation.script.with_name("pytest"), "pytest")
    program = installed_program(Target(TargetKind.SCRIPT, str(script)))
    assert program is not None
    assert program.added_to(UserCodeRules()) == UserCodeRules(left_out=(str(script),))


@pytest.mark.parametrize("module", ["unittest", "json.tool", "pytest", "IPython"])
def test_modules_that_run_others_or_are_of_python_are_not_meant(module: str) -> None:
    program = installed_program(Target(TargetKind.MODULE, module))
    assert program is not None
    assert program.added_to(UserCodeRules()) == UserCodeRules()


def test_a_script_of_the_users_own_is_as_it_was(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(WRAPPER.format(python=sys.executable, module="tool"))
    assert installed_program(Target(TargetKind.SCRIPT, str(own))) is None
    (tmp_path / "bin").mkdir()
    other = tmp_path / "bin/other"
    other.write_text(f"#!{sys.executable}\nfrom tool import main\nx = 1\nmain(x)\n")
    assert installed_program(Target(TargetKind.SCRIPT, str(other))) is None


def test_a_program_that_is_no_python_is_refused() -> None:
    with pytest.raises(WhenceError, match="is not a Python program"):
        found_on_path(Target(TargetKind.SCRIPT, "sh"))
    assert found_on_path(Target(TargetKind.SCRIPT, "no-such-program")) is None


def test_if_nothing_of_the_users_is_recorded_nobody_is_blamed(installation: Installation) -> None:
    (installation.packages / "pytest.py").write_text("def main(): print(1)\n")
    installation.write(installation.script, "pytest")
    done = installation.whence("run", "--answers", "-", "--wrong", "printed", "tool")
    assert done.returncode == 1
    assert "no call of the program's own code was recorded" in done.stdout
    assert "--user-code" in done.stdout
