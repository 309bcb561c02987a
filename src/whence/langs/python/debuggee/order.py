"""The order that starts a debuggee process: what to run, what to record, where to stop.

Whoever starts the process writes the order, `order_execution` carries it out; both know only this
module. A re-run differs from a first run by its `Task` and by the journal that it plays.

Invariant: an order that is not read completely is refused, with the name of the offending field.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from types import CodeType

from whence.langs.python.debuggee.run_as_python import Target
from whence.langs.python.record.one_test import OneTest
from whence.langs.python.record.recording import Settings
from whence.typed_json import from_text, reader, to_text

VERSION = 3
_NAME = "order"


class ClosingMessage(Enum):
    """When the process says at its end where the trace is."""

    ON_PROBLEM = "on problem"
    AT_TERMINAL = "at terminal"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class StopSignal:
    """A signal that ends the process at once and keeps what was recorded."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class Playback:
    """The journal that a re-run plays, and the only folder that it can change."""

    journal: str
    folder: str


@dataclass(frozen=True, slots=True)
class TargetCall:
    """One call of a code: the first one has the count 1."""

    file: str
    first_line: int
    name: str
    count: int = 1

    @classmethod
    def of(cls, code: CodeType) -> TargetCall:
        """The next call of a code."""
        return cls(code.co_filename, code.co_firstlineno, code.co_qualname)


@dataclass(frozen=True, slots=True)
class ExecutedLines:
    """Write the lines that a call executes to a file."""

    call: TargetCall
    output: str


@dataclass(frozen=True, slots=True)
class Zoom:
    """Write what the statements of a call do to a file."""

    request: str
    """As `zoom.step_recorder.ZoomRequest.text` returns it."""
    output: str


@dataclass(frozen=True, slots=True)
class StepDebugger:
    """Open a step debugger in the frame of a call."""

    call: TargetCall
    stdin: int
    stdout: int
    at_end: bool
    name: str
    """As PYTHONBREAKPOINT names it; empty: pdb."""


@dataclass(frozen=True, slots=True)
class TrialCall:
    """A call that returns another value than it did."""

    ordinal: int
    call: TargetCall
    expression: str


class StepKind(Enum):
    """How a step leads from a value to a part of it."""

    ITEM = "item"
    ATTRIBUTE = "attribute"
    KEY = "key"
    """A key of a dict, or an element of a set."""
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class PartStep:
    """One step from a value to a part of it."""

    kind: StepKind
    key: int | str = ""
    """Of an item or attribute."""
    letters: tuple[int, int] = (0, 0)
    """Of a part of a text: its begin and end."""


@dataclass(frozen=True, slots=True)
class TagTask:
    """Tag the values of one call and of all that it calls, and find where a part came from.

    Nothing is recorded. The answer is a `tag_report.TagAnswer`; once it is written, the process
    ends.
    """

    shadowed: TargetCall
    """The call whose values are tagged. The body of a module stands for the whole run."""
    marked: TargetCall
    """The call that the part is of: the shadowed one, or one below it, counted from there."""
    root: str
    """`result`, `raised`, or the name of a parameter or of a variable of the function's module;
    `yielded`, and the first step says which; `printed`: a line of the program's output, whose
    number is the first step."""
    steps: tuple[PartStep, ...]
    is_input: bool
    """Of a parameter: as it was given, not as it was left."""
    answer: str
    """The file for the answer."""
    progress: str
    """The file for the number of calls that were tagged so far."""
    printed: str = ""
    """The file that the program's output goes to, if the part is a line of it."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a re-run is made for. A checkpoint is given one each time that it is used."""

    window: tuple[int, int] | None = None
    """Record only the target call and what is below it: its ordinal, and how many calls."""
    whole_calls: tuple[int, int] | None = None
    """The numbers of the first and the last call whose values are recorded whole."""
    lines: ExecutedLines | None = None
    zoom: Zoom | None = None
    debugger: StepDebugger | None = None
    trial: tuple[TrialCall, ...] = ()
    freezing: str = ""
    """The file that says which calls are frozen, or which effects are noted."""
    tags: TagTask | None = None


@dataclass(frozen=True, slots=True)
class CheckpointChannel:
    """Makes the process a checkpoint, and names the descriptors by which it is used."""

    control: int
    """A socket: what checkpoints report."""
    orders: int
    """A pipe: the orders for this process."""
    terminal: tuple[int, int]


@dataclass(frozen=True, slots=True)
class CheckpointOrder:
    """What one fork of a checkpoint is to do."""

    number: int
    task: Task
    folder: str
    output: str
    spacing: float
    """Seconds between two checkpoints."""
    cost_ratio: float
    """The program runs at least so many times as long as it takes to make a checkpoint."""


@dataclass(frozen=True, slots=True)
class Order:
    """All that a debuggee process is told."""

    target: Target
    settings: Settings
    task: Task = Task()
    test: OneTest | None = None
    """Record this test of pytest; None: record the whole program."""
    journal: bool = False
    """Whether to write a journal beside the recording."""
    playback: Playback | None = None
    stop_signals: tuple[StopSignal, ...] = ()
    call_limit: int | None = None
    depth_limit: int | None = None
    checkpoints: CheckpointChannel | None = None
    closing_message: ClosingMessage = ClosingMessage.ON_PROBLEM

    def text(self) -> str:
        """The order as JSON."""
        return to_text(_NAME, VERSION, self)

    @classmethod
    def from_text(cls, text: str | bytes) -> Order:
        """Read what `text` wrote; a `WhenceError` says why it cannot be read."""
        return from_text(_NAME, VERSION, reader(cls), text)
