"""Imports whence's own modules at once, even if all imports of the program are lazy (3.15).

A module of whence that is imported at its first use would be imported in the middle of the program,
which could notice that. So the mode is put back right before the program's first line.
"""

from __future__ import annotations

import sys

_modes: list[str] = []
"""The mode that the interpreter was started with, while another one holds."""


def import_at_once() -> None:
    """From here on only what says `lazy` is imported lazily."""
    if sys.version_info >= (3, 15):
        _modes.append(sys.get_lazy_imports())
        sys.set_lazy_imports("normal")


def put_back() -> None:
    """From here on imports are as lazy as the interpreter was told to make them."""
    if sys.version_info >= (3, 15) and _modes:
        sys.set_lazy_imports(_modes.pop())
