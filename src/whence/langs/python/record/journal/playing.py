"""In a re-run: answers the program from the journal of the first run.

No function that reaches the outside world is called. Files are opened in the folder of the re-run;
sockets and the like get a descriptor that leads nowhere, with the number that it had. The first
request that the first run did not make ends the process, with a report.
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
from whence.langs.python.record.confinement import confine
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
    Handler,
    InterposedFunctions,
    public_name,
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
    STOPPED,
    Arguments,
    Keywords,
    Original,
    conditions,
    file_request,
    flags_of,
    open_request,
    own_files,
    start_random,
    why_stopped,
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
_BY_THEMSELVES = {
    "_ctypes": "ctypes",
    "_sqlite3": "sqlite3",
    "_ssl": "ssl",
    "numpy._core._multiarray_umath": "numpy",
    "numpy.core._multiarray_umath": "numpy",
}
"""Modules in C with functions that need nothing outside, and others that read the clock, random
numbers or files by themselves. A program may use them; if its re-run diverges, they are named."""
_ANOTHER_INTERPRETER = "cpython.PyInterpreterState_New"


def _compile_again(since: int) -> None:
    """Ignore cached code that was written when the program ran, or later.

    It may differ from newly compiled code: a set of constants may have another order.
    """
    importing = sys.modules["_frozen_importlib_external"]
    where, stat, frame = importing.cache_from_source, aside(os.stat), sys._getframe

    def cache_from_source(path: str, *arguments: Any, **keywords: Any) -> str:
        cache: str = where(path, *arguments, **keywords)
        if frame(1).f_code.co_name == "get_code":
            with contextlib.suppress(OSError):
                if stat(cache).st_mtime_ns >= since:
                    raise NotImplementedError
        return cache

    importing.cache_from_source = cache_from_source  # type: ignore[attr-defined]


class JournalPlayer:
    """The journal of one recording, played in this process."""

    def __init__(
        self,
        path: str,
        folder: str,
        cut_off: Callable[[str], int],
        own: str | None = None,
        channel: int = -1,
    ):
        self._own = own_files() if own is None else own
        """The folder of files whose calls are not the program's."""
        self._folder = os.path.abspath(folder)
        self._cut_off = cut_off
        """Ends the recording of this run; returns its number of calls."""
        self._report = os.path.join(self._folder, REPORT)
        self._channel = channel
        """The only socket that this process can send messages by."""
        self._confined: list[str] = []
        self._unseen: set[str] = set()
        """The modules of `_BY_THEMSELVES` that the program imported."""
        self._collector = Collector()
        kept = KeptFiles(path.removesuffix(JOURNAL) + KEPT)
        self._sandbox = Sandbox(os.path.join(self._folder, FILES), kept)
        os.makedirs(self._sandbox.folder, exist_ok=True)
        self._began = os.stat(path.removesuffix(JOURNAL) + ENVIRONMENT).st_mtime_ns
        with open(path, "rb") as file:
            data = file.read()
        heading = json.loads(data[: data.index(b"\n")])
        if {name: heading.get(name) for name in conditions()} != conditions():
            raise WhenceError(f"{path}: is the journal of another Python or another whence")
        _interposition.load(data, data.index(b"\n") + 1)
        error = heading.get(STOPPED)
        self._stopped = why_stopped(error if isinstance(error, int) else 0)
        """Why the journal ended before the program did."""
        self._process = int(heading["pid"])
        """The process id that the program receives."""
        self._functions = InterposedFunctions(self._handlers(), self._imported)
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
        self._functions.exchange_all()
        self._file_init = _interposition.exchange_files(sys.modules["_io"].FileIO, self._file)
        start_random(lambda number: None, lambda: int(_interposition.play(RANDOM_AT_START, ())))
        _interposition.watch_escapes(self._folder)
        self._confined = confine(self._folder, channel=self._channel)
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
        """Write the report, once the program has ended."""
        _interposition.inside(True)
        _, played, left, _ = _interposition.state()
        self._write_report({"played": played, "left": left})

    @property
    def problem(self) -> str:
        """A journal that is played does not fail."""
        return ""

    # --- ends --------------------------------------------------------------------------------

    def _diverged(self, kind: str, arguments: Arguments, recorded: str | None) -> NoReturn:
        request = f"{public_name(kind)}({', '.join(map(_shown, arguments))})"
        if recorded is None:
            answer = "nothing more"
            if self._stopped:
                answer += f", because the journal stopped: {self._stopped}"
        elif recorded == kind:
            answer = f"{public_name(kind)} of something else, or what it gave is not kept"
        else:
            answer = public_name(recorded)
        self._stop({"asked": request, "recorded": answer, "kind": kind})

    def _escaped(self, event: str, arguments: Arguments) -> None:
        if event == "open" and _importing():
            raise PermissionError(13, "Permission denied")  # compiled code is not written again
        if (
            event == "sqlite3.connect"
            and arguments
            and arguments[0] in (":memory:", "", b":memory:")
        ):
            return
        if event == _ANOTHER_INTERPRETER:
            self._lacks("other interpreters")
        self._stop({"escaped": event, "asked": f"{event}({', '.join(map(_shown, arguments))})"})

    def _imported(self, module: str) -> None:
        if module in _BY_THEMSELVES:
            self._unseen.add(_BY_THEMSELVES[module])
        what = _NOT_KEPT.get(module)
        if what is not None:
            self._lacks(what)

    def _lacks(self, what: str) -> NoReturn:
        self._stop({"missing": f"it uses {what}, of which a journal keeps nothing"})

    def _stop(self, report: Mapping[str, Any]) -> NoReturn:
        _interposition.inside(True)
        self._write_report({**report, "call": self._cut_off("the re-run diverged")})
        os._exit(0)

    def _write_report(self, report: Mapping[str, Any]) -> None:
        state = {
            "confined": self._confined,
            "threads": _interposition.state()[3],
            "unseen": sorted(self._unseen),
        }
        with open(self._report, "w", encoding="ascii") as file:
            json.dump({**report, **state}, file)

    # --- files -------------------------------------------------------------------------------

    def _open(self, original: Original, _: Any, arguments: Arguments, keywords: Keywords) -> int:
        request = open_request(arguments, keywords)
        _call_fspath(request[0])
        opened, flags = _interposition.play(OPEN, request), request[1]
        path = self._place("posix.open", request, opened, flags)
        if opened[0] == FOLDER:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        elif opened[0] == NAMELESS:
            flags |= os.O_RDWR
        else:
            flags &= ~getattr(os, "O_NOFOLLOW", 0)
        mode = arguments[2] if len(arguments) > 2 else keywords.get("mode", 0o777)
        descriptor: int = original(path, flags, (mode | _MODE) if type(mode) is int else _MODE)
        _interposition.foreign(descriptor, opened[0] == OTHER)
        return descriptor

    def _file(self, file: Any, arguments: Arguments, keywords: Keywords | None) -> None:
        request = file_request(arguments, keywords)
        _call_fspath(request[0])
        opened = _interposition.play(FILE, request)
        path = self._place("FileIO()", request, opened, flags_of(request[1]))
        rest = dict(keywords or {})
        rest.pop("file", None)
        assert self._file_init is not None
        self._file_init(file, path, *arguments[1:], **rest)
        file.name = request[0]
        _interposition.foreign(sys.modules["_io"].FileIO.fileno(file), opened[0] == OTHER)

    def _place(self, kind: str, request: Arguments, opened: Arguments, flags: int) -> str:
        if not opened:
            self._diverged(kind, request, kind)
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


# --- handlers ------------------------------------------------------------------------------------


def _seed(original: Original, _: Any, arguments: Arguments, keywords: Keywords) -> Any:
    if arguments and arguments[0] is not None:
        return original(*arguments, **keywords)
    return original(_interposition.play(NUMBERS["_random.Random.seed"], ()))


def _input(original: Original, _: Any, arguments: Arguments, keywords: Keywords) -> Any:
    kind = NUMBERS["builtins.input"]
    if _interposition.peek() == kind:
        return _interposition.play(kind, ())
    return _interposition.outside(original, *arguments, **keywords)


def _now(_: Original, kind: Any, arguments: Arguments, keywords: Keywords) -> Any:
    return _moment("_datetime.datetime.now", kind, arguments, keywords)


def _utcnow(_: Original, kind: Any, arguments: Arguments, keywords: Keywords) -> Any:
    return _moment("_datetime.datetime.utcnow", kind, arguments, keywords)


def _moment(name: str, kind: Any, arguments: Arguments, keywords: Keywords) -> Any:
    *fields, fold = _interposition.play(NUMBERS[name], ())
    zone = arguments[0] if arguments else keywords.get("tz")
    return kind(*fields, tzinfo=zone, fold=fold)


def _select(_: Original, __: Any, arguments: Arguments, ___: Keywords) -> Any:
    places = _interposition.play(NUMBERS["select.select"], ())
    return tuple(
        [objects[index] for index in ready]
        for objects, ready in zip(arguments, places, strict=False)
    )


def _chdir(original: Original, _: Any, arguments: Arguments, keywords: Keywords) -> Any:
    result = _interposition.play(NUMBERS["posix.chdir"], arguments)
    # The folder may be gone. It matters only to imports: paths of the program are not resolved.
    with contextlib.suppress(OSError):
        original(*arguments, **keywords)
    return result


def _pidfd_open(_: Original, __: Any, arguments: Arguments, ___: Keywords) -> Any:
    """A descriptor that is never ready: the journal has that as well."""
    number: int = _interposition.play(NUMBERS["posix.pidfd_open"], arguments)
    return _moved(os.eventfd(0), number)


def _moved(descriptor: int, number: int) -> int:
    """Give a descriptor the number that it had in the first run."""
    if descriptor != number:
        os.dup2(descriptor, number, inheritable=False)
        os.close(descriptor)
    return number


def _accept(_: Original, __: Any, arguments: Arguments, ___: Keywords) -> Any:
    """A socket that leads nowhere, with the number that it had in the first run."""
    number, address = _interposition.play(NUMBERS["_socket.socket._accept"], arguments)
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
        return _answer("is_dir")

    def is_file(self, **_: Any) -> Any:
        """Whether it is a file."""
        return _answer("is_file")

    def is_symlink(self) -> Any:
        """Whether it is a link."""
        return _answer("is_symlink")

    def is_junction(self) -> Any:
        """Whether it is a junction."""
        return _answer("is_junction")

    def stat(self, **_: Any) -> Any:
        """Its status."""
        return _answer("stat")

    def inode(self) -> Any:
        """Its inode number."""
        return _answer("inode")


def _answer(name: str) -> Any:
    return _interposition.play(NUMBERS[f"posix.DirEntry.{name}"], ())


class ScandirIterator:
    """Replaces the iterator of `os.scandir`: answers from the journal."""

    def __iter__(self) -> Iterator[DirEntry]:
        return self

    def __next__(self) -> DirEntry:
        entry = _interposition.play(NEXT, ())
        if entry is None:
            raise StopIteration
        return DirEntry(*entry)

    def __enter__(self) -> ScandirIterator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing to close."""


def _scandir(_: Original, __: Any, arguments: Arguments, keywords: Keywords) -> Any:
    request = (arguments[0] if arguments else keywords.get("path"),)
    _call_fspath(request[0])
    _interposition.play(SCANDIR, request)
    return ScandirIterator()
