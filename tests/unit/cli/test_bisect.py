"""`whence bisect`: the last good revision, and the session that has it as its reference."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from recorded import environment

from whence.errors import WhenceError
from whence.langs.python.oracles.bisection import Bisection, Command

GOOD = "def f(x):\n    return x + 1\n\ndef main():\n    print(f(1))\n{rest}\nmain()\n"
BAD = GOOD.replace("x + 1", "x - 1")
FAILS = "    assert f(1) == 2"


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *words],
        cwd=folder, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout.strip()


def history(folder: Path, sources: Sequence[str | None]) -> list[str]:
    """A repository in which a script is each of these texts in turn; its revisions."""
    git(folder, "init", "-q")
    for number, source in enumerate(sources):
        if source is None:
            (folder / "run.py").unlink(missing_ok=True)
        else:
            (folder / "run.py").write_text(source)
        (folder / "count").write_text(str(number))
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", f"revision {number}")
    return git(folder, "rev-list", "--reverse", "HEAD").split()


def bisection(folder: Path) -> Bisection:
    words = [sys.executable, "run.py"]
    return Bisection(str(folder), Command(words, str(folder), "run.py", 20))


def failing(rest: str = FAILS) -> tuple[str, str]:
    return GOOD.format(rest=rest), BAD.format(rest=rest)


@pytest.mark.parametrize("first_bad", [1, 3, 4])
def test_the_last_good_revision_is_found(first_bad: int, tmp_path: Path) -> None:
    good, bad = failing()
    revisions = history(tmp_path, [good] * first_bad + [bad] * (5 - first_bad))
    found = bisection(tmp_path).find(None, "HEAD")
    assert (found.good, found.bad) == (revisions[first_bad - 1], revisions[first_bad])
    assert found.untried == ()


def test_revisions_that_cannot_be_tried_are_neither_good_nor_bad(tmp_path: Path) -> None:
    good, bad = failing()
    revisions = history(tmp_path, [good, good, None, None, bad, bad])
    found = bisection(tmp_path).find(revisions[0], "HEAD")
    assert (found.good, found.bad) == (revisions[1], revisions[4])
    assert found.untried == (revisions[3], revisions[2])


def test_a_wrong_output_is_told_by_a_revision_in_which_it_was_right(tmp_path: Path) -> None:
    good, bad = failing(rest="")
    revisions = history(tmp_path, [good, good, bad, bad])
    with pytest.raises(WhenceError, match="--good"):
        bisection(tmp_path).find(None, "HEAD")
    found = bisection(tmp_path).find(revisions[0], "HEAD")
    assert (found.good, found.bad) == (revisions[1], revisions[2])


def test_a_program_that_always_failed_is_said_to(tmp_path: Path) -> None:
    _, bad = failing()
    history(tmp_path, [bad, bad, bad])
    with pytest.raises(WhenceError, match="no revision was found"):
        bisection(tmp_path).find(None, "HEAD")


def whence(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from whence.cli.main import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder, env=environment(), capture_output=True, text=True, timeout=100,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip


def test_a_regression_is_located_without_a_question(tmp_path: Path) -> None:
    good, bad = failing()
    history(tmp_path, [good, bad, bad])
    (tmp_path / "untracked").write_text("mine")
    done = whence(tmp_path, "bisect", "--plain", "--no-session", "run.py")
    assert done.returncode == 0, done.stderr
    assert "It was right in" in done.stderr
    assert "revision 0, and is wrong since" in done.stderr
    assert "The fault is in f (" in done.stdout
    assert git(tmp_path, "diff", "HEAD") == ""
    assert git(tmp_path, "worktree", "list").count("\n") == 0
    assert git(tmp_path, "status", "--short").split() == ["??", ".whence/", "??", "untracked"]


def test_only_the_revision_is_said_if_that_is_wished(tmp_path: Path) -> None:
    good, bad = failing()
    history(tmp_path, [good, bad])
    done = whence(tmp_path, "bisect", "--only-revision", "run.py")
    assert done.returncode == 0
    assert "wrong since" in done.stderr
    assert not done.stdout
