"""Signs recordings, so that whence can tell its own from those of others.

Running a recorded program again executes what the recording names: a command in a folder, with an
environment, input and a journal. So whence does it only for recordings that this user's whence made
on this machine. A secret key in the user's state folder signs every file of a recording when the
run ends; the signatures are in the file `FILE.signature` beside it.

Invariant: `why_foreign` is empty only if every file of the recording is as it was signed, or if the
user allowed this very recording. `require_own` is called before a process is started with anything
that a recording names.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from _blake2 import blake2b
from collections.abc import Iterator

from whence.errors import WhenceError
from whence.user_folders import open_private_file, state_folder, user_key

SIGNATURE = "signature"
PARTS = ("", "environment.json", "stdin", "journal", "tail")
"""The files of a recording that a re-run depends on; the empty one is the trace itself."""
AnyPath = str | os.PathLike[str]
_KEY_FILE = "recording-key"
_PERSON = b"whence-recording"
_PIECE = 2**20
_MOST_SIGNED = 2**16
"""The most bytes of a signature file that are read."""

_allowed: set[str] = set()
"""The recordings that the user allowed in this process, by their real path."""
_own_folders: set[str] = set()
"""Folders in which only this process and those that it starts record."""
_checked: dict[tuple[object, ...], str] = {}
"""What `why_foreign` found, by the state of the files at that time."""


class ForeignRecording(WhenceError):
    """A recording names something to execute, and this user's whence did not make it."""


def key_folder() -> str:
    """Where the key of this user is; empty if there is no place for one."""
    try:
        return str(state_folder())
    except WhenceError:
        return ""


def sign(recording: AnyPath, folder: str) -> None:
    """Sign all files of a recording that this process made or saw being made.

    `folder` is where the key is. Does nothing if there is no place for the key or the signature:
    the recording is then foreign.
    """
    if not folder:
        return
    with contextlib.suppress(OSError, WhenceError):
        key = user_key(folder, _KEY_FILE, create=True)
        lines, trace = [], ""
        for part, path in _files(recording):
            mac = _mac(path, part, key, trace)
            trace = trace or mac
            lines.append(json.dumps({"part": part, "mac": mac}) + "\n")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        descriptor = open_private_file(_beside(recording, SIGNATURE), flags)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.writelines(lines)


def why_foreign(recording: AnyPath) -> str:
    """Why a recording is not this user's own, in half a sentence; empty if it is."""
    path = os.path.realpath(recording)
    if path in _allowed or any(path.startswith(folder) for folder in _own_folders):
        return ""
    state = tuple(map(_state, [*(path for _, path in _files(recording)),
                               _beside(recording, SIGNATURE)]))  # fmt: skip
    if state not in _checked:
        _checked[state] = _check(recording)
    return _checked[state]


def require_own(recording: AnyPath) -> None:
    """Raise `ForeignRecording` unless the recording is this user's own."""
    why = why_foreign(recording)
    if why:
        raise ForeignRecording(
            f"{recording}: {why}, so nothing that it names is run; --trust-recording allows it"
        )


def allow(recording: AnyPath) -> None:
    """Count a recording as the user's own, from now on if it can be signed."""
    _allowed.add(os.path.realpath(recording))
    sign(recording, key_folder())


def count_as_own(folder: AnyPath) -> None:
    """Count all recordings in a folder that this process has made as the user's own."""
    _own_folders.add(os.path.join(os.path.realpath(folder), ""))


def _check(recording: AnyPath) -> str:
    try:
        key = user_key(str(state_folder()), _KEY_FILE, create=False)
        signed = _signed_parts(recording)
    except FileNotFoundError:
        return "it was not recorded by you on this machine"
    except (OSError, ValueError, WhenceError) as problem:
        return f"whether you recorded it cannot be checked ({problem})"
    trace = ""
    for part, path in _files(recording):
        try:
            mac = _mac(path, part, key, trace)
            trace = trace or mac
            is_own = _same(signed.get(part, ""), mac)
        except OSError as problem:
            return f"{os.path.basename(path)} cannot be read ({problem.strerror})"
        if not is_own:
            name = os.path.basename(path) if part else "it"
            changed = "has changed since it was recorded" if part in signed else "is not signed"
            return f"{name} {changed}"
    return ""


def _same(one: str, other: str) -> bool:
    """Whether two signatures are equal, in a time that does not tell where they differ."""
    import hmac  # only debuggers come here, and a program must not find what it did not import

    return hmac.compare_digest(one, other)


def _files(recording: AnyPath) -> Iterator[tuple[str, str]]:
    """The files of a recording that exist, each with its part."""
    for part in PARTS:
        path = _beside(recording, part)
        if os.path.lexists(path) or not part:
            yield part, path


def _beside(recording: AnyPath, part: str) -> str:
    return f"{os.fspath(recording)}.{part}" if part else os.fspath(recording)


def _mac(path: str, part: str, key: bytes, trace: str) -> str:
    """The keyed digest of a regular file and of its part in the recording.

    `trace` is that of the trace itself, empty for the trace: a part of another recording does not
    fit, even if it is signed.
    """
    start = f"{part}\0{trace}\0".encode()
    digest = blake2b(start, key=key, digest_size=32, person=_PERSON)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no regular file")
        while piece := os.read(descriptor, _PIECE):
            digest.update(piece)
    finally:
        os.close(descriptor)
    return digest.hexdigest()


def _signed_parts(recording: AnyPath) -> dict[str, str]:
    """The signature of each part, as the file beside the recording has it."""
    from whence.regular_files import read_regular_file  # as in `_same`

    data = read_regular_file(_beside(recording, SIGNATURE), _MOST_SIGNED)
    entries = [json.loads(line) for line in data.splitlines()]
    if not all(isinstance(entry, dict) for entry in entries):
        raise ValueError("the signature is damaged")
    return {str(entry.get("part")): str(entry.get("mac")) for entry in entries}


def _state(path: str) -> tuple[object, ...]:
    """What changes when a file does."""
    try:
        status = os.stat(path)
    except OSError:
        return (path,)
    return path, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
