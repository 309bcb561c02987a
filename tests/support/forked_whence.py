"""The command `whence` in a forked process, which has all modules that this one has.

It is as much a process of its own as `python -m whence` is, with its own descriptors, folder,
environment and arguments, but it need not start an interpreter and import everything: that is most
of what a short command costs. What is tested of the start itself needs a real start.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import IO, NoReturn

import whence.__main__ as command

_SECONDS = 100


def whence(
    *words: str | Path,
    stdin: str = "",
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    umask: int | None = None,
    joined: bool = False,
) -> subprocess.CompletedProcess[str]:
    """What a command printed and its exit status. `joined`: both outputs in one."""
    arguments = ["whence", *map(str, words)]
    with (
        tempfile.TemporaryFile() as typed,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
    ):
        typed.write(stdin.encode())
        typed.seek(0)
        process = _fork()
        if process == 0:
            try:
                for number, file in enumerate((typed, output, output if joined else errors)):
                    os.dup2(file.fileno(), number)
                _set_process(arguments, cwd, env, umask)
                _run_and_exit()
            finally:
                os._exit(71)
        status = _status(process, arguments)
        return subprocess.CompletedProcess(arguments, status, _text(output), _text(errors))


def _fork() -> int:
    """Fork without a warning: the other thread is of the test runner and only waits for work."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _set_process(
    arguments: list[str],
    cwd: str | Path | None,
    env: Mapping[str, str] | None,
    umask: int | None,
) -> None:
    if cwd is not None:
        os.chdir(cwd)
    if env is not None:
        variables = dict(env)
        os.environ.clear()
        os.environ.update(variables)
    if umask is not None:
        os.umask(umask)
    sys.argv = arguments
    sys.path.insert(0, "")  # as with `-m`
    # One that the test runner has opened must not be closed here.
    files = [io.FileIO(number, mode, closefd=False) for number, mode in enumerate("rww")]
    sys.stdin = io.TextIOWrapper(io.BufferedReader(files[0]))
    sys.stdout, sys.stderr = (io.TextIOWrapper(io.BufferedWriter(file)) for file in files[1:])


def _run_and_exit() -> NoReturn:
    try:
        status = command.main()
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else int(left.code is not None)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _status(process: int, arguments: list[str]) -> int:
    deadline = time.monotonic() + _SECONDS
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            raise subprocess.TimeoutExpired(arguments, _SECONDS)
        time.sleep(0.005)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()
