"""In a re-run: answers the program from the journal of the first run.

No function that reaches the outside world is called. Files are opened in the folder of the re-run;
sockets and the like get a descriptor that leads nowhere, with the number that it had. The first
question that the first run did not ask ends the process, with a report.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NoReturn

from whence.errors import WhenceError
from whence.langs.python.record.journal import _interposition
from whence.langs.python.record.journal.collector import Collector
from whence.langs.python.record.journal.journal_choice import ENVIRONMENT, JOURNAL
from whence.langs.python.record.journal.journal_choice import FILES as KEPT
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
    spoken,
)
from whence.langs.python.record.journal.kept_files import (
    FOLDER,
    NAMELESS,
    OTHER,
    KeptFiles,
    Missing,
    Sandbox,
)
from whence.langs.python.record.journal.writing import (
    Given,
    Named,
    Original,
    conditions,
    file_question,
    flags_of,
    open_question,
    own_files,
    start_random,
)

PLAYING = 2
REPORT = "report.json"
FILES = "files"
_SHOWN = 60
_MODE = 0o600
_NOT_KEPT = {
    "_multiprocessing": "multiprocessing",
    "_dbm": "dbm",
    "_gdbm": "dbm",
}
"""Modules in C that reach the outside world without an interposed function."""
_ANOTHER_INTERPRETER = "cpython.PyInterpreterState_New"


def _compile_again(since: int) -> None:
    """Compile modules whose cache was written when the program ran, or later.

    Cached code may differ: a set of constants may have another order.
    """
    importing = sys.modules["_frozen_importlib_external"]
    where, stat, frame = importing.cache_from_source, aside(os.stat), sys._getframe

    def cache_from_source(path: str, *given: Any, **named: Any) -> str:
        cache: str = where(path, *given, **named)
        if frame(1).f_code.co_name == "get_code":
            with contextlib.suppress(OSError):
                if stat(cache).st_mtime_ns >= since:
                    raise NotImplementedError
        return cache

    importing.cache_from_source = cache_from_source  # type: ignore[attr-defined]


class JournalPlayer:
    """The journal of one recording, played in this process."""

    def __init__(
        self, path: str, folder: str, cut_off: Callable[[str], int], own: str | None = None
    ):
        self._own = own_files() if own is None else own
        """The folder of files whose calls are not the program's."""
        self._folder = os.path.abspath(folder)
        self._cut_off = cut_off
        """Ends the recording of this run; how many calls it has."""
        self._report = os.path.join(self._folder, REPORT)
        self._confined = False
        self._collector = Collector()
        kept = KeptFiles(path.removesuffix(JOURNAL) + KEPT)
        self._sandbox = Sandbox(os.path.join(self._folder, FILES), kept)
        os.makedirs(self._sandbox.folder, exist_ok=True)
        self._began = os.stat(path.removesuffix(JOURNAL) + ENVIRONMENT).st_mtime_ns
        with open(path, "rb") as file:
            data = file.read()
        told = json.loads(data[: data.index(b"\n")])
        if {name: told.get(name) for name in conditions()} != conditions():
            raise WhenceError(f"{path}: is the journal of another Python or another whence")
        _interposition.load(data, data.index(b"\n") + 1)
        self._process = int(told["pid"])
        """The number under which the program knows itself."""
        self._entrances = Entrances(self._handlers(), self._imported)
        self._file_init: Callable[..., None] | None = None

    def _handlers(self) -> Mapping[str, Handler]:
        return {
            **self._collector.handlers(),
            "posix.open": self._open,
            "builtins.input": _input,
            "_random.Random.seed": _seed,
            "_datetime.datetime.now": _now,
            "_datetime.datetime.utcnow": _utcnow,
            "select.select": _select,
            "posix.scandir": _scandir,
            "posix.chdir": _chdir,
            "posix.pidfd_open": _pidfd_open,
            "_socket.socket._accept": _accept,
        }

    def start(self) -> None:
        """Play from here on; nothing outside of the folder can be changed any more."""
        self._entrances.exchange_all()
        self._file_init = _interposition.exchange_files(sys.modules["_io"].FileIO, self._file)
        start_random(lambda number: None, lambda: int(_interposition.play(RANDOM_AT_START, ())))
        self._confined = _interposition.confine(self._folder)
        self._collector.start()
        _compile_again(self._began)
        _interposition.begin(
            PLAYING, KINDS, self._diverged, self._escaped, self._own, self._process
        )

    @property
    def folder(self) -> str:
        """The only folder that the process can change."""
        return self._folder

    @property
    def sandbox(self) -> str:
        """Where the files of the program are."""
        return self._sandbox.folder

    def moved(self, folder: str) -> tuple[str, str]:
        """In a fork: use another folder for files; returns the old and the new one.

        A file that is not open gets its content when it is opened.
        """
        before = self._sandbox.folder
        self._report = os.path.join(folder, REPORT)
        self._sandbox.folder = os.path.join(folder, FILES)
        os.makedirs(self._sandbox.folder, exist_ok=True)
        return before, self._sandbox.folder

    def finish(self) -> None:
        """What became of it, once the program has ended."""
        _interposition.inside(True)
        _, played, left, _ = _interposition.state()
        self._tell({"played": played, "left": left})

    # --- ends --------------------------------------------------------------------------------

    def _diverged(self, kind: str, given: Given, recorded: str | None) -> NoReturn:
        asked = f"{spoken(kind)}({', '.join(map(_shown, given))})"
        if recorded is None:
            then = "nothing more"
        elif recorded == kind:
            then = f"{spoken(kind)} of something else, or what it gave is not kept"
        else:
            then = spoken(recorded)
        self._stop({"asked": asked, "recorded": then, "kind": kind})

    def _escaped(self, event: str, given: Given) -> None:
        if event == "open" and _importing():
            raise PermissionError(13, "Permission denied")  # compiled code is not written again
        if event == "sqlite3.connect" and given and given[0] in (":memory:", "", b":memory:"):
            return
        if event == _ANOTHER_INTERPRETER:
            self._lacks("other interpreters")
        self._stop({"escaped": event, "asked": f"{event}({', '.join(map(_shown, given))})"})

    def _imported(self, module: str) -> None:
        what = _NOT_KEPT.get(module)
        if what is not None:
            self._lacks(what)

    def _lacks(self, what: str) -> NoReturn:
        self._stop({"missing": f"it uses {what}, of which a journal keeps nothing"})

    def _stop(self, report: Mapping[str, Any]) -> NoReturn:
        _interposition.inside(True)
        self._tell({**report, "call": self._cut_off("it went another way")})
        os._exit(0)

    def _tell(self, report: Mapping[str, Any]) -> None:
        known = {"confined": self._confined, "threads": _interposition.state()[3]}
        with open(self._report, "w", encoding="ascii") as file:
            json.dump({**report, **known}, file)

    # --- files -------------------------------------------------------------------------------

    def _open(self, original: Original, _: Any, given: Given, named: Named) -> int:
        asked = open_question(given, named)
        _call_fspath(asked[0])
        opened, flags = _interposition.play(OPEN, asked), asked[1]
        path = self._place("posix.open", asked, opened, flags)
        if opened[0] == FOLDER:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        elif opened[0] == NAMELESS:
            flags |= os.O_RDWR
        else:
            flags &= ~getattr(os, "O_NOFOLLOW", 0)
        mode = given[2] if len(given) > 2 else named.get("mode", 0o777)
        descriptor: int = original(path, flags, (mode | _MODE) if type(mode) is int else _MODE)
        _interposition.foreign(descriptor, opened[0] == OTHER)
        return descriptor

    def _file(self, file: Any, given: Given, named: Named | None) -> None:
        asked = file_question(given, named)
        _call_fspath(asked[0])
        opened = _interposition.play(FILE, asked)
        path = self._place("FileIO()", asked, opened, flags_of(asked[1]))
        rest = dict(named or {})
        rest.pop("file", None)
        assert self._file_init is not None
        self._file_init(file, path, *given[1:], **rest)
        file.name = asked[0]
        _interposition.foreign(sys.modules["_io"].FileIO.fileno(file), opened[0] == OTHER)

    def _place(self, kind: str, asked: Given, opened: Given, flags: int) -> str:
        if not opened:
            self._diverged(kind, asked, kind)
        try:
            return self._sandbox.place(opened, flags)
        except Missing as problem:
            self._stop({"missing": str(problem)})


def aside(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of whence that the program's code calls, so that the journal ignores it."""
    return partial(_interposition.aside, function)


def _importing() -> bool:
    frame = sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(own_files()):
        frame = frame.f_back
    return frame.f_code.co_filename.startswith("<frozen importlib")


def _shown(value: Any) -> str:
    """The value as text, without running code of the program."""
    if type(value) in (int, float, str, bytes, bool, type(None)):
        text = repr(value)
        return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return f"<{type(value).__name__}>"


def _call_fspath(path: Any) -> None:
    """Call `__fspath__` of a path object, as the first run did."""
    if type(path) not in (str, bytes):
        with contextlib.suppress(TypeError):
            os.fspath(path)


# --- what is more than its result ----------------------------------------------------------------


def _seed(original: Original, _: Any, given: Given, named: Named) -> Any:
    if given and given[0] is not None:
        return original(*given, **named)
    return original(_interposition.play(NUMBERS["_random.Random.seed"], ()))


def _input(original: Original, _: Any, given: Given, named: Named) -> Any:
    kind = NUMBERS["builtins.input"]
    if _interposition.peek() == kind:
        return _interposition.play(kind, ())
    return _interposition.outside(original, *given, **named)


def _now(_: Original, kind: Any, given: Given, named: Named) -> Any:
    return _moment("_datetime.datetime.now", kind, given, named)


def _utcnow(_: Original, kind: Any, given: Given, named: Named) -> Any:
    return _moment("_datetime.datetime.utcnow", kind, given, named)


def _moment(name: str, kind: Any, given: Given, named: Named) -> Any:
    *fields, fold = _interposition.play(NUMBERS[name], ())
    zone = given[0] if given else named.get("tz")
    return kind(*fields, tzinfo=zone, fold=fold)


def _select(_: Original, __: Any, given: Given, ___: Named) -> Any:
    places = _interposition.play(NUMBERS["select.select"], ())
    found = zip(given, places, strict=False)
    return tuple([asked[place] for place in each] for asked, each in found)


def _chdir(original: Original, _: Any, given: Given, named: Named) -> Any:
    result = _interposition.play(NUMBERS["posix.chdir"], given)
    # It may be gone. It matters to imports only: no path of the program is looked up any more.
    with contextlib.suppress(OSError):
        original(*given, **named)
    return result


def _pidfd_open(_: Original, __: Any, given: Given, ___: Named) -> Any:
    """A descriptor that nothing ever comes from: that it is ready is in the journal too."""
    number: int = _interposition.play(NUMBERS["posix.pidfd_open"], given)
    return _moved(os.eventfd(0), number)


def _moved(descriptor: int, number: int) -> int:
    """The same under the number that it had."""
    if descriptor != number:
        os.dup2(descriptor, number, inheritable=False)
        os.close(descriptor)
    return number


def _accept(_: Original, __: Any, given: Given, ___: Named) -> Any:
    """Another socket, which leads nowhere, under the number that it had."""
    number, address = _interposition.play(NUMBERS["_socket.socket._accept"], given)
    from _socket import socket

    return _moved(socket().detach(), number), address


# --- directories ---------------------------------------------------------------------------------


class DirEntry:
    """Replaces `os.DirEntry`: answers from the journal."""

    __slots__ = ("name", "path")

    def __init__(self, name: Any, path: Any):
        self.name = name
        self.path = path

    def __fspath__(self) -> Any:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"

    def is_dir(self, **_: Any) -> Any:
        """Whether it is a folder."""
        return _asked("is_dir")

    def is_file(self, **_: Any) -> Any:
        """Whether it is a file."""
        return _asked("is_file")

    def is_symlink(self) -> Any:
        """Whether it is a link."""
        return _asked("is_symlink")

    def is_junction(self) -> Any:
        """Whether it is a junction."""
        return _asked("is_junction")

    def stat(self, **_: Any) -> Any:
        """Its status."""
        return _asked("stat")

    def inode(self) -> Any:
        """Its inode number."""
        return _asked("inode")


def _asked(name: str) -> Any:
    return _interposition.play(NUMBERS[f"posix.DirEntry.{name}"], ())


class ScandirIterator:
    """Replaces the iterator of `os.scandir`: answers from the journal."""

    def __iter__(self) -> Iterator[DirEntry]:
        return self

    def __next__(self) -> DirEntry:
        found = _interposition.play(NEXT, ())
        if found is None:
            raise StopIteration
        return DirEntry(*found)

    def __enter__(self) -> ScandirIterator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Walk no further."""


def _scandir(_: Original, __: Any, given: Given, named: Named) -> Any:
    asked = (given[0] if given else named.get("path"),)
    _call_fspath(asked[0])
    _interposition.play(SCANDIR, asked)
    return ScandirIterator()
