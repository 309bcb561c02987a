"""An exception in a recorded child process is found, however the program and the child start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from recorded import environment

from whence.langs.python.record.backend_choice import NATIVE, candidates

if not any(each.name == NATIVE and each.can_be_used for each in candidates()):
    pytest.skip("child processes need the recorder in C", allow_module_level=True)

JOBS = """
import multiprocessing, subprocess, sys
from concurrent.futures import ProcessPoolExecutor

def divide(x):
    return 6 // (x - 3)

def job(x):
    return divide(x) + 1

def process(context):
    worker = context.Process(target=job, args=(3,))
    worker.start()
    worker.join()
    if worker.exitcode:
        raise RuntimeError("the worker failed")

def pool(context):
    with context.Pool(2) as workers:
        return workers.map(job, [1, 2, 3, 4])

def executor(context):
    with ProcessPoolExecutor(2, mp_context=context) as workers:
        return list(workers.map(job, [1, 2, 3, 4]))

def python(context):
    subprocess.run([sys.executable, "-c", "from tool.jobs import job; job(3)"], check=True)

def main():
    kind, method = sys.argv[1:]
    print(globals()[kind](multiprocessing.get_context(method)))
"""
SCRIPT = """\
#!{python}
import sys
from tool.jobs import main
if __name__ == '__main__':
    sys.exit(main())
"""
FORMS = {"a script": ["program.py"], "a module": ["-m", "tool"], "a console script": ["tool"]}
KINDS = [("process", "spawn"), ("pool", "fork"), ("executor", "fork")]
MORE_KINDS = [
    ("process", "fork"), ("pool", "forkserver"), ("executor", "spawn"), ("python", "fork"),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    package = tmp_path / "lib/site-packages/tool"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "jobs.py").write_text(JOBS)
    (tmp_path / "bin").mkdir()
    for script in package / "__main__.py", tmp_path / "program.py", tmp_path / "bin/tool":
        script.write_text(SCRIPT.format(python=sys.executable))
        script.chmod(0o755)
    return tmp_path


def whence(folder: Path, *words: str, answers: str = "") -> subprocess.CompletedProcess[str]:
    variables = environment()
    paths = os.pathsep.join([variables["PYTHONPATH"], str(folder / "lib/site-packages")])
    path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
    return subprocess.run(
        [sys.executable, "-m", "whence", *words], cwd=folder, input=answers, text=True,
        env={**variables, "PYTHONPATH": paths, "PATH": path}, capture_output=True, timeout=100,
        check=False,
    )  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("kind", "method"),
    [*KINDS, *(pytest.param(*words, marks=pytest.mark.soak) for words in MORE_KINDS)],
)
def test_the_call_that_raised_in_a_child_is_found(
    folder: Path, form: str, kind: str, method: str
) -> None:
    added = ["--user-code", "tool"] if form == "a script" else []
    words = [*added, *FORMS[form], kind, method]
    done = whence(folder, "run", "--answers", "-", *words, answers="\n" + "n\n" * 9)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The fault is in divide (" in done.stdout
    assert "Raised by      6 // (x - 3)" in done.stdout
    (recording,) = (folder / ".whence/runs").glob("*.whence")
    for command in ("show", str(recording)), ("list",), ("convert", str(recording), "-o", "tree"):
        done = whence(folder, *command)
        assert (done.returncode, done.stderr) == (0, "")
