"""A program that was recorded with a journal runs again as it did, and changes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from worldly_programs import PROGRAMS, Program
from whence.langs.python.record.journal.choosing import obstacle
from whence.langs.python.recordings import beside
from whence.langs.python.replay.checking import Checked, check
from whence.langs.python.replay.rerun import ProgramReruns
from whence.langs.python.trace.opening import open_trace
from whence.model.value import FULL, show

pytestmark = pytest.mark.skipif(obstacle(None) is not None, reason="nothing here keeps a journal")

_USE = "def use(*values):\n    return values\n"


class World:
    """A home with a program in it that was recorded, and the recording elsewhere."""

    def __init__(self, folder: Path, program: Program, *options: str):
        self.home, self.recording = folder / "home", folder / "kept" / "run.whence"
        (self.home / "tmp").mkdir(parents=True)
        self.recording.parent.mkdir()
        self.script = folder / "program.py"
        self.script.write_text(_USE + textwrap.dedent(program.source))
        for name, content in program.files.items():
            (self.home / name).write_text(content)
        moved = {"HOME": str(self.home), "TMPDIR": str(self.home / "tmp"), **program.variables}
        words = ["record", "--journal", *options, "-o", str(self.recording), str(self.script)]
        self.ran = subprocess.run(
            [sys.executable, "-m", "whence", *words], cwd=self.home, env={**os.environ, **moved},
            input=program.stdin, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        for name, changed in program.after.items():
            if changed is None:
                (self.home / name).unlink()
            else:
                (self.home / name).write_text(changed)

    def state(self) -> dict[str, tuple[int, bytes | None]]:
        """All that is in the home, with its content and the time of its last change."""
        return {
            str(path): (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
            for path in sorted(self.home.rglob("*"))
        }

    def check(self) -> Checked:
        return check(self.recording, open_trace(self.recording), time_limit=30)


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_program_runs_again_as_it_did_or_is_refused_for_the_right_reason(
    name: str, tmp_path: Path
) -> None:
    program = PROGRAMS[name]
    world = World(tmp_path, program)
    before = world.state()
    checked = world.check()
    assert world.state() == before
    if program.refused is None:
        assert checked.divergence is None, f"{checked.divergence}: {checked.cause}"
        assert checked.calls >= 1
    else:
        assert checked.divergence is not None
        assert program.refused in f"{checked.divergence}: {checked.cause}"
