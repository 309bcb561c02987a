"""Chooses the screen of a session, in one place."""

from __future__ import annotations

import io
import os
import sys
from importlib.util import find_spec
from typing import TextIO

from whence.ui.terminal.plain import PlainScreen
from whence.ui.terminal.screen import Screen


def choose_screen(*, answers: TextIO | None, output: TextIO | None, plain: bool) -> Screen:
    """The fancy screen for a person at a terminal that can show it, else the plain one.

    `answers` is where answers are read from instead of standard input.
    """
    # A process that was started without standard streams has None for them.
    target = output or sys.stdout or io.StringIO()
    source = answers or sys.stdin or io.StringIO()
    if not plain and answers is None and why_plain(source, target) is None:
        from whence.ui.terminal.fancy import FancyScreen

        return FancyScreen(target)
    # A stream that was read from cannot be reconfigured; its first reader did this already.
    if isinstance(source, io.TextIOWrapper) and source.errors != "replace":
        # Bytes that are no text make a line that is not understood, not a failure.
        source.reconfigure(errors="replace")
    return PlainScreen(source, target)


def why_plain(source: TextIO, output: TextIO) -> str | None:
    """Why the fancy screen cannot be used, None if it can."""
    if not source.isatty():
        return "the input is not a terminal"
    if not output.isatty():
        return "the output is not a terminal"
    if os.environ.get("TERM", "") in ("", "dumb"):
        return "the terminal cannot move its cursor"
    if os.environ.get("NO_COLOR"):
        return "NO_COLOR is set"
    for package in ("rich", "prompt_toolkit"):
        if find_spec(package) is None:
            return f"{package} is not installed"
    return None
