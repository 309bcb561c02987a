"""The request to run tests that may pass as witnesses for one that failed, and what they leave.

`whence.langs.python.witnesses.witness_run` writes the request and reads the lines; `witnesses`, in
a process of its own, does the opposite. The lines are JSON, one object each: a code object once
(`Code`), then for each test what it ran (`RanTest`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WitnessRequest:
    """Which test failed, and which other tests are wanted."""

    test: str
    names: tuple[str, ...]
    """Names of what ran in the failed test: a test file that has them is chosen first."""
    seconds: float
    """How many seconds of the processor the tests may take."""
    clock_seconds: float
    """How many by the clock: more, since tests sleep and the machine may do other things."""
    output: str
    user_code: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Code:
    """A code object that tests ran; its number is how many stand before it."""

    file: str
    qualname: str
    first_line: int
    lines: tuple[int, ...]
    """All its lines that can run."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame on the stack of an exception."""

    file: str
    qualname: str
    line: int
    is_user: bool


@dataclass(frozen=True, slots=True)
class RanTest:
    """A test that ran, and its lines by the number of their code."""

    test: str
    passed: bool
    seconds: float
    ran: tuple[tuple[int, tuple[int, ...]], ...]
    error: str = ""
    message: str = ""
    stack: tuple[Frame, ...] = ()
    """If it failed: its exception, and the frames that it left, the outermost first."""
