"""In a first run: writes to the journal what the program learns from the outside world.

Most functions are handled in C. Here are those whose result is not all there is to note: the
content of a file that is opened, the seed of a random number generator, which objects are ready.
"""

from __future__ import annotations

import fcntl
import json
import os
import random  # in both runs, before the program may: it seeds itself when it is first imported
import sys
from collections.abc import Callable, Mapping
from typing import Any

from whence.errors import WhenceError
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
    Entrances,
    Handler,
)
from whence.langs.python.record.journal.kept_files import OTHER, KeptFiles

WRITING = 1
VERSION = 1
_SEED_BYTES = 2496
"""As many as the interpreter itself takes to seed a generator by chance."""
_HIGHEST_DESCRIPTOR = 1023

Given = tuple[Any, ...]
Named = dict[str, Any]
Original = Callable[..., Any]


def conditions() -> dict[str, Any]:
    """What must be equal for a journal to be played."""
    return {"whence journal": VERSION, "python": sys.version, "kinds": list(KINDS)}


def _heading(run: str) -> bytes:
    """The first line of a journal: also which recording it belongs to."""
    return json.dumps({**conditions(), "run": run, "pid": os.getpid()}).encode() + b"\n"


def own_files() -> str:
    """The folder of whence's own files."""
    return os.path.abspath(__file__).split(os.path.join("whence", "langs"))[0] + "whence" + os.sep


class JournalWriter:
    """The journal of one recording."""

    def __init__(self, path: str, folder: str, run: str):
        self._files = KeptFiles(folder)
        self._collector = Collector()
        self._descriptor = _opened(path)
        _interposition.open_file(self._descriptor, _heading(run))
        self._entrances = Entrances(self._handlers())

    def _handlers(self) -> Mapping[str, Handler]:
        return {
            **self._collector.handlers(),
            "posix.open": self._open,
            "builtins.input": _input,
            "_random.Random.seed": _seed,
            "posix.scandir": _scandir,
        }

    def start(self) -> None:
        """Note all from here on."""
        self._entrances.exchange_all()
        _interposition.exchange_files(_file_type(), self._file)
        with os.scandir(os.sep) as found:
            _interposition.watch_scandir(found, NEXT)
        start_random(lambda number: _interposition.write(RANDOM_AT_START, (), number), _by_chance)
        nothing = lambda *_: None  # noqa: E731
        self._collector.start()
        _interposition.begin(WRITING, KINDS, nothing, nothing, own_files(), os.getpid())

    def finish(self) -> None:
        """Note nothing more."""
        _interposition.stop()
        os.close(self._descriptor)

    def _open(self, descriptor: Any, error: Any, given: Given, named: Named) -> None:
        asked = open_question(given, named)
        if error is not None:
            _interposition.write_error(OPEN, asked, error)
        else:
            self._note(OPEN, asked, descriptor, asked[1], asked[0])

    def _file(self, file: Any, error: Any, given: Given, named: Named | None) -> None:
        asked = file_question(given, named)
        if error is not None:
            _interposition.write_error(FILE, asked, error)
        else:
            descriptor = _file_type().fileno(file)
            self._note(FILE, asked, descriptor, flags_of(asked[1]), asked[0])

    def _note(self, kind: int, asked: Given, descriptor: int, flags: int, name: Any) -> None:
        try:
            opened = self._files.opened(descriptor, flags, os.fsdecode(name))
        except (OSError, TypeError, ValueError, MemoryError):
            opened = ()  # such as a full disk: it cannot be played
        _interposition.foreign(descriptor, opened == (OTHER,))
        _interposition.write(kind, asked, opened)


# --- the same questions in both runs -------------------------------------------------------------


def open_question(given: Given, named: Named) -> Given:
    """What `os.open` was asked for: path and flags."""
    path = given[0] if given else named.get("path")
    flags = given[1] if len(given) > 1 else named.get("flags", 0)
    return path, flags if type(flags) is int else 0


def file_question(given: Given, named: Named | None) -> Given:
    """What `FileIO` was asked for: path and mode."""
    named = named or {}
    mode = given[1] if len(given) > 1 else named.get("mode", "r")
    return given[0] if given else named.get("file"), mode


def flags_of(mode: Any) -> int:
    """The flags that FileIO opens a file with, as far as they matter here."""
    letters = mode if type(mode) is str else "r"
    if "x" in letters:
        return os.O_CREAT | os.O_EXCL
    if "w" in letters:
        return os.O_CREAT | os.O_TRUNC | os.O_WRONLY
    if "a" in letters:
        return os.O_CREAT | os.O_WRONLY
    return os.O_RDWR if "+" in letters else os.O_RDONLY


def start_random(note: Callable[[int], None], number: Callable[[], int]) -> None:
    """Seed the generator that `random` made before the journal began."""
    seed = number()
    note(seed)
    random._inst.seed(seed)


def _file_type() -> Any:
    return sys.modules["_io"].FileIO


def _by_chance() -> int:
    return int.from_bytes(os.urandom(_SEED_BYTES), "little")


# --- what is more than its result ----------------------------------------------------------------


def _seed(original: Original, _: Any, given: Given, named: Named) -> Any:
    if given and given[0] is not None:
        return original(*given, **named)
    number = _by_chance()
    _interposition.write(NUMBERS["_random.Random.seed"], (), number)
    return original(number)


def _input(original: Original, _: Any, given: Given, named: Named) -> Any:
    if not (os.isatty(0) and os.isatty(1)):
        return _interposition.outside(original, *given, **named)  # it reads from sys.stdin
    kind = NUMBERS["builtins.input"]
    try:
        text = original(*given, **named)
    except BaseException as error:
        _interposition.write_error(kind, (), error)
        raise
    _interposition.write(kind, (), text)
    return text


def _scandir(_: Any, error: Any, given: Given, named: Named) -> None:
    asked = (given[0] if given else named.get("path"),)
    if error is not None:
        _interposition.write_error(SCANDIR, asked, error)
    else:
        _interposition.write(SCANDIR, asked, True)


def _opened(path: str) -> int:
    """A descriptor of an empty file under a high number: the low ones go to the program."""
    import resource

    try:
        low = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        raise WhenceError(
            f"{path}: the journal cannot be written there ({problem.strerror})"
        ) from None
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if most == resource.RLIM_INFINITY or most > _HIGHEST_DESCRIPTOR:
        most = _HIGHEST_DESCRIPTOR
    try:
        return fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, max(most - 16, 3))
    finally:
        os.close(low)
