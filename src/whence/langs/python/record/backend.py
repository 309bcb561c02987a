"""The Protocol that all recorder backends implement.

A backend turns the events of the interpreter into the records of docs/trace-format.md. Which code
is user code, and how it is described, is decided outside of the backends: they call
`CodeReader.describe` once for each code object, when it first runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class CodeDescription:
    """A code object of user code, as a CODE record describes it."""

    flags: int
    file: str
    module: str
    qualname: str
    first_line: int
    parameters: tuple[str, ...]
    free_variables: tuple[str, ...]
    global_names: tuple[str, ...]
    """The module variables that it names. The backend records those that hold data."""
    line_table: bytes
    transparent: bool
    """Whether it is a comprehension or generator expression, which is no call of its own."""
    counted: bool = False
    """Whether it is transparent only because a filter leaves it out; its calls are counted."""


class CodeReader(Protocol):
    """Distinguishes user code from other code, and describes it."""

    def describe(self, code: CodeType, namespace: dict[str, Any]) -> CodeDescription | None:
        """The description of user code that runs in a namespace; None for all other code."""


class Backend(Protocol):
    """One way of recording. It is started once and stopped once.

    While it is started it keeps no user object alive, runs no user code, raises nothing into the
    program, and writes to its file descriptor nothing but whole pages.
    """

    @property
    def name(self) -> str:
        """The name that the header and `whence doctor` give it."""

    @property
    def calls(self) -> int:
        """How many calls have been recorded so far, without those that were only counted."""

    @property
    def problem(self) -> str | None:
        """Why it stopped recording before `stop` was called (the disk is full); None if not."""

    def here(self) -> int:
        """The number of the call that runs in this thread; in a forked child, of the one that
        forked."""

    def family(self, starts: str, name: str, is_child: bool, announcement: str) -> None:
        """Before `start`: other processes are recorded too.

        If it can, the backend notes in the file `starts`, under this name, which call started which
        process, and gives each new Python the announcement (empty: none), unseen by the program. A
        child writes its records to its file before its parent can know that it is done.
        """

    def tail(self, path: str, descriptor: int, check: int) -> None:
        """Before `start`: until `end`, keep in this new file what is in no page yet, if possible.
        The backend closes and removes it. `check` is the checksum of the trace's header."""

    def start(self) -> None:
        """Record from here on, in all threads."""

    def on_hard_exit(self, function: Callable[[], object]) -> None:
        """After `start`: call this before the program ends by `os._exit`, if it has one thread.

        With several, others would continue meanwhile.
        """

    def stop(self) -> None:
        """Record no further, and write what is left in memory. Calls that are open stay open."""

    def end(self, how: int, value: object) -> None:
        """After `stop`: the END record, as the last thing in the file."""

    def note(self, text: str) -> None:
        """A NOTE record."""
