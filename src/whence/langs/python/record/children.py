"""The child processes of a recorded program: where each writes, and how it learns that it should.

Each process writes a trace of its own. The program's is the file that the user named; those of its
children are in `NAME.whence.d/PID.whence`, and each header says which process and which call
started it. A forked child keeps the settings that it has; a new Python finds them in its
environment, where `startup/sitecustomize.py` looks.

By default only a new Python that the program starts itself gets this environment, and takes it out
again before its program starts: no program can see it. With `--children` it is part of the
program's own environment, so that Pythons started by shells and other programs are found too.

Invariant: a process that cannot be recorded runs on unrecorded.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from whence.errors import WhenceError
from whence.langs.python.record.options import RecordOptions
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.trace.trace_format import FOLDER, MAGIC, STARTED, TAIL_MAGIC, TAIL_SUFFIX
from whence.typed_json import from_text, reader, to_text
from whence.user_folders import make_private_folder, open_private_file

VARIABLE = "WHENCE_CHILDREN"
"""Part of the environment of the whole program."""
HIDDEN_VARIABLE = "WHENCE_CHILD"
"""Part of the environment of one new Python."""
VERSION = 2
_NAME = "announcement"
_STARTED_BY_MODULE = "from multiprocessing."
_TRACKER = "from multiprocessing.resource_tracker"
STARTUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")


class Children(Enum):
    """Which processes that the program starts are recorded too."""

    NONE = "none"
    PYTHONS = "pythons"
    """Forked ones, and Pythons that a recorded process starts itself."""
    ALL = "all"
    """All Pythons that inherit the environment, which shows it."""


def children_of(options: Mapping[str, Any]) -> Children:
    """What the options in a trace's header say of child processes."""
    value = options.get("children")
    return Children(value) if value in {kind.value for kind in Children} else Children.NONE


@dataclass(frozen=True, slots=True)
class ChildSettings:
    """What is recorded of each child process, and how."""

    options: RecordOptions
    rules: UserCodeRules
    backend: str | None
    children: Children = Children.ALL


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
        os.makedirs(self.folder, exist_ok=True)
        for copy in range(1, 1000):  # process ids are reused
            name = f"{os.getpid()}.whence" if copy == 1 else f"{os.getpid()}-{copy}.whence"
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND
            with contextlib.suppress(FileExistsError):
                descriptor = open_private_file(os.path.join(self.folder, name), flags)
                return replace(self, name=name, parent=self.name, call=call), descriptor
        raise OSError("too many traces of one process")

    def announcement(self, settings: ChildSettings) -> str:
        """What each new Python is told; empty if the environment of this process tells it."""
        tag = str(sys.implementation.cache_tag)
        text = Announcement(self.folder, self.run, self.name, tag, settings).text()
        if settings.children is not Children.ALL:
            return text
        os.environ[VARIABLE] = text
        paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        if STARTUP not in paths:
            os.environ["PYTHONPATH"] = os.pathsep.join([STARTUP, *paths])
        return ""

    def remove_unused(self) -> None:
        """Remove the folder if there is nothing in it: no process was started."""
        with contextlib.suppress(OSError):
            os.rmdir(self.folder)


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


def announced(text: str | None) -> tuple[Family, ChildSettings] | None:
    """The recording that this process is to join, and its settings; None if there is none.

    What cannot be read is as if it were not there: the process is the program's.
    """
    try:
        announcement = Announcement.from_text(os.environ[VARIABLE] if text is None else text)
    except (KeyError, WhenceError):
        return None
    if announcement.tag != sys.implementation.cache_tag or not os.path.isdir(announcement.folder):
        return None
    family = Family(announcement.folder, announcement.run, name=announcement.parent)
    settings, code = announcement.settings, _code_option()
    if code.startswith(_TRACKER):
        return None  # it runs nothing of the program
    if code.startswith(_STARTED_BY_MODULE):
        # The line that starts a worker is not the user's; the program itself is `__mp_main__`.
        left_out = (*settings.rules.left_out, "__main__.<module>")
        settings = replace(settings, rules=replace(settings.rules, left_out=left_out))
    return family, settings


def _code_option() -> str:
    """The text that this process was started to run with `-c`; empty if there is none."""
    words = sys.orig_argv
    return words[words.index("-c") + 1] if "-c" in words[1:-1] else ""


def join(text: str | None = None) -> None:
    """Record this process, if it was started by one that is recorded with its children.

    `text` is the announcement, if it is no longer in the environment.
    """
    announcement = announced(text)
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
