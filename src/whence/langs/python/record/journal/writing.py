"""In a first run: writes to the journal what the program learns from the outside world.

Most functions are handled in C. Here are those of which more than the result is noted: the content
of a file that is opened, the seed of a random number generator, which objects are ready.
"""

from __future__ import annotations

import errno
import json
import os
import random  # in both runs, before the program may: it seeds itself when it is first imported
import sys
from collections.abc import Callable, Mapping
from typing import Any

from whence.errors import WhenceError
from whence.langs.python.record.high_descriptors import to_high_number
from whence.langs.python.record.journal import _interposition
from whence.langs.python.record.journal.collector import Collector
from whence.langs.python.record.journal.journalled_functions import (
    FILE,
    KINDS,
    NEXT,
    NUMBERS,
    OPEN,
    RANDOM_AT_START,
    SCANDIR,
    Handler,
    InterposedFunctions,
)
from whence.langs.python.record.journal.kept_files import OTHER, KeptFiles
from whence.langs.python.record.recording import close_own, file_identity
from whence.user_folders import open_private_file

WRITING = 1
VERSION = 1
STOPPED = "stopped"
"""The last member of the heading: the number of the error that ended the journal, or 0."""
_SEED_BYTES = 2496
"""As many random bytes as the interpreter itself uses to seed a generator."""

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]
Original = Callable[..., Any]


def conditions() -> dict[str, Any]:
    """What must be the same in both runs for a journal to be played."""
    return {"whence journal": VERSION, "python": sys.version, "kinds": list(KINDS)}


def _heading(run: str) -> bytes:
    """The first line of a journal, with the recording that it belongs to."""
    heading = json.dumps({**conditions(), "run": run, "pid": os.getpid(), STOPPED: 0})
    # Room for the number of the error, which is written in place if the journal has to end.
    return heading.removesuffix("0}").encode() + b"   0}\n"


def why_stopped(error: int) -> str:
    """What an error says that ended a journal; empty if none did."""
    if error == errno.EBADF:
        return "the program closed its file"
    return os.strerror(error) if error else ""


def own_files() -> str:
    """The folder of whence's own files."""
    return os.path.abspath(__file__).split(os.path.join("whence", "langs"))[0] + "whence" + os.sep


class JournalWriter:
    """The journal of one recording."""

    def __init__(self, path: str, folder: str, run: str):
        self._files = KeptFiles(folder)
        self._collector = Collector()
        self._descriptor = _opened(path)
        self._identity = file_identity(self._descriptor)
        try:
            _interposition.open_file(self._descriptor, _heading(run))
        except OSError as problem:
            raise WhenceError(
                f"{path}: the journal cannot be written there ({problem.strerror})"
            ) from None
        self._functions = InterposedFunctions(self._handlers())

    def _handlers(self) -> Mapping[str, Handler]:
        return {
            **self._collector.handlers(),
            "posix.open": self._open,
            "builtins.input": _input,
            "_random.Random.seed": _seed,
            "posix.scandir": _scandir,
        }

    def start(self) -> None:
        """Note from here on."""
        self._functions.exchange_all()
        _interposition.exchange_files(_file_type(), self._file)
        with os.scandir(os.sep) as entries:
            _interposition.watch_scandir(entries, NEXT)
        start_random(
            lambda number: _interposition.write(RANDOM_AT_START, (), number), _random_number
        )
        nothing = lambda *_: None  # noqa: E731
        self._collector.start()
        _interposition.begin(WRITING, KINDS, nothing, nothing, own_files(), os.getpid())

    def finish(self) -> None:
        """Note nothing more."""
        _interposition.stop()
        close_own(self._descriptor, self._identity)

    @property
    def problem(self) -> str:
        """Why the journal ended before the program did; empty if it did not."""
        return why_stopped(_interposition.problem())

    def _open(self, descriptor: Any, error: Any, arguments: Arguments, keywords: Keywords) -> None:
        request = open_request(arguments, keywords)
        if error is not None:
            _interposition.write_error(OPEN, request, error)
        else:
            self._note(OPEN, request, descriptor, request[1], request[0])

    def _file(self, file: Any, error: Any, arguments: Arguments, keywords: Keywords | None) -> None:
        request = file_request(arguments, keywords)
        if error is not None:
            _interposition.write_error(FILE, request, error)
        else:
            descriptor = _file_type().fileno(file)
            self._note(FILE, request, descriptor, flags_of(request[1]), request[0])

    def _note(self, kind: int, request: Arguments, descriptor: int, flags: int, name: Any) -> None:
        try:
            opened = self._files.opened(descriptor, flags, os.fsdecode(name))
        except (OSError, TypeError, ValueError, MemoryError):
            opened = ()  # such as a full disk: it cannot be replayed
        _interposition.foreign(descriptor, opened == (OTHER,))
        _interposition.write(kind, request, opened)


# --- shared with playing.py ----------------------------------------------------------------------


def open_request(arguments: Arguments, keywords: Keywords) -> Arguments:
    """The request of an `os.open`: path and flags."""
    path = arguments[0] if arguments else keywords.get("path")
    flags = arguments[1] if len(arguments) > 1 else keywords.get("flags", 0)
    return path, flags if type(flags) is int else 0


def file_request(arguments: Arguments, keywords: Keywords | None) -> Arguments:
    """The request of a `FileIO`: path and mode."""
    keywords = keywords or {}
    mode = arguments[1] if len(arguments) > 1 else keywords.get("mode", "r")
    return arguments[0] if arguments else keywords.get("file"), mode


def flags_of(mode: Any) -> int:
    """The flags that `FileIO` opens a file with, those that matter here."""
    letters = mode if type(mode) is str else "r"
    if "x" in letters:
        return os.O_CREAT | os.O_EXCL
    if "w" in letters:
        return os.O_CREAT | os.O_TRUNC | os.O_WRONLY
    if "a" in letters:
        return os.O_CREAT | os.O_WRONLY
    return os.O_RDWR if "+" in letters else os.O_RDONLY


def start_random(note: Callable[[int], None], number: Callable[[], int]) -> None:
    """Seed the generator that `random` created before the journal began."""
    seed = number()
    note(seed)
    random._inst.seed(seed)


def _file_type() -> Any:
    return sys.modules["_io"].FileIO


def _random_number() -> int:
    return int.from_bytes(os.urandom(_SEED_BYTES), "little")


# --- handlers ------------------------------------------------------------------------------------


def _seed(original: Original, _: Any, arguments: Arguments, keywords: Keywords) -> Any:
    if arguments and arguments[0] is not None:
        return original(*arguments, **keywords)
    number = _random_number()
    _interposition.write(NUMBERS["_random.Random.seed"], (), number)
    return original(number)


def _input(original: Original, _: Any, arguments: Arguments, keywords: Keywords) -> Any:
    if not (os.isatty(0) and os.isatty(1)):
        return _interposition.outside(original, *arguments, **keywords)  # it reads from sys.stdin
    kind = NUMBERS["builtins.input"]
    try:
        text = original(*arguments, **keywords)
    except BaseException as error:
        _interposition.write_error(kind, (), error)
        raise
    _interposition.write(kind, (), text)
    return text


def _scandir(_: Any, error: Any, arguments: Arguments, keywords: Keywords) -> None:
    request = (arguments[0] if arguments else keywords.get("path"),)
    if error is not None:
        _interposition.write_error(SCANDIR, request, error)
    else:
        _interposition.write(SCANDIR, request, True)


def _opened(path: str) -> int:
    """A descriptor of an empty file with a high number: the low ones are for the program."""
    try:
        low = open_private_file(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    except OSError as problem:
        raise WhenceError(
            f"{path}: the journal cannot be written there ({problem.strerror})"
        ) from None
    try:
        return to_high_number(low, below_limit=16)
    finally:
        os.close(low)
