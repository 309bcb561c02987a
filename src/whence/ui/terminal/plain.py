"""The screen that works everywhere: plain text in, plain text out.

It takes part in pipes: where the input is no terminal, the answers that it reads are written after
the prompts, so that what comes out reads as a dialogue. Nothing is ever written that the output's
encoding cannot hold.
"""

from __future__ import annotations

import shutil
from typing import TextIO

from whence.printable_text import printable
from whence.ui.terminal.screen import (
    Complete,
    Line,
    hanging,
    no_completion,
    wrap,
)

WIDTH_IN_PIPES = 80
LONGEST_LINE = 2**20
"""The most characters of a line. A device such as /dev/zero has no line ends."""

_SPARE = str.maketrans({"→": "->", "…": "...", "′": "'", "’": "'", "×": "x", "–": "-", "−": "-"})


class PlainScreen:
    """Lines in, lines out."""

    def __init__(self, source: TextIO, output: TextIO, *, echo: bool | None = None) -> None:
        """`echo`: whether to write the lines that are read; None: if nobody sees them otherwise."""
        self._input = source
        self._output = output
        self._echo = not _is_terminal(source) if echo is None else echo

    @property
    def interactive(self) -> bool:
        """Whether a person types the answers."""
        return _is_terminal(self._input)

    @property
    def width(self) -> int:
        """The terminal's width; in a pipe always the same."""
        if _is_terminal(self._output):
            return max(20, shutil.get_terminal_size().columns)
        return WIDTH_IN_PIPES

    @property
    def emphasises(self) -> bool:
        """Never: plain text has no emphasis."""
        return False

    def say(self, *lines: str | Line) -> None:
        """Write lines."""
        at_terminal = _is_terminal(self._output)
        for line in lines:
            text = printable(line.text if isinstance(line, Line) else line)
            for piece in hanging(text, self.width) if at_terminal else [text]:
                self._write(piece.rstrip() + "\n")
        self._output.flush()

    def note(self, text: str) -> None:
        """Write sentences."""
        self.say(*wrap(text, self.width))

    def warn(self, text: str) -> None:
        """Write sentences."""
        self.note(text)

    def read(self, prompt: str | None, complete: Complete = no_completion) -> str | None:
        """The next line, None at the end of the input or when Ctrl-C was pressed twice."""
        for last in (False, True):
            if prompt is not None:
                self._write(prompt)
                self._output.flush()
            try:
                line = self._input.readline(LONGEST_LINE + 1)
            except KeyboardInterrupt:
                self.say("" if last else "  (Ctrl-C again leaves)")
                continue
            except (OSError, ValueError):
                line = ""  # the terminal went away, or the file is closed: nothing more will come
            if not line:
                if prompt is not None:
                    self.say("")
                return None
            if len(line) > LONGEST_LINE:
                self.say(
                    "", f"  A line has more than {LONGEST_LINE:,} characters: no more is read."
                )
                return None
            line = line.rstrip("\r\n")
            if prompt is not None and self._echo:
                self.say(line)
            return line
        return None

    def _write(self, text: str) -> None:
        encoding = getattr(self._output, "encoding", None)
        if encoding and not _fits(text, encoding):
            text = text.translate(_SPARE)
            text = text.encode(encoding, "backslashreplace").decode(encoding)
        self._output.write(text)


def _fits(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False
