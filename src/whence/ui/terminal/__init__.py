"""The terminal interface: one question loop, on a plain screen or on a fancy one.

`converse` holds a session, `choose_screen` decides what it is held on. Both are loaded when they
are first asked for, so that `python -m whence.ui.terminal.commands` finds its module unloaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whence.ui.terminal.loop import converse
    from whence.ui.terminal.screen_choice import choose_screen

__all__ = ["choose_screen", "converse"]


def __getattr__(name: str) -> object:
    if name == "converse":
        from whence.ui.terminal.loop import converse

        return converse
    if name == "choose_screen":
        from whence.ui.terminal.screen_choice import choose_screen

        return choose_screen
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
