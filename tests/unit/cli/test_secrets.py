"""From the command line, no file of a recording holds a secret, and all still works."""

from __future__ import annotations

from pathlib import Path

import forked_whence
import pytest
from recorded import environment

from whence.langs.python.record.backend_choice import NATIVE, candidates
from whence.langs.python.recordings import recordings

if not any(each.name == NATIVE and each.can_be_used for each in candidates()):
    pytest.skip("journals need the recorder in C", allow_module_level=True)

PROGRAM = """
import os

def check(password, count):
    return len(password) + count + 1

def connect(password):
    return check(password, 3)

def main():
    print(connect(os.environ.get("DB_PASSWORD", "none")))

main()
"""


def whence(folder: Path, *words: str, stdin: str = "", **variables: str) -> str:
    places = {name: str(folder / name) for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME")}
    variables = {**environment(), **places, **variables}
    done = forked_whence.whence(*words, cwd=folder, stdin=stdin, env=variables)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    whence(tmp_path, "run", "--journal", "--whole-values", "--wrong", "output:1", "--remember",
           "--no-rerun", "--answers", "-", "program.py", stdin="n\nn\nn\nn\n",
           DB_PASSWORD="hunter2")  # fmt: skip
    return tmp_path


def test_no_file_holds_the_secret(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any(path.name == "answers.jsonl" for path in files)
    assert any(path.name.endswith(".environment.json") for path in files)
    assert [path for path in files if b"hunter2" in path.read_bytes()] == []


def test_a_rerun_takes_the_secret_from_the_present_environment(folder):
    said = whence(folder, "rerun", str(recordings(folder)[0]), DB_PASSWORD="hunter2")
    assert "hunter2" not in said
    assert "not set as they were" not in said


def test_a_divergence_names_a_secret_that_is_missing(folder):
    other = whence(folder, "rerun", str(recordings(folder)[0]))
    assert "DB_PASSWORD" in other
    # Lines are broken where the name of the folder makes them long.
    assert "not set as they were" in " ".join(other.split())


def test_a_call_with_a_secret_is_not_rebuilt(folder):
    file = str(recordings(folder)[0])
    said = whence(folder, "debug", file, "--answers", "-", "--fresh",
                  "--no-oracle", "remembered", "--regression-test", stdin="n\nn\nn\nn\n",
                  DB_PASSWORD="hunter2")  # fmt: skip
    assert "a secret, which is not recorded" in " ".join(said.split())
    assert "hunter2" not in said


def test_secrets_are_kept_on_request(folder):
    whence(folder, "record", "--keep-secrets", "-o", "kept.whence", "program.py",
           DB_PASSWORD="hunter2")  # fmt: skip
    assert "'hunter2'" in whence(folder, "show", "kept.whence", "--depth", "9")
