"""The child processes of a recorded program: where each writes, and how it learns that it should.

Each process writes a trace of its own. The program's is the file that the user named; those of its
children are in `NAME.whence.d/PID.whence`, and each header says which process and which call
started it. A forked child keeps the settings that it has; a new Python finds them in the
environment, where `startup/sitecustomize.py` looks.

Invariant: this happens only with `--children`, and a process that cannot be recorded runs on
unrecorded.
"""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass, replace
from typing import Any

from whence.errors import WhenceError
from whence.langs.python.debuggee.typed_json import from_text, reader, to_text
from whence.langs.python.record.options import RecordOptions
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.trace.trace_format import FOLDER, MAGIC, STARTED, TAIL_MAGIC, TAIL_SUFFIX
from whence.user_folders import make_private_folder, open_private_file

VARIABLE = "WHENCE_CHILDREN"
VERSION = 1
_NAME = "announcement"
_STARTUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")


@dataclass(frozen=True, slots=True)
class ChildSettings:
    """What is recorded of each child process, and how."""

    options: RecordOptions
    rules: UserCodeRules
    backend: str | None


@dataclass(frozen=True, slots=True)
class Announcement:
    """What a new Python finds in the environment: the recording that it is to join."""

    folder: str
    """Of the traces of child processes."""
    run: str
    parent: str
    """The name of the trace of the process that starts it."""
    tag: str
    """Names the version of Python. Others are not recorded."""
    settings: ChildSettings

    def text(self) -> str:
        """The announcement as JSON."""
        return to_text(_NAME, VERSION, self)

    @classmethod
    def from_text(cls, text: str) -> Announcement:
        """Read what `text` wrote; a `WhenceError` says why it cannot be read."""
        return from_text(_NAME, VERSION, reader(cls), text)


@dataclass(frozen=True, slots=True)
class Family:
    """The processes of one recording, as seen by one of them."""

    folder: str
    run: str
    """Distinguishes the traces of this recording from older ones in the same folder."""
    name: str = ""
    """The file of this process's trace in the folder; empty for the program itself."""
    parent: str = ""
    """The same for the process that started it, if this is not the program itself."""
    call: int | None = None
    """The call in which it was forked off; None: the file of starts may tell."""

    @property
    def starts(self) -> str:
        """The file in which processes note which of their calls started which process."""
        return os.path.join(self.folder, STARTED)

    @property
    def is_child(self) -> bool:
        """Whether this process was started by the program."""
        return bool(self.name)

    def new_child(self, call: int | None) -> tuple[Family, int]:
        """In a new child: the family as it sees it, and the descriptor of its trace."""
        for copy in range(1, 1000):  # process ids are reused
            name = f"{os.getpid()}.whence" if copy == 1 else f"{os.getpid()}-{copy}.whence"
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND
            with contextlib.suppress(FileExistsError):
                descriptor = open_private_file(os.path.join(self.folder, name), flags)
                return replace(self, name=name, parent=self.name, call=call), descriptor
        raise OSError("too many traces of one process")

    def announce(self, settings: ChildSettings) -> None:
        """Have every Python that this process starts from here on recorded."""
        tag = str(sys.implementation.cache_tag)
        announcement = Announcement(self.folder, self.run, self.name, tag, settings)
        os.environ[VARIABLE] = announcement.text()
        paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        if _STARTUP not in paths:
            os.environ["PYTHONPATH"] = os.pathsep.join([_STARTUP, *paths])


def new_family(output: str, run: str) -> Family:
    """The family of a program whose trace goes to a file, with an empty folder beside it."""
    folder = os.path.abspath(output) + FOLDER
    try:
        make_private_folder(folder)
        for entry in os.listdir(folder):
            path = os.path.join(folder, entry)
            if entry == STARTED or _is_ours(path):
                os.unlink(path)
    except OSError as problem:
        raise WhenceError(
            f"{folder}: the traces of child processes cannot be written there "
            f"({problem.strerror}); name another place with -o"
        ) from None
    return Family(folder, run)


def _is_ours(path: str) -> bool:
    """Whether it is a trace, or the tail of one."""
    if not path.removesuffix(TAIL_SUFFIX).endswith(".whence") or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) in (MAGIC, TAIL_MAGIC, b"")


# --- a Python that was started anew --------------------------------------------------------------

_joined: list[Any] = []
"""The recording that this process joined when it started."""


def announced() -> tuple[Family, ChildSettings] | None:
    """The recording that this process is to join, and its settings; None if there is none.

    What cannot be read is as if it were not there: the process is the program's.
    """
    try:
        announcement = Announcement.from_text(os.environ[VARIABLE])
    except (KeyError, WhenceError):
        return None
    if announcement.tag != sys.implementation.cache_tag or not os.path.isdir(announcement.folder):
        return None
    family = Family(announcement.folder, announcement.run, name=announcement.parent)
    return family, announcement.settings


def join() -> None:
    """Record this process, if it was started by one that is recorded with its children."""
    announcement = announced()
    if announcement is None or _joined:
        return
    import atexit

    from whence.langs.python.record.recording import Recording

    recording = Recording.of_child(*announcement, command=tuple(sys.orig_argv[1:]))
    _joined.append(recording)
    # The first to be registered is the last to be run.
    atexit.register(_leave_at_exit, recording)
    recording.start()


def _leave_at_exit(recording: Any) -> None:
    if recording.is_here:
        # The exit status cannot be known here; an exception that nothing caught can.
        exception = getattr(sys, "last_value", None)
        recording.finish(0 if exception is None else 1, exception)


def leave() -> None:
    """Discard the recording that this process joined: it is to be recorded in another way."""
    os.environ.pop(VARIABLE, None)
    while _joined:
        _joined.pop().discard()
