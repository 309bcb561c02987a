"""A project whose files are named like modules that whence itself imports."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from recorded import environment

from whence.langs.python.launching.own_python import tool_command
from whence.langs.python.record.journal.journal_choice import obstacle

OWN = """
WHO = "the project"
def number(): return 3
"""
MODULES = (
    "random",
    "json",
    "typing",
    "dataclasses",
    "numpy",
    "code",
    "pdb",
    "prompt_toolkit",
    "pip",
)
PROGRAM = """
import dataclasses, json, numpy, pdb, prompt_toolkit, random, rich, sys, typing
def twice(n): return n * 3
def total(numbers): return {"sum": sum(map(twice, numbers)), "all": [twice(n) for n in numbers]}
print(total([1, 2, random.number()]))
for module in (dataclasses, json, numpy, pdb, prompt_toolkit, random, rich, typing):
    print(module.__name__, getattr(module, "WHO", "loaded before"))
print(sys.path, sys.flags, sys.orig_argv[1:], sys.argv)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "rich").mkdir(parents=True)
    for name in (*MODULES, "rich/__init__"):
        (project / f"{name}.py").write_text(OWN)
    (project / "program.py").write_text(PROGRAM)
    return project


def python(folder: Path, *words: str, more: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    variables = environment()
    variables["PYTHONPATH"] = ":".join([variables["PYTHONPATH"], *more])
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        variables[name] = str(folder.parent / name)
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=variables, input="", capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip


def skip_if_broken(folder: Path, more: Sequence[str]) -> None:
    if python(folder, "-c", "", more=more).stderr:
        pytest.skip("an installed package imports the project's modules when Python starts")


def whence(folder: Path, *words: str, more: Sequence[str] = ()) -> str:
    skip_if_broken(folder, more)
    done = python(folder, "-m", "whence", *words, more=more)
    assert not done.stderr, done.stderr
    return done.stdout


needs_journal = pytest.mark.skipif(obstacle(None) is not None, reason="nothing keeps a journal")


@pytest.mark.parametrize("program", [["program.py", "x"], ["-m", "program", "x"]])
@pytest.mark.parametrize("more", [[], ["."]])
def test_the_program_imports_its_own_modules(
    folder: Path, program: list[str], more: list[str]
) -> None:
    plain = python(folder, *program, more=more)
    loaded_before = plain.stdout.count("loaded before")  # an installed package may do that
    assert plain.stdout.count("the project") == 8 - loaded_before >= 6
    recorded = whence(folder, "record", "-q", "-o", "t.whence", *program, more=more)
    assert recorded == plain.stdout


@needs_journal
@pytest.mark.parametrize("more", [[], ["."]])
def test_a_recorded_program_is_run_again(folder: Path, more: list[str]) -> None:
    whence(folder, "record", "-q", "--journal", "-o", "t.whence", "program.py", more=more)
    assert "the re-run matches the recording" in whence(folder, "rerun", "t.whence", more=more)


@pytest.mark.parametrize(
    "options", [[], pytest.param(["--journal"], marks=needs_journal)], ids=["live", "journal"]
)
def test_a_mark_leads_to_its_origin(folder: Path, options: list[str]) -> None:
    whence(folder, "record", "-q", *options, "-o", "t.whence", "program.py")
    origin = whence(folder, "why", "t.whence", "total", "result['all'][1]")
    assert "at program.py:3, as n * 3" in origin


def test_a_reference_version_answers(folder: Path) -> None:
    skip_if_broken(folder, ["."])
    right = folder.parent / "right"
    shutil.copytree(folder, right)
    (right / "program.py").write_text(PROGRAM.replace("n * 3", "n * 2"))
    words = ["run", "--plain", "--wrong", "output:1", "--reference", str(right), "program.py"]
    done = python(folder, "-m", "whence", *words)
    assert "The fault is in twice" in done.stdout, done.stderr


def test_the_terminal_looks_as_everywhere(folder: Path) -> None:
    pexpect = pytest.importorskip("pexpect")
    pytest.importorskip("rich")
    pytest.importorskip("prompt_toolkit")
    spawn: Callable[..., object] = pexpect.spawn
    child = spawn(
        sys.executable, ["-m", "whence", "run", "--wrong", "output:1", "program.py"],
        cwd=str(folder), env={**environment(), "TERM": "xterm", "XDG_STATE_HOME": str(folder)},
        encoding="utf-8", dimensions=(50, 200), timeout=60,
    )  # fmt: skip
    assert isinstance(child, pexpect.spawn)
    child.expect("Question 1")
    child.sendline("q")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 1


def test_a_tool_is_the_installed_one(folder: Path) -> None:
    done = subprocess.run(
        tool_command("pip", "--version"), cwd=folder, env={**environment(), "PYTHONPATH": "."},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.startswith("pip "), done.stderr


INTERRUPT = """
import sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == "MODULE":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
"""


@pytest.mark.parametrize("module", ["run_as_python", "start"])  # in the first process, in the next
def test_an_interrupt_before_the_program_starts_is_a_sentence(tmp_path: Path, module: str) -> None:
    source = INTERRUPT.replace("MODULE", f"whence.langs.python.debuggee.{module}")
    (tmp_path / "sitecustomize.py").write_text(source)
    done = subprocess.run(
        [sys.executable, "-m", "whence", "record", "-o", "t.whence", "-c", "print('ran')"],
        cwd=tmp_path, env={**environment(), "PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "whence: stopped\n")
