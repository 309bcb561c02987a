"""Lint once, test on this Python, then what depends on the interpreter on every other one at hand.

This is what `make test` and CI run. Every CPython >= 3.11 counts. Versions that the machine does
not have come from Debian (debian_pythons.py) if `make pythons` has downloaded them; on these only
what depends most on the version is run. `--python 3.15` runs all that depends on the interpreter on
that version alone, and downloads it if need be.

Needs nothing but the interpreter that runs it: environments.py makes and updates an environment for
each interpreter, and SWI-Prolog is installed where it is missing and can be. All steps run even
when an earlier one failed, so that one run shows everything; the summary has a line for each, and
the exit status is 1 when any failed. An interpreter for which no environment can be had is skipped
and named, except for the one that runs this.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import debian_pythons
import environments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from environments import Interpreter

TESTING = ("terminal", "test")
BROWSING = ("browser",)
"""On one Python only: a browser does not depend on the interpreter."""
LINTING = ("lint",)
PYTEST = ("-m", "pytest", "-n", "auto")
OF_THE_INTERPRETER = (
    "tests/unit/langs/python",
    "tests/unit/cli/test_record.py",
    "tests/unit/cli/test_run.py",
    "tests/property/test_recording.py",
    *(
        f"--ignore=tests/unit/langs/python/{name}.py"
        for name in (
            "oracles/test_reference_oracle",
            "oracles/test_several_differences",
            "provenance/test_origin_kinds",
        )
    ),
)
"""What sees how an interpreter works inside, and takes no longer than that is worth. All else is
plain Python, and is run on one."""
MOST_DEPENDENT = (
    *(
        f"tests/unit/langs/python/record/test_{name}.py"
        for name in ("backend", "backend_choice", "guest", "newer_types")
    ),
    "tests/unit/langs/python/provenance/test_new_syntax.py",
    "tests/unit/langs/python/zoom/test_corpus.py",
    "tests/unit/cli/test_run.py",
)
"""What a new version of CPython breaks first: a minute's worth of tests."""
NEWEST = (
    *OF_THE_INTERPRETER,
    *(
        f"--ignore=tests/unit/langs/python/{folder}"
        for folder in (
            "experiments",
            "oracles",
            "priors",
            "rebuilding",
            "symptoms",
            "trace",
            "witnesses",
        )
    ),
    "tests/corpus/test_corpus.py",
)
"""What the newest interpreter at hand runs: what happens in the program's process, re-runs, and the
corpus, which older ones have to skip."""
BETWEEN = (
    "tests/unit/langs/python/record",
    "tests/unit/langs/python/provenance/test_new_syntax.py",
    "tests/unit/langs/python/zoom/test_corpus.py",
    "tests/unit/cli/test_run.py",
    "tests/property/test_recording.py",
)
"""What interpreters between the oldest and the newest one run: the recorder, whose hooks and
layouts differ in each. `--python 3.12` runs all that depends on the interpreter."""


@dataclass
class Run:
    """The steps of one run and how they ended, in order."""

    lines: list[str] = field(default_factory=list)
    failed: bool = False

    def step(
        self, name: str, command: Sequence[str], environ: dict[str, str] | None = None
    ) -> bool:
        print(f"\n=== {name}", flush=True)
        start = time.monotonic()
        status = subprocess.run(
            command,
            cwd=environments.ROOT,
            env=environments.clean_environ() if environ is None else environ,
            check=False,
        ).returncode
        seconds = f"{time.monotonic() - start:.1f} s"
        self.note("passed" if status == 0 else "FAILED", f"{name} ({seconds})")
        return status == 0

    def note(self, state: str, text: str) -> None:
        self.failed |= state == "FAILED"
        self.lines.append(f"{state:8}{text}")

    def summary(self) -> int:
        print("\n=== summary")
        print("\n".join(self.lines), flush=True)
        return int(self.failed)


def lint(run: Run, main: Interpreter) -> None:
    tools = main.environment / "bin"
    run.step("ruff check", [str(tools / "ruff"), "check", "."])
    run.step("ruff format --check", [str(tools / "ruff"), "format", "--check", "."])
    run.step("mypy --strict", [str(tools / "mypy"), "--strict"])
    run.step("lint-imports", [str(tools / "lint-imports"), "--no-logo"])
    run.step("C, for other platforms too", [str(main.python), "tools/check_c.py"])


@dataclass(frozen=True)
class TestedPython:
    """A Python on which tests run, as soon as its environment is prepared."""

    version: str
    prepared: Future[None]
    command: Sequence[str]
    environ: dict[str, str] | None = None

    def test(self, run: Run, tests: Sequence[str]) -> None:
        try:
            self.prepared.result()
        except environments.Unavailable as problem:
            print(f"\n=== skipped: {problem}", flush=True)
            reason = str(problem).splitlines()[0]
            run.note("skipped", f"pytest on {self.version}: {reason}")
        except environments.InstallFailed as problem:
            print(f"\n=== failed: {problem}", flush=True)
            run.note("FAILED", f"install on {self.version}")
        else:
            run.step(f"pytest on {self.version}", [*self.command, *tests], self.environ)


def python_at_hand(pool: Executor, interpreter: Interpreter) -> TestedPython:
    prepared = pool.submit(environments.prepare, interpreter, TESTING)
    return TestedPython(interpreter.version, prepared, [str(interpreter.python), *PYTEST])


def python_of_debian(pool: Executor, version: str) -> TestedPython:
    """An interpreter of Debian, which is at hand."""
    environ = debian_pythons.environ()
    prepare = debian_pythons.command([f"python{version}", "tools/environments.py", *TESTING])
    command = debian_pythons.command([f".venvs/{version}/bin/python", *PYTEST])
    prepared = pool.submit(prepare_of_debian, prepare, environ)
    return TestedPython(f"Debian's {version}", prepared, command, environ)


def prepare_of_debian(command: Sequence[str], environ: dict[str, str]) -> None:
    done = subprocess.run(
        command, cwd=environments.ROOT, env=environ, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise environments.InstallFailed(done.stdout)


def pythons_of_debian(
    run: Run, pool: Executor, at_hand: Sequence[Interpreter]
) -> list[TestedPython]:
    """Those of the versions that the machine does not have; why there are none is noted."""
    minors = {interpreter.minor for interpreter in at_hand}
    missing = [version for version in debian_pythons.VERSIONS if version not in minors]
    try:
        if missing:
            debian_pythons.require()
    except debian_pythons.Missing as problem:
        run.note("skipped", f"pytest on {' and '.join(missing)}: {problem}")
        return []
    return [python_of_debian(pool, version) for version in missing]


def test_one_version(version: str) -> int:
    """All that depends on the interpreter, on one version, wherever it is to be had."""
    run = Run()
    with ThreadPoolExecutor(1) as pool:
        for interpreter in environments.at_hand(environments.running()):
            if interpreter.minor == version:
                python_at_hand(pool, interpreter).test(run, OF_THE_INTERPRETER)
                return run.summary()
        try:
            if version not in debian_pythons.VERSIONS:
                raise debian_pythons.Missing(f"there is no Python {version} here")
            debian_pythons.provide()
        except debian_pythons.Missing as problem:
            run.note("FAILED", f"pytest on {version}: {problem}")
        else:
            python_of_debian(pool, version).test(run, OF_THE_INTERPRETER)
    return run.summary()


def provide_prolog(run: Run) -> None:
    """SWI-Prolog is no Python package; where it cannot be had, its tests skip and say why."""
    if shutil.which("swipl") is not None:
        return
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        run.note("skipped", "tests that need swipl: it is missing, and only root can install it")
        return
    run.step("apt-get update", ["apt-get", "update", "-qq"])
    install = ["apt-get", "install", "-qq", "-y", "--no-install-recommends", "swi-prolog-nox"]
    run.step("install swi-prolog-nox", install)


def provide_browser(run: Run) -> None:
    """Chromium is no Python package; where it cannot be had, tests of the page skip and say why."""
    if any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        return
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        run.note("skipped", "tests that need Chromium: it is missing, and only root can install it")
        return
    run.step("apt-get update", ["apt-get", "update", "-qq"])
    install = ["apt-get", "install", "-qq", "-y", "--no-install-recommends", "chromium"]
    run.step("install chromium", install)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--quick", action="store_true", help="only on the interpreter running this")
    which.add_argument("--lint", action="store_true", help="lint only, no tests")
    which.add_argument(
        "--python", metavar="3.N", help="only what depends on the interpreter, on this version"
    )
    options = parser.parse_args()
    if options.python:
        return test_one_version(options.python)

    interpreter = environments.running()
    extras = (*TESTING, *BROWSING, *LINTING)  # to lint too: mypy reads what the tests import
    run = Run()
    others, from_debian = [], []
    with ThreadPoolExecutor(1) as pool:  # lint has one core busy at most
        if not (options.lint or options.quick):
            at_hand = environments.at_hand(interpreter)
            others = [python_at_hand(pool, other) for other in at_hand[1:]]
            from_debian = pythons_of_debian(run, pool, at_hand)
        try:
            environments.prepare(interpreter, extras)
        except (environments.Unavailable, environments.InstallFailed) as problem:
            environments.say(f"FAILED: {problem}")
            return 1
        lint(run, interpreter)
        if not options.lint:
            provide_prolog(run)
            provide_browser(run)
            name = f"pytest on {interpreter.version}"
            run.step(name, [str(interpreter.python), *PYTEST])
        for other in others:
            is_newest = other is others[-1]
            other.test(run, NEWEST if is_newest else BETWEEN)
        for python in from_debian:
            python.test(run, MOST_DEPENDENT)
        return run.summary()


if __name__ == "__main__":
    sys.exit(main())
