"""Finds the last revision in which a command still did what it should, by bisection.

Each revision is unpacked into a folder of its own, where the command runs. The working tree and the
repository stay untouched.

Invariant: a revision in which the command cannot run is neither good nor bad. If such revisions lie
between the last good and the first bad one, the result lists them.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from whence.errors import WhenceError
from whence.langs.python.oracles.checkouts import check_out, git
from whence.langs.python.oracles.program_versions import is_below

_MOST_BACK = 1 << 14


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How the command ended, and what it printed."""

    status: int | None
    """The exit status; None if it did not end in time."""
    output: bytes = b""


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, the folder in which it runs, and the file that it needs."""

    words: Sequence[str]
    cwd: str
    needs: str = ""
    """A file, relative to `cwd`, without which a revision cannot be tried."""
    limit: float = 60.0

    def run(self, top: str, folder: str) -> CommandResult | None:
        """Run it with a folder in place of the repository; None if that is impossible."""
        cwd = os.path.normpath(os.path.join(folder, os.path.relpath(self.cwd, top)))
        if not os.path.isdir(cwd) or not os.path.exists(os.path.join(cwd, self.needs)):
            return None
        process = subprocess.Popen(
            list(self.words),
            cwd=cwd,
            env=_environment(top, folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=self.limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return CommandResult(None)
        return CommandResult(process.returncode, output)


def _environment(top: str, folder: str) -> dict[str, str]:
    """Modules come from the folder first, so that an installed working tree is not used."""
    own = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    moved = [os.path.join(folder, os.path.relpath(path, top)) if is_below(path, top) else path
             for path in map(os.path.abspath, own)]  # fmt: skip
    first = [path for path in (os.path.join(folder, "src"), folder) if os.path.isdir(path)]
    paths = os.pathsep.join(dict.fromkeys([*moved, *first]))
    return {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}


@dataclass(frozen=True, slots=True)
class BisectionResult:
    """The two revisions between which the command stopped working."""

    good: str
    bad: str
    untried: tuple[str, ...] = ()
    """The revisions between them that could not be tried."""


@dataclass
class Bisection:
    """A search in the history of a repository."""

    top: str
    command: Command
    tell: Callable[[str], None] = lambda text: None
    _tried: dict[str, bool | None] = field(default_factory=dict)
    _wanted: CommandResult | None = None
    """The result of a good revision, if the exit status does not show the failure."""

    def find(self, good: str | None, bad: str) -> BisectionResult:
        """The last good and the first bad revision, between `good`, if it is known, and `bad`."""
        history = git(self.top, "rev-list", "--first-parent", bad).split()
        if good is not None:
            good = git(self.top, "rev-parse", "--verify", f"{good}^{{commit}}")
            if good not in history:
                raise WhenceError(f"{good[:12]} does not come before {bad}")
        now = self._run(history[0])
        if now is None:
            missing = self.command.needs or "such folder"
            raise WhenceError(
                f"the command cannot be run in {bad}: there is no {missing} (revisions are named "
                "with --good and --bad; what is not committed does not count)"
            )
        if now.status == 0:
            self._expect(good, bad, now)
        self._tried[history[0]] = False
        index = history.index(good) if good else self._look_back(history)
        if self._good(history[index]) is not True:
            raise WhenceError(f"{history[index][:12]} is not good: the command fails there too")
        return self._halve(history, index)

    def _expect(self, good: str | None, bad: str, now: CommandResult) -> None:
        """The exit status does not show the failure: what prints the same as `good` is good."""
        if good is None:
            raise WhenceError(
                f"the command does not fail in {bad}; if what it prints is wrong, name a revision "
                "in which it was right with --good"
            )
        self._wanted = self._run(good)
        if self._wanted is None or self._wanted == now:
            raise WhenceError(f"the command has the same result in {bad} and in {good[:12]}")

    def _look_back(self, history: Sequence[str]) -> int:
        """The first good revision found by doubling the distance."""
        step = 1
        while step < len(history) and step <= _MOST_BACK:
            if self._good(history[step]) is True:
                return step
            step *= 2
        if self._good(history[-1]) is True:
            return len(history) - 1
        raise WhenceError("no revision was found in which the command did not fail; name one with "
                          "--good")  # fmt: skip

    def _halve(self, history: Sequence[str], good: int) -> BisectionResult:
        bad = 0
        untried: set[int] = set()
        while True:
            left = [index for index in range(bad + 1, good) if index not in untried]
            if not left:
                between = tuple(history[bad + 1 : good])
                return BisectionResult(history[good], history[bad], between)
            middle = left[len(left) // 2]
            verdict = self._good(history[middle])
            if verdict is None:
                untried.add(middle)
            elif verdict:
                good = middle
            else:
                bad = middle

    def _good(self, revision: str) -> bool | None:
        if revision not in self._tried:
            result = self._run(revision)
            verdict = None
            if result is not None:
                verdict = result == self._wanted if self._wanted else result.status == 0
            self._tried[revision] = verdict
            label = {True: "good", False: "bad", None: "cannot be tried"}[verdict]
            self.tell(f"{git(self.top, 'log', '-1', '--format=%h %s', revision)}: {label}")
        return self._tried[revision]

    def _run(self, revision: str) -> CommandResult | None:
        folder = check_out(self.top, revision)
        try:
            return self.command.run(self.top, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
