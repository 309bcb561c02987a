"""Draw a real session as `docs/session.svg`: runs `whence debug` in a terminal and types answers.

pip install pyte && python tools/picture.py     (with the extras terminal and test)
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
from pathlib import Path

import pexpect
import pyte
from rich.console import Console
from rich.style import Style
from rich.text import Text

ROOT = Path(__file__).parents[1]
ANSWERS = ["y", "n result[1]", "n", "y"]
COLUMNS, LINES = 84, 60
COLOURS = {"brown": "yellow", "default": None}


def session() -> pyte.Screen:
    """The screen of a person who debugs the example."""
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.Stream(screen)
    with tempfile.TemporaryDirectory() as folder:
        terminal = pexpect.spawn(
            sys.executable,
            ["-m", "whence", "debug", "examples/sqrtest.jsonl", "--no-session"],
            cwd=str(ROOT),
            env={"TERM": "xterm-256color", "XDG_CACHE_HOME": folder, "PATH": "/usr/bin:/bin"},
            dimensions=(LINES, COLUMNS),
            encoding="utf-8",
            timeout=20,
        )
        for number, answer in enumerate(ANSWERS, 1):
            terminal.expect(f"Question {number} ")
            stream.feed(terminal.before + terminal.after)
            terminal.expect(r"Right\?(?: \[y/n/i/\?\])?")
            stream.feed(terminal.before + terminal.after)
            terminal.sendline(answer)
        terminal.expect("Enter ends")
        stream.feed(terminal.before)
        terminal.sendline("")
        terminal.expect(pexpect.EOF)
    return screen


def drawn(screen: pyte.Screen) -> Text:
    """The screen with its colours, without the empty lines at its end."""
    text = Text()
    last = max(number for number, line in enumerate(screen.display) if line.strip())
    for number in range(last + 1):
        for column in range(COLUMNS):
            cell = screen.buffer[number][column]
            style = Style(color=COLOURS.get(cell.fg, cell.fg), bold=cell.bold)
            text.append(cell.data, style)
        text.append("\n")
    return text


if __name__ == "__main__":
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print("[bold green]$[/]  whence debug examples/sqrtest.jsonl")
    console.print(drawn(session()), end="")
    # A picture in a repository fetches no fonts from elsewhere: any monospace one will do.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title="whence"), flags=re.S)
    (ROOT / "docs" / "session.svg").write_text(svg)
