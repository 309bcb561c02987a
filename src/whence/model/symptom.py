"""What is wrong about a run, as its user sees it before any call is judged.

A symptom comes from the command line (`--wrong`), from a person who was asked, or from a failed
test. It names what anybody can see: an exception, a line of output, a result, an operand of an
assertion. Which calls are wrong because of it is decided elsewhere.

Symptoms are stored beside recordings, as JSON with the names of these fields.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from whence.errors import UsageError, WhenceError

SYMPTOM = "symptom"
"""The name under which answers that follow from a symptom are given."""


class SymptomKind(Enum):
    """Where the fault shows."""

    EXCEPTION = "exception"
    """The exception that ended the program, or left the call."""
    RESULT = "result"
    OUTPUT = "output"
    """What was printed; `Symptom.line` says which line of it, counted from 1, if that is known, and
    `Symptom.expression` which words of that line."""
    ASSERTION = "assertion"
    """`Symptom.assertion` says which one, and has its operands."""
    EXPRESSION = "expression"
    """A part of what the call returned or changed: `Symptom.expression` is the text of a mark."""
    NOT_ENDED = "not ended"
    """The run was stopped because it did not end."""


@dataclass(frozen=True, slots=True)
class AssertionOperand:
    """A side of an assertion: its expression as written, and its value as shown."""

    expression: str
    value: str = ""
    span: tuple[int, int, int, int] | None = None
    """Its span in the file, as `ast` counts: line, column, last line, column after it."""
    wrong: bool | None = None
    """Whether the user said that it is wrong."""


@dataclass(frozen=True, slots=True)
class FailedAssertion:
    """An assertion that failed."""

    file: str
    line: int
    operands: tuple[AssertionOperand, ...] = ()
    detail: tuple[str, ...] = ()
    """The lines in which the test framework explains the failure."""


@dataclass(frozen=True, slots=True)
class Symptom:
    """What is wrong, and in which function's call it shows, by its qualified name ("": the top)."""

    kind: SymptomKind
    function: str = ""
    line: int | None = None
    expression: str = ""
    assertion: FailedAssertion | None = None
    expected: str = ""
    """The exception that should have been raised instead, as `raises ValueError`."""
    by_person: bool = False
    """Whether a person said so in a session; a failed test says so by itself."""

    def __post_init__(self) -> None:
        """Refuse a line that is not counted from 1."""
        if self.line is not None and self.line < 1:
            raise WhenceError(f"the line of a symptom is counted from 1: {self.line}")


@dataclass(frozen=True, slots=True)
class SymptomTime:
    """When what is wrong had happened: no call that began later can have caused it."""

    last_begun: int
    """The id of the last call that had begun by then, in the process that showed it."""
    is_exact: bool
    """Whether that is certain: an equal exception may have been raised earlier."""


def parse(text: str) -> Symptom:
    """The symptom that a person names: its kind, `output:LINE:WORDS`, `raises EXCEPTION` for one
    that is missing, or the path of a part."""
    name = text.strip()
    kind, colon, rest = name.partition(":")
    if kind == SymptomKind.OUTPUT.value and colon:
        line, _, wrong = rest.partition(":")
        if not line.strip().isdecimal() or int(line) < 1:
            raise UsageError(f"{name}: a line of the output is named by its number, as output:3")
        return Symptom(SymptomKind.OUTPUT, line=int(line), expression=wrong)
    if _MISSING.fullmatch(name):
        return Symptom(SymptomKind.RESULT, expected=name)
    if name.replace("-", " ") in _NAMED:
        return Symptom(_NAMED[name.replace("-", " ")])
    if not name:
        raise UsageError(f"what is wrong is one of {', '.join(_NAMED)}, or a part as result[2]")
    return Symptom(SymptomKind.EXPRESSION, expression=name)


_MISSING = re.compile(r"raises?\s+[\w.]+")
_NAMED = {
    kind.value: kind
    for kind in (
        SymptomKind.EXCEPTION,
        SymptomKind.RESULT,
        SymptomKind.OUTPUT,
        SymptomKind.NOT_ENDED,
    )
}
