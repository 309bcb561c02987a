"""A confined process changes nothing outside its folder; the kernel sees to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from whence.langs.python.record import confinement

PROBE = """
import ctypes, os, signal, socket, subprocess, sys
from whence.langs.python.record.confinement import confine
folder, outside = sys.argv[1:3]
ours, theirs = socket.socketpair()
datagrams, stream = socket.socket(type=socket.SOCK_DGRAM), socket.socket(socket.AF_UNIX)
libc = ctypes.CDLL(None, use_errno=True)
confined = confine(folder, channel=ours.fileno())
if not {"files", "sockets"} <= set(confined):
    print("not here", confined)
    sys.exit()
try:
    PROBED
except OSError as problem:
    print(type(problem).__name__)
else:
    print("done")
"""
ALLOWED = [
    "open(folder + '/new', 'w').write('x')",
    "os.mkdir(folder + '/folder'); os.rmdir(folder + '/folder')",
    "open(os.devnull, 'w').write('x')",
    "open(outside).read()",
    "ours.send(b'x'); theirs.send(b'x'); ours.sendmsg([b'x'])",
    "os.kill(os.getpid(), 0)",
    "subprocess.run(['true'], check=True)",
    "import multiprocessing; multiprocessing.Lock()",
    "import threading; threading.Thread(target=print).start()",
]
FORBIDDEN = [
    "open(outside, 'a')",
    "open(outside + '-new', 'w')",
    "os.truncate(outside, 0)",
    "os.unlink(outside)",
    "os.rename(outside, folder + '/taken')",
    "os.link(outside, outside + '-link')",
    "os.mkdir(outside + '-folder')",
    "os.chmod(outside, 0)",
    "os.utime(outside, (1, 1))",
    "datagrams.sendto(b'x', ('127.0.0.1', 9))",
    "datagrams.connect(('127.0.0.1', 9))",
    "datagrams.bind(('127.0.0.1', 0))",
    "datagrams.sendmsg([b'x'], [], 0, ('127.0.0.1', 9))",
    "stream.connect(outside)",
    "libc.unlink(outside.encode()) == 0 or (_ for _ in ()).throw(PermissionError())",
]


def probe(tmp_path: Path, code: str) -> str:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir()
    outside.write_text("precious")
    before = outside.stat()
    ran = subprocess.run(
        [sys.executable, "-c", PROBE.replace("PROBED", code), str(folder), str(outside)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    if ran.stdout.startswith("not here"):
        pytest.skip(f"the kernel confines less here: {ran.stdout}")
    assert outside.read_text() == "precious"
    assert outside.stat().st_mode == before.st_mode
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "outside"]
    return ran.stdout.split()[-1]


@pytest.mark.parametrize("code", ALLOWED)
def test_what_a_program_needs_is_allowed(tmp_path: Path, code: str) -> None:
    assert probe(tmp_path, code) == "done"


@pytest.mark.parametrize("code", FORBIDDEN)
def test_what_reaches_outside_is_forbidden(tmp_path: Path, code: str) -> None:
    assert probe(tmp_path, code) == "PermissionError"


def test_child_processes_are_confined_too(tmp_path: Path) -> None:
    code = "print(subprocess.run(['touch', outside + '-new'], stderr=-3).returncode)"
    assert probe(tmp_path, code) == "done"


def test_without_the_extension_nothing_is_confined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "_confine", lambda *_: [])
    assert confinement.confine("folder") == []
