"""What a recorder backend is: the one Protocol behind which all of them stand.

A backend turns what the interpreter tells it into the records of docs/trace-format.md. Which code
belongs to the user, and how code is described, is decided here once for all backends: they call
`CodeReader.describe` the first time that they meet a code object, and never again.
"""

from __future__ import annotations

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
    """Module variables that it names, of which the backend records those that hold data."""
    line_table: bytes
    transparent: bool
    """A comprehension or generator expression: no call of its own."""
    counted: bool = False
    """Transparent, and a call all the same: a filter leaves it out, so it is only counted."""


class CodeReader(Protocol):
    """Tells user code from other code, and describes it."""

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
        """How many calls have been recorded so far; those that were only counted are not in it."""

    @property
    def problem(self) -> str | None:
        """Why it stopped recording before it was told to (the disk is full), if it did."""

    def here(self) -> int:
        """The number of the call that runs in this thread; also in a child, of the fork."""

    def family(self, starts: str, name: str, is_child: bool) -> None:
        """Before `start`: other processes are recorded too. Where it can, it tells in the file
        `starts`, by this name, which call started which; of a child, what it recorded is in its
        file before its parent could hear that it is done."""

    def tail(self, path: str, descriptor: int, check: int) -> None:
        """Before `start`: until `end`, keep in this new file what is in no page yet, if it can be.
        The backend closes and removes it. `check` is that of the trace's header."""

    def start(self) -> None:
        """Record from here on, in all threads."""

    def stop(self) -> None:
        """Record no further, and write what is left in memory. Calls that are open stay open."""

    def end(self, how: int, value: object) -> None:
        """After `stop`: the END record, as the last thing in the file."""

    def note(self, text: str) -> None:
        """A NOTE record."""
