"""Keeps a re-run from changing anything outside its folder, by means of the kernel.

The journal answers what a program asks of the world, so a re-run has no reason to reach it. What
the journal does not know of, such as a database library in C, is stopped here. On Linux these are
Landlock and seccomp (`native/_confinement.c`); elsewhere, and without a compiler, there is nothing.
"""

from __future__ import annotations

import os

try:
    from whence.langs.python.record._confinement import confine as _confine
except ImportError:  # whence was installed without a compiler

    def _confine(folders: tuple[bytes, ...], channel: int, /) -> list[str]:
        return []


def confine(*folders: str, channel: int = -1) -> list[str]:
    """Confine this process and all that it starts; returns what is confined.

    Files can be changed only below `folders`, and messages sent only by the socket `channel`. The
    words are "files", "signals" and "sockets".
    """
    return _confine(tuple(map(os.fsencode, folders)), channel)
