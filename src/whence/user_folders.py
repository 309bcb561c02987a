"""Files for this user only, and where whence keeps those that belong to no project.

Recordings, sessions and reports hold values of programs. Every file and folder for them is created
by a function of this module, so that only this user can read it, whatever the umask. State and
caches follow the XDG base directory specification.

A debuggee imports this, so nothing here imports `pathlib` before it is needed.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING, BinaryIO

from whence.errors import WhenceError

if TYPE_CHECKING:
    from pathlib import Path

AnyPath = str | os.PathLike[str]
PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
KEY_BYTES = 32
_STATE, _STATE_IN_HOME, _OWN = "XDG_STATE_HOME", ".local/state", "whence"


def state_folder() -> Path:
    """For what must not be lost: sessions, the key that signs recordings."""
    return _base(_STATE, _STATE_IN_HOME) / _OWN


def state_path() -> str:
    """The path of `state_folder`, found without `pathlib`."""
    folder = os.environ.get(_STATE, "")
    if not os.path.isabs(folder):
        folder = os.path.join(os.path.expanduser("~"), _STATE_IN_HOME)
    if not os.path.isabs(folder):
        raise WhenceError(f"this user has no home folder; set HOME or {_STATE}")
    return os.path.join(folder, _OWN)


def cache_folder() -> Path:
    """For what can be made again: indexes, reference versions."""
    return _base("XDG_CACHE_HOME", ".cache") / _OWN


def make_private_folder(path: AnyPath) -> None:
    """Create a folder for this user only, and so the missing folders above it.

    A folder that exists is left as it is.
    """
    folder = os.path.abspath(path)
    if os.path.isdir(folder):
        return
    make_private_folder(os.path.dirname(folder))
    with contextlib.suppress(FileExistsError):  # another process made it
        os.mkdir(folder, PRIVATE_FOLDER)


def open_private_file(path: AnyPath, flags: int) -> int:
    """Open a file that is created for this user only.

    With `O_TRUNC` this holds for a file of the user that exists as well.
    """
    descriptor = os.open(path, flags | os.O_CLOEXEC, PRIVATE_FILE)
    if flags & os.O_TRUNC:
        make_private(descriptor)
    return descriptor


def make_private(descriptor: int) -> None:
    """Let only this user read and write an open file, if it is a regular file of this user."""
    status = os.fstat(descriptor)
    is_own = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
    if is_own and stat.S_IMODE(status.st_mode) != PRIVATE_FILE:
        os.fchmod(descriptor, PRIVATE_FILE)


def write_private_file(path: AnyPath, content: str | bytes) -> None:
    """Write a file for this user only."""
    with new_private_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def replace_private_file(path: AnyPath, content: str) -> None:
    """Write a file for this user only, in place of what has its name.

    A symbolic link, which may come with a cloned repository, is replaced and not followed. If there
    is no room, what was there stays.
    """
    new = f"{os.fspath(path)}.{os.getpid()}.new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new)
    descriptor = open_private_file(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode())
        os.replace(new, path)
    except BaseException:
        os.unlink(new)
        raise


def new_private_file(path: AnyPath) -> BinaryIO:
    """An empty file for this user only, open for writing."""
    return os.fdopen(open_private_file(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb")


def user_key(folder: str, name: str, *, create: bool) -> bytes:
    """A secret key of this user, of `KEY_BYTES` bytes, in a folder."""
    path = os.path.join(folder, name)
    try:
        with open(path, "rb") as file:
            status, key = os.fstat(file.fileno()), file.read(KEY_BYTES + 1)
    except FileNotFoundError:
        if not create:
            raise
        _make_key(path)
        return user_key(folder, name, create=False)
    if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) != PRIVATE_FILE:
        raise WhenceError(f"{path} is not yours alone")
    if len(key) != KEY_BYTES:
        raise WhenceError(f"{path} is damaged; remove it, and a new one is made")
    return key


def _make_key(path: str) -> None:
    """Create a key; one that another process creates meanwhile stays."""
    make_private_folder(os.path.dirname(path))
    fresh = f"{path}.{os.getpid()}"
    with os.fdopen(open_private_file(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        file.write(os.urandom(KEY_BYTES))
    try:
        with contextlib.suppress(FileExistsError):
            os.link(fresh, path)
    finally:
        os.unlink(fresh)


def _base(variable: str, default: str) -> Path:
    from pathlib import Path

    folder = Path(os.environ.get(variable, ""))
    if folder.is_absolute():  # the specification says to ignore a relative one
        return folder
    try:
        return Path.home() / default
    except RuntimeError:
        raise WhenceError(
            f"this user has no home folder, so nothing can be kept there; set HOME or {variable}"
        ) from None
