"""The swipl process: starts it, exchanges requests and replies with it, ends it.

Requests and replies have pipes of their own, so the program keeps its standard input and output.
Prolog answers one request at a time: lines of fields, then `ok` or the error. This module does not
interpret the lines.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from whence.errors import WhenceError

CAPTURE = Path(__file__).parent / "pl" / "capture.pl"
INSTALL = (
    "`apt-get install swi-prolog-nox` on Debian and Ubuntu, `brew install swi-prolog` on macOS"
)
_STACK = "4g"
"""The tracer disables last-call optimization, so recursion needs a larger stack."""
_PATIENCE = 1.0
_NUMBERS = 1 << 40
"""The size of each process's range of numbers for terms, predicates and clauses."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class EngineProblem(WhenceError):
    """Prolog could not carry out a request; the message is Prolog's own."""


class TookTooLong(EngineProblem):
    """A request took too long, so the process was killed."""


def find_swipl() -> str:
    """The path of swipl; if it is not installed, an error that says how to install it."""
    path = shutil.which("swipl")
    if path is None:
        raise WhenceError(f"SWI-Prolog (swipl) is not installed, or not on the PATH: {INSTALL}")
    return path


class Engine:
    """A swipl process with the user's files in it. Use it in a `with` statement."""

    def __init__(
        self, *, stdin: int | None = None, stdout: int | None = None, stack: str = _STACK
    ) -> None:
        """Start it; `stdin` and `stdout` are the program's, inherited if None."""
        read_request, write_request = os.pipe()
        read_event, write_event = os.pipe()
        command = [find_swipl(), "-q", "-f", "none", "--no-signals", f"--stack-limit={stack}"]
        command += ["-g", "whence_capture:serve", str(CAPTURE), "--"]
        command += [f"/dev/fd/{read_request}", f"/dev/fd/{write_event}"]
        try:
            with _ignoring_interrupts():
                self._process = subprocess.Popen(
                    command, stdin=stdin, stdout=stdout, pass_fds=(read_request, write_event)
                )
        finally:
            os.close(read_request)
            os.close(write_event)
        self._requests: IO[str] = os.fdopen(write_request, "w", encoding="utf-8")
        self._events: IO[str] = os.fdopen(read_event, encoding="utf-8", newline="\n")

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def load(self, file: Path) -> None:
        """Load a program as swipl does: warnings and errors go to standard error."""
        if not file.is_file():
            raise WhenceError(f"{file}: there is no such file")
        self.do(f"load({quoted(str(file.resolve()))})")

    def load_again(self, file: Path) -> None:
        """Load, without warnings, a program that another process has loaded already."""
        self.do(f"load_again({quoted(str(file.resolve()))})")

    def do(self, request: str) -> list[list[str]]:
        """The reply to a request, as lines of fields."""
        return list(self.stream(request))

    def stream(self, request: str) -> Iterator[list[str]]:
        """The reply to a request, line by line as it arrives."""
        try:
            self._requests.write(request + ".\n")
            self._requests.flush()
        except (OSError, ValueError) as problem:
            raise EngineProblem("swipl has ended") from problem
        for line in self._events:
            fields = line[:-1].split("\t")
            if fields[0] == "ok":
                return
            if fields[0] == "problem":
                raise EngineProblem(plain(fields[1]).strip())
            yield fields
        code = self._process.wait()
        why = "; the program calls halt" if code == 0 else ""
        raise EngineProblem(f"swipl ended with exit code {code} before it was done{why}")

    def numbered(self, request: str, numbers: Sequence[int]) -> list[list[str]]:
        """The reply to a request about numbered terms."""
        return self.do(f"{request}({list(numbers)})") if numbers else []

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    @contextlib.contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Kill the process, with `TookTooLong`, if requests in the block take longer."""
        over = threading.Event()

        def end() -> None:
            over.set()
            self.kill()

        timer = threading.Timer(seconds, end)
        timer.start()
        try:
            yield
        except EngineProblem:
            if not over.is_set():
                raise
            raise TookTooLong(f"it did not end within {seconds:g} s") from None
        finally:
            timer.cancel()

    def close(self) -> None:
        """End the process; kill it if it does not end by itself."""
        for stream in (self._requests, self._events):
            with contextlib.suppress(OSError):  # it may have ended already
                stream.close()
        try:
            self._process.wait(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()


class Engines:
    """The process of the run, and the processes of its re-runs."""

    def __init__(self, first: Engine) -> None:
        self._engines = [first]

    def start(self, file: Path) -> Engine:
        """Start another process with the program loaded; it has no input and no output."""
        engine = Engine(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self._engines.append(engine)
        engine.load_again(file)
        engine.do(f"number_from({_NUMBERS * (len(self._engines) - 1)})")
        return engine

    def __iter__(self) -> Iterator[Engine]:
        return iter(self._engines)

    def of(self, number: int) -> Engine:
        """The process that holds a term, a predicate or a clause."""
        return self._engines[number // _NUMBERS]

    def numbered(self, request: str, numbers: Sequence[int]) -> list[list[str]]:
        """The reply to a request about terms, from the processes that hold them."""
        lines: list[list[str]] = []
        for index, engine in enumerate(self._engines):
            lines += engine.numbered(request, [n for n in numbers if n // _NUMBERS == index])
        return lines

    def close(self) -> None:
        """End the processes of re-runs; the first one belongs to the caller."""
        for engine in self._engines[1:]:
            engine.close()
        del self._engines[1:]


@contextlib.contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Processes started in this block ignore Ctrl-C, which a terminal sends to all its processes.

    Ctrl-C at a question is meant for the debugger; swipl has to survive it with its terms.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def quoted(text: str) -> str:
    """The text as a quoted atom."""
    escaped = "".join(
        {"\\": "\\\\", "'": "\\'", "\n": "\\n"}.get(character, character) for character in text
    )
    return f"'{escaped}'"


def plain(text: str) -> str:
    """A field of a line with its escapes resolved."""
    if "\\" not in text:
        return text
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text)
