"""The requests: one dataclass for each method of the protocol, and what it is answered with.

A request is read strictly: a member that is unknown, missing or of another type is refused with its
path. Every request names the session that it is about; nothing is remembered between requests
except the session itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from whence.protocol import values, views
from whence.typed_json import reader

VERSION = 1


@dataclass(frozen=True, slots=True)
class Hello:
    """Says who answers, and which methods there are."""


@dataclass(frozen=True, slots=True)
class Open:
    """Opens a recording or tree file and begins its session, or goes on with it."""

    recording: str = ""
    """A file; empty: the last recording of the project."""
    wrong: str = ""
    """What is wrong with the run, as `--wrong` takes it; empty: what the run itself shows."""
    strategy: str = ""
    trust: tuple[str, ...] = ()
    reference: str = ""
    """A version of the program that is right, as `--reference` takes it."""
    oracles: tuple[str, ...] = ()
    """Functions to ask first, as `python:MODULE:FUNCTION`."""
    without_oracles: tuple[str, ...] = ()
    fresh: bool = False
    """Start a new session; the stored one is kept under another name."""
    log: str = ""
    """The file that keeps the session; empty: where whence keeps it."""
    keep: bool = True
    """Whether the session is kept in a file at all."""
    may_run: bool | None = None
    """Whether the program may run again without asking. Null: only where that changes nothing."""
    trust_recording: bool = False
    """Whether the program of a recording that somebody else made may be executed."""
    remember: bool = False
    """Whether answers of a person are stored for later sessions."""


@dataclass(frozen=True, slots=True)
class Record:
    """Starts recording a program in the background; answered with a job."""

    command: tuple[str, ...]
    """`script.py ARGS`, `-m MODULE ARGS` or `-c CODE ARGS`; of `call`: `MODULE:FUNCTION ARGS`; of
    `test`: the arguments of pytest."""
    kind: str = "run"
    """`run`, `call` or `test`."""
    folder: str = ""
    time_limit: float | None = None
    """Seconds after which the program is stopped; what was recorded is kept."""
    options: tuple[str, ...] = ()
    """More options of `whence run` or, for tests, of `whence test`."""


@dataclass(frozen=True, slots=True)
class Job:
    """How far a recording is; waits up to so many seconds for its end."""

    job: str
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class Jobs:
    """Lists the recordings that were begun here."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Stops a recording; what was recorded is kept."""

    job: str


@dataclass(frozen=True, slots=True)
class Sessions:
    """Lists the open sessions."""


@dataclass(frozen=True, slots=True)
class Next:
    """What the session needs now: a question, a decision, or nothing because it is over."""

    session: str


@dataclass(frozen=True, slots=True)
class Wrong:
    """Says what is wrong about the run, where a session begins with that."""

    session: str
    what: str = ""
    """As `--wrong` takes it; empty: what is most likely; `nothing` ends the session."""
    operands: tuple[int, ...] | None = None
    """Of an assertion that failed: the sides that are wrong, from 0; empty: neither is."""


@dataclass(frozen=True, slots=True)
class AnswerCall:
    """Judges the call that is asked about, or any others."""

    session: str
    verdict: str
    """`right`, `wrong`, `inadmissible` or `unknown`."""
    calls: tuple[int, ...] = ()
    """The calls; empty: the one that is asked about."""
    part: str = ""
    """The path of the part that is wrong, or inadmissible."""
    expected: str = ""
    """What this part, or else the outcome, should have been."""
    by: str = "person"
    """`person`, `agent`, or `agent NAME`."""
    reason: str = ""
    revision: int | None = None
    """Refused if the session has moved on since this revision."""


@dataclass(frozen=True, slots=True)
class Keep:
    """Resolves a contradiction."""

    session: str
    which: str
    """`earlier` or `later`."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Trusts code, or withdraws a trust."""

    session: str
    name: str = ""
    """Empty: the code of the call that is asked about."""
    scope: str = "function"
    """`function`, `module` or `file`."""
    withdraw: bool = False


@dataclass(frozen=True, slots=True)
class Undo:
    """Takes the last statement back."""

    session: str


@dataclass(frozen=True, slots=True)
class Redo:
    """Says again what was taken back."""

    session: str


@dataclass(frozen=True, slots=True)
class ReviseAnswer:
    """Replaces an answer by another one, or takes it back; later answers stay."""

    session: str
    index: int
    verdict: str = ""
    """Empty: the answer is taken back."""
    part: str = ""
    expected: str = ""
    by: str = "person"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Reject:
    """The diagnosis is not believed: questions are asked again."""

    session: str


@dataclass(frozen=True, slots=True)
class Rest:
    """Searches on although the top was judged right."""

    session: str


@dataclass(frozen=True, slots=True)
class Answers:
    """Lists the answers that hold, with who gave each."""

    session: str


@dataclass(frozen=True, slots=True)
class Call:
    """One call whole, with its callers and callees."""

    session: str
    call: int | None = None
    """Null: the call that the session is about now."""
    depth: int = 2
    parts: int = 12
    total: int = 60
    whole: bool = False
    """Also what the call did not use."""


@dataclass(frozen=True, slots=True)
class Value:
    """Unfolds a part of a value."""

    session: str
    call: int
    path: str
    side: str = "outcome"
    """`input`: what a path names before the call, if it changed."""
    depth: int = 1
    parts: int = 50
    total: int = 200
    text: int = 4000
    first: int = 0
    """The index of the first part to send."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Searches calls. All conditions must hold."""

    session: str
    function: str = ""
    """A function, or a part of its name."""
    text: str = ""
    """A text in the equation, as a value shown in it."""
    exception: str = ""
    """The type of an exception that left the call, or a text of it; `*`: any."""
    state: str = ""
    """`suspect`, or any state of a call."""
    below: int | None = None
    """Only calls below this one."""
    callees_of: int | None = None
    """Only calls that this one made."""
    limit: int = 20
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a call's function, with the lines that ran."""

    session: str
    call: int | None = None
    run: bool = False
    """Make the call again if that is needed to find out which lines ran."""


@dataclass(frozen=True, slots=True)
class Why:
    """Where a part of a value came from."""

    session: str
    path: str
    call: int | None = None
    side: str = "outcome"
    run: bool | None = None
    """Whether the program may run again for it. Null: only where that changes nothing."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """Chooses a strategy, or lists all of them without a name."""

    session: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Oracle:
    """Turns an oracle off or on."""

    session: str
    name: str
    on: bool


@dataclass(frozen=True, slots=True)
class Switch:
    """Turns a switch of the search on or off."""

    session: str
    name: str
    on: bool


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The diagnosis, or what is left to blame if the session has not ended."""

    session: str


@dataclass(frozen=True, slots=True)
class RegressionTest:
    """Writes a regression test for the call at fault."""

    session: str
    path: str = ""
    write: bool = False
    """Whether it is written to its file; an existing file is not overwritten."""


@dataclass(frozen=True, slots=True)
class Allow:
    """Allows that the program is run again in this session."""

    session: str
    on: bool = True


@dataclass(frozen=True, slots=True)
class Zoom:
    """Begins a session inside the call at fault, among its statements."""

    session: str


@dataclass(frozen=True, slots=True)
class Save:
    """Writes the session to a file."""

    session: str
    path: str


@dataclass(frozen=True, slots=True)
class Close:
    """Ends a session's processes here; its answers are kept, and `open` goes on with it."""

    session: str


Request = (
    Hello | Open | Record | Job | Jobs | Stop | Sessions | Next | Wrong | AnswerCall | Keep
    | Trust | Undo | Redo | ReviseAnswer | Reject | Rest | Answers | Call | Value | Calls
    | Source | Why | Strategy | Oracle | Switch | Diagnosis | RegressionTest | Allow | Zoom
    | Save | Close
)  # fmt: skip

METHODS: dict[str, tuple[type, type]] = {
    "hello": (Hello, views.ServerView),
    "open": (Open, views.SessionView),
    "record": (Record, views.JobView),
    "job": (Job, views.JobView),
    "jobs": (Jobs, views.JobsView),
    "stop": (Stop, views.JobView),
    "sessions": (Sessions, views.SessionsView),
    "next": (Next, views.SessionView),
    "wrong": (Wrong, views.SessionView),
    "answer": (AnswerCall, views.SessionView),
    "keep": (Keep, views.SessionView),
    "trust": (Trust, views.SessionView),
    "undo": (Undo, views.SessionView),
    "redo": (Redo, views.SessionView),
    "revise": (ReviseAnswer, views.SessionView),
    "reject": (Reject, views.SessionView),
    "rest": (Rest, views.SessionView),
    "answers": (Answers, views.AnswersView),
    "call": (Call, views.CallView),
    "value": (Value, values.ValueView),
    "calls": (Calls, views.CallsView),
    "source": (Source, views.SourceView),
    "why": (Why, views.WhyView),
    "strategy": (Strategy, views.StrategiesView),
    "oracle": (Oracle, views.SessionView),
    "switch": (Switch, views.SessionView),
    "diagnosis": (Diagnosis, views.DiagnosisView),
    "test": (RegressionTest, views.TestView),
    "allow": (Allow, views.SessionView),
    "zoom": (Zoom, views.SessionView),
    "save": (Save, views.Done),
    "close": (Close, views.Done),
}
"""Each method with its request and with what it is answered with."""

READERS: dict[str, Callable[[object, str], object]] = {
    name: reader(request) for name, (request, _) in METHODS.items()
}
