"""What git says of the lines of a function; without a repository nothing is known."""

from __future__ import annotations

import subprocess
from pathlib import Path

from whence.langs.python.witnesses.recent_changes import RecentChanges

TEXT = "def first():\n    return 1\n\n\ndef second():\n    return 2\n"


def git(folder: Path, *words: str) -> None:
    setting = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    subprocess.run(["git", "-C", folder, *setting, *words], check=True, capture_output=True)


def repository(folder: Path) -> Path:
    (folder / "m.py").write_text(TEXT)
    git(folder, "init", "-q")
    git(folder, "add", "m.py")
    git(folder, "commit", "-q", "-m", "first", "--date", "2020-01-01T00:00:00")
    return folder / "m.py"


def test_lines_that_were_not_committed_are_new(tmp_path: Path) -> None:
    module = repository(tmp_path)
    module.write_text(TEXT.replace("return 2", "return 3"))
    changes = RecentChanges(tmp_path)
    assert changes.has_new_lines(str(module), 5, 6)
    assert not changes.has_new_lines(str(module), 1, 2)


def test_a_removed_line_counts_as_a_change_where_it_was(tmp_path: Path) -> None:
    module = repository(tmp_path)
    module.write_text(TEXT.replace("    return 1\n", ""))
    assert RecentChanges(tmp_path).has_new_lines(str(module), 1, 1)


def test_committed_lines_have_an_age(tmp_path: Path) -> None:
    module = repository(tmp_path)
    age = RecentChanges(tmp_path).days_old(str(module), 1, 2)
    assert age is not None
    assert 0 <= age < 1  # the day of the commit, whatever its author says of it


def test_without_a_repository_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(TEXT)
    changes = RecentChanges(tmp_path)
    assert not changes.has_new_lines(str(tmp_path / "m.py"), 1, 6)
    assert changes.days_old(str(tmp_path / "m.py"), 1, 6) is None


def test_a_file_that_git_does_not_have_has_no_age(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "other.py").write_text(TEXT)
    assert RecentChanges(tmp_path).days_old(str(tmp_path / "other.py"), 1, 2) is None
