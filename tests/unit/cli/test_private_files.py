"""Whatever the umask, what whence writes can be read by this user only."""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import forked_whence
import pytest
from recorded import environment

from whence.langs.python.record.backend_choice import NATIVE, candidates

if not any(each.name == NATIVE and each.can_be_used for each in candidates()):
    pytest.skip("child processes need the recorder in C", allow_module_level=True)

PROGRAM = """
import subprocess, sys, time

def read(path):
    with open(path) as file:
        return file.read()

def total(text):
    return len(text) + len(read("data.txt")) + 1

def main():
    print(total(sys.stdin.read()), time.time() > 0)
    subprocess.run([sys.executable, "child.py"])

main()
"""
CHILD = "def double(x): return x + x\ndouble(2)\n"
NAMED = ("tree.jsonl", "report.html", "report.json", "trace.whence", "own.session")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A project that all may enter, in which commands ran with the umask 0."""
    with tempfile.TemporaryDirectory(prefix="whence-private-") as name:
        place = Path(name)
        place.chmod(0o755)
        (place / "program.py").write_text(PROGRAM)
        (place / "child.py").write_text(CHILD)
        (place / "data.txt").write_text("data")
        (place / "report.json").touch(mode=0o644)  # is overwritten
        _whence(place, "run", "--journal", "--wrong", "output:1", "--answers",
                os.devnull, "--no-rerun", "program.py", stdin="text")  # fmt: skip
        (recording,) = (place / ".whence" / "runs").glob("*.whence")
        _whence(place, "record", "--children", "-o", "trace.whence", "program.py", stdin="text")
        _whence(place, "debug", str(recording), "--answers", "-", "--session", "own.session",
                "--remember", "--format", "html", "-o", "report.html",
                stdin="y\nn\ny\n")  # fmt: skip
        _whence(place, "debug", str(recording), "--answers", "-", "--format", "json", "-o",
                "report.json", "--rerun", stdin="n\n" * 9)  # fmt: skip
        _whence(place, "convert", str(recording), "-o", "tree.jsonl")
        _whence(place, "show", "tree.jsonl")
        _whence(place, "rerun", str(recording))
        _whence(place, "check", str(recording))
        yield place


def _whence(folder: Path, *words: str, stdin: str = "") -> None:
    places = {name: str(folder / name) for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME")}
    variables = {**environment(), **places}
    done = forked_whence.whence(*words, cwd=folder, umask=0, stdin=stdin, env=variables)
    assert done.returncode in (0, 1), done.stderr


def _written(folder: Path) -> list[Path]:
    places = [folder / name for name in (".whence", "XDG_STATE_HOME")]
    return [
        *(folder / name for name in NAMED),
        *folder.glob("trace.whence.*"),
        *folder.glob("trace.whence.d/*"),
        *places,
        *(path for place in places for path in place.rglob("*")),
    ]


def test_files_are_0600_and_folders_0700(folder):
    written = _written(folder)
    modes = {
        str(path.relative_to(folder)): oct(stat.S_IMODE(path.stat().st_mode)) for path in written
    }
    expected = {
        str(path.relative_to(folder)): "0o700" if path.is_dir() else "0o600" for path in written
    }
    assert modes == expected


def test_what_is_checked_is_what_there_is(folder):
    names = " ".join(str(path.relative_to(folder)) for path in _written(folder))
    for part in (
        ".stdin", ".journal", ".files/", ".whence.d", ".signature", ".environment.json",
        ".symptom.json", "answers.jsonl", ".gitignore", "recording-key",
    ):  # fmt: skip
        assert part in names


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_can_read_none_of_it(folder):
    files = [str(path) for path in _written(folder) if path.is_file()]
    code = "import os, sys\nprint([path for path in sys.argv[1:] if os.access(path, os.R_OK)])"
    done = subprocess.run(
        ["/usr/bin/env", "python3", "-c", code, *files, str(folder / "data.txt")],
        user=65534, group=65534, extra_groups=[], capture_output=True, text=True, check=False,
        cwd="/", env={"PATH": "/usr/bin:/bin:/usr/local/bin"},
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"there is no Python for another user: {done.stderr}")
    assert done.stdout.strip() == f"[{str(folder / 'data.txt')!r}]"


def test_the_files_of_the_user_keep_their_modes(folder):
    assert stat.S_IMODE((folder / "data.txt").stat().st_mode) & 0o077
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
