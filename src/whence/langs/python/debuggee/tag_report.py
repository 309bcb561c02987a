"""What a run with tags answers: where a part of a value came from, and what could influence it.

`tagged_run` writes it, the debugger reads it. Calls are numbered by their start, the shadowed one
first.
"""

from __future__ import annotations

from dataclasses import dataclass

from whence.langs.python.debuggee.order import PartStep
from whence.typed_json import from_text, reader, to_text

WHOLE = "<module>"
"""The name of the shadowed call if all values are tagged from the start."""
OUTSIDE = -1
"""The number of a call that is not below the shadowed one."""
VERSION = 1
_NAME = "answer"


@dataclass(frozen=True, slots=True)
class TaggedFunction:
    """A function that was called."""

    name: str
    file: str
    line: int
    is_stepped: bool
    """Whether it is a generator or coroutine, which others resume."""


@dataclass(frozen=True, slots=True)
class TaggedCalls:
    """The calls of the run, in columns: there may be hundreds of thousands."""

    functions: tuple[TaggedFunction, ...]
    function: tuple[int, ...]
    """For each call the index of its function."""
    parent: tuple[int, ...]
    """For each call the number of its caller, or `OUTSIDE`."""
    made: tuple[int, ...]
    """For each call of a generator or coroutine, in which order it was created; 0: not known."""

    def __len__(self) -> int:
        return len(self.function)

    def function_of(self, call: int) -> TaggedFunction:
        """The function of a call."""
        return self.functions[self.function[call]]


@dataclass(frozen=True, slots=True)
class PartMaker:
    """An expression that may have made the part, or the parameter that it was a part of."""

    call: int
    """The call that evaluated it, or `OUTSIDE`."""
    file: str = ""
    line: int = 0
    expression: str = ""
    parameter: str = ""
    """If it is not empty, the part was there before the shadowed call."""
    path: tuple[PartStep, ...] = ()
    """From the parameter to the part."""


@dataclass(frozen=True, slots=True)
class PartOrigin:
    """Where the part came from, as far as tags tell."""

    makers: tuple[PartMaker, ...] = ()
    """One of them made it."""
    made_of: tuple[PartMaker, ...] = ()
    """What made the operands of that expression."""
    unknown: str = ""
    """Why it is not known, if it is not."""


@dataclass(frozen=True, slots=True)
class TagReport:
    """What the tags tell of the marked part."""

    marked: int
    """The call that it is of."""
    is_complete: bool
    """Whether no tag was lost."""
    calls: TaggedCalls
    origin: PartOrigin
    chain: tuple[int, ...]
    """The calls that the part came through."""
    catchable: tuple[int, ...]
    """The calls whose exceptions would have been caught."""
    slices: tuple[tuple[int, ...], ...]
    """L1, L2 and L3."""
    arguments: tuple[tuple[str, str], ...]
    """The names and texts of the marked call's arguments that a text identifies."""
    value: str | None
    """The text of the marked part, if a text identifies it."""


@dataclass(frozen=True, slots=True)
class TagAnswer:
    """A report, or why there is none."""

    report: TagReport | None = None
    unknown: str = ""

    def text(self) -> str:
        """The answer as JSON."""
        return to_text(_NAME, VERSION, self)

    @classmethod
    def from_text(cls, text: str) -> TagAnswer:
        """Read what `text` wrote; a `WhenceError` says why it cannot be read."""
        return from_text(_NAME, VERSION, reader(cls), text)
