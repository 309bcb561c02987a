"""No command lets a character of a recording act on the terminal."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from recorded import environment

from whence.cli.main import COMMANDS, main
from whence.langs.python.record.backend_choice import NATIVE, candidates
from whence.langs.python.recordings import recordings
from whence.printable_text import printable, printable_lines

if not any(each.name == NATIVE and each.can_be_used for each in candidates()):
    pytest.skip("the recorder in C knows what is printed", allow_module_level=True)

HOSTILE = "\x1b[31m\x07\x9b2J\x1b]0;title\x07\u202e\u2066\x7f\r\x85\u2028\ufeff\U000e0041"
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
NAME = f"evil{HOSTILE}.py"
PROGRAM = f"""
import sys
HOSTILE = {HOSTILE!r}

class Box:
    def __init__(self, text):
        setattr(self, "a" + HOSTILE, text)

def same(text):
    return {{text: [text]}}

def fail(text):
    print(text)
    raise ValueError(text)

same.__name__ = same.__qualname__ = HOSTILE

def main(text):
    Box(text)
    same(text)
    print(len(text))
    fail(text + "!")

main(sys.argv[1])
"""
WITHOUT_RECORDING = {
    "strategies", "doctor", "bench", "prolog", "test", "bisect", "call", "skill",
    "serve", "mcp", "web",  # they speak to another program, in JSON
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a hostile name, with a recording of a hostile program in a hostile file."""
    place = tmp_path_factory.mktemp("hostile") / f"in{HOSTILE}"
    place.mkdir()
    (place / NAME).write_text(PROGRAM)
    ran = whence(place, "run", "--wrong", "exception", "--answers", "-", "--no-rerun", NAME,
                 HOSTILE, stdin="n\n", own=False)  # fmt: skip
    assert recordings(place), ran.stderr
    # The program's own output is as it is without whence.
    assert HOSTILE.replace("\r", "").encode() in ran.raw.replace(b"\r", b"")
    return place


class Ran:
    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        self.raw = done.stdout
        self.status = done.returncode
        self.stdout = done.stdout.decode("utf-8", "surrogateescape")
        self.stderr = done.stderr.decode("utf-8", "surrogateescape")


def whence(folder: Path, *words: str, stdin: str = "", own: bool = True) -> Ran:
    done = subprocess.run(
        [sys.executable, "-m", "whence", *words], cwd=folder, input=stdin.encode(),
        env={**environment(), "PYTHONIOENCODING": "utf-8", "COLUMNS": "400"},
        capture_output=True, check=False,
    )  # fmt: skip
    ran = Ran(done)
    if own:
        assert not FORBIDDEN.search(ran.stdout), repr(ran.stdout)
        assert not FORBIDDEN.search(ran.stderr), repr(ran.stderr)
        assert ran.status != 70, ran.stderr
    return ran


FILE = "FILE"
RUNS = [
    ["list"],
    ["show", FILE],
    ["show", FILE, "--functions"],
    ["show", FILE, "--call", "1"],
    ["why", FILE, "3", "result"],
    ["why", FILE, "3", "result", "--format", "json"],
    ["debug", FILE, "--answers", "-", "--no-rerun"],
    ["next", FILE],
    ["answer", FILE, "right"],
    ["debug", FILE, "--answers", "-", "--no-rerun", "--format", "json"],
    ["debug", FILE, "--answers", "-", "--no-rerun", "--format", "html"],
    ["answers"],
    ["answers", "forget", HOSTILE],
    ["rerun", FILE],
    ["freeze", "fail", FILE],
    ["check", FILE],
    ["materialize", FILE, "3"],
    ["zoom", FILE, "fail"],
    ["convert", FILE],
    ["run", f"no{HOSTILE}.py"],
    ["run", f"--{HOSTILE}", NAME],
]
IN_A_PROCESS = [
    ["record", "--backend", f"no{HOSTILE}", NAME],
    ["record", f"no{HOSTILE}.py"],
    ["record", "-v", "-o", f"out{HOSTILE}.whence", "-c", "pass"],
]


def test_each_command_is_tried():
    tried = {words[0] for words in [*RUNS, *IN_A_PROCESS]}
    assert tried | WITHOUT_RECORDING == set(COMMANDS)


@pytest.mark.parametrize("words", RUNS, ids=lambda words: "-".join(map(printable, words)))
def test_every_command_prints_only_printable_text(words, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.stdin", io.StringIO("n\ny\nn\n"))
    file = str(recordings(folder)[0])
    try:
        status = main([file if word == FILE else word for word in words])
    except SystemExit as end:
        status = int(str(end.code))
    captured = capsys.readouterr()
    assert status in (0, 1, 2), captured.err
    assert captured.out + captured.err
    assert not FORBIDDEN.search(captured.out + captured.err)


@pytest.mark.parametrize("words", IN_A_PROCESS)
def test_a_recording_process_prints_only_printable_text(words, folder):
    assert whence(folder, *words).stderr


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "test"])
def test_errors_print_only_printable_text(command, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit):
        main([command, f"--no{HOSTILE}", *[f"file{HOSTILE}"] * 3])
    captured = capsys.readouterr()
    assert captured.err
    assert not FORBIDDEN.search(captured.out + captured.err)
    assert "\\u202e" in captured.err


def test_json_stays_json(folder):
    file = str(recordings(folder)[0])
    lines = whence(folder, "convert", file).stdout.splitlines()
    texts = "".join(str(json.loads(line)) for line in lines)
    assert lines
    assert "u202e" in texts


def test_text_without_such_characters_is_unchanged():
    text = "naïve – 数 🙂 'x' \\n"
    assert printable(text) == text
    assert printable_lines(f"{text}\n{text}\n") == f"{text}\n{text}\n"


def test_each_character_is_spelled_as_json_spells_it():
    text = "\x7f\x9b\u202e\U000e0041\ud800"
    spelled = printable(text)
    assert spelled.isascii()
    assert json.loads(f'"{spelled}"') == text
    assert printable("\x1b\n") == r"\x1b\n"
