"""The expression that makes a recorded match, found in a process with limits.

Which function of `re` made a match is found out by trying them, and a recording may hold a pattern
that takes years on its text. So the debugger does not try it itself.
"""

from __future__ import annotations

import subprocess
import sys

from whence.langs.python.debuggee.interpreter_start import InterpreterStart
from whence.langs.python.launching.own_python import MATCH_SOURCE, start_command
from whence.langs.python.record import matches

_SECONDS = 2
_WAIT = 20
"""Seconds until it is given up although it computed less: the machine is busy."""
_MOST_MEMORY = 2**30
_LONGEST = 1000
"""The most characters of a text; recorders write up to 400."""


def match_source(text: str) -> str | None:
    """An expression that makes the match with this recorded text; None if none was found."""
    if len(text) > _LONGEST or "\0" in text or matches.read(text) is None:
        return None
    try:
        done = subprocess.run(
            start_command(MATCH_SOURCE, text.encode("utf-8", "surrogatepass").hex()),
            stdin=subprocess.DEVNULL, capture_output=True, timeout=_WAIT, check=False,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode() or None if done.returncode == 0 else None


def main(_: InterpreterStart, text: str) -> None:
    """In the process: print the expression."""
    try:
        import resource
    except ImportError:  # then the time that is waited has to do
        pass
    else:
        resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    summary = matches.read(bytes.fromhex(text).decode("utf-8", "surrogatepass"))
    made = None if summary is None else matches.rebuild(summary)
    sys.stdout.buffer.write(b"" if made is None else made[1].encode())
