"""Long output in pages of the height of the terminal, for a person who reads it."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from itertools import islice

from whence.ui.terminal.screen import Screen

MORE = "Enter shows more, q goes back > "
_FEWEST_ROWS = 10


def say_in_pages(screen: Screen, lines: Iterable[str], most: int) -> None:
    """Show lines; a person is asked after each page. Others get at most so many lines."""
    if not screen.interactive:
        screen.say(*islice(lines, most))
        return
    rows = max(_FEWEST_ROWS, shutil.get_terminal_size().lines - 2)
    rest = iter(lines)
    page = list(islice(rest, rows))
    while page:
        screen.say(*page)
        page = list(islice(rest, rows))
        if page:
            reply = screen.read(MORE)
            if reply is None or reply.strip():
                return
