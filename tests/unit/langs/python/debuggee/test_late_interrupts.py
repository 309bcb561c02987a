"""Interrupts that come when the program's main code has ended."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from whence.langs.python.debuggee.late_interrupts import LateInterrupts

FLOOD = """
import os, signal, time
program = os.getpid()
if os.fork() == 0:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    time.sleep(0.05)
    while os.getppid() == program:
        os.kill(program, signal.SIGINT)
        time.sleep(0.0001)
    os._exit(0)
def wait():
    while True: pass
wait()
"""


def test_interrupts_without_end_neither_cut_a_recording_off_nor_show_code_of_whence(
    tmp_path: Path,
) -> None:
    (tmp_path / "program.py").write_text(FLOOD)
    for number in range(3):
        trace = str(tmp_path / f"{number}.whence")
        words = ["record", "--no-children", "--backend", "native", "-o", trace, "program.py"]
        done = subprocess.run(
            [sys.executable, "-m", "whence", *words], cwd=tmp_path, capture_output=True, text=True,
            check=False, timeout=120,
        )  # fmt: skip
        assert "KeyboardInterrupt" in done.stderr
        assert "whence/langs" not in done.stderr
        assert done.returncode == -signal.SIGINT
        shown = subprocess.run(
            [sys.executable, "-m", "whence", "show", trace],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert "it was interrupted (Ctrl-C)" in shown.stdout


LATE = """
import atexit, os, signal, sys, threading
def interrupted(what):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(10**6): pass
    except KeyboardInterrupt:
        print(what, "was interrupted", flush=True)
atexit.register(interrupted, "a function of atexit")
def hook(*_):
    interrupted("the hook")
sys.excepthook = hook
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler, flush=True)
raise ValueError
"""


@pytest.mark.parametrize("backend", ["native", "pure"])
def test_what_the_program_does_late_can_be_interrupted(backend: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(LATE)
    words = ["record", "--backend", backend, "-o", "t.whence", "program.py"]
    done = subprocess.run(
        [sys.executable, "-m", "whence", *words],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    plain = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "the hook was interrupted" in plain.stdout
    assert "a function of atexit was interrupted" in plain.stdout
    assert done.stdout == plain.stdout
    assert done.returncode == plain.returncode == 1


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_a_program_without_a_handler_of_its_own_keeps_that(handler: signal.Handlers) -> None:
    before = signal.signal(signal.SIGINT, handler)
    try:
        LateInterrupts().take_over()
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_handler_of_the_program_gets_what_interrupts_the_program() -> None:
    late, received = LateInterrupts(), []
    before = signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    try:
        late.take_over()
        os.kill(os.getpid(), signal.SIGINT)
        assert received == [signal.SIGINT]
        late.is_closing = True
        os.kill(os.getpid(), signal.SIGINT)
        assert received == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)
