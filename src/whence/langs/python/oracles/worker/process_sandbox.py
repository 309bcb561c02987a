"""Ends this process as soon as the program announces that it reaches beyond it.

This is for the reason that a person reads. An audit hook is no sandbox: code in C announces what it
likes. What cannot be allowed to happen is forbidden by the kernel (`record/confinement.py`).
"""

from __future__ import annotations

import os
import stat
import sys

from whence.langs.python.oracles.worker.worker_protocol import CannotAnswer, Respond

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_FORBIDDEN = (
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "os.chown", "os.utime", "os.kill", "os.killpg", "os.system", "os.exec",
    "os.posix_spawn", "os.fork", "os.forkpty", "os.setxattr", "os.removexattr",
    "shutil.", "subprocess.", "socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg",
    "sqlite3.connect", "signal.pthread_kill", "ctypes.", "webbrowser.", "smtplib.", "ftplib.",
    "tempfile.", "pty.", "syslog.",
)  # fmt: skip
"""How the names of audit events begin that reach outside."""
_WRITES = "it opens a file for writing"
_REACHES = "it reaches outside of its process"
_HARMLESS = ("ctypes.dlsym", "ctypes.addressof", "ctypes.cdata")


class Sandbox:
    """The sandbox of this process. An audit hook cannot be removed, so `is_active` guards it."""

    is_active = False
    respond: Respond

    @classmethod
    def enter(cls, respond: Respond, allowed: tuple[str, ...] = ()) -> None:
        """From here on, answer why and end the process at the first forbidden event."""
        cls.respond = respond
        cls.is_active = True

        def hook(event: str, details: tuple[object, ...]) -> None:
            if not cls.is_active:
                return
            reason = ""
            if event == "open":
                path, _, flags = details
                if isinstance(flags, int) and flags & _WRITING and not _is_private(path):
                    reason = _WRITES
            elif event.startswith(_FORBIDDEN) and not event.startswith((*_HARMLESS, *allowed)):
                reason = f"{_REACHES} ({event})"
            if reason:
                cls.is_active = False
                cls.respond(CannotAnswer(reason))
                os._exit(0)

        sys.addaudithook(hook)

    @classmethod
    def leave(cls) -> None:
        """Allow everything again."""
        cls.is_active = False


def reaches_outside(reason: str) -> bool:
    """Whether a process ended for this reason because of what the call did that it was for."""
    return reason.startswith((_WRITES, _REACHES))


def _is_private(path: object) -> bool:
    """Whether no other process can see what is written there.

    This is so for `tempfile.TemporaryFile`: where a folder can be opened for writing, it makes a
    file without a name.
    """
    if not isinstance(path, int | str | bytes | os.PathLike):
        return False
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return False
    if isinstance(path, int):
        return stat.S_ISREG(status.st_mode) and status.st_nlink == 0
    return stat.S_ISDIR(status.st_mode) or path == os.devnull
